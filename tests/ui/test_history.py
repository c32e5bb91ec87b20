"""Past diagnoses on the screen: kept as they are made, opened again with their answers, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import BOTH, LOG, SIZES, app, settled, told, until
from textual.widgets import OptionList, Static

from kvdoctor.history.store import Store
from kvdoctor.ui.historying import HistoryScreen


def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "history.db")


async def diagnosed(tmp_path: Path, size: tuple[int, int] = (80, 24)) -> None:
    """One finished diagnosis with one answer."""
    screen = app(LOG, remember=True)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "values")
        await pilot.press(*"yes", "enter")
        await settled(pilot, "cause")
    screen.close_history()


@pytest.mark.parametrize("size", SIZES)
async def test_a_diagnosis_is_kept_and_opened_again_with_its_answers(
    size: tuple[int, int], tmp_path: Path
) -> None:
    await diagnosed(tmp_path, size)
    kept = store(tmp_path)
    (one,) = kept.entries()
    kept.close()
    assert (one.outcome.status, one.names) == ("cause", ("decode.log",))
    screen = app(remember=True)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "start")
        await pilot.press("H")
        await until(pilot, lambda: isinstance(screen.screen, HistoryScreen), "the list")
        await until(pilot, lambda: screen.screen.query_one(OptionList).option_count == 1, "a row")
        await pilot.press("enter")
        await settled(pilot, "cause")
        await told(pilot, "entry 1")
        assert screen.state.answers["widget-sizes-differ"]["strict"] is True
    screen.close_history()
    again = store(tmp_path)
    assert len(again.entries()) == 1, "an entry that is opened is no new entry"
    again.close()


async def test_the_list_is_searched_and_an_entry_deleted(tmp_path: Path) -> None:
    await diagnosed(tmp_path)
    screen = app(BOTH, remember=True)
    async with screen.run_test() as pilot:
        await settled(pilot, "choose")
        await pilot.press("H")
        await until(pilot, lambda: isinstance(screen.screen, HistoryScreen), "the list")
        rows = lambda: screen.screen.query_one(OptionList).option_count  # noqa: E731
        await until(pilot, lambda: rows() == 2, "two rows")
        await pilot.press(*"no-such-word")
        await until(pilot, lambda: rows() == 0, "no row")
        await pilot.press(*["backspace"] * 12)
        await until(pilot, lambda: rows() == 2, "two rows again")
        await pilot.press("ctrl+d")
        await until(pilot, lambda: rows() == 1, "one row")
        await pilot.press("ctrl+x", "ctrl+x")
        await until(pilot, lambda: rows() == 0, "none")
        await pilot.press("escape")
    screen.close_history()
    kept = store(tmp_path)
    assert kept.entries() == []
    kept.close()


async def test_an_entry_can_be_opened_from_the_start(tmp_path: Path) -> None:
    await diagnosed(tmp_path)
    screen = app(remember=True, resuming=1)
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
    screen.close_history()


@pytest.mark.parametrize("size", SIZES)
async def test_brackets_walk_on_into_the_history_at_either_end(
    size: tuple[int, int], tmp_path: Path
) -> None:
    await diagnosed(tmp_path)
    screen = app(BOTH, remember=True)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "choose")
        await pilot.press("left_square_bracket")
        await settled(pilot, "start")
        await pilot.press("left_square_bracket")
        await settled(pilot, "cause")
        await told(pilot, "entry 1")
        await pilot.press("left_square_bracket")
        await settled(pilot, "start")
        await pilot.press("left_square_bracket")
        await told(pilot, "no earlier diagnosis")
        await pilot.press("right_square_bracket")
        await settled(pilot, "cause")
        await pilot.press("right_square_bracket")
        await settled(pilot, "choose")
        await told(pilot, "entry 2")
        await pilot.press("right_square_bracket")
        await told(pilot, "no later diagnosis")
    screen.close_history()


async def test_without_a_history_brackets_stay_within_the_visit() -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("escape", "left_square_bracket")
        await settled(pilot, "start")
        await pilot.press("right_square_bracket")
        await settled(pilot, "values")


async def test_switched_off_nothing_is_kept_and_no_key_is_offered(tmp_path: Path) -> None:
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("escape", "H")
        assert not isinstance(screen.screen, HistoryScreen)
    assert not (tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "history.db").exists()


async def test_a_home_that_cannot_be_written_to_is_told_once_and_hurts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    screen = app(LOG, remember=True)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await told(pilot, "no history")
        await pilot.press(*"yes", "enter")
        await settled(pilot, "cause")
    screen.close_history()


@pytest.mark.parametrize("remember", [True, False])
async def test_the_first_page_names_the_past_only_where_it_is_kept(remember: bool) -> None:
    screen = app(remember=remember)
    async with screen.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        page = str(screen.query_one("#introduction", Static).content)
        assert ("past diagnoses" in page) is remember
        assert "searches all records" in page
