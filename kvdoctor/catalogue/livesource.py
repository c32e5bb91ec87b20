"""The source of a guard as it stands in an installed vLLM, read as text and never imported."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kvdoctor.catalogue.fingerprints import bare
from kvdoctor.data import dataclass

PACKAGE = "vllm"
LIMIT = 8_000_000  # bytes of one source file
AROUND = 8  # lines shown before and behind

_VERSION = re.compile(r"^Version:\s*(\d\S{0,60})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Installed:
    """A vLLM package on this machine: ``folder`` holds "vllm"; ``release`` is "" when unknown."""

    folder: Path
    release: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    marked: bool  # the line that raised


def installed(places: Iterable[Path] | None = None) -> Installed | None:
    """The first vLLM in ``places`` (folders that may hold the package); without them: where Python
    looks for packages, then the active environment, then the system's usual folders."""
    for folder in places if places is not None else _usual():
        if (folder / PACKAGE / "__init__.py").is_file():
            return Installed(folder, _release(folder))
    return None


def installed_anywhere() -> Installed | None:
    """Like :func:`installed`, but first where the ``vllm`` command on PATH or the active
    environment keeps its packages: that is the vLLM that the user runs."""
    from kvdoctor.proof.interpreter import find_python

    python = find_python().path
    if python:
        root = Path(python).absolute().parent.parent
        found = installed(sorted(root.glob("lib/python3*/*-packages")))
        if found is not None:
            return found
    return installed()


def _usual() -> Iterator[Path]:
    yield from (Path(one) for one in sys.path if one)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield from sorted(Path(os.environ[variable]).glob("lib/python3*/site-packages"))
    for root in ("/opt/venv", "/usr/local", "/usr/lib"):
        for pattern in ("lib/python3*/site-packages", "lib/python3*/dist-packages"):
            yield from sorted(Path(root).glob(pattern))


def _release(folder: Path) -> str:
    for file in sorted(folder.glob(f"{PACKAGE}*-*.dist-info/METADATA")):
        try:
            found = _VERSION.search(file.read_text("utf-8", "replace")[:4000])
        except OSError:
            continue
        if found:
            return found[1]
    return ""


def excerpt(
    where: Installed, file: str, line: int, code: str = "", around: int = AROUND
) -> tuple[SourceLine, ...]:
    """Lines of "vllm/…py" around ``line``, that line marked. ``code`` is the text of the line as
    a traceback prints it: when it stands elsewhere in this build, the nearest such line is taken.
    Empty when the file is not there or the text is nowhere in it."""
    path = where.folder / file
    inside = path.resolve().is_relative_to((where.folder / PACKAGE).resolve())
    if not inside or not path.is_file() or path.stat().st_size > LIMIT:
        return ()
    lines = path.read_text("utf-8", "replace").splitlines()
    wanted = bare(code.strip().split("\n")[0])
    if wanted:
        fits = [number for number, text in enumerate(lines, 1) if bare(text) == wanted]
        if not fits:
            return ()
        line = min(fits, key=lambda number: (abs(number - line), number))
    if not 0 < line <= len(lines):
        return ()
    first, last = max(1, line - around), min(len(lines), line + around)
    return tuple(
        SourceLine(number, lines[number - 1], number == line) for number in range(first, last + 1)
    )
