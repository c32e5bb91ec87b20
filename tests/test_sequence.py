"""The drawing of the way of a request does not contradict the diagnosis."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdoctor.form.fields import STEPS as NAMED
from kvdoctor.intake import read
from kvdoctor.load import load
from kvdoctor.report import Source, read_sources, report
from kvdoctor.show.pictures import pictures
from kvdoctor.show.sequence import STEPS, failed_step, sequence

CASES = Path(__file__).with_name("cases")


def drawn(case: str, **answers: str) -> str:
    knowledge = load([])
    text = (CASES / case / "decode.log").read_text()
    source = Source(read(text, "decode.log", knowledge=knowledge.reading), "decode")
    return pictures(report(read_sources([source], knowledge), knowledge, answers=answers))


def test_a_pull_that_failed_is_no_failure_of_decoding() -> None:
    page = drawn("084-mooncake-prefill-killed", prefill_died="yes")
    assert "[transfer]" in page
    assert "not reached: decode" in page


def test_a_request_without_blocks_has_passed_no_handshake() -> None:
    page = drawn("051-nixl-missing-block-ids")
    assert "[hand-over]" in page
    assert "not reached: handshake, transfer, decode" in page


def test_a_handshake_that_failed_is_drawn_as_one() -> None:
    assert "[handshake]" in drawn("059-nixl-dtype-mismatch")


@pytest.mark.parametrize("stage", [90, 95])
def test_a_stage_after_the_first_transfer_tells_no_step(stage: int) -> None:
    assert failed_step(stage) is None
    assert sequence(stage, "decode") == []
    assert "[decode]" in sequence(stage, "decode", step="decode")[1]


def test_every_step_that_a_record_can_name_is_drawn_or_none() -> None:
    words = [word for word, _ in STEPS]
    assert all(one in words or one == "none" for one in NAMED)
    assert all(len(row) <= 80 for one in words for row in sequence(80, "prefill", step=one))
