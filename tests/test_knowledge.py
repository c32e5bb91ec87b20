"""Every record's own examples, run against every record."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from kvdoctor.diagnose import Asks, Cause
from kvdoctor.intake import read
from kvdoctor.intake.paste import Release
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.record import Example, Record
from kvdoctor.report import Report, Source, read_sources, report
from support import forced_offers


@lru_cache(maxsize=1)
def shipped() -> Knowledge:
    return load(private=False)


def examples() -> list[tuple[str, int]]:
    return [
        (record.id, number)
        for record in shipped().records.values()
        if record.status != "retired"
        for number in range(len(record.examples))
    ]


def shown_for(record: Record, example: Example) -> Report:
    knowledge = shipped()
    paste = read(example.log, "example", knowledge=knowledge.reading)
    if example.vllm:
        release = Release(example.vllm, (example.vllm,), "banner")
        paste = replace(paste, release=release)
    answers = dict(example.answers)
    found = read_sources([Source(paste)], knowledge)
    return report(found, knowledge, answers=answers)


def test_nothing_shipped_is_broken() -> None:
    assert [str(problem) for problem in shipped().problems] == []


@pytest.mark.parametrize(("record_id", "number"), examples())
def test_an_example_comes_out_as_it_says(record_id: str, number: int) -> None:
    record = shipped().records[record_id]
    example = record.examples[number]
    shown = shown_for(record, example)
    found = [one.record for one in shown.findings]
    if example.belongs_to:
        expected = None if example.belongs_to == "none" else example.belongs_to
        first = found[0] if found else None
        assert first == expected, f"{example.name}: found {found}"
        return
    if example.log.strip():
        assert found[:1] == [record_id], f"{example.name}: found {found}"
    else:
        shown = report(
            read_sources([], shipped()), shipped(), record_id=record_id,
            answers=dict(example.answers),
        )
    check_outcome(example, shown)


def check_outcome(example: Example, shown: Report) -> None:
    outcome = shown.outcome
    if example.asks:
        assert isinstance(outcome, Asks), f"{example.name}: {outcome}"
        assert outcome.names == example.asks
        return
    if example.check:
        assert isinstance(outcome, Cause), f"{example.name}: {outcome}"
        assert outcome.check.id == example.check
    for name, value in example.values.items():
        assert outcome is not None
        got = outcome.values.get(name)
        if isinstance(value, float):
            assert got == pytest.approx(value, abs=0.005), name
        else:
            assert got == value, name
    offered = {one.fix.id: one.fix.snippet for one in shown.fixes}
    for name, snippet in example.snippets.items():
        if snippet is None:
            assert name not in offered, f"{example.name}: {name} is offered: {offered[name]}"
        else:
            withheld = {one.id: one.why for one in shown.withheld}
            assert offered.get(name, "").strip() == snippet.strip(), (
                f"{example.name}: {name}: offered {offered}, withheld {withheld}"
            )


def test_no_two_records_claim_an_example_equally() -> None:
    """The confusion table: each positive example is first for its own record alone."""
    confused: list[str] = []
    for record in shipped().records.values():
        for example in record.examples:
            if example.belongs_to or not example.log.strip():
                continue
            first = shown_for(record, example).findings[:1]
            if first and first[0].alternatives:
                confused.append(f"{record.id}: {example.name}: also {first[0].alternatives}")
    assert confused == []


def test_no_fix_is_offered_whose_guard_does_not_hold() -> None:
    """Over every record, every fix and a spread of values, tried by force."""
    offered = 0
    for record in shipped().records.values():
        for verdict in forced_offers(record, shipped().sites.releases):
            offered += 1
            assert verdict is True, record.id
    assert offered > 100
