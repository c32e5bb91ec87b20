"""The log beside the answer: its marks, its errors, finding, filtering, folding."""

from __future__ import annotations

import pytest
from screens import LOG, SIZES, app, drawn, settled, until
from textual.pilot import Pilot
from textual.widgets import Input

from kvdoctor.ui.app import KvdoctorApp, Pending
from kvdoctor.ui.loglines import LogLines
from kvdoctor.ui.logscreen import LogScreen

HEAD = "".join(
    f"(EngineCore pid={7 + i % 2}) INFO 11-30 10:00:00 [core.py:1] step {i}\n" for i in range(300)
)
TRACE = """\
ERROR 11-30 10:00:01 [core.py:9] something else went wrong
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/torch/nn/module.py", line 5, in call
    return forward()
  File "/usr/lib/python3/site-packages/vllm/widget.py", line 9, in compare
    raise ValueError(text)
"""
TEXT = HEAD + TRACE + LOG + HEAD
NUMBER = 300 + 6 + 1  # of the exception line


async def opened(pilot: Pilot[int], screen: KvdoctorApp) -> LogLines:
    await until(pilot, lambda: screen.shown is not None, "the report")
    screen.action_log()
    await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
    view = screen.screen.query_one(LogLines)
    await until(pilot, lambda: view.number > 1, "the place")
    return view


def title(screen: KvdoctorApp) -> str:
    return drawn(screen)[0]


@pytest.mark.parametrize("size", SIZES)
async def test_it_opens_at_the_evidence_which_is_marked(size: tuple[int, int]) -> None:
    screen = app(TEXT, answers={"strict": "yes"})
    async with screen.run_test(size=size) as pilot:
        await opened(pilot, screen)
        row = next(one for one in drawn(screen) if "Widget size 3" in one)
        assert row.startswith("\u25b6")
        assert str(NUMBER) in row
        assert f"line {NUMBER}" in title(screen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(screen.screen, LogScreen), "the answer")


async def test_e_goes_from_error_to_error_and_says_when_there_is_none() -> None:
    screen = app(TEXT + "\nRuntimeError: some other program failed\n")
    async with screen.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, screen)
        last = len(view.lines)
        await pilot.press("e")
        assert view.number == last
        await pilot.press("E")
        assert view.number == NUMBER
        await pilot.press("E")
        assert "no error above" in title(screen)
        await pilot.press("e", "e")
        assert view.number == last
        assert "no error below" in title(screen)
        await pilot.press("home", "m")
        assert view.number == min(view.marks)


async def test_find_marks_all_hits_and_goes_through_them() -> None:
    screen = app(TEXT, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, screen)
        await pilot.press("slash", *"Step 29", "enter")
        await until(pilot, lambda: "22 lines with" in title(screen), "the hits")
        assert view.number == NUMBER + 30, "the next hit from where the cursor stood"
        await pilot.press("n")
        assert view.number == NUMBER + 291
        await pilot.press("N", "N")
        assert view.number == 300
        await pilot.press("slash")
        await pilot.press("escape")
        assert isinstance(screen.screen, LogScreen), "esc closes the find field first"
        screen.screen.query_one(Input).value = ""
        await pilot.press("slash", *"no such words", "enter")
        await until(pilot, lambda: "does not stand" in title(screen), "no hit")


async def test_one_process_can_be_shown_alone() -> None:
    screen = app(TEXT.replace("pid=8", "pid=8)(Worker_TP1 pid=8"), answers={"strict": "yes"})
    async with screen.run_test(size=(200, 24)) as pilot:
        view = await opened(pilot, screen)
        everything = len(view.rows)
        names = sorted({line.process for line in view.lines if line.process})
        seen = []
        for name in names:
            await pilot.press("p")
            assert f"only {name}" in title(screen)
            assert {view.lines[at].process for at in view.rows} == {name}
            seen.append(len(view.rows))
        await pilot.press("p")
        assert len(view.rows) == everything
        assert sum(seen) < everything


