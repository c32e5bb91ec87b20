"""Puts this folder on the path; without an environment every test here is skipped, and says why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


def unwanted() -> str:
    """Why no comparison runs, "" when it does."""
    import comparison
    import environment

    if os.environ.get("KVDOCTOR_ORACLE", "").lower() in ("no", "off", "0"):
        return "KVDOCTOR_ORACLE says no"
    return environment.missing(comparison.all_releases())


def release_of(item: pytest.Item) -> tuple[int, ...]:
    call = getattr(item, "callspec", None)
    release = call.params.get("release", "") if call is not None else ""
    return tuple(int(part) for part in release.split(".")) if release else ()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).resolve().parent
    mine = [item for item in items if here in item.path.parents]
    ordered = sorted(mine, key=release_of)  # one process for each release: its tests together
    others = iter(ordered)
    items[:] = [next(others) if here in item.path.parents else item for item in items]
    why = unwanted() if mine else ""
    if why:
        for item in mine:
            item.add_marker(pytest.mark.skip(reason=f"not compared with vLLM: {why}"))
