"""What the comparison with vLLM's real functions found, from ``knowledge/proof/guards.json``."""

from __future__ import annotations

import json
import os
from functools import cache

from kvdoctor.record import Compared

FILE = os.path.join("knowledge", "proof", "guards.json")


def results_file() -> str:
    """In the installed package the knowledge lies inside it, in the source tree beside it."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    inside = os.path.join(package, FILE)
    return inside if os.path.isfile(inside) else os.path.join(os.path.dirname(package), FILE)


@cache
def _recorded() -> dict[str, dict[str, dict[str, int]]]:
    """Caller id -> release -> figures. Empty when nothing was recorded."""
    try:
        with open(results_file(), encoding="utf-8") as stream:
            guards: dict[str, dict[str, dict[str, int]]] = json.load(stream)["guards"]
    except OSError:
        return {}
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
