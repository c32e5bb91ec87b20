"""What is still to be asked about a failure, and what an answer decides, in words."""

from __future__ import annotations

from kvdoctor.decide import RELEASE_INPUT, Asks
from kvdoctor.reach import parse_for
from kvdoctor.record import Record
from kvdoctor.releases import parse_range
from kvdoctor.report import Report
from kvdoctor.text.rendering import worded


def most_questions(shown: Report) -> int:
    """How many questions can follow at most, the one at hand among them. Fewer do when an answer
    decides the cause earlier."""
    record, outcome = shown.record, shown.outcome
    if record is None or not isinstance(outcome, Asks):
        return 0
    ahead = {one.check for one in outcome.branches if one.state in ("open", "not-reached")}
    needed = set(outcome.names)
    for check in record.checks:
        if check.id not in ahead:
            continue
        reach = parse_range(check.vllm).covers(outcome.facts.candidates) if check.vllm else "all"
        if reach == "none":
            continue
        if reach == "some":
            needed.add(RELEASE_INPUT)
        needed |= inputs_of(record, check.when)
    return len(needed - set(outcome.facts.known) - set(outcome.facts.passed))


def inputs_of(record: Record, expression: str) -> set[str]:
    """The inputs that an expression hangs on, also through derived values."""
    derived = {one.name: one.expression for one in record.derive}
    found: set[str] = set()
    seen: set[str] = set()
    todo = [expression]
    while todo:
        for name in parse_for(record, todo.pop()).names:
            if name in seen:
                continue
            seen.add(name)
            if name in derived:
                todo.append(derived[name])
            else:
                found.add(name)
    return found


def decided_by(shown: Report, name: str) -> list[str]:
    """The causes, in sentences, that hang on the answer to a question."""
    record = shown.record
    if record is None:
        return []
    values = shown.outcome.values if shown.outcome is not None else {}
    return [
        " ".join(worded(check.cause, values).split()) or check.id.replace("-", " ")
        for check in record.checks
        if name in inputs_of(record, check.when)
    ]
