"""Whether the examples reach everything in a record: its entries, lines, checks and fixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvdoctor.lint.note import Note
from kvdoctor.record import Example, Identify, Record
from kvdoctor.seen import longest_word, messages

if TYPE_CHECKING:
    from kvdoctor.intake.paste import Paste
    from kvdoctor.knowledge import Knowledge


def notes(record: Record, knowledge: Knowledge) -> Iterator[Note]:
    """Parts of the record that no example reaches."""
    if record.status == "retired":
        return
    positive = [example for example in record.examples if not example.belongs_to]
    if len(positive) == len(record.examples):
        say = "no near miss: a log that looks like this one and is another's, or nobody's"
        yield Note("no-near-miss", ("examples",), say, "add one with expect: {belongs_to: …}")
    from kvdoctor.intake import read

    pastes = [read(example.log, knowledge=knowledge.reading) for example in positive]
    yield from _entries(record, pastes, knowledge)
    yield from _lines(record, list(zip(positive, pastes, strict=True)), knowledge)
    reached = {example.check for example in positive}
    for index, check in enumerate(record.checks):
        if check.id not in reached:
            say = f"no example expects the check {check.id!r}"
            yield Note("no-example", ("checks", index), say)
    offered = {
        name for one in positive for name, snippet in one.snippets.items() if snippet is not None
    }
    for name in record.fixes:
        if name not in offered:
            say = f"no example expects the snippet of the fix {name!r}"
            yield Note("no-example", ("fixes", name), say)


def _entries(record: Record, pastes: list[Paste], knowledge: Knowledge) -> Iterator[Note]:
    for index, entry in enumerate(record.identify):
        if not any(reaches(entry, paste, knowledge) for paste in pastes):
            say = "no example has a log that this entry recognises"
            yield Note("no-example", ("identify", index), say)


def _lines(
    record: Record, positive: list[tuple[Example, Paste]], knowledge: Knowledge
) -> Iterator[Note]:
    """Log lines that no example shows to tell their value. One whose answers give the value does
    not show it: the line could be wrong or never be read."""
    for name, spec in record.inputs.items():
        for template, value in spec.lines.items():
            able = [
                paste
                for example, paste in positive
                if name not in example.answers
                and name in example.values
                and example.values[name] == value
            ]
            if not any(_stands(template, paste, knowledge) for paste in able):
                say = f"no example shows that this line tells {name} = {value!r}"
                remedy = (
                    "add one whose log holds it, with the value in expect.values, not in answers"
                )
                yield Note("untold-line", ("inputs", name, "lines", template), say, remedy)


def _stands(template: str, paste: Paste, knowledge: Knowledge) -> bool:
    mark = longest_word(template)
    return any(
        mark in message and knowledge.fits(template, message) for _, message in messages(paste)
    )


def reaches(entry: Identify, paste: Paste, knowledge: Knowledge) -> bool:
    """Whether something in ``paste`` is what the entry describes, its surroundings left aside."""
    for failure in paste.failures:
        names = {failure.exception.rpartition(".")[2], failure.raised.rpartition(".")[2]}
        wanted = entry.exception.rpartition(".")[2]
        if wanted and failure.exception and wanted not in names:
            continue
        if entry.message and knowledge.fits(entry.message, failure.message):
            return True
        frame = failure.frames[-1] if failure.frames else None
        if frame and not entry.message:
            function = frame.function.rpartition(".")[2]
            if entry.frame == f"{frame.module}:{function}":
                return True
    if entry.message and not entry.frame:
        if any(knowledge.fits(entry.message, record.message) for record in paste.records):
            return True
        return any(knowledge.fits(entry.message, line.text.strip()) for line in paste.lines)
    return False
