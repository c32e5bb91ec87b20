"""vLLM releases: ordering them, and ranges such as ``">=0.25.1,<0.33.0"``.

Versions follow PEP 440 as far as vLLM uses it: ``0.32.0``, ``0.33.0rc1``, ``0.9.0.post1``,
``0.25.1.dev50``; what stands behind ``+`` (vendor and commit) never changes the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from kvdoctor.data import NamedTuple, dataclass
from kvdoctor.errors import ExpressionError

ALL, NONE, SOME = "all", "none", "some"

Key = tuple[tuple[int, ...], int, int, int, int]

MOST_NUMBERS = 6
_VERSION = (  # compiled for what is not plain numbers
    r"v?(\d{1,6}(?:\.\d{1,6}){0,5})"
    r"(?:[-_.]?(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d{0,6}))?"
    r"(?:(?:[-_.]?post|-)[-_.]?(\d{1,6}))?"
    r"(?:[-_.]?dev[-_.]?(\d{0,9}))?"
    r"(?:\+[A-Za-z0-9._-]{1,80})?"
)
_PHASE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = 3  # behind every pre-release
_LATEST = 10**9
_OPERATORS = (">=", "<=", "==", "!=", ">", "<")


@lru_cache(maxsize=512)
def key(release: str) -> Key | None:
    """What orders ``release`` among others; None when it is not a version."""
    plain = release.split(".")
    if len(plain) <= MOST_NUMBERS and all(map(_is_number, plain)):
        return _numbers(plain), _FINAL, 0, -1, _LATEST
    found = re.fullmatch(_VERSION, release.strip(), re.IGNORECASE)
    if not found:
        return None
    numbers, phase, serial, post, dev = found.groups()
    if phase:
        stage, count = _PHASE[phase.lower()], int(serial or 0)
    elif dev is not None and post is None:
        stage, count = -1, 0  # a development build of X comes before every pre-release of X
    else:
        stage, count = _FINAL, 0
    return (
        _numbers(numbers.split(".")),
        stage,
        count,
        int(post) if post is not None else -1,
        int(dev or 0) if dev is not None else _LATEST,
    )


def _is_number(text: str) -> bool:
    return len(text) <= 6 and text.isascii() and text.isdigit()


def _numbers(texts: Iterable[str]) -> tuple[int, ...]:
    """0.32 and 0.32.0 are the same release."""
    parts = [int(text) for text in texts]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def is_release(text: str) -> bool:
    return key(text) is not None


class Bound(NamedTuple):
    """One comparison of a range; ``key`` belongs to ``release``."""

    operator: str
    release: str
    key: Key
    prefix: tuple[int, ...] = ()  # of "==0.19.*"

    def holds(self, other: Key) -> bool:
        if self.prefix:
            padded = other[0] + (0,) * len(self.prefix)
            same = padded[: len(self.prefix)] == self.prefix
            return same == (self.operator == "==")
        return {
            ">=": other >= self.key,
            "<=": other <= self.key,
            "==": other == self.key,
            "!=": other != self.key,
            ">": other > self.key,
            "<": other < self.key,
        }[self.operator]


@dataclass(frozen=True, slots=True)
class Range:
    """Releases that satisfy every bound; no bound means every release."""

    text: str
    bounds: tuple[Bound, ...] = ()

    def contains(self, release: str) -> bool:
        """Whether ``release`` lies in the range; a text that is no version lies only in ""."""
        found = key(release)
        if found is None:
            return not self.bounds
        return all(bound.holds(found) for bound in self.bounds)

    def covers(self, candidates: Iterable[str]) -> str:
        """``all``, ``none`` or ``some`` of the candidates; ``some`` when there are none."""
        if not self.bounds:
            return ALL
        answers = {self.contains(release) for release in candidates}
        if answers == {True}:
            return ALL
        return NONE if answers == {False} else SOME

    def of(self, releases: Iterable[str]) -> tuple[str, ...]:
        return tuple(release for release in releases if self.contains(release))


@lru_cache(maxsize=512)
def parse_range(text: str) -> Range:
    """Read ``">=0.25.1,<0.33.0"``, ``"0.32.0"`` (that release alone), ``"==0.19.*"`` or ``""``.

    Raises ExpressionError for anything else."""
    bounds = []
    for part in text.split(","):
        part = part.strip()
        if not part:
            if text.strip():
                raise ExpressionError(f"empty part in the release range {text!r}")
            continue
        bounds.append(_bound(part, text))
    return Range(text, tuple(bounds))


def _bound(part: str, text: str) -> Bound:
    for operator in _OPERATORS:
        if part.startswith(operator):
            release = part[len(operator) :].strip()
            break
    else:
        operator, release = "==", part
    if not release[:1].isdigit():
        raise ExpressionError(
            f"{part!r} in the release range {text!r} is no comparison",
            remedy='write ">=0.25.1", "<0.33.0", "==0.32.0" or ">=0.25.1,<0.33.0"',
        )
    wild = release.endswith(".*")
    if wild and operator not in ("==", "!="):
        raise ExpressionError(f"{part!r}: .* goes with == and != only")
    found = key(release[:-2] if wild else release)
    if found is None:
        raise ExpressionError(f"{release!r} in the release range {text!r} is not a version")
    numbers = release[:-2].split(".") if wild else []
    if not all(map(_is_number, numbers)):
        raise ExpressionError(f"{part!r}: .* follows plain numbers only")
    prefix = tuple(map(int, numbers))
    return Bound(operator, release, found, prefix)


def contains(text: str, release: str) -> bool:
    """Whether ``release`` lies in the range ``text``."""
    return parse_range(text).contains(release)


def covers(text: str, candidates: Iterable[str]) -> str:
    """``all``, ``none`` or ``some`` of the candidates lie in the range ``text``."""
    return parse_range(text).covers(candidates)
