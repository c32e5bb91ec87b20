"""Draws every screen in every look as SVG: for the README, and to compare with later drawings.

    python tests/ui/pictures.py [NAME…]

writes tests/ui/screens/*.svg anew. Look at the difference before it is committed.

The drawing is Textual's own export; what is not the screen (the font from a server, ids that hang
on the content) is taken out, so that the same screen is the same file. Comparing what a reader
sees, in forty lines, needs no further dependency, and a failure names the pieces that changed.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from made_up import knowledge
from screens import LOG, app, until
from textual.pilot import Pilot
from textual.widgets import Input

from kvdoctor.ui.app import KvdoctorApp, Pending
from kvdoctor.ui.themes import CONTRAST, DARK, LIGHT, take

FOLDER = Path(__file__).with_name("screens")
CASES = Path(__file__).parents[1] / "cases"
THEMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST}
SMALL, LARGE = (80, 24), (200, 60)
PREFILL = "vllm serve m --tensor-parallel-size 2 --block-size 16 --dtype float16\n"
DECODE = "vllm serve m --tensor-parallel-size 4 --block-size 64 --dtype float16 --widget-size 3\n"
HEAD = "".join(
    f"(Worker_TP{i % 2} pid={8 + i % 2}) INFO 11-30 10:00:{i:02} [core.py:{i}] step {i} went well\n"
    for i in range(30)
)


class Shot(NamedTuple):
    """``keys`` are pressed once the inputs are read."""

    keys: tuple[str, ...] = ()
    text: str = PREFILL
    answered: bool = True
    other: str = DECODE + HEAD + LOG
    real: str = ""  # a case whose logs are read with the shipped knowledge instead


SHOTS = {
    "start": Shot(text="", other=""),
    "choose": Shot(other=f"{LOG}\nRuntimeError: some other program failed\n"),
    "values": Shot(answered=False),
    "cause": Shot(),
    "fix": Shot(("enter",)),
    "drawings": Shot(("g",)),
    "both-sides": Shot(("b",)),
    "related": Shot(("n",)),
    "log": Shot(("l",)),
    "help": Shot(("question_mark",)),
    "search": Shot(("slash", "w", "i", "d", "g", "e", "t"), text="", other=""),
    "real-cause": Shot(real="061-nixl-blocksize-d-smaller"),
    "real-drawings": Shot(("g",), real="061-nixl-blocksize-d-smaller"),
    "real-log": Shot(("l",), real="061-nixl-blocksize-d-smaller"),
}


def application(shot: Shot) -> KvdoctorApp:
    if shot.real:
        logs = [(CASES / shot.real / f"{side}.log").read_bytes() for side in ("prefill", "decode")]
        return KvdoctorApp(
            pending=(Pending("prefill.log", "prefill", logs[0]),
                     Pending("decode.log", "decode", logs[1])),
        )  # fmt: skip
    pending = (Pending("prefill.log", "prefill", shot.text),) if shot.text else ()
    pending += (Pending("decode.log", "decode", shot.other),) if shot.other else ()
    answers = {"strict": "yes"} if shot.answered else {}
    return app(pending=pending, answers=answers, knowledge=knowledge())


async def draw(name: str, theme: str, size: tuple[int, int] = SMALL) -> str:
    """One screen as SVG."""
    shot = SHOTS[name]
    screen = application(shot)
    screen.animation_level = "none"
    async with screen.run_test(size=size) as pilot:
        take(screen, THEMES[theme])
        if shot.text or shot.other or shot.real:
            await until(pilot, lambda: screen.shown is not None, "the report")
        for key in shot.keys:
            await pilot.press(key)
        await _still(pilot)
        return still(screen.export_screenshot(title="kvdoctor"))


async def _still(pilot: Pilot[int]) -> None:
    """Wait until two drawings in a row are the same; no cursor blinks."""
    last = ""
    for _ in range(60):
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause(0.1)
        now = pilot.app.export_screenshot(title="kvdoctor")
        if now == last:
            return
        last = now


def still(svg: str) -> str:
    """The drawing without what changes by itself."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg)
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)  # blanks at the start of a text
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def content(svg: str) -> list[tuple[str, str, str]]:
    """What a reader sees: (place, style, text) of every piece of text, and every ground."""
    styles = dict(re.findall(r"\.terminal-(r\d+) \{ ([^}]*)\}", svg))
    found = [
        (f"{y} {x}", " ".join(styles.get(style, style).split()), text)
        for style, x, y, text in re.findall(
            r'<text class="terminal-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg
        )
    ]
    grounds = re.findall(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', svg)
    return found + [(f"{y} {x}", fill, width) for fill, x, y, width in grounds]


def pictures() -> list[tuple[str, str, str, tuple[int, int]]]:
    """(file name, screen, look, size) of all drawings that are kept."""
    kept = [
        (f"{name}-{theme}.svg", name, theme, SMALL)
        for name in SHOTS
        for theme in THEMES
        if theme == "dark" or not name.startswith("real-")
    ]
    return [*kept, ("cause-dark-200x60.svg", "cause", "dark", LARGE)]


async def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for file, name, theme, size in pictures():
        if not names or name in names:
            (FOLDER / file).write_text(await draw(name, theme, size), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
