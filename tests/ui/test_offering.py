"""The page that waits for the other side, and paths that are offered to be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from screens import LOG, app, drawn, said, settled, told, until
from textual import events
from textual.widgets import Input

from kvdoctor.ui.offering import path_in


def log_file(tmp_path: Path) -> Path:
    file = tmp_path / "a decode.log"
    file.write_text(LOG)
    return file


@pytest.mark.parametrize("form", ["{}", "'{}'", "file://{}", "{}\n"])
async def test_a_pasted_path_is_offered_and_read_only_with_enter(tmp_path: Path, form: str) -> None:
    file = log_file(tmp_path)
    screen = app()
    async with screen.run_test() as pilot:
        screen.post_message(events.Paste(form.format(file)))
        await told(pilot, "enter reads it")
        assert screen.shown is None, "nothing was read yet"
        await pilot.press("enter")
        await settled(pilot, "values")
        assert screen.shown is not None
        assert screen.shown.sources[0].paste.name == str(file)


async def test_a_path_of_no_plain_file_is_never_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    screen = app()
    async with screen.run_test() as pilot:
        for name, words in (
            (tmp_path, "is a folder"),
            (tmp_path / "pipe.log", "pipe.log is no plain file"),
            ("/dev/zero", "zero is no plain file"),
            (tmp_path / "none.log", "no file here"),
        ):
            screen.post_message(events.Paste(str(name)))
            await told(pilot, words)
            await pilot.press("enter")
            assert screen.shown is None


async def test_a_pasted_line_that_is_no_path_is_a_log() -> None:
    screen = app()
    async with screen.run_test() as pilot:
        screen.post_message(events.Paste(LOG.strip()))
        await settled(pilot, "values")


async def test_in_a_browser_no_path_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = app()
    async with screen.run_test() as pilot:
        monkeypatch.setenv("TEXTUAL_DRIVER", "kvdoctor.ui.served:ServedDriver")
        screen.post_message(events.Paste(str(log_file(tmp_path))))
        await settled(pilot, "choose")
        assert screen.offered is None


async def test_the_page_of_the_other_side_says_what_it_wants_and_takes_no_other_keys(
    tmp_path: Path,
) -> None:
    screen = app(LOG, pending=())
    async with screen.run_test(size=(80, 24)) as pilot:
        from kvdoctor.ui.app import Pending

        screen.read_inputs((Pending("decode.log", "decode", LOG),))
        await settled(pilot, "values")
        await pilot.press("tab", "o")
        await until(pilot, lambda: screen.adding, "the page")
        page = "\n".join(drawn(screen))
        assert "PASTE THE PREFILL SIDE HERE" in page
        assert "Nothing is lost" in page
        assert "esc leads back" in page
        theme = screen.theme
        await pilot.press(*"tsx/q")
        assert screen.theme == theme
        assert len(screen.screen_stack) == 1
        assert screen.query_one("#path", Input).value == "tsx/q"
        await pilot.press("enter")
        assert "no file of that name" in said(pilot)
        await pilot.press("escape")
        await settled(pilot, "values")
        assert not screen.adding
        assert screen.shown is not None
        assert len(screen.shown.sources) == 1


async def test_a_file_named_on_that_page_joins(tmp_path: Path) -> None:
    file = tmp_path / "prefill.log"
    file.write_text("vllm serve m --block-size 16\n")
    screen = app(LOG)
    async with screen.run_test() as pilot:
        await settled(pilot, "values")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: screen.adding, "the page")
        screen.post_message(events.Paste(str(file)))
        await told(pilot, "enter reads it")
        assert screen.query_one("#path", Input).value == str(file)
        await pilot.press("enter")
        await told(pilot, "joined")
        assert screen.shown is not None
        assert [one.paste.name for one in screen.shown.sources] == ["decode.log", str(file)]


def test_a_line_with_controls_or_of_great_length_is_no_path() -> None:
    assert path_in("a\x1b[2Jb.log") == ""
    assert path_in("x" * 5000) == ""
    assert path_in("two\nlines") == ""
    assert path_in(r"/no/such\ file.log") == "/no/such file.log"
