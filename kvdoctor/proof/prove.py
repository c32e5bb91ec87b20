"""``kvdoctor prove``: call the guard of a record in the user's own vLLM, before and after a fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvdoctor.data import dataclass
from kvdoctor.expression import UNKNOWN, parse
from kvdoctor.proof.ask import Reply, ask
from kvdoctor.proof.interpreter import Found, find_python
from kvdoctor.proof.recognise import Mark, marks_of
from kvdoctor.record import Guard, Record
from kvdoctor.releases import contains, is_release

if TYPE_CHECKING:
    import threading

OUTCOMES = {
    "proven": "vLLM {vllm} raised this error with the values before and accepts the new ones.",
    "accepted-before": "vLLM {vllm} accepts the values before the fix: there is nothing to cure.",
    "still-raised": "vLLM {vllm} raises this error with the new values too.",
    "other-error": "vLLM {vllm} does not get that far: {detail}",
    "gone": "This vLLM ({vllm}) does not have that guard.",
    "no-value": "Not every value that the guard reads is known: {detail}",
    "unfit": "This vLLM ({vllm}) cannot be asked about that guard: {detail}",
    "no-caller": "kvdoctor has no way to call the guard of this record.",
    "no-vllm": "No vLLM was found: {detail}",
    "no-import": "vLLM does not import there: {detail}",
    "timeout": "vLLM did not answer: {detail}",
    "stopped": "The question was {detail}.",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call did. ``kind``: accepted, raised (this guard), other (another error), gone,
    missing (values), unfit."""

    call: str
    kind: str
    exception: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ProofRun:
    """``outcome`` is a key of OUTCOMES, ``says`` one sentence for people."""

    outcome: str
    says: str
    python: str = ""
    found: str = ""  # how the interpreter was found
    vllm: str = ""
    before: tuple[Answer, ...] = ()
    after: tuple[Answer, ...] = ()

    @property
    def proven(self) -> bool:
        return self.outcome == "proven"


def prove(
    record: Record,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    python: str = "",
    seconds: float = 180.0,
    environment: Mapping[str, str] | None = None,
    stop: threading.Event | None = None,
) -> ProofRun:
    """Call the record's guards with the values ``before`` and ``after`` a fix (input -> value,
    derived values included). ``stop`` ends it early. Never raises for what the other interpreter
    does."""
    guards = tuple(guard for guard in record.guards if guard.call)
    if not guards:
        return _run("no-caller", Found("", ""))
    found = find_python(python, environment)
    if not found.path:
        return _run("no-vllm", found, detail=found.how)
    calls = [_call(record, guard, [before, after]) for guard in guards]
    reply = ask(found.path, calls, seconds=seconds, environment=environment, stop=stop)
    if reply.failure:
        named = {"timeout": "timeout", "stopped": "stopped", "start": "no-vllm"}
        outcome = named.get(reply.failure, "no-import")
        return _run(outcome, found, reply, detail=_last_line(reply.detail))
    marks = marks_of(record.identify)
    pairs = [
        tuple(_answer(guard.call, raw, marks) for raw in reply.answers[index])
        for index, guard in enumerate(guards)
        if _in_range(guard, reply.vllm)
    ]
    if not pairs:
        return _run("gone", found, reply)
    return _judge(found, reply, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def _call(record: Record, guard: Guard, sets: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The runner's request for one guard: it takes what the caller has a parameter for."""
    types = {name: spec.type for name, spec in record.inputs.items()}
    types["vllm_release"] = "version"
    types.update({derived.name: derived.type for derived in record.derive})
    rows: list[dict[str, Any]] = []
    for values in sets:
        row = {name: value for name, value in values.items() if value is not UNKNOWN}
        for name, text in guard.arguments.items():
            value = parse(text, types).evaluate(values)
            if value is UNKNOWN:
                row.pop(name, None)
            else:
                row[name] = value
        rows.append(row)
    names = sorted({name for row in rows for name in row})
    return {"id": guard.call, "names": names, "rows": rows, "given": True}


def _in_range(guard: Guard, vllm: str) -> bool:
    """Whether the entry speaks of that build; one whose version says nothing is asked anyway."""
    release = vllm.partition("+")[0]
    return not is_release(release) or contains(guard.vllm, release)


def _answer(call: str, raw: list[str], marks: tuple[Mark, ...]) -> Answer:
    kind, exception, message, line = raw
    if kind == "raised":
        mine = any(mark.fits(exception, message, line) for mark in marks)
        return Answer(call, "raised" if mine else "other", exception, message)
    named = {"returned": "accepted", "gone": "gone", "missing": "missing"}
    return Answer(call, named.get(kind, "unfit"), exception, message)


def _judge(found: Found, reply: Reply, before: list[Answer], after: list[Answer]) -> ProofRun:
    """One outcome for all guards of the record: each must accept what comes after."""
    everything = before + after
    for kind, outcome in (("missing", "no-value"), ("unfit", "unfit"), ("gone", "gone")):
        faults = [one for one in everything if one.kind == kind]
        if faults:
            detail = faults[0].message
            return _run(outcome, found, reply, before, after, detail)
    if any(one.kind == "raised" for one in after):
        return _run("still-raised", found, reply, before, after)
    others = [one for one in after if one.kind == "other"]
    if others:
        detail = f"{others[0].exception}: {others[0].message}"
        return _run("other-error", found, reply, before, after, detail)
    if not any(one.kind == "raised" for one in before):
        return _run("accepted-before", found, reply, before, after)
    return _run("proven", found, reply, before, after)


def _run(
    outcome: str,
    found: Found,
    reply: Reply | None = None,
    before: list[Answer] | None = None,
    after: list[Answer] | None = None,
    detail: str = "",
) -> ProofRun:
    vllm = reply.vllm if reply else ""
    return ProofRun(
        outcome=outcome,
        says=OUTCOMES[outcome].format(vllm=vllm, detail=detail),
        python=found.path,
        found=found.how,
        vllm=vllm,
        before=tuple(before or ()),
        after=tuple(after or ()),
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it ended without a word"
