"""Our guards against vLLM's real ones, on every release in which they exist."""

from __future__ import annotations

import json
from pathlib import Path

import comparison
import pytest
from grid import references

from kvdoctor.proof.results import results_file

RECORDED = json.loads(Path(results_file()).read_text(encoding="utf-8"))["guards"]
CALLS = [
    (release, call)
    for release in comparison.all_releases()
    for call in references()
    if release in comparison.releases_of(call)
]
RECORDS = [
    (release, *named)
    for release in comparison.all_releases()
    for named in comparison.guards_of_records(release)
]


@pytest.mark.parametrize(("release", "call"), CALLS)
def test_vllm_decides_as_the_reference_says(release: str, call: str) -> None:
    found = comparison.compare_reference(call, release, comparison.answers(release))
    assert not found.complaint()
    if not references()[call].accepts(release):
        assert found.raised == 0, "the guard exists in a release outside its ranges"
        return
    assert not found.gone, "the function is gone, though the range says that it is there"
    assert 0 < found.raised < found.combinations, "one of the two outcomes was never reached"
    assert RECORDED[call][release] == comparison.numbers(found), "run record_results.py"


@pytest.mark.parametrize(("release", "record", "position"), RECORDS)
def test_vllm_decides_as_the_record_says(release: str, record: str, position: int) -> None:
    one = comparison.subjects(release)[record, position]
    found = comparison.compare_subject(one, comparison.answers(one.release))
    assert not found.complaint()
    assert not found.gone
    assert 0 < found.raised < found.combinations, "one of the two outcomes was never reached"


def test_nothing_is_recorded_that_is_not_compared() -> None:
    recorded = {(call, release) for call, releases in RECORDED.items() for release in releases}
    assert recorded == {
        (call, release) for release, call in CALLS if references()[call].accepts(release)
    }
