"""Drawings: only of what is known, in both alphabets, narrow enough for any terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdoctor import session
from kvdoctor.data import replace
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.report import Report, Source
from kvdoctor.show.pictures import heads_picture, pictures, sizes_picture
from kvdoctor.show.timeline import errors_of, timeline

CASES = Path(__file__).with_name("cases")
LOG = "".join(
    f"({who} pid={pid}) ERROR 11-30 10:00:{at:02} [core.py:{at}] {who} broke\n"
    for at, (who, pid) in enumerate([("Worker_TP1", 2), ("Worker_TP0", 1), ("Worker_TP1", 2)])
)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load([])


def shown_of(case: str, knowledge: Knowledge) -> Report:
    paste = read((CASES / case).read_bytes(), case, knowledge=knowledge.reading)
    state = session.paste(session.start(), [Source(paste)], knowledge)
    if state.read is not None and state.read.findings:
        state = replace(state, visit=replace(state.visit, step="cause", chosen=0))
    shown = session.view(state, knowledge)
    assert shown is not None
    return shown


@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_case_is_drawn_within_eighty_columns(knowledge: Knowledge, ascii_only: bool) -> None:
    drawn = 0
    for log in sorted(CASES.glob("0[5-7]*/decode.log"))[:8]:
        shown = shown_of(str(log.relative_to(CASES)), knowledge)
        page = pictures(shown, ascii_only, shown.fixes[0].fix.id if shown.fixes else "")
        drawn += bool(page)
        assert all(len(row) <= 78 for row in page.splitlines())
        assert not ascii_only or page.isascii()
    assert drawn >= 3


def test_the_fix_is_drawn_below_what_stands_now(knowledge: Knowledge) -> None:
    shown = shown_of("061-nixl-blocksize-d-smaller/decode.log", knowledge)
    page = pictures(shown, True, shown.fixes[0].fix.id)
    assert "prefill 128, decode 32" in page
    assert "blocks of 128 tokens on both sides" in page.partition("with the fix")[2]
    assert "with the fix" not in pictures(shown, True)


def test_a_healthy_log_has_no_drawing(knowledge: Knowledge) -> None:
    shown = session.view(
        session.paste(session.start(), [Source(read("all is well\n", "log"))], knowledge), knowledge
    )
    assert shown is not None
    assert pictures(shown) == ""


def test_the_process_that_failed_first_stands_on_top_with_its_count() -> None:
    paste = read(LOG, "log")
    rows = timeline([("log", paste)], ("log", 1), ascii_only=True)
    assert rows[1].split()[:2] == ["Worker_TP1", "2"]
    assert rows[1].endswith("<- cause")
    assert rows[2].split()[:2] == ["Worker_TP0", "1"]
    assert {name: len(found) for name, found in errors_of(paste).items()} == {
        "Worker_TP1": 2,
        "Worker_TP0": 1,
    }


def test_one_process_alone_has_no_timeline() -> None:
    assert timeline([("log", read(LOG.replace("TP1", "TP0"), "log"))], None) == []


def test_equal_sizes_are_not_drawn_and_the_largest_fills_the_row() -> None:
    assert sizes_picture([("a", 16), ("b", 16)], "tokens", True) == []
    rows = sizes_picture([("a", 16), ("b", 64)], "tokens", True)
    assert rows[1].count("#") * 4 == pytest.approx(rows[2].count("#"), abs=2)


def test_heads_that_cannot_be_shared_out_are_said_so() -> None:
    assert "cannot be shared out evenly" in "\n".join(heads_picture(8, 3, 4, True))
    assert "each KV head on 2 ranks" in "\n".join(heads_picture(4, 8, 2, True))
