"""Matches messages against templates with holes: ``block size {a} != {b}``.

Log text arrives wrapped, re-indented, with other quotes or without them, cut off, or with a tail
behind it. So literals are compared with white space and quotes taken out (the *skeleton* of a
text), and values are cut from the text as it was given. Everything is done with ``str.find``,
``startswith`` and their mirror images: the time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from kvdoctor.data import NamedTuple, dataclass, field
from kvdoctor.text import phrase
from kvdoctor.text.gramindex import PatternIndex
from kvdoctor.text.phrase import Hole, Phrase, skeleton_of

__all__ = ["Hit", "Pattern", "PatternIndex", "Skeleton", "skeleton_of"]

ENOUGH_LITERALS = 24  # literal characters that identify a message that is cut off
MANY_LITERALS = 40  # so many leave no doubt wherever the text ends
ENOUGH_SHARE = 0.6  # or this share of the template's literal characters,
LEAST_LITERALS = 16  # but never fewer than these
LONGEST_HOLE = 4000  # skeleton characters of one value when a template is looked for in prose
LONGEST_CUT = 200  # skeleton characters that may stand behind the last literal of a cut message
SURE_PIECE = 4  # characters of a literal that mark the border of a value
LONGEST_MARK = 40  # skeleton characters of "... [truncated]"
MOST_TRIES = 64  # occurrences of one literal that are looked at

_KEEP = re.compile(
    r"(?:(?!\\[nrt](?![A-Za-z]))[^\s'\"`\\\u00b4\u2018\u2019\u201c\u201d\u200b\ufeff])+"
)
_QUOTES = "'\"`\u00b4\u2018\u2019\u201c\u201d\\"
_NUMBER = {
    "int": re.compile(r"[-+]?\d{1,30}"),
    "number": re.compile(r"[-+]?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"),
}
_Spot = tuple[int, int, int]  # index of a literal, its start and end in the skeleton
# Dots are taken all at once: parted in every possible way they would cost exponential time.
_ELLIPSIS = re.compile(
    r"(?:\.{3,}(?!\.)|\u2026|[\[(<]?(?:(?<!\.)\.{3})?truncated\.*(?!\.)[\])>]?)+$"
)


class Skeleton:
    """A text, its skeleton, and where each character of the skeleton stands in the text."""

    __slots__ = ("_heads", "_runs", "chars", "kept", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.chars = skeleton_of(text)
        tail = self.chars[-LONGEST_MARK:]
        # Length without a mark of truncation at the end; only the end is looked at.
        self.kept = len(self.chars) - len(tail) + len(_ELLIPSIS.sub("", tail))
        self._runs: list[int] | None = None  # start of each run in the text
        self._heads: list[int] = []  # start of each run in the skeleton

    def place(self, index: int) -> int:
        """Position in the text of the skeleton's character ``index``."""
        if self._runs is None:
            self._measure()
        assert self._runs is not None  # noqa: S101
        run = bisect_right(self._heads, index) - 1
        return self._runs[run] + index - self._heads[run]

    def _measure(self) -> None:
        runs, heads, length = [], [], 0
        for found in _KEEP.finditer(self.text):
            runs.append(found.start())
            heads.append(length)
            length += found.end() - found.start()
        self._runs, self._heads = runs or [0], heads or [0]

    def end(self, index: int) -> int:
        """Position in the text just behind the skeleton's first ``index`` characters."""
        return self.place(index - 1) + 1 if index > 0 else 0

    def gap_before(self, index: int) -> bool:
        """Whether white space (or an end) stands before the skeleton's character ``index``."""
        if index <= 0 or index >= len(self.chars):
            return True
        here = self.place(index)
        return here > 0 and any(c.isspace() for c in self.text[self.end(index) : here])

    def boundary(self, index: int) -> bool:
        """Whether no word runs through the place before the skeleton's character ``index``."""
        if index <= 0 or index >= len(self.chars):
            return True
        here = self.place(index)
        return not (_is_word(self.text[here]) and here > 0 and _is_word(self.text[here - 1]))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


@dataclass(frozen=True, slots=True)
class Hit:
    """A template found in a text.

    ``holes``: text of each named hole as it was given, surrounding white space and quotes of the
    template taken off; a hole that the end of the text cuts is missing. ``literal_chars`` of
    ``total_chars`` literal characters (without white space) were found; ``complete`` when all
    were. ``start`` and ``end``: the part of the text that the template covers."""

    holes: Mapping[str, str]
    literal_chars: int
    total_chars: int
    complete: bool
    start: int = 0
    end: int = 0


class _Literal(NamedTuple):
    """A literal in skeleton form and what stands at its edges in the template."""

    chars: str
    space_left: bool
    space_right: bool
    quote_left: bool  # the hole before it is quoted: its quote belongs to the literal
    quote_right: bool


