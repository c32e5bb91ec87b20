"""What other log lines of the same text tell about a record's inputs.

An input may name lines ("the peer answered a later handshake") and the value that each tells. Only
a line that stands there tells something: that it is missing proves nothing, a paste may be cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvdoctor.intake.paste import Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Input, Record
from kvdoctor.values.value import Value


def seen_lines(
    record: Record,
    pastes: Sequence[tuple[Paste, str]],
    source: str,
    number: int,
    knowledge: Knowledge,
) -> dict[str, Value]:
    """Input -> value for every input of ``record`` that a log line answers.

    ``pastes`` are the texts with their sides; the failure stands in the one named ``source`` at
    line ``number`` ("" and 0 when it stands nowhere)."""
    found: dict[str, Value] = {}
    for name, spec in record.inputs.items():
        if not spec.lines:
            continue
        for value in _told(spec, pastes, source, number, knowledge):
            found[name] = value
            break
    return found


def _told(
    spec: Input,
    pastes: Sequence[tuple[Paste, str]],
    source: str,
    number: int,
    knowledge: Knowledge,
) -> Iterator[Value]:
    for template, value in spec.lines.items():
        mark = longest_word(template)
        for paste, side in pastes:
            here = paste.name == source
            if spec.where != "anywhere" and not here:
                continue
            for line, message in _messages(paste):
                if mark not in message or not _placed(spec.where, line, number):
                    continue
                if knowledge.fits(template, message) is not None:
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


def _messages(paste: Paste) -> Iterator[tuple[int, str]]:
    for record in paste.records:
        yield record.number, record.message
    for failure in paste.failures:
        yield failure.number, failure.message


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
