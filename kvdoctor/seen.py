"""What other log lines of the same text tell about a record's inputs.

An input may name lines ("the peer answered a later handshake") and the value that each tells. Only
a line that stands there tells something: that it is missing proves nothing, a paste may be cut. A
line speaks of the side whose log it stands in, and of no other request than the failure's own: a
hole that the failure's message has too must hold the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvdoctor.data import NamedTuple
from kvdoctor.intake.paste import Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Input, Record
from kvdoctor.values.value import Value


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
        mark = longest_word(template)
        for paste, side in pastes:
            here = paste.name == failure.source
            if spec.where != "anywhere" and not here:
                continue
            for line, message in messages(paste):
                if mark not in message or not _placed(spec.where, line, failure.number):
                    continue
                hit = knowledge.fits(template, message)
                if hit is not None and _agree(hit.holes, failure.holes):
                    yield Value(
                        spec.name,
                        value,  # type: ignore[arg-type]
                        "log",
                        side,
                        line,
                        paste.name,
                        why="a line that tells it",
                    )
                    break


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
