"""What opens in front of the flow: drawings, both sides, the palette; and the looks."""

from __future__ import annotations

import pytest
from screens import LOG, SIZES, app, drawn, said, settled, told, until
from textual.command import CommandPalette

from kvdoctor.show.sequence import sequence
from kvdoctor.ui.app import Pending
from kvdoctor.ui.drawing import PageScreen
from kvdoctor.ui.themes import ORDER

PREFILL = "vllm serve m --tensor-parallel-size 2 --block-size 16 --dtype float16\n"
DECODE = "vllm serve m --tensor-parallel-size 4 --block-size 64 --dtype float16\n"


@pytest.mark.parametrize("size", SIZES)
async def test_b_shows_both_sides_and_marks_what_differs(size: tuple[int, int]) -> None:
    pending = (Pending("p", "prefill", PREFILL), Pending("d", "decode", DECODE + LOG))
    screen = app(pending=pending, answers={"strict": "yes"})
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "cause")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(screen.screen, PageScreen), "both sides")
        rows = drawn(screen)
        row = next(one for one in rows if "block_size" in one)
        assert "≠" in row
        assert row.split()[-2:] == ["16", "64"]
        same = next(one for one in rows if "dtype" in one)
        assert "≠" not in same
        await pilot.press("escape")
        assert not isinstance(screen.screen, PageScreen)


async def test_one_side_alone_is_told_how_the_other_one_joins() -> None:
    screen = app(pending=(Pending("d", "decode", DECODE),))
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "choose")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(screen.screen, PageScreen), "both sides")
        assert any("Nothing is known of the prefill side" in row for row in drawn(screen))


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_g_draws_blocks_and_the_failed_step_without_colour(ascii_only: bool) -> None:
    pending = (Pending("p", "prefill", PREFILL), Pending("d", "decode", DECODE + LOG))
    screen = app(pending=pending, answers={"strict": "yes"}, ascii_only=ascii_only)
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        await pilot.press("g")
        await until(pilot, lambda: isinstance(screen.screen, PageScreen), "the drawings")
        page = "\n".join(drawn(screen))
        assert "prefill 16, decode 64" in page
        assert "failed here, in the decode log" in page
        assert page.isascii() == ascii_only


@pytest.mark.parametrize(("stage", "step"), [(10, "start"), (70, "handshake"), (80, "transfer")])
def test_the_step_that_failed_is_bracketed_and_pointed_at(stage: int, step: str) -> None:
    rows = sequence(stage, "prefill", ascii_only=True)
    assert f"[{step}]" in rows[1]
    left = rows[1].index("[")
    assert left <= rows[2].index("^") <= left + len(step) + 1
    assert all(len(row) <= 80 for row in rows)


async def test_the_palette_has_every_key_of_the_step() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        base = screen.screen
        titles = {one.title for one in screen.get_system_commands(base)}
        shown = {
            one.binding.description
            for one in base.active_bindings.values()
            if one.enabled and one.binding.show and one.binding.description
        }
        assert "copy the marked fix" in titles
        assert shown <= titles
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(screen.screen, CommandPalette), "the palette")
        await pilot.press(*"incident note")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await told(pilot, "incident note")


async def test_t_goes_through_every_look_and_each_can_be_drawn() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")
        seen = []
        for _ in ORDER:
            await pilot.press("t")
            seen.append(screen.theme)
            assert "theme: " in said(pilot)
            assert any("The widgets of both sides differ" in row for row in drawn(screen))
        assert sorted(seen) == sorted(ORDER)


@pytest.mark.parametrize("size", [(40, 12), (20, 6), (10, 3), (300, 100)])
async def test_any_size_is_drawn_and_the_step_is_named(size: tuple[int, int]) -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "cause")
        assert "[cause and" in drawn(screen)[0] or size[0] < 20
        assert all(len(row) <= size[0] for row in drawn(screen))


async def test_a_storm_of_sizes_leaves_the_screen_as_it_was() -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test(size=(80, 24)) as pilot:
        await settled(pilot, "cause")

        def page() -> list[str]:
            return [row[:78].rstrip() for row in drawn(screen)]  # without the scroll bar

        before = page()
        for step in range(40):
            await pilot.resize_terminal(10 + step * 7, 3 + step * 2)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: page() == before, "the same page")
