"""Build hook: puts the compiled form of the knowledge into the wheel.

Run by hatchling (see pyproject.toml), never by kvdoctor itself. An editable install is left alone:
it reads the folder of the checkout and keeps its compiled form in the user's cache.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Interface: Any = object
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface as Interface


def _compile(root: Path) -> bytes:
    """The compiled form of the knowledge of the source tree that is being built."""
    sys.path.insert(0, str(root))
    try:
        from kvdoctor.compiled import compiled_for_wheel
    finally:
        sys.path.remove(str(root))
    return compiled_for_wheel(root / "knowledge")


class CompileKnowledge(Interface):  # type: ignore[misc]
    """The hook that hatchling finds in this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built; ``version`` is "standard" or "editable"."""
        if version != "standard":
            return
        self.folder = tempfile.TemporaryDirectory()
        target = Path(self.folder.name) / "compiled.kvd"
        target.write_bytes(_compile(Path(self.root)))
        build_data["force_include"][str(target)] = "kvdoctor/knowledge/compiled.kvd"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is written."""
        if version == "standard":
            self.folder.cleanup()
