"""The bottom line: the keys of this step, the most useful first, as many as fit."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget


class Key(NamedTuple):
    """``action`` is Textual's: what a click on the word does."""

    key: str
    word: str
    action: str


class KeyBar(Widget):
    """A line of clickable words. What does not fit is left out; the last key ("?") always stays."""

    ALLOW_SELECT = False

    def __init__(self, keys: tuple[Key, ...] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._keys = keys

    def show(self, keys: tuple[Key, ...]) -> None:
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Content:
        return Content.from_markup("  ".join(_markup(one) for one in self.fitting()))

    def fitting(self) -> list[Key]:
        """The keys that fit into the width, the last one among them."""
        if not self._keys:
            return []
        *most, last = self._keys
        room = (self.size.width or 78) - _width(last)
        kept: list[Key] = []
        for one in most:
            if _width(one) + 2 > room:
                break
            kept.append(one)
            room -= _width(one) + 2
        return [*kept, last]


def _width(one: Key) -> int:
    return len(one.key) + 1 + len(one.word)


def _markup(one: Key) -> str:
    """Only the program's own words: nothing that was pasted comes here."""
    return f"[@click={one.action}][bold $footer-key-foreground]{one.key}[/] {one.word}[/]"
