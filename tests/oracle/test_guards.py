"""Our guards against vLLM's real ones, on every release in which they exist."""

from __future__ import annotations

import json
from collections.abc import Iterator

import comparison
import pytest
from grid import Subject, references

from kvdoctor.proof.results import results_file

CALLS = [
    (release, call)
    for release in comparison.all_releases()
    for call in references()
    if release in comparison.releases_of(call)
]
RECORDS = [one for release in comparison.all_releases() for one in comparison.subjects(release)]


@pytest.mark.parametrize(("release", "call"), CALLS)
def test_vllm_decides_as_the_reference_says(release: str, call: str) -> None:
    found = comparison.compare_reference(call, release, comparison.answers(release))
    assert not found.complaint()
    if not references()[call].accepts(release):
        assert found.raised == 0, "the guard exists in a release outside its ranges"
        return
    assert not found.gone, "the function is gone, though the range says that it is there"
    assert 0 < found.raised < found.combinations, "one of the two outcomes was never reached"


@pytest.mark.parametrize("one", RECORDS, ids=[f"{one.release}-{one.id}" for one in RECORDS])
def test_vllm_decides_as_the_record_says(one: Subject) -> None:
    found = comparison.compare_subject(one, comparison.answers(one.release))
    assert not found.complaint()
    assert not found.gone
    assert 0 < found.raised < found.combinations, "one of the two outcomes was never reached"


def recorded() -> Iterator[tuple[str, str, dict[str, int]]]:
    tree = json.loads(results_file().read_text(encoding="utf-8"))
    for call, releases in tree["guards"].items():
        for release, numbers in releases.items():
            yield call, release, numbers


def test_the_recorded_results_are_those_of_this_run() -> None:
    now = {
        (call, release): comparison.numbers(call, release, comparison.answers(release))
        for call in references()
        for release in comparison.releases_of(call)
        if references()[call].accepts(release)
    }
    assert {(call, release): numbers for call, release, numbers in recorded()} == now
