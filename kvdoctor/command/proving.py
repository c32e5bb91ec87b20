"""``kvdoctor prove``: which values to ask the user's own vLLM about, and what to say of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from kvdoctor.command.inputs import answers_of, load_knowledge, record_named, sources_of
from kvdoctor.data import asdict
from kvdoctor.errors import InputError
from kvdoctor.fix import Fix
from kvdoctor.proof.prove import ProofRun
from kvdoctor.proving import proof_text, run_for, trusting, untrusted
from kvdoctor.report import read_sources, report_about

if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands

PROVEN, NOT_PROVEN, CANNOT_ASK, NEEDS_ANSWERS = 0, 1, 2, 3
CANNOT = frozenset({"no-vllm", "no-import", "timeout", "stopped", "no-caller", "unfit"})


def add(commands: Commands) -> None:
    """The options of ``kvdoctor prove``."""
    from kvdoctor.command.arguments import add_ascii

    prove = commands.add_parser("prove", help="ask the guard of your own vLLM installation")
    prove.add_argument("record", metavar="ID")
    prove.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="sets")
    prove.add_argument("--python", metavar="PATH", help="interpreter that has vLLM")
    prove.add_argument("--fix", metavar="FIX", help="the fix to prove (default: the first)")
    prove.add_argument(
        "--from",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="log to read the values from; - is stdin",
    )
    prove.add_argument("--seconds", type=int, default=180, help="time limit (default 180)")
    prove.add_argument("--json", action="store_true")
    add_ascii(prove)
    prove.add_argument("--trust", action="store_true", help="run what a private record names, too")
    prove.add_argument(
        "--knowledge", action="append", default=[], metavar="FOLDER", help="private records"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 proven, 1 not proven, 2 could not ask, 3 answers are missing."""
    knowledge = load_knowledge(options.knowledge)
    record_id = record_named(options.record, knowledge)
    record = knowledge.records[record_id]
    if record.private and not options.trust:
        raise InputError(untrusted(record_id), remedy=f"then: {trusting(record_id)}")
    options.prefill = options.decode = []
    sources = sources_of(options, knowledge)[0] if options.files else []
    read = read_sources(sources, knowledge)
    shown = report_about(read, knowledge, record_id, answers_of(options.sets))
    if shown.facts is not None and shown.facts.rejected:
        name, complaint = shown.facts.rejected[0]
        raise InputError(f"--set {name}: {complaint}", remedy="correct the value")
    if shown.asks:
        for name in shown.asks:
            spec = record.inputs.get(name)
            what = spec.ask if spec is not None else "the vLLM release"
            print(f"kvdoctor: missing: --set {name}=…  ({what})", file=sys.stderr)
        return NEEDS_ANSWERS
    fixes = [one.fix for one in shown.fixes if options.fix in (None, one.fix.id)]
    if not fixes:
        held = "; ".join(f"{one.id}: {one.why}" for one in shown.withheld)
        raise InputError("no fix to prove with these values", remedy=held or "check --set")
    if not options.json:
        print(
            "This runs the guard function of the vLLM that is installed here, in a process of "
            "its own; nothing is downloaded.",
            file=sys.stderr,
        )
    run = run_for(shown, fixes[0], options.python or "", options.seconds)
    if options.json:
        print(json.dumps(_document(run, fixes[0], record_id), ensure_ascii=False))
    else:
        print(proof_text(run, fixes[0]))
    if run.proven:
        return PROVEN
    return CANNOT_ASK if run.outcome in CANNOT else NOT_PROVEN


def _document(run: ProofRun, fix: Fix, record_id: str) -> dict[str, Any]:
    return {"record": record_id, "fix": fix.id, "proven": run.proven, **asdict(run)}
