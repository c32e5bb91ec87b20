"""Real logs of real vLLM runs: each is identified as what it was provoked to be."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvdoctor.decide import Cause
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.report import Report, Source, read_sources, report

CASES = Path(__file__).with_name("cases")
NAMES = sorted(folder.name for folder in CASES.iterdir() if (folder / "expect.yaml").is_file())


@lru_cache(maxsize=1)
def shipped() -> Knowledge:
    return load(private=False)


def expectation(name: str) -> dict[str, Any]:
    expected: dict[str, Any] = yaml.safe_load((CASES / name / "expect.yaml").read_text("utf-8"))
    return expected


@lru_cache(maxsize=8)
def shown_for(name: str) -> Report:
    log = CASES / name / expectation(name)["log_file"]
    if not log.exists():
        log = log.with_name(log.name + ".gz")
    paste = read(log.read_bytes(), log.name, knowledge=shipped().reading)
    answers = expectation(name).get("answers", {})
    return report(read_sources([Source(paste)], shipped()), shipped(), answers=answers)


def squeezed(text: str | None) -> str:
    return "".join((text or "").split())


def failing() -> list[str]:
    return [name for name in NAMES if expectation(name)["kind"] != "healthy"]


@pytest.mark.parametrize("name", failing())
def test_the_root_cause_is_found_among_wrappers_and_ranks(name: str) -> None:
    expected = expectation(name)
    shown = shown_for(name)
    assert shown.findings, "nothing found"
    first = shown.findings[0]
    assert first.role == "root_cause"
    assert squeezed(first.message) == squeezed(expected["message"])
    assert first.exception.rpartition(".")[2] == (expected["exception"] or "").rpartition(".")[2]
    if expected.get("process"):
        assert expected["process"] in first.processes
    if expected.get("log_line"):
        assert expected["log_line"] in [item.number for item in first.evidence]
    if expected["file"]:
        assert first.place is not None
        assert (first.place.file, first.place.line) == (expected["file"], expected["line"])
    if expected["function"] and first.place is not None:
        last = expected["function"].rpartition(".")[2]
        assert first.place.function.rpartition(".")[2] == last


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(failing())))
def test_a_healthy_log_is_clean(name: str) -> None:
    assert shown_for(name).findings == ()


@pytest.mark.parametrize("name", failing())
def test_a_record_knows_the_failure(name: str) -> None:
    first = shown_for(name).findings[0]
    assert first.record == expectation(name)["record"]
    assert first.confidence >= 0.9


@pytest.mark.parametrize("name", failing())
def test_the_cause_and_the_fixes_carry_the_users_values(name: str) -> None:
    expected = expectation(name)
    shown = shown_for(name)
    assert shown.status == expected["status"]
    assert list(shown.asks) == expected.get("asks", [])
    check = shown.outcome.check.id if isinstance(shown.outcome, Cause) else None
    assert check == expected.get("check")
    offered = {one.fix.id: one.fix.snippet for one in shown.fixes}
    assert offered == expected.get("snippets", {})


def test_no_offered_fix_is_unproven_and_none_runs_into_the_next_error() -> None:
    offered = [one for name in failing() for one in shown_for(name).fixes]
    assert len(offered) > 20
    assert [one.fix.id for one in offered if one.fix.proof.level == "unproven"] == []
    assert [one.fix.id for one in offered if one.breaks] == []


def test_the_release_is_known_from_every_log_that_tells_it() -> None:
    for name in NAMES:
        release = shown_for(name).release
        if release.how == "banner":
            assert release.release == "0.32.0", name
        elif release.candidates:
            assert "0.32.0" in release.candidates, name
