"""The signs that the screen draws with, in Unicode and in ASCII."""

from __future__ import annotations

from typing import NamedTuple

from textual.app import App


class Glyphs(NamedTuple):
    """Each stands beside a word: no meaning hangs on a sign or a colour alone."""

    gutter: str = "▌"
    yes: str = "✓"
    no: str = "✗"
    open: str = "?"
    other: str = "–"
    unreached: str = "·"
    bar: str = "│"
    cut: str = "…"
    then: str = "›"
    mark: str = "▶"
    arrow: str = "→"


UNICODE = Glyphs()
ASCII = Glyphs(">", "+", "x", "?", "-", ".", "|", "~", ">", ">", "->")


def glyphs_of(app: App[int]) -> Glyphs:
    """The signs that this terminal can show."""
    return ASCII if getattr(app, "ascii_only", False) else UNICODE


def plain_scrollbars() -> None:
    """Scroll bars without block characters."""
    from textual.scrollbar import ScrollBar, ScrollBarRender

    class PlainScrollBarRender(ScrollBarRender):
        VERTICAL_BARS = [" "] * 8
        HORIZONTAL_BARS = [" "] * 8

    ScrollBar.renderer = PlainScrollBarRender