class _Gap(NamedTuple):
    """The holes between two literals."""

    names: tuple[str, ...]
    type: str  # int or number when it is one numeric hole
    spaced: bool  # several holes with white space between them


class _Walk(NamedTuple):
    """Where the literals were found."""

    spots: tuple[_Spot, ...]
    chars: int  # literal characters found
    complete: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """One alternative of a pattern: literals[0] gap[0] literals[1] … literals[n]."""

    literals: tuple[_Literal, ...]
    gaps: tuple[_Gap, ...]
    floating: bool
    total: int

    @classmethod
    def of(cls, source: Phrase) -> Branch:
        literals: list[_Literal] = []
        gaps: list[_Gap] = []
        text, spaced, follows, closing = "", True, False, ""
        holes: list[Hole] = []
        for item in source.items:
            if isinstance(item, str):
                follows = False
                if holes and not skeleton_of(item):
                    spaced = spaced and bool(item.strip(_QUOTES))
                    closing = item
                    continue
                if holes:
                    gaps.append(_gap(holes, spaced))
                    holes, spaced = [], True
                text += item
                continue
            if not holes:
                literals.append(_literal(text))
                text = ""
            spaced = spaced and not follows
            follows, closing = True, ""
            holes.append(item)
        if holes:
            gaps.append(_gap(holes, spaced))
        literals.append(_literal(text or closing))  # a closing quote belongs to no value
        total = sum(len(literal.chars) for literal in literals)
        return cls(tuple(literals), tuple(gaps), source.floating, total)

    # -- looking for the literals ---------------------------------------------------------------

    def anchored(self, text: Skeleton) -> _Walk | None:
        """The literals from the start of the text on."""
        first = self.literals[0].chars
        if not text.chars.startswith(first):
            return self._cut(text, (), 0, 0)
        return self._right(text, ((0, 0, len(first)),))

    def anywhere(self, text: Skeleton) -> _Walk | None:
        """The literals around an occurrence of the longest one, or of the second longest when the
        text begins or ends in the longest."""
        longest = sorted(range(len(self.literals)), key=lambda i: (-len(self.literals[i].chars), i))
        for index in longest[:2]:
            best = self._around(text, index)
            if best is not None:
                return best
        return None

    def _around(self, text: Skeleton, index: int) -> _Walk | None:
        literal = self.literals[index].chars
        best: _Walk | None = None
        for start in _occurrences(text.chars, literal, 0) if literal else ():
            spots, whole = self._left(text, ((index, start, start + len(literal)),))
            walk = self._right(text, spots, LONGEST_HOLE)
            if walk and not whole:
                walk = self._headless(text, walk)
            if walk and (best is None or walk.chars > best.chars):
                best = walk
            if best and best.complete:
                break
        return best

    def _left(self, text: Skeleton, spots: tuple[_Spot, ...]) -> tuple[tuple[_Spot, ...], bool]:
        """The literals before the first of ``spots``, each as late as it can stand; with False
        when one is missing."""
        index, start, _ = spots[0]
        for i in range(index - 1, -1, -1):
            gap, chars = self.gaps[i], self.literals[i].chars
            low = max(0, start - LONGEST_HOLE - len(chars))
            if gap.type:
                end = _number_before(text.chars, start, gap.type)
                at = end - len(chars) if text.chars.endswith(chars, low, max(end, 0)) else -1
            elif chars:
                at = text.chars.rfind(chars, low, start)
            else:
                at = start  # an open beginning: the hole takes nothing that can be told
            if at < 0:
                return spots, False
            spots = ((i, at, at + len(chars)), *spots)
            start = at
        first = self.literals[0].chars
        return spots, not (first and _is_word(first[0]) and not text.boundary(start))

    def _headless(self, text: Skeleton, walk: _Walk) -> _Walk | None:
        """A walk whose first literals are missing: only when the text begins in the middle of the
        message and most of the message is there."""
        index, start, _ = walk.spots[0]
        if index == 0 or start > LONGEST_CUT:
            return None
        missing = self.literals[index - 1].chars
        kept = next(
            (n for n in range(len(missing), 0, -1) if text.chars.startswith(missing[-n:])), 0
        )
        count = sum(end - begin for _, begin, end in walk.spots) + kept
        if count < ENOUGH_SHARE * self.total:
            return None
        spots = ((index - 1, 0, kept), *walk.spots) if kept >= SURE_PIECE else walk.spots
        return _Walk(spots, count, False)

    def _right(
        self, text: Skeleton, spots: tuple[_Spot, ...], limit: int | None = None
    ) -> _Walk | None:
        """The literals behind the last spot, each as early as it can stand; ``limit``: skeleton
        characters of the longest hole."""
        found = list(spots)
        while found[-1][0] < len(self.gaps):
            more, whole = self._segment(text, found[-1][0], found[-1][2], limit)
            found += more
            if not whole:
                index, _, at = found[-1]
                return self._cut(text, tuple(found), index + 1, at)
        if not self._ends_well(text, found[-1][2]):
            return None
        return _Walk(tuple(found), self.total, True)

    def _ends_well(self, text: Skeleton, end: int) -> bool:
        last = self.literals[-1].chars
        return not last or not _is_word(last[-1]) or text.boundary(end)

    def _segment(
        self, text: Skeleton, index: int, at: int, limit: int | None
    ) -> tuple[list[_Spot], bool]:
        """The next literal behind ``at`` and those that numeric holes tie to it; with False what
        could be found of them."""
        if self.gaps[index].type:
            return self._tied(text, index, at)
        literal = self.literals[index + 1]
        if index + 1 == len(self.gaps) and not literal.chars:
            end = len(text.chars) if limit is None else min(len(text.chars), at + limit)
            return [(index + 1, end, end)], True
        spare: list[_Spot] = []
        parted: list[_Spot] = []
        last = None if limit is None else at + limit + len(literal.chars)
        for start in _occurrences(text.chars, literal.chars, at, last):
            spots = [(index + 1, start, start + len(literal.chars))]
            if index + 1 < len(self.gaps) and self.gaps[index + 1].type:
                tied, whole = self._tied(text, index + 1, spots[0][2])
                spots += tied
                if not whole:
                    parted = max(parted, spots, key=len)
                    continue
            if self._edges_fit(text, literal, index + 1, spots[0]):
                return spots, True
            spare = spare or spots
        return (spare, True) if spare else (parted, False)

    def _tied(self, text: Skeleton, index: int, at: int) -> tuple[list[_Spot], bool]:
        """Numeric holes behind ``at`` and the literals that must follow at once."""
        spots: list[_Spot] = []
        while index < len(self.gaps) and self.gaps[index].type:
            number = _NUMBER[self.gaps[index].type].match(text.chars, at)
            if number is None:
                return spots, False
            chars = self.literals[index + 1].chars
            start = number.end()
            if not text.chars.startswith(chars, start):
                # The first character of the literal may look like a part of the number.
                start = text.chars.find(chars, at + 1, number.end() + len(chars)) if chars else -1
                if start < 0:
                    return spots, False
            at = start + len(chars)
            spots.append((index + 1, start, at))
            index += 1
        return spots, True

    def _edges_fit(self, text: Skeleton, literal: _Literal, index: int, spot: _Spot) -> bool:
        """Whether a short literal stands among white space as it does in the template."""
        if len(literal.chars) > 8:
            return True
        if literal.space_left and not text.gap_before(spot[1]):
            return False
        if index == len(self.literals) - 1:  # the end of a sentence, not the point of "0.9"
            return spot[2] >= len(text.chars) or not (
                _is_word(text.text[text.place(spot[2])]) and not text.gap_before(spot[2])
            )
        return not literal.space_right or text.gap_before(spot[2])

    def _cut(self, text: Skeleton, spots: tuple[_Spot, ...], index: int, at: int) -> _Walk | None:
        """The walk up to the end of a text that stops before the template does."""
        chars = text.chars if text.kept == len(text.chars) else text.chars[: text.kept]
        literal = self.literals[index].chars
        overlap = _overlap(chars, literal, at, anchored=index == 0)
        if index == 0 and overlap < len(chars):
            return None
        if not overlap and len(chars) - at > LONGEST_CUT:
            return None
        numeric = self.gaps[index - 1].type if index else ""
        if numeric and not _NUMBER[numeric].fullmatch(chars, at, len(chars) - overlap):
            return None
        count = sum(end - start for _, start, end in spots) + overlap
        much, most = count >= ENOUGH_LITERALS, count >= ENOUGH_SHARE * self.total
        # A short text that ends in a value, without a mark, may as well be another message.
        sure = overlap >= SURE_PIECE or len(chars) < len(text.chars) or count >= MANY_LITERALS
        if not (much or (most and count >= LEAST_LITERALS) if sure else much and most):
            return None
        if overlap:
            spots = (*spots, (index, len(chars) - overlap, len(chars)))
        return _Walk(spots, count, False)

    # -- cutting the values out -----------------------------------------------------------------

    def hit(self, text: Skeleton, walk: _Walk) -> Hit:
        holes: dict[str, str] = {}
        for (_, _, left), (index, right, _) in zip(walk.spots, walk.spots[1:], strict=False):
            self._fill(holes, text, index, left, right)
        first, last = walk.spots[0], walk.spots[-1]
        start = text.place(first[1]) if first[1] < len(text.chars) else 0
        end = text.end(last[2])
        return Hit(holes, walk.chars, self.total, walk.complete, start, max(start, end))

    def _fill(
        self, holes: dict[str, str], text: Skeleton, index: int, left: int, right: int
    ) -> None:
        gap = self.gaps[index - 1]
        if left == right and index == 1 and not self.literals[0].chars:
            return  # where an open beginning starts cannot be told
        start = text.end(left)
        end = text.place(right) if right < len(text.chars) else len(text.text)
        value = text.text[start:end].strip()
        if gap.type and "\n" in value:
            value = "".join(value.split())  # a number that a wrapped line breaks in two
        quoted = self.literals[index - 1].quote_right, self.literals[index].quote_left
        if quoted[0] and value[:1] in _QUOTES:
            value = value.lstrip("\\")[1:] if value else value
        if quoted[1] and value[-1:] in _QUOTES:
            value = value[:-1].rstrip("\\") if value else value
        if len(gap.names) == 1:
            holes.setdefault(gap.names[0], value.strip())
        elif gap.spaced:
            parts = value.split(None, len(gap.names) - 1)
            if len(parts) == len(gap.names):
                for name, part in zip(gap.names, parts, strict=True):
                    holes.setdefault(name, part)
        holes.pop("", None)


