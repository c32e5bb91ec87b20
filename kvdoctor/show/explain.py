"""A record for people and programs, and what ``kvdoctor info`` says about this installation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvdoctor import __version__
from kvdoctor.clipboard import state_folder
from kvdoctor.errors import KvdoctorError
from kvdoctor.knowledge import Knowledge
from kvdoctor.proof.results import compared
from kvdoctor.record import PROOFS, Check, FixSpec, Identify, Input, Published, Record
from kvdoctor.show.plain import PROOF_WORDS
from kvdoctor.terminal import clean
from kvdoctor.walk import relations


def explanation(what: str, knowledge: Knowledge) -> dict[str, Any] | None:
    """The record named by an id, a published id, slug or url, or by its message; None if none."""
    record_id = knowledge.resolve(what) or _by_message(what, knowledge)
    if record_id is None:
        return None
    record = knowledge.records[record_id]
    return {
        "record": record.id,
        "title": record.title,
        "status": record.status,
        "severity": record.severity,
        "private": record.private,
        "summary": record.summary.strip(),
        "owner": record.owner,
        "connectors": list(record.connectors),
        "tags": list(record.tags),
        "seen_in": [{"vllm": one.vllm, "raised_in": one.raised_in} for one in record.seen_in],
        "messages": [_message(one) for one in record.identify],
        "inputs": [_input(one) for one in record.inputs.values()],
        "checks": [_check(one) for one in record.checks],
        "guards": [
            {"vllm": one.vllm, "accepts": one.accepts, "mirrors": one.mirrors or None}
            for one in record.guards
        ],
        "fixes": [_fix(one) for one in record.fixes.values()],
        "published": [_published(one) for one in record.published],
        "related": [
            {"record": one.record, "title": one.title, "kind": one.kind, "why": one.why or None}
            for one in relations(record, knowledge)
        ],
    }


def _message(one: Identify) -> dict[str, Any]:
    return {
        "exception": one.exception or None,
        "message": one.message or None,
        "frame": one.frame or one.any_frame or None,
        "level": one.level or None,
    }


def _input(one: Input) -> dict[str, Any]:
    return {
        "name": one.name,
        "type": one.type,
        "side": one.side,
        "ask": one.ask,
        "find": one.find or None,
    }


def _published(one: Published) -> dict[str, Any]:
    return {
        "id": one.id or None,
        "slug": one.slug or None,
        "url": one.url or None,
        "advice": [
            {"says": says, "verdict": verdict, "instead": instead or None}
            for says, verdict, instead in one.advice
        ],
    }


def _by_message(what: str, knowledge: Knowledge) -> str | None:
    best: tuple[int, str] | None = None
    for record, _, hit in knowledge.claims(what, anywhere=True):
        if best is None or hit.literal_chars > best[0]:
            best = (hit.literal_chars, record.id)
    return best[1] if best else None


def _check(one: Check) -> dict[str, Any]:
    return {
        "id": one.id,
        "vllm": one.vllm or None,
        "when": one.when,
        "cause": one.cause.strip(),
        "fixes": list(one.fixes),
        "next_step": one.next_step.strip() or None,
    }


def _fix(one: FixSpec) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "side": one.side,
        "kind": one.kind,
        "vllm": one.vllm or None,
        "snippet": one.snippet,
        "changes": one.changes.strip(),
        "proof": one.proof.level,
        "proof_note": one.proof.note or None,
        "evidence": list(one.proof.evidence),
    }


def explanation_text(found: Mapping[str, Any]) -> str:
    """The explanation as text; holes in it stay visible as {names}."""
    lines = [
        f"{found['title']}",
        f"  {found['record']}  ({found['severity']}, {found['status']}"
        f"{', private' if found['private'] else ''})",
        "",
        found["summary"],
        "",
    ]
    lines.append("IN")
    lines += [
        f"  vLLM {one['vllm'] or 'every release'}: {one['raised_in']}" for one in found["seen_in"]
    ]
    lines += ["", "SHOWS ITSELF AS"]
    for one in found["messages"]:
        head = f"{one['exception']}: " if one["exception"] else ""
        lines.append(f"  {head}{one['message'] or one['frame']}")
    lines += ["", "CAUSES, in the order in which they are tried"]
    for one in found["checks"]:
        lines += [f"  {one['id']}   when {one['when']}", f"    {one['cause']}"]
        lines += [f"    fixes: {', '.join(one['fixes'])}"] if one["fixes"] else []
        lines += [f"    next step: {one['next_step']}"] if one["next_step"] else []
    lines += ["", "FIXES"] if found["fixes"] else []
    for one in found["fixes"]:
        span = f", vLLM {one['vllm']}" if one["vllm"] else ""
        lines += [f"  {one['id']}: {one['title']} [{one['side']}{span}]"]
        lines += [f"      {line}" for line in one["snippet"].splitlines()]
        note = f": {one['proof_note']}" if one["proof_note"] else ""
        lines += [f"    proof: {PROOF_WORDS[one['proof']]}{note}", f"    costs: {one['changes']}"]
    lines += _wrong_advice(found)
    if found["related"]:
        lines += ["", "RELATED"]
        lines += [f"  {one['record']} ({one['kind']}): {one['title']}" for one in found["related"]]
    return clean("\n".join(lines))


def _wrong_advice(found: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for published in found["published"]:
        name = published["url"] or published["slug"] or published["id"]
        lines.append(f"  {name}")
        for one in published["advice"]:
            instead = f": {one['instead']}" if one["instead"] else ""
            lines.append(f'    {one["verdict"].upper()}  "{one["says"]}"{instead}')
    return ["", "PUBLISHED", *lines] if lines else []


def info(knowledge: Knowledge, problems: Sequence[KvdoctorError] = ()) -> dict[str, Any]:
    """Counts, releases and places of this installation. ``problems``: those of the config file."""
    records = [one for one in knowledge.records.values() if one.status != "retired"]
    levels = dict.fromkeys(PROOFS[1:], 0)
    for record in records:
        for fix in _offered(record):
            levels[fix.proof.level] += 1
    guarded = [guard for record in records for guard in record.guards]
    calls = {guard.call for guard in guarded if guard.call}
    agreed = {
        call: found
        for call in calls
        if (found := compared(call)) and not any(one.mismatches for one in found)
    }
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "records": len(records),
        "private_records": sum(one.private for one in records),
        "guards": len({guard.call or (guard.mirrors, guard.accepts) for guard in guarded}),
        "guards_compared": len(agreed),
        "combinations_compared": sum(
            one.combinations for found in agreed.values() for one in found
        ),
        "fixes": levels,
        "provoked": sum(  # records of which a failure was provoked in a real vLLM and cured
            any(fix.proof.level == "rerun" for fix in _offered(record)) for record in records
        ),
        "sites": len(knowledge.sites),
        "releases": list(knowledge.sites.releases),
        "problems": [str(one) for one in (*problems, *knowledge.problems)],
        "paths": _places(knowledge),
        "language_model": "none: offline and deterministic",
    }


def _places(knowledge: Knowledge) -> dict[str, str]:
    """Where everything lives, whether it is there yet or not."""
    from kvdoctor.history.store import NAME as HISTORY
    from kvdoctor.settings import config_file

    state = state_folder()
    return {
        "program": str(Path(__file__).resolve().parents[1]),
        **knowledge.paths,
        "config": config_file(),
        "state": str(state),
        "history": str(state / HISTORY),
    }


def _offered(record: Record) -> list[FixSpec]:
    """The fixes that some check offers."""
    named = {name for check in record.checks for name in check.fixes}
    return [fix for name, fix in record.fixes.items() if name in named]


def info_text(found: Mapping[str, Any]) -> str:
    """``info`` for people."""
    fixes = ", ".join(f"{count} {level}" for level, count in found["fixes"].items())
    releases = found["releases"]
    lines = [
        f"kvdoctor {found['version']} on Python {found['python']}",
        f"  records    {found['records']} ({found['private_records']} private)",
        f"  guards     {found['guards']}, {found['guards_compared']} compared with vLLM's own",
        f"  fixes      {fixes}",
        f"  provoked   failures of {found['provoked']} records, in a real vLLM, and cured",
        f"  sites      {found['sites']} in {len(releases)} releases"
        + (f" ({releases[0]} to {releases[-1]})" if releases else ""),
        f"  model      {found['language_model']}",
    ]
    lines += [
        f"  {name:10} {path}" + ("" if Path(path).exists() else "  (not there yet)")
        for name, path in found["paths"].items()
    ]
    lines += [f"  left out   {problem}" for problem in found["problems"]]
    return clean("\n".join(lines))
