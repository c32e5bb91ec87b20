"""The small targets of the coverage-guided fuzzer, on seeds and on everything it ever found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz import mutate
from fuzz.targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")
KEPT = sorted(one for one in CORPUS.glob("*-*.bin") if one.name.partition("-")[0] in TARGETS)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_hostile_words_raise_nothing(name: str) -> None:
    for word in mutate.NASTY:
        TARGETS[name](word.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_damaged_pieces_of_real_logs_raise_nothing(name: str) -> None:
    chance = random.Random(20261201)  # noqa: S311
    every = mutate.cases()
    for _ in range(12):
        TARGETS[name](mutate.mutated(chance, every)[:1500])


@pytest.mark.parametrize("file", KEPT, ids=lambda path: path.name)
def test_what_the_fuzzer_found_stays_fixed(file: Path) -> None:
    TARGETS[file.name.partition("-")[0]](file.read_bytes())