def _gap(holes: list[Hole], spaced: bool) -> _Gap:
    kind = holes[0].type if len(holes) == 1 else ""
    return _Gap(tuple(hole.name for hole in holes), kind, len(holes) > 1 and spaced)


def _literal(text: str) -> _Literal:
    return _Literal(
        skeleton_of(text),
        text[:1].isspace(),
        text[-1:].isspace(),
        text[:1] in _QUOTES and text != "",
        text[-1:] in _QUOTES and text != "",
    )


def _occurrences(text: str, literal: str, at: int, end: int | None = None) -> Iterator[int]:
    for _ in range(MOST_TRIES):
        at = text.find(literal, at, end)
        if at < 0:
            return
        yield at
        at += 1


def _number_before(text: str, end: int, kind: str) -> int:
    """Where the number that ends at ``end`` starts, -1 when none does."""
    start = end
    allowed = "0123456789" if kind == "int" else "0123456789."
    while start > 0 and end - start < 40 and text[start - 1] in allowed:
        start -= 1
    if start == end:
        return -1
    return start - 1 if start > 0 and text[start - 1] in "+-" else start


def _overlap(text: str, literal: str, at: int, *, anchored: bool) -> int:
    """How many characters at the end of ``text`` (behind ``at``) begin ``literal``."""
    if anchored:
        return len(text) if literal.startswith(text) else 0
    for size in range(min(len(literal), len(text) - at), 0, -1):
        if text.endswith(literal[:size]):
            return size
    return 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled template; make it with :meth:`compile`."""

    template: str
    branches: tuple[Branch, ...] = field(repr=False)

    @classmethod
    def compile(cls, template: str, types: Mapping[str, str] | None = None) -> Pattern:
        """Read a template (or the small regex form). ``types`` says which holes are int or number:
        such a hole takes nothing but a number.

        Raises RecordError for a regular expression that no template can say."""
        read = phrase.read(template)
        if types:
            read = tuple(phrase.with_types(one, dict(types)) for one in read)
        return cls(template, tuple(Branch.of(one) for one in read))

    @property
    def names(self) -> tuple[str, ...]:
        """Named holes of all alternatives, in order."""
        found = (n for b in self.branches for gap in b.gaps for n in gap.names if n)
        return tuple(dict.fromkeys(found))

    @property
    def literal_chars(self) -> int:
        """Literal characters (without white space and quotes) of the shortest alternative."""
        return min(branch.total for branch in self.branches)

    def match(self, message: str | Skeleton) -> Hit | None:
        """The template from the start of the message on; text behind it is let be."""
        return self._best(message, anywhere=False)

    def search(self, text: str | Skeleton) -> Hit | None:
        """The template anywhere in a longer text."""
        return self._best(text, anywhere=True)

    def _best(self, message: str | Skeleton, *, anywhere: bool) -> Hit | None:
        text = message if isinstance(message, Skeleton) else Skeleton(message)
        best: tuple[tuple[bool, int], Branch, _Walk] | None = None
        for branch in self.branches:
            floating = anywhere or branch.floating
            walk = branch.anywhere(text) if floating else branch.anchored(text)
            if walk is None or not branch.total:
                continue
            rank = (walk.complete, walk.chars)
            if best is None or rank > best[0]:
                best = (rank, branch, walk)
        return best[1].hit(text, best[2]) if best else None