async def test_folding_hides_other_libraries_frames_only() -> None:
    screen = app(TEXT, answers={"strict": "yes"})
    async with screen.run_test(size=(120, 24)) as pilot:
        view = await opened(pilot, screen)
        before = len(view.rows)
        await pilot.press("f")
        page = "\n".join(drawn(screen))
        assert before - len(view.rows) == 2
        assert "torch/nn" not in page
        assert "vllm/widget.py" in page
        assert view.number == NUMBER, "the cursor stays on its line"
        await pilot.press("f")
        assert len(view.rows) == before


async def test_w_shows_lines_whole_or_without_their_prefix() -> None:
    screen = app(TEXT, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await opened(pilot, screen)
        await pilot.press("home")
        assert "[core.py:1]" not in "\n".join(drawn(screen))
        await pilot.press("w")
        assert "[core.py:1]" in "\n".join(drawn(screen))


async def test_a_long_log_draws_only_what_is_in_sight() -> None:
    lines = 30_000
    screen = app(HEAD * (lines // 300) + TRACE + LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, screen)
        drawn_rows: list[int] = []
        draw = view.render_line
        view.render_line = lambda y: (drawn_rows.append(y), draw(y))[1]  # type: ignore[method-assign]
        await pilot.press("home")
        await until(pilot, lambda: view.number == 1, "the top")
        await pilot.press("end")
        await until(pilot, lambda: view.number == lines + 7, "the end")
        assert "Widget size 3" in "\n".join(drawn(screen))
        assert len(drawn_rows) < 300


async def test_from_a_value_l_goes_to_the_line_where_it_was_read() -> None:
    screen = app(TEXT, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        screen.query_one("#cause-values").focus()
        await pilot.pause()
        place = screen.pane.place()
        assert place is not None
        await pilot.press("l")
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        view = screen.screen.query_one(LogLines)
        await until(pilot, lambda: view.number == place[1], "the place")


async def test_hostile_lines_are_drawn_harmless() -> None:
    hostile = "\x1b]0;title\x07 \u202egnp.exe [red]x[/] \x1b[2J\n"
    screen = app(TEXT + hostile, answers={"strict": "yes"})
    async with screen.run_test(size=(200, 24)) as pilot:
        await opened(pilot, screen)
        await pilot.press("end")
        page = "\n".join(drawn(screen))
        assert "[red]x[/]" in page
        assert not any(sign in page for sign in "\x1b\x07\u202e")


async def test_with_both_sides_texts_s_goes_to_the_other_one() -> None:
    prefill = Pending("/logs/p/prefill.log", "prefill", HEAD)
    pending = (prefill, Pending("decode.log", "decode", TEXT))
    screen = app(pending=pending, answers={"strict": "yes"})
    async with screen.run_test(size=(100, 24)) as pilot:
        view = await opened(pilot, screen)
        assert title(screen).startswith(" decode.log (decode) | line")
        await pilot.press("s")
        await until(pilot, lambda: "prefill.log (prefill)" in title(screen), "the other text")
        other = screen.screen.query_one(LogLines)
        assert other is not view
        await pilot.press("end")
        assert other.number == 300


async def test_a_log_pasted_newest_first_is_shown_as_it_was_pasted() -> None:
    rows = [f"INFO 11-30 10:{i // 60:02}:{i % 60:02} [core.py:1] step {i}" for i in range(300)]
    rows.append("ERROR 11-30 10:09:00 [core.py:2] ValueError: Widget size 3 does not divide 8 here")
    screen = app("\n".join(reversed(rows)) + "\n", answers={"strict": "yes"})
    async with screen.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: screen.shown is not None, "the report")
        screen.action_log()
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        view = screen.screen.query_one(LogLines)
        numbers = [line.number for line in view.lines]
        assert numbers == sorted(numbers)
        await pilot.press("home")
        assert "Widget size 3" in drawn(screen)[1]


async def test_folding_a_log_with_errors_that_have_no_frames_hides_nothing() -> None:
    failed = "ERROR 11-30 10:09:00 [core.py:2] ValueError: Widget size 3 does not divide 8 here\n"
    screen = app(HEAD + failed, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        screen.action_log()
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        view = screen.screen.query_one(LogLines)
        await pilot.press("f")
        await until(pilot, lambda: "libraries folded" in title(screen), "the filter")
        assert len(view.rows) == len(view.lines)
