"""Lines that no logger writes: of what is longer than any record, the beginning and the end.

A run without a blank (an encoded file, a dump) loses its middle before anything else looks at it.
A longer line of words loses its middle, too, but half a secret is one as well: what follows the
gap is read with a margin, in which a secret's name may stand, and the margin goes when secrets are
replaced.
"""

from __future__ import annotations

import re

from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.pieces import SIZE, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AnyStr

LONG = 2 * SIZE  # characters; a piece that is shorter has no such line
HEAD = TAIL = SIZE // 2
MARGIN = SIZE // 4  # of the tail, longer than any key; read for secrets, then dropped
RUN = 256  # characters of each end of a run
MOST = 4_000_000  # characters of a line whose whole may be one value
GAP = "\x1f\x1e\x1f"  # no text that was decoded holds such characters
_JOINT = f" [...] {GAP} "
_RUN = Lazy(r"(?<!\S)\S{65536,}")
_RUN_BYTES = rb"(?<!\S)\S{65536,}"
_LAST = re.compile(rb"[\x00-\xff]*[,;{}()\[\]&]")
_FIRST = re.compile(rb"[,;{}()\[\]&]")


def short_of_runs(text: AnyStr, newline: AnyStr, notes: list[str]) -> list[AnyStr]:
    """A text in pieces of whole lines, of which long runs are only their ends."""
    parts: list[AnyStr] = []
    lost = 0
    for part in cut(text, newline):
        short = _without_runs(part) if len(part) > SIZE else part
        lost += len(part) - len(short)
        parts.append(short)
    if lost:
        notes.append(f"{lost} characters in the middle of words too long to be any were left out")
    return parts


def _without_runs(part: AnyStr) -> AnyStr:
    if isinstance(part, str):
        return _RUN.sub(_ends_of_text, part)
    return re.sub(_RUN_BYTES, lambda run: _ends(run[0]), part)


def _ends_of_text(run: re.Match[str]) -> str:
    return _ends(run[0].encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _ends(run: bytes) -> bytes:
    """Both ends up to where one pair of a name and a value ends and another begins: neither a
    secret nor its name is cut, and no character."""
    head, tail = run[:RUN], run[-RUN:]
    before, behind = _LAST.match(head), _FIRST.search(tail)
    return (before[0] if before else b"") + (tail[behind.start() :] if behind else b"")


def with_gaps(parts: list[str], notes: list[str]) -> None:
    """Cut the middle out of every long line; each piece is replaced in the list."""
    many = 0
    for at, part in enumerate(parts):
        if len(part) < LONG:
            continue
        rows = part.split("\n")
        for number, row in enumerate(rows):
            if len(row) >= LONG and not _may_be_value(row):
                # the word that the gap would cut is left out: it may be a secret
                rows[number] = row[:HEAD].rpartition(" ")[0] + _JOINT + row[-TAIL:]
                many += 1
        parts[at] = "\n".join(rows)
    if many:
        notes.append(f"{many} lines of more than {LONG} characters: their middles were not read")


def _may_be_value(row: str) -> bool:
    """Whether a line is JSON with records in it, or a log that was copied as one string."""
    if len(row) > MOST:
        return False
    return (row.rstrip()[-1:] in ("}", "]") and "{" in row[:400]) or row.count("\\n") >= 4


def closed(text: str) -> str:
    """A text free of secrets, without the margins behind its gaps."""
    if GAP not in text:
        return text
    first, *others = text.split(GAP)
    out = [first]
    for other in others:
        end = other.find("\n")
        end = len(other) if end < 0 else end
        at = other.find(" ", min(MARGIN, end), end)
        out.append(other[at if at >= 0 else end :])
    return "".join(out)
