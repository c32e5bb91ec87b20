"""A line found by its number, whatever was done to the text on the way in."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kvdoctor.api import diagnose
from kvdoctor.intake import read
from kvdoctor.intake.numbered import index_of, line_at

CASE = Path(__file__).parent / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"
MESSAGE = "Local block size 32 is not divisible by remote block size 128"


def wrapped(text: str, width: int) -> str:
    return "\n".join(
        piece
        for line in text.splitlines()
        for piece in ([line[at : at + width] for at in range(0, len(line), width)] or [""])
    )


@pytest.mark.parametrize("width", [80, 100, 133])
def test_the_evidence_of_a_hard_wrapped_log_is_the_line_itself(width: int) -> None:
    text = wrapped(CASE.read_text("utf-8"), width)
    found = diagnose(text)
    assert found.record == "nixl-block-size-not-multiple"
    shown = [" ".join(one.text.split()) for one in found.evidence]
    assert any(MESSAGE in " ".join(one.split()) for one in shown), shown
    physical = text.splitlines()
    for one in found.evidence:
        assert physical[one.line - 1][:20] in one.text


def test_a_joined_line_is_found_by_each_of_its_numbers() -> None:
    long = "(Worker pid=7) ERROR 04-02 17:20:11 [core.py:12] " + "word " * 60
    paste = read(wrapped(long + "\n(Worker pid=7) INFO 04-02 17:20:12 [core.py:13] next\n", 80))
    assert index_of(paste.lines, 1) == index_of(paste.lines, 2) == 0
    last = paste.lines[-1]
    assert line_at(paste.lines, last.number) is last


def test_a_number_outside_the_text_is_no_line() -> None:
    paste = read("one\ntwo\n")
    assert index_of(paste.lines, 0) == -1
    assert line_at((), 1) is None
    assert line_at(paste.lines, 2) is paste.lines[1]


def test_a_text_pasted_newest_line_first_is_found_by_its_own_numbers() -> None:
    lines = textwrap.dedent(CASE.read_text("utf-8")).splitlines()
    found = diagnose("\n".join(reversed(lines)) + "\n")
    assert found.evidence
    for one in found.evidence:
        assert lines[len(lines) - one.line] == one.text
