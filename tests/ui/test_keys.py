"""What the bottom line names works from where the focus is; what does nothing says why."""

from __future__ import annotations

import pytest
from screens import BOTH, LOG, app, said, settled, step_of, told, until
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from kvdoctor.ui.helping import HelpScreen
from kvdoctor.ui.keybar import KeyBar
from kvdoctor.ui.logscreen import LogScreen


def named(pilot: Pilot[int]) -> dict[str, str]:
    """The keys that the bottom line has room for, with their words."""
    bar = pilot.app.screen_stack[0].query_one(KeyBar)
    return {one.key: one.word for one in bar.fitting()}


async def test_in_the_answer_field_the_bottom_line_names_no_letter_as_a_key() -> None:
    screen = app(LOG)
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "values")
        keys = named(pilot)
        letters = [key for key in keys if len(key) == 1 and key != "?"]
        assert not letters
        assert keys["?"] == "can't tell", "and this is what is typed"
        assert keys["^o"] == "other side"
        assert {"enter", "tab", "esc", "^l", "F1"} <= set(keys)


async def test_every_key_named_in_the_answer_field_does_what_it_says() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(screen.screen, LogScreen), "the log")
        await pilot.press("escape")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(screen.screen, HelpScreen), "the help")
        assert named(pilot) == {"esc": "closes what is in front"}
        await pilot.press("escape")
        await until(pilot, lambda: "esc" in named(pilot) and "^o" in named(pilot), "the keys")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: screen.adding, "the page of the other side")


async def test_in_the_list_beside_the_field_letters_are_keys_again() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("tab")
        await until(pilot, lambda: "o" in named(pilot), "the keys of the list")
        assert named(pilot)["enter"] == "change"
        await pilot.press("tab")
        assert screen.focused is screen.query_one("#answer", Input), "tab leads back"
        await pilot.press("tab", "o")
        await until(pilot, lambda: screen.adding, "the page of the other side")


async def test_a_log_pasted_at_a_question_joins_whole() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        screen.post_message(events.Paste("vllm serve m \\\n  --block-size 16\n"))
        await told(pilot, "joined")
        assert screen.shown is not None
        assert len(screen.shown.sources) == 2
        assert screen.query_one("#answer", Input).value == ""


async def test_before_a_paste_the_keys_of_a_fix_ask_for_one() -> None:
    screen = app()
    async with screen.run_test() as pilot:
        await pilot.press("y")
        assert "paste a log first" in said(pilot)


@pytest.mark.parametrize("key", ["y", "c", "p"])
async def test_a_key_of_a_fix_says_why_there_is_none_yet(key: str) -> None:
    screen = app(BOTH)
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        await pilot.press(key)
        assert "enter takes up the marked one" in said(pilot)
        await pilot.press("enter")
        await settled(pilot, "values")
        await pilot.press("tab", key)
        assert "the cause is not decided" in said(pilot)
        await pilot.press("shift+tab", "?", "enter")
        await settled(pilot, "cause")
        assert screen.shown is not None
        assert not screen.shown.fixes
        await pilot.press(key)
        assert "no fix" in said(pilot)


async def test_a_clean_text_offers_nothing_to_take_up() -> None:
    screen = app("INFO 01-01 10:00:00 [core.py:1] all is well\n")
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        assert "enter" not in named(pilot)
        await pilot.press("u")
        assert "no answer was given yet" in said(pilot)
        assert step_of(pilot) == "choose"


async def test_the_palette_has_our_own_keys_and_no_foreign_ones_before_them() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        titles = sorted(one.title for one in screen.get_system_commands(screen.screen))
        assert "copy the marked fix" in titles
        assert not {"Maximize", "Theme", "Keys", "Screenshot"} & set(titles)
        assert len(titles) == len(set(titles))
