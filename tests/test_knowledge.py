"""Every record's own examples, run against every record."""

from __future__ import annotations

from functools import lru_cache

import pytest
from support import forced_offers

from kvdoctor.knowledge import Knowledge
from kvdoctor.lint.examples import notes, run
from kvdoctor.load import load


@lru_cache(maxsize=1)
def shipped() -> Knowledge:
    return load(private=False)


def test_nothing_shipped_is_broken() -> None:
    assert [str(problem) for problem in shipped().problems] == []


@pytest.mark.parametrize("record_id", list(shipped().records))
def test_the_examples_of_a_record_come_out_as_they_say(record_id: str) -> None:
    record = shipped().records[record_id]
    assert record.examples
    assert [f"{one.rule}: {one.message}" for one in notes(record, shipped())] == []


def test_no_two_records_claim_an_example_equally() -> None:
    """The confusion table: each positive example is first for its own record alone."""
    confused: list[str] = []
    for record in shipped().records.values():
        for example in record.examples:
            if example.belongs_to or not example.log.strip():
                continue
            first = run(example, shipped(), record.id).findings[:1]
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
