"""Regular expressions that most texts never need are compiled when the first text needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class Lazy:
    """A pattern with the methods of :class:`re.Pattern` that the intake uses."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def now(self) -> re.Pattern[str]:
        """The compiled pattern."""
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.now().match(text, start)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.now().search(text, start)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.now().finditer(text)

    def split(self, text: str) -> list[str]:
        return self.now().split(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self.now().sub(new, text, count=count)
