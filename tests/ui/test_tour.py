"""The tour: real failures, the next key named at every step, nothing of it kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import LOG, SIZES, app, drawn, said, settled, step_of, told, until
from textual import events
from textual.widgets import Static

from kvdoctor.history.store import Store
from kvdoctor.load import load
from kvdoctor.report import Source, read_sources, report
from kvdoctor.ui.app import KvdoctorApp
from kvdoctor.ui.logscreen import LogScreen
from kvdoctor.ui.tourscreen import TourScreen, incidents

CASES = Path(__file__).parents[1] / "cases"
FROM = {
    "connector-name.log": "003-unknown-connector/log.txt",
    "block-sizes-prefill.log": "061-nixl-blocksize-d-smaller/prefill.log",
    "block-sizes-decode.log": "061-nixl-blocksize-d-smaller/decode.log",
    "rdma-missing.log": "082-mooncake-rdma-missing/prefill.log",
}
SHOWN = {
    "connector-name": ("kv-connector-unknown", "cause"),
    "block-sizes": ("nixl-block-size-not-multiple", "cause"),
    "rdma-missing": ("mooncake-rdma-fell-back-to-tcp", "asks"),
}


def guide(screen: KvdoctorApp) -> str:
    line = screen.screen_stack[0].query_one("#guide", Static)
    return str(line.content) if line.display else ""


async def opened(pilot: object, screen: KvdoctorApp, which: int) -> None:
    """The tour's failure at position ``which``."""
    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    await settled(pilot, "start")
    await pilot.press("x")
    await until(pilot, lambda: isinstance(screen.screen, TourScreen), "the tour")
    await pilot.press(*["down"] * which, "enter")


def test_every_line_of_the_tour_stands_in_a_real_log() -> None:
    named = {file.name: file for one in incidents() for file, _ in one.inputs}
    assert named.keys() == FROM.keys()
    for name, file in named.items():
        real = iter((CASES / FROM[name]).read_bytes().split(b"\n"))
        for line in file.read_bytes().rstrip(b"\n").split(b"\n"):
            assert line in real, f"{name}: {line[:80]!r} is not there, or not in this order"
        assert file.stat().st_size < 10_000


def test_each_failure_of_the_tour_is_what_it_says() -> None:
    from kvdoctor.intake import read

    knowledge = load(private=False)
    for one in incidents():
        sources = [
            Source(read(file.read_bytes(), file.name, knowledge=knowledge.reading), side)
            for file, side in one.inputs
        ]
        shown = report(read_sources(sources, knowledge), knowledge)
        assert shown.record is not None
        assert (shown.record.id, shown.status) == SHOWN[one.id]
        assert "." not in one.story.rstrip("."), "one sentence"
        if shown.status == "cause":
            assert shown.fixes[0].fix.proof.level == "guard"


@pytest.mark.parametrize("size", SIZES)
async def test_the_tour_names_the_next_key_until_the_end(size: tuple[int, int]) -> None:
    screen = app(remember=True, knowledge=load(private=False))
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "start")
        assert any("x shows the way" in row for row in drawn(screen))
        await opened(pilot, screen, 1)
        await settled(pilot, "cause")
        await until(pilot, lambda: "y copies" in guide(screen), "the key y")
        assert any("y copies" in row for row in drawn(screen))
        await pilot.press("y")
        await told(pilot, "last-fix.txt")
        await until(pilot, lambda: "l opens the log" in guide(screen), "the key l")
        await pilot.press("l")
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        await pilot.press("escape")
        await until(pilot, lambda: "n shows" in guide(screen), "the key n")
        await pilot.press("n")
        await settled(pilot, "related")
        assert "[ goes back" in guide(screen)
        await pilot.press("left_square_bracket")
        await settled(pilot, "cause")
        assert "whole way" in guide(screen)
        await pilot.press("escape")
        await settled(pilot, "start")
        assert guide(screen) == ""
        assert any("Paste a vLLM log" in row for row in drawn(screen))
    screen.close_history()


async def test_a_question_of_the_tour_is_answered_with_the_named_keys() -> None:
    screen = app(knowledge=load(private=False))
    async with screen.run_test(size=(80, 24)) as pilot:
        await opened(pilot, screen, 2)
        await settled(pilot, "values")
        await until(pilot, lambda: "type the answer and press enter" in guide(screen), "enter")
        await pilot.press(*"no", "enter")
        await settled(pilot, "cause")
        assert "y copies" in guide(screen)


async def test_nothing_of_the_tour_is_kept_and_what_was_there_comes_back(tmp_path: Path) -> None:
    screen = app(LOG, remember=True, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("escape")
        await settled(pilot, "start")
        await opened(pilot, screen, 0)
        await until(pilot, lambda: step_of(pilot) in ("choose", "cause"), "the tour")
        await pilot.press("escape")
        await settled(pilot, "start")
        assert "tour is left" in said(pilot)
        await pilot.press("right_square_bracket")
        await settled(pilot, "cause")
        assert guide(screen) == ""
    screen.close_history()
    kept = Store(tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "history.db")
    assert [one.names for one in kept.entries()] == [("decode.log",)]
    kept.close()


async def test_a_paste_ends_the_tour() -> None:
    screen = app(answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await opened(pilot, screen, 0)
        await until(pilot, lambda: step_of(pilot) in ("choose", "cause"), "the tour")
        screen.post_message(events.Paste(LOG))
        await until(pilot, lambda: guide(screen) == "", "no tour")
        await settled(pilot, "cause")
        assert any("The widgets of both sides differ" in row for row in drawn(screen))
