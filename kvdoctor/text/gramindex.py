"""Which of ten thousand templates can a message be? A dictionary of rare runs of characters.

Every template is entered under runs of eight characters of its skeleton (white space and quotes
taken out): the rarest one near its beginning, so that a message that is cut off is still found, and
the rarest ones of what follows, so that a damaged word or a lost beginning does not lose it. A
lookup asks the dictionary for every run of the message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kvdoctor.text import phrase
from kvdoctor.text.phrase import skeleton_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG, SHORT = 8, 4  # characters of a run; the short one serves templates with little literal text
HEAD = 24  # literal characters in which the first run is looked for


class PatternIndex:
    """Finds the templates that a message can be. Made with :meth:`build` or :meth:`from_json`."""

    __slots__ = ("_keys", "_long", "_loose", "_short")

    def __init__(
        self,
        keys: list[str],
        long: Mapping[str, str],
        short: Mapping[str, str],
        loose: tuple[int, ...],
    ) -> None:
        self._keys = keys
        self._long = long  # run → numbers of its templates, with commas between them
        self._short = short
        self._loose = loose  # templates with too little text for any run: always candidates

    @classmethod
    def build(cls, pairs: Iterable[tuple[str, str]]) -> PatternIndex:
        """Index (key, template) pairs; a key may come with several templates.

        Raises RecordError for a template that cannot be read."""
        keys: dict[str, int] = {}
        rows: list[tuple[int, list[str]]] = []
        for key, template in pairs:
            number = keys.setdefault(key, len(keys))
            for one in phrase.read(template):
                texts = [skeleton_of(item) for item in one.items if isinstance(item, str)]
                rows.append((number, [text for text in texts if text]))
        counts = Counter(
            gram for _, texts in rows for gram in {g for t in texts for g in _grams(t, LONG)}
        )
        long: dict[str, list[int]] = {}
        short: dict[str, list[int]] = {}
        loose: set[int] = set()
        for number, texts in rows:
            found = _anchors(texts, counts)
            table = long
            if not found:
                found = sorted({gram for text in texts for gram in _grams(text, SHORT)[:1]})
                table = short
            if not found:
                loose.add(number)
            for gram in found:
                entries = table.setdefault(gram, [])
                if number not in entries:
                    entries.append(number)
        return cls(list(keys), _joined(long), _joined(short), tuple(sorted(loose)))

    def candidates(self, message: str) -> tuple[str, ...]:
        """Keys of the templates that the message may be, those with most runs in it first."""
        return self.among(skeleton_of(message))

    def among(self, chars: str) -> tuple[str, ...]:
        """The same for a text whose skeleton is known."""
        scores: dict[int, int] = dict.fromkeys(self._loose, 0)
        for table, size in ((self._long, LONG), (self._short, SHORT)):
            if not table:
                continue
            starts = range(len(chars) - size + 1)
            for run in [run for at in starts if (run := chars[at : at + size]) in table]:
                for number in map(int, table[run].split(",")):
                    scores[number] = scores.get(number, 0) + size
        if not scores:
            return ()
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return tuple(self._keys[number] for number in ranked)

    def __len__(self) -> int:
        return len(self._keys)

    def to_json(self) -> dict[str, Any]:
        """The index as a few long texts, which are read many times faster than lists."""
        return {
            "keys": "\n".join(self._keys),
            "long": _packed(self._long),
            "short": _packed(self._short),
            "loose": list(self._loose),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PatternIndex:
        keys = data["keys"].split("\n") if data["keys"] else []
        return cls(keys, _unpacked(data["long"]), _unpacked(data["short"]), tuple(data["loose"]))


def _joined(table: Mapping[str, list[int]]) -> dict[str, str]:
    return {run: ",".join(map(str, numbers)) for run, numbers in table.items()}


def _packed(table: Mapping[str, str]) -> list[str]:
    """All runs in one text and their numbers in another; no run has white space in it."""
    return ["\n".join(table), "\n".join(table.values())]


def _unpacked(texts: list[str]) -> dict[str, str]:
    runs, numbers = texts
    return dict(zip(runs.split("\n"), numbers.split("\n"), strict=True)) if runs else {}


def _grams(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(len(text) - size + 1)]


def _anchors(texts: list[str], counts: Mapping[str, int]) -> list[str]:
    """The rarest run of the head, and the rarest one of each half of what follows."""
    places: list[tuple[int, str]] = []  # (position in all literal text, run)
    length = 0
    for text in texts:
        places += [(length + at, gram) for at, gram in enumerate(_grams(text, LONG))]
        length += len(text)
    if not places:
        return []
    middle = HEAD + max(0, length - HEAD) // 2
    found: dict[int, str] = {}
    for start, end in ((0, HEAD), (HEAD, middle), (middle, length)):
        part = [
            (counts[gram], at, gram)
            for at, gram in places
            if start <= at and at + LONG <= end and all(abs(at - one) >= LONG for one in found)
        ]
        if part:
            _, at, gram = min(part)
            found[at] = gram
    if not found:  # every run lies across a border
        _, at, gram = min((counts[gram], at, gram) for at, gram in places)
        found[at] = gram
    return sorted(set(found.values()))  # in an order that is the same in every run
