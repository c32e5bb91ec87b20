"""kvdoctor for programs: the diagnosis of the command line as one typed call.

    from kvdoctor import diagnose

    found = diagnose(prefill=Path("prefill.log"), decode=Path("decode.log"))
    if found.status == "asks":
        found = found.answer(same_host=True)
    for fix in found.fixes:
        print(fix.snippet, fix.proof)

Deterministic, offline, read-only; safe to call from several threads. Nothing is printed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kvdoctor import report as reporting
from kvdoctor.data import dataclass, field
from kvdoctor.errors import InputError, KvdoctorError
from kvdoctor.knowledge import Knowledge
from kvdoctor.report import Read, Report, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kvdoctor.proof.prove import ProofRun

__all__ = [
    "Diagnosis", "Evidence", "Fix", "KvdoctorError", "Question", "diagnose", "explain", "prove",
]  # fmt: skip

Input: TypeAlias = "str | bytes | os.PathLike[str]"
_LOADED: dict[tuple[str, ...], Knowledge] = {}
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line of an input. ``line`` counts from 1."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A value that decides and is not known: answer it under ``name``. ``usual`` is what vLLM takes
    when nothing is set (None when there is no such value)."""

    name: str
    ask: str
    find: str
    type: str
    choices: tuple[str, ...] = ()
    unit: str = ""
    side: str = ""
    usual: object = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix that was shown to work: ``snippet`` is the text to use, ``proof`` one of guard, rerun,
    source and unproven, ``shown_by`` how it was shown. ``before`` and ``after`` are the launch
    command of the input without and with it ("" when the input held none)."""

    id: str
    title: str
    snippet: str
    side: str
    changes: str
    proof: str
    shown_by: str
    before: str = ""
    after: str = ""
    breaks: tuple[str, ...] = ()  # records whose guard it would run into
    still_fails: tuple[str, ...] = ()  # those that fail without it as well, and still do with it


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``status``: cause, asks (answers are missing), no_cause (none of the record's causes fits),
    no_match (nothing known was found) or broken (the record at hand is). ``record`` is "" for an
    error without a record; ``release`` is "" when it is not known for sure."""

    status: str
    record: str
    title: str
    cause: str
    error: str
    owner: str
    release: str
    confidence: float
    evidence: tuple[Evidence, ...]
    questions: tuple[Question, ...]
    fixes: tuple[Fix, ...]
    next: tuple[str, ...]  # records that this configuration would run into next
    dangers: tuple[str, ...]  # records of what is dangerous in silence
    related: tuple[str, ...]
    report: Report = field(repr=False, compare=False)
    knowledge: Knowledge = field(repr=False, compare=False)
    read: Read = field(repr=False, compare=False)
    answers: Mapping[str, object] = field(default_factory=dict)
    chosen_record: str = field(default="", repr=False, compare=False)  # the one asked for

    def answer(self, **answers: object) -> Diagnosis:
        """The diagnosis with further answers ("?" for one that nobody can give).

        Raises InputError for a value that does not fit its question."""
        given = {**self.answers, **answers}
        return _made(self.read, self.knowledge, given, self.chosen_record)

    def to_json(self) -> dict[str, Any]:
        """What ``kvdoctor diagnose --json`` prints, as plain values."""
        from kvdoctor.show.document import document

        return document(self.report, self.knowledge)

    def text(self) -> str:
        """What ``kvdoctor diagnose`` prints, without colour."""
        from kvdoctor.show.plain import report_text

        return report_text(self.report, self.knowledge)

    def note(self, form: str = "markdown", *, hide_hosts: bool = False) -> str:
        """An incident note: markdown, slack, plain or issue."""
        from kvdoctor.show.note import incident_note

        return incident_note(self.report, self.knowledge, form, hide_hosts=hide_hosts)


def diagnose(
    text: Input | None = None,
    *,
    prefill: Input | None = None,
    decode: Input | None = None,
    answers: Mapping[str, object] | None = None,
    record: str = "",
    knowledge: Sequence[str | os.PathLike[str]] = (),
) -> Diagnosis:
    """Diagnose a log, traceback, launch command or manifest.

    ``text`` and the inputs of the two sides: a text, bytes (also compressed), or a path to read.
    ``answers``: input → value, as ``--set`` takes them. ``record``: diagnose for this record, by id
    or published id. ``knowledge``: folders of private records.

    Raises InputError for an unreadable path, an unknown record or an answer that does not fit, and
    when there is nothing to diagnose."""
    known = known_to(knowledge)
    sources = [
        _source(one, side, known)
        for one, side in ((text, "this"), (prefill, "prefill"), (decode, "decode"))
        if one is not None
    ]
    if not sources and not record:
        raise InputError("nothing to diagnose", remedy="give a text, a path or a record")
    return _made(reporting.read_sources(sources, known), known, dict(answers or {}), record)


