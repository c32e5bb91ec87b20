"""Which stretches of a piece of log are worth the ordinary pipeline: the fast half of a scan.

A stretch is a traceback with what stands around it, or a single record of a known kind. Left out
are lines without any word of a traceback or a level, and warnings that hold no run of any template.
"""

from __future__ import annotations

import re

from kvdoctor.data import NamedTuple
from kvdoctor.scan import words
from kvdoctor.scan.words import Runs, Search

GAP = 8  # lines between two parts of one stretch
BEFORE, AFTER = 4, 4  # lines around one
MAX_MESSAGE = 60  # lines without a head that may go on with a message
MAX_STRETCH = 256 << 10
MAX_KNOWN = 200_000  # lines remembered as harmless

_SIMPLE = re.compile(
    rb"(?:\[pod/([\w.-]{1,253})/[\w.-]{1,253}\] ?)?(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}Z )?"
    rb"(?:\(([A-Za-z]\w{0,80}) pid=\d{1,9}\) )?(ERROR|WARNING|CRITICAL) "
    rb"(\d\d-\d\d \d\d:\d\d:\d\d) \[([^\s\[\]:*]{1,200}):(\d{1,7})\] (?=[^ \t\r\n])"
)
_HEAD = re.compile(rb"[^\n]{0,300}?(?:INFO|DEBUG|WARNING|ERROR|CRITICAL)[ :]")
_INFO = re.compile(
    rb"(?:\([A-Za-z]\w{0,80} pid=\d{1,9}\) )?(?:INFO|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[[^\s\]]+\] "
)
_LOGGED_TRACE = re.compile(rb'Traceback \(most|File "|tack \(most|Call stack:')


class Stretch(NamedTuple):
    """A part of a piece. ``record``: it is one record alone, told apart by its head."""

    start: int
    end: int
    record: re.Match[bytes] | None


class Picker:
    """Picks stretches out of pieces; what it learned about harmless lines serves all of them."""

    def __init__(self, runs: Runs, search: Search) -> None:
        self.runs, self.search = runs, search
        self._harmless: set[bytes] = set()

    def pick(self, piece: bytes) -> list[Stretch]:
        """The stretches of a piece of whole lines, in order; none overlaps another."""
        singles: list[Stretch] = []
        members: list[tuple[int, int]] = []
        harmless, bare = self._harmless, self.runs.bare
        find, rfind = piece.find, piece.rfind
        end = 0
        for at in self.search(piece):
            if at < end:
                continue
            start = rfind(b"\n", end, at) + 1 or end
            end = find(b"\n", at) + 1 or len(piece)
            line = piece[start:end]
            key = bare(line)
            if key in harmless:
                continue
            if self._is_harmless(line, key):
                if len(harmless) < MAX_KNOWN:
                    harmless.add(key)
                continue
            record = None if line.endswith(b"\r\n") or words.fails(line) else _SIMPLE.match(line)
            if record is not None and piece[end : end + 1] not in b" \t":
                singles.append(Stretch(start, end, record))
            else:
                members.append((start, end))
        return _with_singles(_stretches(piece, members), singles)

    def _is_harmless(self, line: bytes, key: bytes) -> bool:
        """Whether a line of this form, whatever its numbers, tells nothing."""
        if words.is_bad(line):
            # what vLLM prints at INFO or DEBUG is no failure, unless it is a traceback
            return _INFO.match(line) is not None and not (
                _LOGGED_TRACE.search(line) or words.is_glued(line) or self._is_known(key)
            )
        return not self._is_known(key)

    def _is_known(self, key: bytes) -> bool:
        return not self.runs.complete or self.runs.among(key)


def _stretches(piece: bytes, members: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Lines that stand close to each other, with what stands around them."""
    made: list[tuple[int, int]] = []
    for start, end in members:
        if made and start - made[-1][1] < 1 << 14 and end - made[-1][0] < MAX_STRETCH:
            between = piece.count(b"\n", made[-1][1], start)
            if start <= made[-1][1] or between <= GAP:
                made[-1] = (made[-1][0], max(made[-1][1], end))
                continue
        if made:
            made[-1] = (made[-1][0], min(start, _behind(piece, made[-1][1])))
        floor = made[-1][1] if made else 0
        made.append((max(floor, _above(piece, start, BEFORE)), end))
    if made:
        made[-1] = (made[-1][0], _behind(piece, made[-1][1]))
    return made


def _above(piece: bytes, at: int, lines: int) -> int:
    for _ in range(lines):
        at = piece.rfind(b"\n", 0, max(0, at - 1)) + 1
    return at


def _behind(piece: bytes, at: int) -> int:
    """The end of what may still belong to a message that ends in the line before ``at``."""
    for number in range(MAX_MESSAGE):
        end = piece.find(b"\n", at) + 1
        if not end:
            break
        if number >= AFTER and (end - at < 3 or _HEAD.match(piece, at)):
            break
        at = end
    return at


def _with_singles(stretches: list[tuple[int, int]], singles: list[Stretch]) -> list[Stretch]:
    """Both in order; a record that stands inside a stretch is read with it."""
    made = [Stretch(start, end, None) for start, end in stretches]
    at = 0
    for one in singles:
        while at < len(stretches) and stretches[at][1] <= one.start:
            at += 1
        if at < len(stretches) and stretches[at][0] <= one.start:
            continue
        made.append(one)
    made.sort(key=lambda one: one.start)
    return made
