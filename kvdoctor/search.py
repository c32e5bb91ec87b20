"""Ranks records for the words a person types, by the words they share (BM25 over few fields)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from kvdoctor.record import Record

_WORD = re.compile(r"[A-Za-z0-9]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s")
_SATURATION, _LENGTH = 1.2, 0.6  # the usual constants of BM25
_COMMON = frozenset(("a", "an", "and", "are", "for", "from", "in", "is", "not", "of", "the", "to"))


Shelves = list[tuple[Record, Counter[str]]]


def shelved(records: Iterable[Record]) -> Shelves:
    """The words of every record: what does not change from one search to the next."""
    return [(record, _weighted(record)) for record in records]


def search(shelves: Shelves, words: str, most: int = 20) -> list[tuple[str, str, float]]:
    """(id, title, score) of the records that speak of ``words``, best first."""
    wanted = [word for word in _stems(words[:1000]) if word not in _COMMON]
    if not wanted or not shelves:
        return []
    sizes = [sum(shelf.values()) for _, shelf in shelves]
    mean = sum(sizes) / len(sizes)
    spread = {word: sum(word in shelf for _, shelf in shelves) for word in set(wanted)}
    found: list[tuple[str, str, float]] = []
    for (record, shelf), size in zip(shelves, sizes, strict=True):
        score = 0.0
        for word in wanted:
            count = shelf.get(word, 0)
            if count:
                rarity = math.log(1 + (len(shelves) - spread[word] + 0.5) / (spread[word] + 0.5))
                norm = _SATURATION * (1 - _LENGTH + _LENGTH * size / mean)
                score += rarity * count * (_SATURATION + 1) / (count + norm)
        if score:
            found.append((record.id, record.title, round(score, 4)))
    found.sort(key=lambda row: (-row[2], row[0]))
    return found[:most]


def _weighted(record: Record) -> Counter[str]:
    """The words of a record; those of its title and tags count more."""
    shelf: Counter[str] = Counter()
    published = " ".join(f"{one.id} {one.slug}" for one in record.published)
    messages = " ".join(f"{one.exception} {one.message}" for one in record.identify)
    causes = " ".join(check.cause for check in record.checks)
    for weight, text in (
        (3, f"{record.title} {' '.join(record.tags)} {record.id}"),
        (2, f"{record.summary} {messages} {published} {' '.join(record.connectors)}"),
        (1, f"{causes} {' '.join(fix.title for fix in record.fixes.values())}"),
    ):
        for word in _stems(text):
            shelf[word] += weight
    return shelf


def _stems(text: str) -> list[str]:
    return [_stem(word.lower()) for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    """The word without its ending, so that "mismatched" finds "mismatch"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
