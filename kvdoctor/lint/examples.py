"""Runs the examples of a record through every stage and compares with what they expect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kvdoctor.form.meaning import RELEASE
from kvdoctor.form.shape import Path
from kvdoctor.lint.note import Note
from kvdoctor.record import Example, Record

if TYPE_CHECKING:
    from kvdoctor.knowledge import Knowledge
    from kvdoctor.match import Match
    from kvdoctor.report import Report


def notes(record: Record, knowledge: Knowledge) -> Iterator[Note]:
    """Every example that comes out otherwise than expected."""
    for index, example in enumerate(record.examples):
        path: Path = ("examples", index)
        shown = run(example, knowledge, record.id)
        if example.belongs_to:
            yield from _near_miss(record, example, shown, path)
        else:
            yield from _positive(record, example, shown, path)


def run(example: Example, knowledge: Knowledge, record_id: str) -> Report:
    """The report on one example, with its answers given. One without a log is about a record that
    is chosen by hand: a danger shows no message. A notice counts when no trouble stands there."""
    from dataclasses import replace

    from kvdoctor.intake import read
    from kvdoctor.report import Source, read_sources, report

    answers: dict[str, object] = dict(example.answers)
    if example.vllm:
        answers.setdefault(RELEASE, example.vllm)
    if not example.log.strip():
        none = read_sources([], knowledge)
        return report(none, knowledge, record_id=record_id, answers=answers, walk=False)
    source = Source(read(example.log, "example", knowledge=knowledge.reading))
    found = read_sources([source], knowledge)
    if not found.findings:
        found = replace(found, findings=found.notices)
    at = _own(found.findings, record_id) if example.behind else None
    return report(found, knowledge, chosen=at, answers=answers, walk=False)


def _own(findings: Sequence[Match], record_id: str) -> int | None:
    """The finding of the record itself, when another's is shown first."""
    return next((at for at, one in enumerate(findings) if one.record == record_id), None)


def _owner(shown: Report) -> str:
    return shown.findings[0].record or "none" if shown.findings else "none"


def _near_miss(record: Record, example: Example, shown: Report, path: Path) -> Iterator[Note]:
    owner = _owner(shown)
    if owner != example.belongs_to:
        say = f"{example.name!r} belongs to {example.belongs_to}, but {owner} claims it"
        yield Note("example-owner", path, say)


def _positive(record: Record, example: Example, shown: Report, path: Path) -> Iterator[Note]:
    owner = _owner(shown)
    if example.behind and owner != example.behind:
        say = f"{example.name!r}: {example.behind} is expected first, but {owner} is"
        yield Note("example-owner", (*path, "expect", "behind"), say)
    if example.log.strip() and (shown.record is None or shown.record.id != record.id):
        say = f"{example.name!r} is not recognised: {owner} claims it"
        yield Note("example-owner", path, say)
        return
    yield from _outcome(example, shown, path)
    yield from _values(example, shown, path)
    offered = {one.fix.id: one.fix.snippet for one in shown.fixes}
    why = {one.id: one.why for one in shown.withheld}
    for name, snippet in example.snippets.items():
        got = offered.get(name)
        if got != snippet:
            here = (*path, "expect", "snippets", name)
            reason = f": {why[name]}" if name in why else ""
            yield Note("example-snippet", here, f"expected {snippet!r}, got {got!r}{reason}")


def _outcome(example: Example, shown: Report, path: Path) -> Iterator[Note]:
    from kvdoctor.decide import Asks, Cause

    outcome = shown.outcome
    got = outcome.check.id if isinstance(outcome, Cause) else ""
    asks = outcome.names if isinstance(outcome, Asks) else ()
    said = f"check {got}" if got else f"asks {', '.join(asks)}" if asks else shown.status
    if example.check and got != example.check:
        here = (*path, "expect", "check")
        yield Note("example-check", here, f"{example.name!r}: expected {example.check}, got {said}")
    if example.asks and set(asks) != set(example.asks):
        here = (*path, "expect", "asks")
        wanted = ", ".join(example.asks)
        yield Note("example-asks", here, f"{example.name!r}: expected asks {wanted}, got {said}")


def _values(example: Example, shown: Report, path: Path) -> Iterator[Note]:
    values: dict[str, Any] = dict(shown.outcome.values) if shown.outcome else {}
    for name, wanted in example.values.items():
        got = values.get(name)
        if not _same(got, wanted):
            here = (*path, "expect", "values", name)
            yield Note("example-values", here, f"expected {wanted!r}, got {got!r}")


def _same(got: Any, wanted: Any) -> bool:
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (got, wanted))
    if numeric:
        return bool(abs(got - wanted) <= 1e-6 * max(1.0, abs(wanted)))
    return bool(got == wanted)
