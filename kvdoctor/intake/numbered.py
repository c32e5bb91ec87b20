"""Where the line of a given number stands among the lines of a text.

Not at its number: a terminal's breaks are joined, glued records are parted, the middle of a very
long text is left out, and a text that was pasted newest line first is turned round.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from kvdoctor.intake.paste import Line


def index_of(lines: Sequence[Line], number: int) -> int:
    """Index of the first line that begins at line ``number`` of the text or, where that one was
    joined to the line before, of the line it went into; -1 when there is none."""
    if not lines or number < 1:
        return -1
    if number <= len(lines) and lines[number - 1].number == number:
        at = number - 1  # nearly always
        while at and lines[at - 1].number == number:
            at -= 1
        return at
    if lines[-1].number < lines[0].number:
        at = bisect_left(lines, -number, key=lambda line: -line.number)
        return at if at < len(lines) and lines[at].number == number else -1
    behind = bisect_right(lines, number, key=lambda line: line.number)
    if behind == 0:
        return -1
    return bisect_left(lines, lines[behind - 1].number, key=lambda line: line.number)


def line_at(lines: Sequence[Line], number: int) -> Line | None:
    """The line that :func:`index_of` finds."""
    at = index_of(lines, number)
    return lines[at] if at >= 0 else None
