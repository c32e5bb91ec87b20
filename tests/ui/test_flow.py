"""The whole path through the screen, at the smallest and at a large size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up import knowledge
from textual import events
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input, OptionList, Static

from kvdoctor.ui.app import KvdoctorApp, Pending

SIZES = [(80, 24), (200, 60)]
LOG = "ValueError: Widget size 3 does not divide 8 here\n"
BOTH = LOG + "\nRuntimeError: some other program failed\n"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test reads or writes the developer's own folders or clipboard."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY", "KVDOCTOR_KNOWLEDGE"):
        monkeypatch.delenv(name, raising=False)
    yield


def app(text: str = "", **more: object) -> KvdoctorApp:
    pending = (Pending("decode.log", "this", text),) if text else ()
    answers = {"vllm_release": "0.32.0", **more.pop("answers", {})}  # type: ignore[dict-item]
    return KvdoctorApp(pending=pending, knowledge=knowledge(), answers=answers)


async def settled(pilot: Pilot[int], step: str) -> None:
    """Wait until the screen stands at ``step``."""
    for _ in range(600):
        await pilot.pause(0.02)
        if pilot.app.query_one("#panes", ContentSwitcher).current == step:
            await pilot.pause()
            return
    raise AssertionError(f"never came to {step}: {step_of(pilot)}; {said(pilot)}")


def step_of(pilot: Pilot[int]) -> str | None:
    return pilot.app.query_one("#panes", ContentSwitcher).current


def said(pilot: Pilot[int]) -> str:
    return str(pilot.app.query_one("#message", Static).content)


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
        await pilot.press("y")
        file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
        assert file.read_text() == "--widget-size 8\n"
        assert str(file) in said(pilot)
        assert "copied" not in said(pilot), "no clipboard is within reach"
        await pilot.press("down", "y")
        assert file.read_text() == "--widget-size 2\n"
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
        assert (tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt").exists()


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
    "[/x]", "[red]boo", "\x1b]52;c;aGk=\x07", "\x1b[2J", "[@click=app.exit]a[/]", "\u202egnp.exe",
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
        await pilot.pause(0.1)
        assert screen.query_one("#answer", Input).value == "yes"


async def test_the_other_sides_text_joins() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        await pilot.press("o")
        await settled(pilot, "start")
        screen.post_message(events.Paste("vllm serve m --tensor-parallel-size 4"))
        for _ in range(100):
            await pilot.pause(0.02)
            if screen.state.read is not None and len(screen.state.read.sources) == 2:
                break
        assert screen.state.read is not None
        assert len(screen.state.read.sources) == 2
        assert screen.state.answers["widget-sizes-differ"]["strict"] is True
