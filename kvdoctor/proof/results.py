"""What the comparison with vLLM's real functions found, from ``knowledge/proof/guards.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from kvdoctor.record import Compared

FILE = Path("proof") / "guards.json"


def results_file() -> Path:
    """In the installed package the knowledge lies inside it, in the source tree beside it."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "knowledge" / FILE
    return inside if inside.is_file() else package.parent / "knowledge" / FILE


@cache
def _recorded() -> dict[str, dict[str, dict[str, int]]]:
    """Caller id -> release -> figures. Empty when nothing was recorded."""
    try:
        text = results_file().read_text(encoding="utf-8")
    except OSError:
        return {}
    guards: dict[str, dict[str, dict[str, int]]] = json.loads(text)["guards"]
    return guards


@cache
def compared(call_id: str) -> tuple[Compared, ...]:
    """The comparisons of one caller, one for each release, oldest first; () when it was never
    compared."""
    return tuple(
        Compared(
            vllm=release,
            combinations=int(found["combinations"]),
            raised=int(found["raised"]),
            mismatches=int(found["mismatches"]),
        )
        for release, found in _recorded().get(call_id, {}).items()
    )
