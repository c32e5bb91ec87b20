"""Any bytes in, no exception out: a bounded sample here, long runs with ``drive.py``."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz import drive, hostile, mutate, pipeline
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CORPUS = sorted(Path(__file__).with_name("corpus").iterdir())
CASES = mutate.cases()
BOUNDED = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@BOUNDED
@given(st.binary(max_size=3000))
def test_random_bytes_come_through(data: bytes) -> None:
    pipeline.check(data)


@BOUNDED
@given(st.lists(st.sampled_from(mutate.NASTY) | st.text(max_size=60), max_size=30))
def test_hostile_words_come_through(words: list[str]) -> None:
    pipeline.check("".join(words).encode("utf-8", "surrogatepass"))


@BOUNDED
@given(st.integers(0, 2**32))
def test_damaged_real_logs_come_through(seed: int) -> None:
    pipeline.check(mutate.mutated(random.Random(seed), CASES))  # noqa: S311


@pytest.mark.parametrize("part", sorted(hostile.HARM))
def test_a_harmful_part_of_a_record_harms_nobody(part: str) -> None:
    for harm in hostile.HARM[part]:
        text = hostile.BASE.format(**{**hostile.USUAL, part: harm})
        assert drive.failure_of_record(text) == "", harm[:80]


@pytest.mark.parametrize("number", range(len(hostile.WHOLE)))
def test_a_harmful_file_among_the_records_harms_nobody(number: int) -> None:
    assert drive.failure_of_record(hostile.WHOLE[number]) == ""


def test_the_harmless_record_works(tmp_path: Path) -> None:
    """Else the tests above would only show that everything is refused."""
    from kvdoctor.load import load

    (tmp_path / "hostile-record.yaml").write_text(hostile.BASE.format(**hostile.USUAL))
    known = load([tmp_path], use_cache=False)
    assert known.problems == ()
    shown = pipeline.check(drive.LOG, known)
    assert shown.record is not None and shown.record.id == "hostile-record"
    assert shown.status == "cause"


@pytest.mark.parametrize("file", CORPUS, ids=[one.name for one in CORPUS])
def test_what_once_failed_comes_through(file: Path) -> None:
    if file.suffix == ".yaml":
        assert drive.failure_of_record(file.read_text("utf-8", "replace")) == ""
    else:
        pipeline.check(file.read_bytes(), limit=len(file.read_bytes()) > 2000)
