"""Help for tests of the screen: an application over made-up records, and waiting on its state."""

from __future__ import annotations

from collections.abc import Callable

from made_up import knowledge
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Static

from kvdoctor.ui.app import KvdoctorApp, Pending

SIZES = [(80, 24), (200, 60)]
LOG = "ValueError: Widget size 3 does not divide 8 here\n"
BOTH = LOG + "\nRuntimeError: some other program failed\n"


def app(text: str = "", **more: object) -> KvdoctorApp:
    if text:
        more.setdefault("pending", (Pending("decode.log", "this", text),))
    answers = {"vllm_release": "0.32.0", **more.pop("answers", {})}  # type: ignore[dict-item]
    more.setdefault("knowledge", knowledge())
    return KvdoctorApp(answers=answers, **more)  # type: ignore[arg-type]


async def until(pilot: Pilot[int], true: Callable[[], bool], what: str = "") -> None:
    """Wait until a condition holds."""
    for _ in range(300):
        if true():
            await pilot.pause()
            return
        await pilot.pause(0.02)
    raise AssertionError(f"never came: {what}; at {step_of(pilot)}, said {said(pilot)!r}")


async def settled(pilot: Pilot[int], step: str) -> None:
    """Wait until the screen stands at ``step``."""
    await until(pilot, lambda: step_of(pilot) == step, step)


async def told(pilot: Pilot[int], words: str) -> None:
    """Wait until the message line holds ``words``."""
    await until(pilot, lambda: words in said(pilot), words)


def step_of(pilot: Pilot[int]) -> str | None:
    return pilot.app.screen_stack[0].query_one("#panes", ContentSwitcher).current


def said(pilot: Pilot[int]) -> str:
    return str(pilot.app.screen_stack[0].query_one("#message", Static).content)


def drawn(screen: KvdoctorApp) -> list[str]:
    """The rows of the terminal as they are drawn now."""
    rows = screen.screen._compositor.render_strips()
    return ["".join(segment.text for segment in row).rstrip() for row in rows]
