"""Root messages that stand inside another message: "failed with error '…'"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvdoctor.data import replace
from kvdoctor.intake.paste import Failure, LogRecord
from kvdoctor.record import Wrapper
from kvdoctor.text.template import Pattern


def unquoted(
    failures: tuple[Failure, ...], records: tuple[LogRecord, ...], wrappers: Sequence[Wrapper]
) -> tuple[tuple[Failure, ...], tuple[LogRecord, ...]]:
    """The failures with a ``quoted`` one behind each whose message quotes another, and the records
    with their indices moved accordingly."""
    quoting = [
        (Pattern.compile(wrapper.message), _mark(wrapper.message), wrapper.quotes)
        for wrapper in wrappers
        if wrapper.quotes
    ]
    inner: dict[int, Failure] = {}
    for index, failure in enumerate(failures):
        message = _inner(failure.message, quoting)
        if message is not None:
            inner[index] = _quoted(failure, message)
    alone = {
        index: message
        for index, record in enumerate(records)
        if record.failure is None
        and record.level in ("ERROR", "CRITICAL", "WARNING")
        and (message := _inner(record.message, quoting)) is not None
    }
    if not inner and not alone:
        return failures, records
    return _merged(failures, records, inner, alone)


def _merged(
    failures: tuple[Failure, ...],
    records: tuple[LogRecord, ...],
    inner: dict[int, Failure],
    alone: dict[int, str],
) -> tuple[tuple[Failure, ...], tuple[LogRecord, ...]]:
    moved: dict[int, int] = {}
    out: list[Failure] = []
    for index, failure in enumerate(failures):
        moved[index] = len(out)
        out.append(failure)
        if index in inner:
            out.append(inner[index])
    for index, failure in enumerate(failures):
        place = moved[index]
        cause = None if failure.cause is None else moved[failure.cause]
        if index in inner and cause is None:
            out[place] = replace(failure, cause=place + 1, link="direct")
        else:
            out[place] = replace(failure, cause=cause)
    changed = [
        record if record.failure is None else replace(record, failure=moved[record.failure])
        for record in records
    ]
    for index, message in alone.items():
        changed[index] = replace(changed[index], failure=len(out))
        out.append(_of_record(records[index], message))
    return tuple(out), tuple(changed)


def _inner(message: str, quoting: Sequence[tuple[Pattern, str, str]]) -> str | None:
    for pattern, mark, hole in quoting:
        if mark in message:
            hit = pattern.match(message)
            if hit and hole in hit.holes:
                return hit.holes[hole].strip()
    return None


def _quoted(failure: Failure, message: str) -> Failure:
    return replace(
        failure, exception="", message=message, frames=(), form="quoted", raised="", header="",
        cause=None, link="", first=failure.number, notes=(),
    )  # fmt: skip


def _of_record(record: LogRecord, message: str) -> Failure:
    return Failure(
        "", message, (), record.number, record.number, record.last, "quoted",
        process=record.process, pid=record.pid, pod=record.pod, level=record.level,
        time=record.time, log_file=record.log_file, log_line=record.log_line,
    )  # fmt: skip


def _mark(template: str) -> str:
    """The longest literal word of a template: a cheap test before the match."""
    words = re.sub(r"\{\w*(?::\w+)?\}", " ", template).split()
    return max(words, key=len, default="")
