"""What each tool does: plain values in, plain values out; deterministic, reads no file.

Problems with what a client sends are raised as KvdoctorError, whose text is meant to be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvdoctor.api import Diagnosis, diagnose, known_to
from kvdoctor.data import asdict, dataclass
from kvdoctor.decide import Asks
from kvdoctor.errors import InputError
from kvdoctor.expression import parse
from kvdoctor.fix import Fix
from kvdoctor.knowledge import Knowledge
from kvdoctor.proving import command_line, run_for, trusting, untrusted
from kvdoctor.reach import types_of
from kvdoctor.record import Record
from kvdoctor.releases import parse_range

Answers = Mapping[str, str | int | float | bool]
LONGEST = 64 * 1024 * 1024  # characters of one input
MOST_HITS = 20


@dataclass(frozen=True, slots=True)
class Tools:
    """``folders``: private knowledge. ``run_proofs``: whether prove may start the interpreter that
    has vLLM, ``python``, or the one that is found."""

    folders: tuple[str, ...] = ()
    run_proofs: bool = False
    python: str = ""

    @property
    def knowledge(self) -> Knowledge:
        return known_to(self.folders)

    def match(self, text: str, prefill: str, decode: str, answers: Answers) -> dict[str, Any]:
        """The whole diagnosis of one or both sides' text."""
        found = self._diagnosed(text, prefill, decode, answers)
        return {
            "status": found.status,
            "record": found.record or None,
            "title": found.title,
            "error": found.error,
            "cause": found.cause or None,
            "owner": found.owner or None,
            "vllm": found.release or None,
            "confidence": found.confidence,
            "evidence": [_plain(one) for one in found.evidence],
            "questions": [_plain(one) for one in found.questions],
            "fixes": [_plain(one) for one in found.fixes],
            "fails_next": list(found.next),
            "dangers": list(found.dangers),
            "related": list(found.related),
        }

    def ask_next(self, text: str, prefill: str, decode: str, answers: Answers) -> dict[str, Any]:
        """The next open question, or the cause when none is open."""
        found = self._diagnosed(text, prefill, decode, answers)
        outcome = found.report.outcome
        question = found.questions[0] if found.questions else None
        return {
            "status": found.status,
            "record": found.record or None,
            "question": _plain(question) if question is not None else None,
            "decides": _open_check(outcome) if isinstance(outcome, Asks) else None,
            "open": [one.name for one in found.questions],
            "answered": dict(answers),
            "cause": found.cause or None,
        }

    def explain(self, what: str) -> dict[str, Any]:
        """A record by id, published id, slug, url or message."""
        from kvdoctor.show.explain import explanation

        found = explanation(what[:LONGEST], self.knowledge)
        if found is None:
            raise InputError(f"nothing is known as {what[:200]!r}", remedy="use search")
        return found

    def search(self, words: str) -> dict[str, Any]:
        """Records that speak of the words, best first."""
        hits = self.knowledge.search(words[:1000])
        rows = [{"record": hit.id, "title": hit.title} for hit in hits[:MOST_HITS]]
        return {"records": rows, "left_out": max(0, len(hits) - MOST_HITS)}

    def prove(self, record: str, fix: str, answers: Answers, text: str) -> dict[str, Any]:
        """How a fix is shown to work, what would be run to show it here, and, when the server may,
        the outcome of that run."""
        known = self.knowledge
        record_id = known.resolve(record)
        if record_id is None:
            raise InputError(f"no record {record[:200]!r}", remedy="use search")
        spec = known.records[record_id]
        if spec.private:
            raise InputError(untrusted(record_id), remedy=f"then: {trusting(record_id)}")
        found = diagnose(
            text or None, record=record_id, answers=dict(answers), knowledge=self.folders
        )
        if found.status == "asks":
            return {"status": "asks", "questions": [_plain(one) for one in found.questions]}
        offered = [one.fix for one in found.report.fixes if fix in ("", one.fix.id)]
        if not offered:
            held = {one.id: one.why for one in found.report.withheld}
            return {"status": "no_fix", "cause": found.cause or None, "withheld": held}
        return self._proof(found, spec, offered[0], answers)

    def _proof(
        self, found: Diagnosis, record: Record, fix: Fix, answers: Answers
    ) -> dict[str, Any]:
        would, command = self._would_run(record, fix, answers)
        made: dict[str, Any] = {
            "status": "shown",
            "record": record.id,
            "fix": fix.id,
            "snippet": fix.snippet,
            "shown": _plain(fix.proof),
            "guards": _guards(found, record, fix),
            "would_run": would,
            "command": command,
            "run": None,
        }
        if self.run_proofs and would["calls"]:
            run = run_for(found.report, fix, self.python)
            made["run"] = {"proven": run.proven, **_plain(run)}
        return made

    def _would_run(self, record: Record, fix: Fix, answers: Answers) -> tuple[dict[str, Any], str]:
        """Which functions in which interpreter, and the command line that does the same."""
        from kvdoctor.proof.interpreter import find_python

        python = find_python(self.python)
        calls = [
            {"call": one.call, "mirrors": one.mirrors, "vllm": one.vllm}
            for one in record.guards
            if one.call
        ]
        command = command_line(record.id, fix.id, answers, self.python)
        return {
            "interpreter": python.path or None,
            "found": python.how,
            "calls": calls,
            "allowed": self.run_proofs,
        }, command

    def _diagnosed(self, text: str, prefill: str, decode: str, answers: Answers) -> Diagnosis:
        for one in (text, prefill, decode):
            if len(one) > LONGEST:
                raise InputError(
                    f"longer than {LONGEST:,} characters", remedy="kvdoctor scan reads whole logs"
                )
        if not (text.strip() or prefill.strip() or decode.strip()):
            raise InputError("nothing to diagnose", remedy="give text, prefill or decode")
        return diagnose(
            text or None,
            prefill=prefill or None,
            decode=decode or None,
            answers=dict(answers),
            knowledge=self.folders,
        )


def _open_check(outcome: Asks) -> str | None:
    """The check that the open questions decide."""
    return next((one.check for one in outcome.branches if one.state == "open"), None)


def _plain(what: Any) -> Any:
    """The same as it is in JSON: lists for tuples, dictionaries for data."""
    import json

    return json.loads(json.dumps(asdict(what)))


def _guards(found: Diagnosis, record: Record, fix: Fix) -> list[dict[str, Any]]:
    """vLLM's conditions with the values before and after the fix: true is accepted, null unknown.
    Those of another release are left out when the release is known."""
    outcome = found.report.outcome
    before = dict(outcome.values) if outcome is not None else {}
    types = types_of(record)
    rows = []
    for guard in record.guards:
        release = found.release
        if guard.vllm and release and not parse_range(guard.vllm).contains(release):
            continue
        condition = parse(guard.accepts, types)
        verdicts = [condition.evaluate(values) for values in (before, dict(fix.values))]
        rows.append(
            {
                "vllm": guard.vllm,
                "accepts": guard.accepts,
                "before": verdicts[0] if isinstance(verdicts[0], bool) else None,
                "after": verdicts[1] if isinstance(verdicts[1], bool) else None,
            }
        )
    return rows
