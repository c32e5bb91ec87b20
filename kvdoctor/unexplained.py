"""Error lines that nothing in the knowledge explains: never passed over without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kvdoctor.data import NamedTuple
from kvdoctor.identify import BAD_LEVELS, Identifier
from kvdoctor.intake.paste import LogRecord, Paste
from kvdoctor.knowledge import Knowledge

LONGEST = 300  # characters of one line that are kept
MOST = 50  # different lines that are kept


class Unexplained(NamedTuple):
    """Log lines of one call that report an error."""

    source: str
    number: int  # line of the first
    text: str
    place: str  # "connector.py:419" as the line names it, "" when it does not
    process: str
    times: int = 1


def unexplained(
    paste: Paste, knowledge: Knowledge, findings: bool = False
) -> tuple[Unexplained, ...]:
    """The error lines of a text that nothing explains, equal ones counted, in their order.
    ``findings``: something was found in it, so that some of them may be explained."""
    identifier = Identifier(knowledge, paste) if findings else None
    found: dict[tuple[str, str], Unexplained] = {}
    judged: dict[tuple[str, str, str], bool] = {}  # a call writes other texts, too
    for record in paste.records:
        if record.level not in BAD_LEVELS or not record.message.strip():
            continue
        place, key = _place(record), call_of(record)
        if identifier is not None:
            call = (*key, record.message[:40])
            if call not in judged and len(judged) < 2 * MOST:
                judged[call] = _is_explained(record, identifier)
            if judged.get(call, True):
                continue
        known = found.get(key)
        if known is not None:
            found[key] = known._replace(times=known.times + 1)
        elif len(found) < MOST and not _is_noise(record, knowledge):
            text = " ".join(record.message.split())[:LONGEST]
            found[key] = Unexplained(paste.name, record.number, text, place, record.process)
    return tuple(found.values())


def _is_explained(record: LogRecord, identifier: Identifier) -> bool:
    return (
        record.failure is not None
        or identifier.log(record) is not None
        or identifier.wrapper(record.message) is not None
    )


def unexplained_records(
    paste: Paste, knowledge: Knowledge, explained: Collection[int]
) -> Iterator[LogRecord]:
    """The error records of a text that are no noise, print no traceback and do not stand at one of
    the lines ``explained``."""
    for record in paste.records:
        if record.level in BAD_LEVELS and record.failure is None and record.message.strip():
            inside = range(record.number, record.last + 1)
            if not any(number in explained for number in inside) and not _is_noise(
                record, knowledge
            ):
                yield record


def call_of(record: LogRecord) -> tuple[str, str]:
    """What records of one log call share: the place that it names, else how the message begins."""
    return _place(record), "" if record.log_file else record.message[:40]


def _place(record: LogRecord) -> str:
    return f"{record.log_file}:{record.log_line}" if record.log_file else record.native.strip()


def _is_noise(record: LogRecord, knowledge: Knowledge) -> bool:
    wrapper = knowledge.wrapper_of(record.message)
    if wrapper is not None:
        return wrapper.noise
    said = knowledge.foreign.find(record.message, native=record.native)
    return said is not None and said.harmless
