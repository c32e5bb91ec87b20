"""What other log lines of the same text tell about a record's inputs.

An input may name lines ("the peer answered a later handshake") and the value that each tells. Only
a line that stands there tells something: that it is missing proves nothing, a paste may be cut. A
line speaks of the side whose log it stands in, and of no other request than the failure's own: a
hole that the failure's message has too must hold the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kvdoctor.data import NamedTuple
from kvdoctor.intake.paste import Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Input, Record
from kvdoctor.values.value import Value

MOST_SHOWN = 3  # lines to look at for one question


class Failed(NamedTuple):
    """The failure that is looked into: its text and line ("" and 0 when it stands nowhere), and
    what the holes of its message held."""

    source: str = ""
    number: int = 0
    holes: Mapping[str, str] = {}


def seen_lines(
    record: Record,
    pastes: Sequence[tuple[Paste, str]],
    failure: Failed,
    knowledge: Knowledge,
) -> dict[str, Value]:
    """Input -> value for every input of ``record`` that a log line answers.

    ``pastes`` are the texts with their sides."""
    found: dict[str, Value] = {}
    own_side = next((side for paste, side in pastes if paste.name == failure.source), "")
    for name, spec in record.inputs.items():
        if not spec.lines:
            continue
        read = [one for one in pastes if _speaks_of(one[1], spec.side, own_side)]
        for value in _told(spec, read, failure, knowledge):
            found[name] = value
            break
    return found


def _speaks_of(side: str, wanted: str, own_side: str) -> bool:
    """Whether a text of ``side`` can tell a value of the side that an input asks for. A text of an
    unknown side ("this") may be any."""
    if wanted == "this":
        return not own_side or side == own_side
    if wanted == "other":
        return side == "this" or side != own_side
    return wanted == "both" or side in (wanted, "this")


def _told(
    spec: Input, pastes: Sequence[tuple[Paste, str]], failure: Failed, knowledge: Knowledge
) -> Iterator[Value]:
    for template, value in spec.lines.items():
        for paste, side in pastes:
            number = next(_fitting(template, spec, paste, failure, knowledge), 0)
            if number:
                why = "a line that tells it"
                yield Value(spec.name, value, "log", side, number, paste.name, why=why)  # type: ignore[arg-type]


def shown_lines(
    record: Record,
    name: str,
    pastes: Sequence[tuple[Paste, str]],
    failure: Failed,
    knowledge: Knowledge,
) -> tuple[tuple[Paste, int], ...]:
    """Text and number of the lines that somebody who answers ``name`` should look at: they bear on
    it and do not settle it. The first few, in the order of the texts."""
    spec = record.inputs.get(name)
    if spec is None or not spec.shows:
        return ()
    own_side = next((side for paste, side in pastes if paste.name == failure.source), "")
    found: list[tuple[Paste, int]] = []
    for paste, side in pastes:
        if _speaks_of(side, spec.side, own_side):
            numbers = {
                number
                for template in spec.shows
                for number in islice(
                    _fitting(template, spec, paste, failure, knowledge), MOST_SHOWN
                )
            }
            found += [(paste, number) for number in sorted(numbers)]
    return tuple(found[:MOST_SHOWN])


def _fitting(
    template: str, spec: Input, paste: Paste, failure: Failed, knowledge: Knowledge
) -> Iterator[int]:
    """Numbers of the lines that fit a template, stand where the input wants them, and do not speak
    of another request."""
    if spec.where != "anywhere" and paste.name != failure.source:
        return
    mark = longest_word(template)
    for number, message in messages(paste):
        if mark in message and _placed(spec.where, number, failure.number):
            hit = knowledge.fits(template, message)
            if hit is not None and _agree(hit.holes, failure.holes):
                yield number


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(other.get(name, value) == value for name, value in one.items())


def messages(paste: Paste) -> Iterator[tuple[int, str]]:
    """Log records, errors, and the lines that are neither: a thread's last words have no level."""
    for record in paste.records:
        yield record.number, record.message
    for failure in paste.failures:
        yield failure.number, failure.message
    for line in paste.lines:
        if not line.level and not line.native:
            yield line.number, line.text


def _placed(where: str, line: int, number: int) -> bool:
    if where == "after":
        return line > number
    return where != "before" or line < number


def longest_word(template: str) -> str:
    """The longest run of fixed text without a blank: a cheap test before the match."""
    words: list[str] = []
    for piece in template.split("{"):
        words += piece.partition("}")[2].split() if "}" in piece else piece.split()
    return max(words, key=len, default="")
