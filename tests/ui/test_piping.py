"""A log from a pipe, also from one that never ends."""

from __future__ import annotations

import os

from screens import LOG, app, settled, told

from kvdoctor.ui.piping import Pipe


async def test_a_pipe_that_ends_is_read_by_itself() -> None:
    reading, writing = os.pipe()
    screen = app(pipe=Pipe(reading), answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        os.write(writing, LOG.encode())
        os.close(writing)
        await settled(pilot, "cause")


async def test_a_pipe_that_goes_on_is_read_with_enter() -> None:
    reading, writing = os.pipe()
    screen = app(pipe=Pipe(reading), answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await told(pilot, "waiting for the pipe")
        os.write(writing, LOG.encode())
        await told(pilot, "have come")
        await pilot.press("enter")
        await settled(pilot, "cause")
    os.close(writing)


async def test_an_empty_pipe_leaves_the_start_and_says_so() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    screen = app(pipe=Pipe(reading))
    async with screen.run_test() as pilot:
        await told(pilot, "brought nothing")
