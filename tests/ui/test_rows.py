"""What is cut keeps what tells: the end of a path, the line, the side."""

from __future__ import annotations

import pytest
from screens import LOG, app, settled, until
from textual.command import CommandPalette
from textual.widgets import OptionList

from kvdoctor.ui.glyphs import UNICODE
from kvdoctor.ui.panes.cause_text import source_words, value_row
from kvdoctor.values.value import Value

LONG = "tests/cases/059-nixl-dtype-mismatch/decode.log"


def test_a_source_that_is_cut_keeps_its_line() -> None:
    value = Value("dtype", "float16", "log", "decode", 118, LONG)
    assert source_words(value, 90, UNICODE) == f"{LONG} line 118"
    assert source_words(value, 30, UNICODE) == "decode.log:118"
    assert source_words(value, 10, UNICODE) == "…e.log:118"


def test_a_name_that_is_cut_keeps_its_side_and_a_path_its_end() -> None:
    value = Value("x", "/models/of/somebody/tiny-llama", "log", "decode", 118, LONG)
    row = value_row("local_attention_backend", value, 73, UNICODE).plain
    assert "… (decode)" in row
    assert "tiny-llama " in row
    assert row.rstrip().endswith(":118")


def test_a_wide_screen_shows_an_engine_id_whole() -> None:
    engine = "00000000-0000-4000-8000-000000000000_dp0_rank1"
    value = Value("engine_id", engine, "log", "decode", 118, LONG)
    assert engine in value_row("engine_id", value, 195, UNICODE).plain


@pytest.mark.parametrize("size", [(100, 3), (90, 2), (90, 1)])
@pytest.mark.parametrize("key", ["H", "/", "x", "S", "y", "ctrl+p"])
async def test_a_page_of_a_list_without_room_ends_nothing(key: str, size: tuple[int, int]) -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(90, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press(key)
        await pilot.pause(0.1)
        await pilot.resize_terminal(*size)
        await pilot.press("down", "pagedown", "pageup", "pagedown")
        await pilot.pause(0.1)
    assert not screen.return_code


async def test_the_palette_opens_and_pages_in_three_rows() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(100, 3)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(screen.screen, CommandPalette), "the palette")
        commands = screen.screen.query_one(OptionList)
        await pilot.press("down")
        await until(pilot, lambda: commands.option_count > 1, "commands")
        await pilot.press("pagedown", "pageup")
    assert not screen.return_code
