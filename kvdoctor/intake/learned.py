"""Prefixes that nobody knows: learned from what stands before many lines of one text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import Line

MAX_PODS = 64
MAX_COMMON = 6  # words of a prefix that all lines share

_MARKS = (":", "-", "]", ">", "|")

_WORD = r"(?=[A-Za-z_.:+-]{0,120}\d)[A-Za-z0-9_.:+-]{1,120}"
_TOKEN = Lazy(r"(?<![A-Za-z0-9_.:+-])[A-Za-z0-9_.:+-]*\d[A-Za-z0-9_.:+-]*")


def learn(fronts: Sequence[str], sterns: Collection[str]) -> tuple[re.Pattern[str], ...]:
    """``fronts``: what stood before frames and records; the ones that come twice are prefixes.
    ``sterns``: "pod container" as seen before records. Patterns, the longest first."""
    pods = tuple(_stern_pattern(front) for front in sorted(sterns)[:MAX_PODS])
    shapes = _twice(_with_end(front, _digits) for front in fronts)
    if not shapes:
        shapes = _twice(_with_end(front, _shape) for front in fronts)
    shapes.sort(key=len, reverse=True)
    return (*pods, *(re.compile(shape) for shape in shapes[:8]))


def _with_end(front: str, shape_of: Callable[[str], str]) -> str:
    """The pattern of ``front`` and of what parts it from the text: a blank, or its own mark, as
    in grep's "decode.log:12:" and "decode.log-13-"."""
    bare = front.rstrip(" \t")
    alone = bare == front and front.endswith(_MARKS)
    return shape_of(bare) + ("" if alone else r"(?:[ \t]|$)")


def _twice(shapes: Iterable[str]) -> list[str]:
    """The most frequent shapes that came at least twice."""
    return [shape for shape, count in Counter(shapes).most_common(16) if count >= 2]


_TOLD = Lazy(
    r"usage: |\s{0,4}(?:Value error|Assertion failed), |[\w./ -]{1,80}: error: "
    r"|\d+ validation error"
    r"|(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Z]\w{0,80}(?:Error|Exception): "
)


def common(lines: Sequence[Line]) -> tuple[re.Pattern[str], ...]:
    """The shape of the first words that all lines share, when an error follows it on one."""
    texts = [line.text for line in lines if line.text.strip()]
    if len(texts) < 3 or any(line.process or line.level for line in lines):
        return ()
    words = [text.split(" ", MAX_COMMON + 1)[:-1] for text in texts]
    best: tuple[re.Pattern[str], ...] = ()
    for count in range(1, MAX_COMMON + 1):
        front = " ".join(words[0][:count])
        if len(words[0]) < count or not front.strip() or len(front) > 160:
            break
        pattern = re.compile(_shape(front) + r"(?:[ \t]|$)")
        matches = [pattern.match(text) for text in texts]
        if not all(matches):
            break
        rests = (text[m.end() :] for text, m in zip(texts, matches, strict=True) if m)
        if any(_TOLD.match(rest) for rest in rests):
            best = (pattern,)
    return best


def _stern_pattern(front: str) -> re.Pattern[str]:
    """ "pod container", known from lines where a record follows, before any text."""
    pod, _, container = front.partition(" ")
    return re.compile(rf"(?P<pod>{re.escape(pod)}) {re.escape(container)}(?: |$)")


def _digits(front: str) -> str:
    """A pattern for prefixes like ``front`` that differ in their numbers only."""
    return r"\d{1,20}".join(re.escape(part) for part in re.split(r"\d+", front))


def _shape(front: str) -> str:
    """A pattern for prefixes like ``front``: whatever word holds a digit may differ."""
    parts, at = [], 0
    for match in _TOKEN.finditer(front):
        parts += [re.escape(front[at : match.start()]), _WORD]
        at = match.end()
    return "".join([*parts, re.escape(front[at:])])


def bar_names(work: Sequence[str]) -> frozenset[str]:
    """Container names that stand before a bar on several lines (compose without a number)."""
    counts: Counter[str] = Counter()
    for line in work:
        name, bar, _ = line.partition(" | ")
        name = name.rstrip()
        if bar and name and len(name) <= 120 and " " not in name and name[0].isalpha():
            counts[name] += 1
    return frozenset(name for name, count in counts.items() if count >= 2)
