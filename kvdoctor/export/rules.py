"""From records to patterns that a line-by-line log system can match.

A pattern is a literal that every matching line holds, and a regular expression in the RE2 subset
(no look-around, no back-references, linear time). A message of several lines is known by its most
telling line. What only a traceback's frames can tell cannot be exported, and is said so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kvdoctor.data import NamedTuple
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Identify, Record
from kvdoctor.text import phrase

LEAST_LITERAL = 12  # characters of fixed text that make a line worth an alert
SEVERITIES = ("error", "danger", "warning", "notice")
_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")
_NUMBER = r"[-+]?[0-9][0-9.]*"
_ANY = ".*"


class Rule(NamedTuple):
    """One way in which one record shows itself. ``literal`` stands in every line that ``regex``
    matches; ``sure`` is false when a traceback is needed to tell the record from others."""

    name: str  # unique: the record's id, with a number from the second pattern on
    record: Record
    literal: str
    regex: str
    sure: bool


class Left(NamedTuple):
    """A pattern that cannot be exported."""

    record: Record
    why: str


def rules(
    knowledge: Knowledge, severities: Collection[str] = (), only: Collection[str] = ()
) -> tuple[list[Rule], list[Left]]:
    """The rules of all records (of some severities, or of those named), in the order of ids."""
    made: list[Rule] = []
    left: list[Left] = []
    for record_id in sorted(knowledge.records):
        record = knowledge.records[record_id]
        if record.status in ("draft", "retired") or (only and record_id not in only):
            continue
        if severities and record.severity not in severities:
            continue
        own = _of_record(record)
        made += own
        if not own:
            left.append(Left(record, _why(record)))
    return made, left


def _of_record(record: Record) -> list[Rule]:
    found: dict[tuple[str, str], bool] = {}
    for entry in record.identify:
        for literal, regex in _patterns(record, entry):
            sure = not (entry.any_frame or entry.before or entry.frame)
            found[literal, regex] = found.get((literal, regex), False) or sure
    return [
        Rule(record.id if not number else f"{record.id}-{number + 1}", record, *pattern, sure)
        for number, (pattern, sure) in enumerate(found.items())
    ]


def _why(record: Record) -> str:
    if not record.identify:
        return "it shows no message"
    if not any(entry.message for entry in record.identify):
        return "only the frames of a traceback tell it"
    return "its message has too little fixed text"


def _patterns(record: Record, entry: Identify) -> Iterable[tuple[str, str]]:
    types = {name: spec.type for name, spec in record.inputs.items()}
    for one in phrase.read(entry.message) if entry.message else ():
        line = max(_lines(one.items), key=_literals, default=())
        literal = max((item for item in line if isinstance(item, str)), key=len, default="").strip()
        if _literals(line) >= LEAST_LITERAL and len(literal) >= LEAST_LITERAL // 2:
            yield _longest_word_run(literal), _regex(line, types)


def _lines(items: Iterable[phrase.Item]) -> list[tuple[phrase.Item, ...]]:
    """The items of each line of the message."""
    lines: list[list[phrase.Item]] = [[]]
    for item in items:
        if not isinstance(item, str):
            lines[-1].append(item)
            continue
        for number, part in enumerate(item.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append(part)
    return [tuple(line) for line in lines]


def _literals(items: Iterable[phrase.Item]) -> int:
    return sum(len(phrase.skeleton_of(item)) for item in items if isinstance(item, str))


def _longest_word_run(literal: str) -> str:
    """The literal with single blanks: logs keep them, and a run of blanks would be fragile."""
    return max(re.split(r"\s{2,}|\t", literal), key=len)


def _regex(items: Iterable[phrase.Item], types: dict[str, str]) -> str:
    parts: list[str] = []
    for item in items:
        if isinstance(item, str):
            parts.append(re.sub(r"\s+", r"\\s+", escaped(item)))
        else:
            kind = item.type or types.get(item.name, "")
            hole = _NUMBER if kind in ("int", "number") else _ANY
            if not (parts and parts[-1] == hole == _ANY):
                parts.append(hole)
    while parts and parts[-1] in (_ANY, r"\s+"):
        parts.pop()
    while parts and parts[0] in (_ANY, r"\s+"):
        parts.pop(0)
    return "".join(parts)


def escaped(literal: str) -> str:
    """``literal`` as a regular expression of RE2, Java, Rust and Python alike."""
    return _SPECIAL.sub(r"\\\1", literal)
