"""The whole path through the screen, at the smallest and at a large size."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import BOTH, LOG, SIZES, app, drawn, said, settled, step_of, told, until
from textual import events
from textual.widgets import Input, OptionList, Static

from kvdoctor.ui.fixdetail import FixScreen
from kvdoctor.ui.helping import HelpScreen
from kvdoctor.ui.keybar import KeyBar
from kvdoctor.ui.logscreen import LogScreen


@pytest.mark.parametrize("size", SIZES)
async def test_paste_answer_copy_and_walk_on(size: tuple[int, int], tmp_path: Path) -> None:
    screen = app()
    async with screen.run_test(size=size) as pilot:
        screen.post_message(events.Paste(LOG))
        await settled(pilot, "values")
        assert screen.focused is screen.query_one("#answer", Input)
        await pilot.press(*"maybe", "enter")
        assert "yes or no" in said(pilot)
        assert screen.query_one("#answer", Input).value == "maybe", "what was typed stays"
        await pilot.press(*["backspace"] * 5, *"yes", "enter")
        await settled(pilot, "cause")
        file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
        await pilot.press("y")
        await told(pilot, "last-fix.txt")
        assert file.read_text() == "--widget-size 8\n"
        assert str(file) in said(pilot)
        assert "copied" not in said(pilot), "no clipboard is within reach"
        await pilot.press("down", "y")
        await until(pilot, lambda: file.read_text() == "--widget-size 2\n", "the second fix")
        await pilot.press("n")
        await settled(pilot, "related")
        await pilot.press("enter")
        await settled(pilot, "cause")
        assert screen.state.visit.record == "widget-missing"
        await pilot.press("escape", "escape")
        await settled(pilot, "cause")
        assert screen.state.visit.record is None
        assert screen.state.answers["widget-sizes-differ"]["strict"] is True


@pytest.mark.parametrize("size", SIZES)
async def test_a_named_log_needs_two_keys_to_the_copied_fix(
    size: tuple[int, int], tmp_path: Path
) -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "cause")
        await pilot.press("y")
        file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
        await until(pilot, file.exists, "the file")


async def test_the_usual_value_is_taken_with_enter() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        assert "usually True" in screen.query_one("#answer", Input).placeholder
        await pilot.press("enter")
        await settled(pilot, "cause")


async def test_several_errors_are_offered_for_choice() -> None:
    screen = app(BOTH)
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        assert screen.query_one("#findings", OptionList).option_count == 2
        await pilot.press("enter")
        await settled(pilot, "values")


async def test_undo_asks_again_and_a_changed_value_decides_anew() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("u")
        await settled(pilot, "values")
        await pilot.press("enter")
        await settled(pilot, "cause")
        await pilot.press("v")
        await settled(pilot, "values")
        await pilot.press("home", "enter")
        assert screen.query_one("#answer", Input).value == "3"
        await pilot.press("backspace", "4", "enter")
        await settled(pilot, "cause")
        assert screen.shown is not None
        assert screen.shown.status == "no_cause"


HOSTILE = [
    "[/x]",
    "[red]boo",
    "\x1b]52;c;aGk=\x07",
    "\x1b[2J",
    "[@click=app.exit]a[/]",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_pasted_text_is_never_markup_nor_an_escape(hostile: str) -> None:
    screen = app(f"{LOG}RuntimeError: {hostile} other {hostile}\n")
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        drawn = screen.export_screenshot()
        assert not any(sign in drawn for sign in ("\x1b", "\x07", "\u202e"))
        assert "other" in drawn
        assert screen.is_running


async def test_a_clean_log_says_so_and_says_what_to_do() -> None:
    screen = app("INFO 01-01 10:00:00 [core.py:1] all is well\n")
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        assert "No known trouble" in str(screen.query_one("#choose-title", Static).content)


async def test_q_leaves_from_the_top_only() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("q")
        assert screen.is_running
        assert "ctrl+q" in said(pilot)


async def test_the_keys_of_a_step_are_listed_and_any_key_closes_the_list() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("question_mark")
        assert len(screen.screen_stack) == 2
        await pilot.press("escape")
        assert len(screen.screen_stack) == 1
        assert step_of(pilot) == "cause"


async def test_search_opens_a_record() -> None:
    screen = app()
    async with screen.run_test() as pilot:
        await pilot.press("slash", *"missing widget", "enter")
        await settled(pilot, "values")
        assert screen.state.visit.record == "widget-missing"


async def test_an_answer_field_takes_a_pasted_word() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        screen.post_message(events.Paste("yes"))
        await until(pilot, lambda: screen.query_one("#answer", Input).value == "yes")


async def test_the_other_sides_text_joins() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("o")
        await settled(pilot, "start")
        screen.post_message(events.Paste("vllm serve m --tensor-parallel-size 4"))
        await settled(pilot, "cause")
        assert screen.state.read is not None
        assert len(screen.state.read.sources) == 2
        assert screen.state.answers["widget-sizes-differ"]["strict"] is True


COMMAND = "vllm serve m --tensor-parallel-size 4 --widget-size 3\n"


async def test_the_first_page_says_what_is_wrong_why_and_the_first_fix_with_its_proof() -> None:
    screen = app(COMMAND + LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        page = "\n".join(drawn(screen))
        for words in (
            "The widgets of both sides differ",
            "ValueError: Widget size 3",
            "Cause  8 leaves 2.",
            "Fix 1 of",
            "    --widget-size 8",
            "proof ",
            "- --widget-size 3",
            "+ --widget-size 8",
        ):
            assert words in page
        marked = [row for row in drawn(screen) if row.startswith(" ▌")]
        assert len(marked) >= 4, "the mark runs along the whole fix, and along no other"
        assert not any("Fix 2" in row for row in marked)


async def test_a_message_does_not_hide_the_marked_fix() -> None:
    screen = app(COMMAND + LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("y")
        await told(pilot, "last-fix.txt")
        page = "\n".join(drawn(screen))
        assert "    --widget-size 8" in page
        assert "clipboard" in page


@pytest.mark.parametrize("width", [40, 80, 132])
async def test_the_keys_fit_the_width_and_help_is_always_among_them(width: int) -> None:
    screen = app(COMMAND + LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(width, 24)) as pilot:
        await settled(pilot, "cause")
        keys = [one.key for one in screen.query_one(KeyBar).fitting()]
        assert keys[0] == "y"
        assert keys[-1] == "?"
        assert drawn(screen)[-1].endswith("? keys")
        assert len(drawn(screen)[-1]) <= width


async def test_a_click_on_a_key_does_what_the_key_does() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        at = drawn(screen)[-1].index("log")
        await pilot.click(offset=(at, 23))
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")


async def test_the_decision_tree_says_how_each_check_came_out_and_what_an_answer_changed() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 40)) as pilot:
        await settled(pilot, "cause")
        tree = str(screen.query_one("#tree", Static).content)
        assert "✓ holds" in tree
        assert "other release" in tree or "not reached" in tree
        assert "was" not in tree
        screen.change_value("strict")
        await settled(pilot, "values")
        screen.query_one("#answer", Input).value = "no"
        await pilot.press("enter")
        await settled(pilot, "cause")
        tree = str(screen.query_one("#tree", Static).content)
        assert "✗ ruled out" in tree
        assert "was holds" in tree


async def test_enter_on_a_fix_shows_its_proof_and_y_there_copies_it(tmp_path: Path) -> None:
    screen = app(COMMAND + LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.screen, FixScreen), "the fix")
        assert "whole command after it" in "\n".join(drawn(screen))
        await pilot.press("c")
        await told(pilot, "last-fix.txt")
        file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
        assert file.read_text() == "vllm serve m --tensor-parallel-size 4 --widget-size 8\n"


async def test_the_question_says_where_to_look_and_f1_tells_more() -> None:
    screen = app(LOG)
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "values")
        page = "\n".join(drawn(screen))
        assert "strict mode?" in page
        assert "yes / no" in page
        assert "enter on an empty answer takes it" in page
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(screen.screen, HelpScreen), "help")
        assert "The answer tells whether this is the cause:" in "\n".join(drawn(screen))
        await pilot.press("escape")
        assert step_of(pilot) == "values"


async def test_help_is_filtered_by_typing() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(screen.screen, HelpScreen), "help")
        await pilot.press(*"incident")
        text = str(screen.screen.query_one("#help-text", Static).content)
        assert text.split() == ["Y", "copy", "an", "incident", "note"]


async def test_resizing_keeps_the_marked_fix() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("down")
        before = screen.marked_fix()
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert before is not None
        assert screen.marked_fix() == before
        assert before.fix.id == "nearest"


async def test_down_walks_over_fixes_evidence_and_values() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        lists: list[str] = []
        for _ in range(5):
            assert screen.focused is not None
            lists.append(screen.focused.id or "")
            await pilot.press("down")
        assert list(dict.fromkeys(lists)) == ["fixes", "evidence", "cause-values"]


async def test_ctrl_c_once_tells_and_twice_leaves() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("ctrl+c")
        assert "once more" in said(pilot)
        assert screen.is_running
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert screen.return_value == 0


async def test_ascii_draws_nothing_else() -> None:
    screen = app(COMMAND + LOG, answers={"strict": "yes"}, ascii_only=True)
    async with screen.run_test(size=(80, 60)) as pilot:
        await settled(pilot, "cause")
        assert "\n".join(drawn(screen)).isascii()
        await pilot.press("l")
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        assert "\n".join(drawn(screen)).isascii()


async def test_who_cannot_tell_is_led_on() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("question_mark", "enter")
        await settled(pilot, "cause")
        assert screen.shown is not None
        assert screen.shown.status == "no_cause"


@pytest.mark.parametrize("size", SIZES)
async def test_an_error_without_a_record_shows_what_is_known_of_its_place(
    size: tuple[int, int],
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/vllm/v1/unheard.py", line 9, '
        "in run\n    raise ValueError(text)\nValueError: never heard of\n"
    )
    screen = app(log)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "cause")
        shown = str(screen.query_one("#advice", Static).content)
        assert "No release known here has this error at this place" in shown
        assert "TO COLLECT" in shown
