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
def all_compared() -> dict[str, tuple[Compared, ...]]:
    """Caller id -> one entry for each release, oldest first. Empty when nothing was recorded."""
    try:
        text = results_file().read_text(encoding="utf-8")
    except OSError:
        return {}
    return {
        call_id: tuple(
            Compared(
                vllm=release,
                combinations=int(found["combinations"]),
                raised=int(found["raised"]),
                mismatches=int(found["mismatches"]),
            )
            for release, found in releases.items()
        )
        for call_id, releases in json.loads(text)["guards"].items()
    }


def compared(call_id: str) -> tuple[Compared, ...]:
    """The comparisons of one caller, () when it was never compared."""
    return all_compared().get(call_id, ())