def explain(what: str, *, knowledge: Sequence[str | os.PathLike[str]] = ()) -> dict[str, Any]:
    """A record by its id, published id, slug, url or message, as ``kvdoctor explain --json`` prints
    it.

    Raises InputError when there is none."""
    from kvdoctor.show.explain import explanation

    found = explanation(what, known_to(knowledge))
    if found is None:
        raise _unknown(what)
    return found


def prove(
    found: Diagnosis,
    fix: str = "",
    *,
    python: str | os.PathLike[str] = "",
    seconds: float = 180.0,
    trust: bool = False,
) -> ProofRun:
    """Ask the vLLM that is installed: its guard is called with the values before and after the fix
    (an id; the first when empty), in a process of its own, for at most ``seconds``.

    ``python``: the interpreter that has vLLM, else the one of the ``vllm`` command or of the active
    environment. The result has ``proven``, ``outcome``, ``says`` and the answers; that vLLM is
    missing or does not answer is an outcome, not an error. ``trust``: also for a private record,
    which names what is run. Raises InputError without such a fix, or without trust."""
    from kvdoctor.proving import run_for

    record = found.report.record
    offered = [one.fix for one in found.report.fixes if fix in ("", one.fix.id)]
    if record is None or not offered:
        named = ", ".join(one.id for one in found.fixes) or "none is offered here"
        raise InputError(f"no fix {fix!r} to prove" if fix else "no fix to prove", remedy=named)
    if record.private and not trust:
        raise InputError(f"{record.id} is a private record", remedy="read it; trust=True runs it")
    return run_for(found.report, offered[0], os.fspath(python), seconds)


def known_to(folders: Sequence[str | os.PathLike[str]]) -> Knowledge:
    """The knowledge with these private folders; loaded once for each set of them."""
    from kvdoctor.load import load

    key = tuple(os.fspath(one) for one in folders)
    with _LOADING:
        if key not in _LOADED:
            _LOADED[key] = load(key)
        return _LOADED[key]


def _source(one: Input, side: str, known: Knowledge) -> Source:
    from kvdoctor.intake import read

    if isinstance(one, (str, bytes)):
        return Source(read(one, side, knowledge=known.reading), side)
    try:
        data = Path(one).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=os.fspath(one)) from error
    return Source(read(data, os.fspath(one), knowledge=known.reading), side)


def _record(what: str, known: Knowledge) -> str:
    found = known.resolve(what)
    if found is None:
        raise _unknown(what)
    return found


def _unknown(what: str) -> InputError:
    return InputError(f"no record {what!r}", remedy="kvdoctor search WORDS lists records")


def _made(read: Read, known: Knowledge, answers: dict[str, object], record: str) -> Diagnosis:
    if record:
        shown = reporting.report_about(read, known, _record(record, known), answers)
    else:
        shown = reporting.report(read, known, answers=answers)
    if shown.facts is not None and shown.facts.rejected:
        name, complaint = shown.facts.rejected[0]
        raise InputError(f"{name}: {complaint}", remedy="correct the value")
    finding = shown.finding
    from kvdoctor.decide import Cause

    return Diagnosis(
        status=shown.status,
        record=shown.record.id if shown.record is not None else "",
        title=shown.record.title if shown.record else (finding.title if finding else ""),
        cause=shown.outcome.text.strip() if isinstance(shown.outcome, Cause) else "",
        error=finding.error if finding is not None else "",
        owner=finding.owner if finding is not None else "",
        release=shown.release.release,
        confidence=finding.confidence if finding is not None else 0.0,
        evidence=tuple(
            Evidence(one.source, one.number, one.text)
            for one in (finding.evidence if finding is not None else ())
        ),
        questions=_questions(shown),
        fixes=_fixes(shown),
        next=tuple(one.record for one in shown.next),
        dangers=tuple(one.record for one in shown.dangers),
        related=tuple(one.record for one in shown.related),
        report=shown,
        knowledge=known,
        read=read,
        answers=answers,
        chosen_record=record,
    )


def _questions(shown: Report) -> tuple[Question, ...]:
    found = []
    for name in shown.asks:
        spec = reporting.input_spec(shown, name)
        offered = shown.facts.offered.get(name) if shown.facts is not None else None
        found.append(
            Question(
                name,
                " ".join(spec.ask.split()),
                " ".join(spec.find.split()),
                spec.type,
                tuple(str(one) for one in spec.choices),
                spec.unit,
                spec.side,
                offered.value if offered is not None else None,
            )
        )
    return tuple(found)


def _fixes(shown: Report) -> tuple[Fix, ...]:
    from kvdoctor.show.plain import proof_words

    return tuple(
        Fix(
            one.fix.id,
            one.fix.title,
            one.fix.snippet,
            one.fix.side,
            one.fix.changes,
            one.fix.proof.level,
            proof_words(one.fix.proof),
            one.before,
            one.after,
            tuple(link.record for link in one.breaks),
            tuple(link.record for link in one.still_fails),
        )
        for one in shown.fixes
    )
