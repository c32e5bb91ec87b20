"""Log records: the lines of one logger call put together."""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.intake.found import Stream
from kvdoctor.intake.paste import Line, LogRecord

MAX_LINES = 400  # of one record


def records_of(
    streams: Sequence[Stream], places: dict[tuple[int, int], int]
) -> tuple[LogRecord, ...]:
    """The records of all streams, in order of appearance."""
    slots: list[LogRecord | None] = [None] * sum(len(stream.lines) for stream in streams)
    for number, stream in enumerate(streams):
        _collect(stream, number, places, slots)
    return tuple(record for record in slots if record is not None)


def _collect(
    stream: Stream,
    number: int,
    places: dict[tuple[int, int], int],
    slots: list[LogRecord | None],
) -> None:
    """The records of one stream, each in the slot of its first line."""
    lines, owner = stream.lines, stream.owner
    at, size = 0, len(lines)
    while at < size:
        line = lines[at]
        if not line.level:
            at += 1
            continue
        failure = owner[at]
        behind = at + 1
        if failure < 0 and (behind == size or lines[behind].log_line != line.log_line != 0):
            # nearly every line of a log: a record of its own
            below = _traceback_below(stream, behind)
            place = places.get((number, below)) if below >= 0 else None
            slots[stream.order[at]] = _record(line, line.number, line, place)
            at = behind
            continue
        texts = [line.text] if failure < 0 else []
        while behind < size and _goes_on(stream, at, behind, failure) and len(texts) < MAX_LINES:
            if owner[behind] < 0:
                texts.append(lines[behind].text)
            elif failure < 0:
                failure = owner[behind]
            behind += 1
        if failure < 0:
            failure = _traceback_below(stream, behind)
        message = line if len(texts) < 2 else "\n".join(texts).rstrip()
        place = places.get((number, failure)) if failure >= 0 else None
        slots[stream.order[at]] = _record(line, lines[behind - 1].number, message, place)
        at = behind


def _goes_on(stream: Stream, first: int, at: int, failure: int) -> bool:
    """Whether line ``at`` belongs to the record that begins at ``first``."""
    line, head = stream.lines[at], stream.lines[first]
    if not line.level or line.log_line != head.log_line or not stream.goes_on(at):
        return False
    if stream.owner[at] >= 0:
        return failure < 0 or stream.owner[at] == failure or stream.owner[at - 1] >= 0
    if stream.mixed:
        return True
    text = line.text
    return bool(head.log_file) and (not text or text[0] in " \t")


def _traceback_below(stream: Stream, at: int) -> int:
    """The unprefixed traceback that the next line of the stream begins, if any."""
    if at < len(stream.lines) and not stream.lines[at].level and stream.owner[at] >= 0:
        return stream.owner[at]
    return -1


def _record(line: Line, last: int, message: str | Line, failure: int | None) -> LogRecord:
    return LogRecord(
        line.number, last, line.level, message,  # type: ignore[arg-type]
        line.process, line.pid, line.pod, line.time, line.log_file, line.log_line, line.native,
        failure,
    )  # fmt: skip
