"""A long text in pieces of whole lines.

One character beyond ASCII (vLLM's own banner has some) doubles the memory of the string it stands
in, and every step over a text makes another one: a piece keeps both small.
"""

from __future__ import annotations

from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AnyStr

SIZE = 1 << 16  # characters of a piece, and what is left of its last line
LARGE = 1 << 22  # characters of a text whose room is worth giving back at once


def cut(text: AnyStr, newline: AnyStr) -> Iterator[AnyStr]:
    """``text`` in pieces, each of which ends behind a ``newline``; the last one where it ends."""
    at = 0
    while len(text) - at > SIZE:
        end = text.find(newline, at + SIZE - 1) + 1
        if not end:
            break
        yield text[at:end]
        at = end
    yield text[at:] if at else text


class Pieces:
    """A text of which the lines are wanted in the end."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts

    def has(self, *marks: str) -> bool:
        """Whether one of ``marks`` stands in the text; none of them spans two lines."""
        return any(mark in part for part in self.parts for mark in marks)

    def begins_line(self, mark: str) -> bool:
        """Whether ``mark`` begins a line, or the text behind its blanks."""
        below = "\n" + mark
        if any(below in part or part.startswith(mark) for part in self.parts):
            return True
        filled = next((bare for part in self.parts if (bare := part.lstrip())), "")
        return filled.startswith(mark)

    def count(self, mark: str) -> int:
        return sum(part.count(mark) for part in self.parts)

    def inner_ends(self) -> int:
        """How many line ends stand between the first and the last visible character."""
        ends = self.count("\n")
        for part in self.parts:
            bare = part.lstrip()
            ends -= part.count("\n", 0, len(part) - len(bare))
            if bare:
                break
        for part in reversed(self.parts):
            bare = part.rstrip()
            ends -= part.count("\n", len(bare))
            if bare:
                break
        return ends

    def whole(self) -> str:
        return "".join(self.parts)

    def rows(self) -> list[str]:
        """The lines, without one behind the last line end. Gives the pieces up one by one."""
        rows: list[str] = []
        rest = ""
        large = sum(map(len, self.parts)) >= LARGE
        self.parts.reverse()
        while self.parts:
            lines = (rest + self.parts.pop()).split("\n")
            rest = lines.pop()
            rows += lines
        if rest:
            rows.append(rest)
        if large:
            _give_back()
        return rows


def _give_back() -> None:
    """Have the C library return the room of the pieces: nothing else would fit into it."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, AttributeError, OSError, TypeError):
        pass  # only the GNU library keeps the room
