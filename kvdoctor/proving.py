"""A fix of a report put before the user's own vLLM, and the command line that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kvdoctor.fix import Fix
from kvdoctor.proof.prove import ProofRun, prove
from kvdoctor.report import Report

if TYPE_CHECKING:
    import threading


def run_for(
    shown: Report,
    fix: Fix,
    python: str = "",
    seconds: float = 180.0,
    stop: threading.Event | None = None,
) -> ProofRun:
    """Ask the guard about the values of the report and those after the fix."""
    assert shown.record is not None and shown.outcome is not None  # noqa: S101
    return prove(
        shown.record, dict(shown.outcome.values), dict(fix.values),
        python=python, seconds=seconds, stop=stop,
    )  # fmt: skip


def prove_fix(shown: Report, fix: Fix, stop: threading.Event | None = None) -> str:
    """What the screen shows: the outcome and how it was found. A private record is not proven from
    the screen: it says what is run, and somebody else may have written it."""
    if shown.record is not None and shown.record.private:
        return f"NOT ASKED: {untrusted(shown.record.id)}, then: {trusting(shown.record.id)}"
    return proof_text(run_for(shown, fix, stop=stop), fix)


def untrusted(record: str) -> str:
    """Why a private record is not simply proven."""
    return f"{record} is a private record, and it names what is run. Read it"


def trusting(record: str) -> str:
    """The command that proves a private record nevertheless."""
    return f"kvdoctor prove {record} --trust"


def proof_text(run: ProofRun, fix: Fix) -> str:
    """A proof run for people."""
    lines = [_headed(run, fix), f"  fix: {fix.title}"]
    if run.python:
        lines.append(f"  asked: {run.python} ({run.found})")
    for name, answers in (("before", run.before), ("after", run.after)):
        for one in answers:
            message = f": {one.exception}: {one.message}" if one.message else ""
            lines.append(f"  {name:6} {one.call}: {one.kind}{message}")
    return "\n".join(lines)


SHOWN = {
    "ran": "SHOWN BY A GUARD",
    "guard": "SHOWN BY A GUARD",
    "rerun": "SHOWN BY A RERUN",
    "source": "READ IN THE SOURCE",
}
HOW = {
    "ran": "the guard accepted these values.",
    "guard": "vLLM's guard accepts these values.",
    "rerun": "the failure was provoked, this fix was applied, and it went away.",
    "source": "vLLM's source says that it works.",
}


def _headed(run: ProofRun, fix: Fix) -> str:
    """The outcome. A record without a guard to call leaves a fix as proven as it was before."""
    proof = fix.proof
    if run.outcome != "no-caller" or proof.level not in SHOWN:
        return ("PROVEN: " if run.proven else "NOT PROVEN: ") + run.says
    where = f" (vLLM {proof.vllm})" if proof.vllm else ""
    return (
        f"{SHOWN[proof.level]}{where}: {HOW[proof.level]}\n"
        "  Your own vLLM is not asked: this failure has no guard that can be called with values."
    )


def command_line(record: str, fix: str, values: Mapping[str, object], python: str = "") -> str:
    """The ``kvdoctor prove`` that asks about ``fix`` with these values, quoted for a shell."""
    words = ["kvdoctor", "prove", record, "--fix", fix]
    for name, value in values.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words + (["--python", python] if python else []))
