"""The JSON document of one diagnosis: the contract with programs.

``schema_version`` changes only when a field is taken away or changes its meaning; new fields may
come at any time.
"""

from __future__ import annotations

from kvdoctor import __version__
from kvdoctor.decide import Broken, Cause
from kvdoctor.fix import NotOffered
from kvdoctor.identity import Place
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match
from kvdoctor.report import OfferedFix, Report, input_spec
from kvdoctor.text.rendering import render
from kvdoctor.values.value import Scalar, Value
from kvdoctor.walk import Link

SCHEMA_VERSION = 1


def document(shown: Report, knowledge: Knowledge | None = None) -> dict[str, object]:
    """The report as plain JSON values. With ``knowledge`` an error that no record covers is told
    under "unrecorded": where it stands, since when, what stands around it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kvdoctor": __version__,
        "input": _input(shown),
        "vllm": _release(shown),
        "findings": [_finding(one) for one in shown.findings],
        "notices": [_finding(one) for one in shown.notices],
        "unrecorded": _unrecorded(shown, knowledge),
        "unexplained": [one._asdict() for one in shown.unexplained],
        "values": _values(shown),
        "diagnosis": _diagnosis(shown),
        "fixes": [_fix(one) for one in shown.fixes],
        "not_offered": [_withheld(one) for one in shown.withheld],
        "fix_questions": [_question(shown, name) for name in shown.fix_asks],
        "next": [{"record": one.record, "title": one.title, "why": one.why} for one in shown.next],
        "dangers": [
            {"record": one.record, "title": one.title, "why": one.why} for one in shown.dangers
        ],
        "related": [_link(one) for one in shown.related],
    }


def _unrecorded(shown: Report, knowledge: Knowledge | None) -> dict[str, object] | None:
    if knowledge is None or shown.record is not None or shown.finding is None:
        return None
    from kvdoctor.show.unrecorded import as_values, unrecorded

    about = unrecorded(shown, knowledge)
    return as_values(about) if about is not None else None


def _input(shown: Report) -> dict[str, object]:
    pastes = [source.paste for source in shown.sources]
    notes = [note for paste in pastes for note in paste.notes]
    return {
        "name": pastes[0].name if len(pastes) == 1 else ", ".join(one.name for one in pastes),
        "lines": sum(len(one.lines) for one in pastes),
        "bytes": sum(one.size for one in pastes),
        "sides": {source.paste.name: source.side for source in shown.sources},
        "secrets_redacted": sum(one.redacted for one in pastes),
        "notes": notes,
    }


def _release(shown: Report) -> dict[str, object]:
    release = shown.release
    return {
        "release": release.release or None,
        "candidates": list(release.candidates),
        "how": release.how,
        "suffix": release.suffix or None,
        "patched": release.patched,
    }


def place(where: Place | None) -> dict[str, object] | None:
    if where is None:
        return None
    return {
        "file": where.file,
        "function": where.function.rpartition(".")[2] or None,
        "line": where.line or None,
        "releases": list(where.releases),
    }


def _finding(one: Match) -> dict[str, object]:
    return {
        "record": one.record,
        "title": one.title,
        "exception": one.exception or None,
        "raised": one.raised or None,
        "message": one.message,
        "template": one.template,
        "kind": one.kind,
        "owner": one.owner or "unknown",
        "role": one.role,
        "confidence": round(one.confidence, 2),
        "site": place(one.place),
        "vllm_site": place(one.vllm_place),
        "evidence": [
            {"line": item.number, "text": item.text, "source": item.source} for item in one.evidence
        ],
        "process": one.process or None,
        "processes": list(one.processes),
        "pod": one.pod or None,
        "source": one.source,
        "count": one.count,
        "holes": dict(one.holes),
        "alternatives": list(one.alternatives),
        "hint": one.hint or None,
        "similar": list(one.similar),
    }


def _values(shown: Report) -> dict[str, object]:
    """The record's inputs first, then everything read from the inputs under its own name."""
    found: dict[str, object] = {}
    if shown.facts is not None:
        for name, value in shown.facts.known.items():
            found[name] = _value(value)
    for entry in shown.values.entries:
        key = entry.name if entry.side == "this" else f"{entry.side}.{entry.name}"
        if entry.certainty != "usual":
            found.setdefault(key, _value(entry))
    sides = {"prefill", "decode"}
    for entry in shown.values.entries:
        if entry.side in sides and entry.certainty != "usual":
            found.setdefault(entry.name, _value(entry))
    return found


def _value(value: Value) -> dict[str, object]:
    return {
        "value": value.value,
        "from": "inferred" if value.certainty == "inferred" else value.origin,
        "certainty": value.certainty,
        "line": value.number or None,
        "side": None if value.side == "this" else value.side,
        "source": value.source or None,
        "why": value.why or None,
    }


def _diagnosis(shown: Report) -> dict[str, object]:
    outcome = shown.outcome
    branches = outcome.branches if outcome is not None else ()
    return {
        "status": shown.status,
        "record": shown.record.id if shown.record else None,
        "check": outcome.check.id if isinstance(outcome, Cause) else None,
        "cause": outcome.text if isinstance(outcome, Cause) else None,
        "next_step": next_step(shown) or None,
        "asks": list(shown.asks),
        "questions": [_question(shown, name) for name in shown.asks],
        "reason": outcome.reason if isinstance(outcome, Broken) else None,
        "branches": [{"check": one.check, "state": one.state} for one in branches],
    }


def next_step(shown: Report) -> str:
    """What to look at or collect when there is no fix to offer."""
    outcome = shown.outcome
    if isinstance(outcome, Cause) and outcome.check.next_step:
        return render(outcome.check.next_step, outcome.values) or ""
    finding = shown.finding
    return finding.hint if finding is not None else ""


def _question(shown: Report, name: str) -> dict[str, object]:
    spec = input_spec(shown, name)
    offered = shown.facts.offered.get(name) if shown.facts else None
    return {
        "name": name,
        "ask": spec.ask,
        "type": spec.type,
        "unit": spec.unit or None,
        "side": spec.side,
        "find": spec.find or None,
        "to_look_at": [
            {"source": one.source, "line": one.number, "text": one.text}
            for one in shown.to_look_at.get(name, ())
        ],
        "choices": list(spec.choices),
        "usual": offered.value if offered is not None else None,
    }


def _fix(one: OfferedFix) -> dict[str, object]:
    fix = one.fix
    sets: dict[str, Scalar] = dict(fix.sets)
    return {
        "id": fix.id,
        "title": fix.title,
        "snippet": fix.snippet,
        "sets": sets,
        "changes": fix.changes,
        "side": fix.side,
        "kind": fix.kind,
        "proof": fix.proof.level,
        "proof_detail": {
            "vllm": fix.proof.vllm or None,
            "note": fix.proof.note or None,
            "evidence": list(fix.proof.evidence),
            "combinations": fix.proof.combinations or None,
        },
        "before": one.before or None,
        "after": one.after or None,
        "command_restated": one.restated,
        "breaks": [_link(link) for link in one.breaks],
        "still_fails": [_link(link) for link in one.still_fails],
    }


def _withheld(one: NotOffered) -> dict[str, object]:
    return {"id": one.id, "title": one.title, "why": one.why, "asks": list(one.asks)}


def _link(one: Link) -> dict[str, object]:
    return {"record": one.record, "title": one.title, "kind": one.kind, "why": one.why or None}
