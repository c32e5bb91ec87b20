"""The last resort: which templates share the rare words of a message? Always shown as a guess."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

LEAST = 0.35  # share of the message's word weight that a template must hold
MOST_WORDS = 200  # words of a message that are looked at

_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,40}")
_HOLE = re.compile(r"\{[A-Za-z_]\w{0,79}\}|\{\}")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, numbers and values of one letter left out."""
    return [word.lower() for word in _WORD.findall(text)]


def nearest(message: str, templates: Sequence[str], limit: int) -> list[tuple[int, float]]:
    """(index of the template, likeness from 0 to 1), best first: the weight of the shared words,
    rare ones counting more, over the weight of all words of both."""
    wanted = set(words_of(message)[:MOST_WORDS])
    if not wanted:
        return []
    sets = [set(words_of(_HOLE.sub(" ", template))) for template in templates]
    counts = Counter(word for words in sets for word in words)
    weight = {word: log(1 + len(templates) / (1 + counts[word])) for word in wanted}
    scored = []
    for index, words in enumerate(sets):
        shared = wanted & words
        if len(shared) < 2:
            continue
        of_message = sum(weight[word] for word in shared) / sum(weight.values())
        of_template = len(shared) / len(words)
        score = (of_message * of_template) ** 0.5
        if score >= LEAST:
            scored.append((-score, index))
    return [(index, round(-score, 3)) for score, index in sorted(scored)[: limit * 4]]
