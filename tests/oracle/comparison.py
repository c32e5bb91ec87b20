"""Runs the real functions of one release over all grids and judges the answers."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environment
from grid import Reference, Subject, references, subject

from kvdoctor.expression import parse
from kvdoctor.load import load
from kvdoctor.proof.ask import ask
from kvdoctor.proof.recognise import Mark, marks_of
from kvdoctor.record import Record
from kvdoctor.releases import contains, key

RELEASES = ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
# Guards that published records are about: compared on older releases too, where the function is.
OLDER = {
    "moriio-hetero-tp-heads": ("0.25.1", "0.27.1"),
    "moriio-tp-heads-positive": ("0.25.1", "0.27.1"),
    "store-unsupported": ("0.22.1", "0.25.1", "0.27.1"),
    "hma-explicit-unsupported": (
        "0.13.0",
        "0.16.0",
        "0.19.1",
        "0.20.2",
        "0.22.1",
        "0.25.1",
        "0.27.1",
    ),
}
SECONDS = 1800.0
Answers = dict[str, list[list[str]]]
STAND_INS = {  # modules that old sources import and never use here
    "gguf/__init__.py": "class GGMLQuantizationType: pass\nclass GGUFReader: pass\n"
    "MODEL_ARCH_NAMES = {}\n",
    "gguf/constants.py": "class Keys: pass\nclass VisionProjectorType: pass\nGGUF_MAGIC = 0\n"
    "class MODEL_ARCH: pass\nclass GGMLQuantizationType: pass\n",
    "gguf/quants.py": "def __getattr__(name):\n    return None\n",
}


@dataclass
class Compared:
    """What the comparison of one caller found in one release.

    ``combinations`` were judged by this guard, ``raised`` of them refused; ``shadowed`` never got
    to it (another guard came first, or the release has no such value)."""

    combinations: int = 0
    raised: int = 0
    shadowed: int = 0
    mismatches: int = 0
    gone: bool = False
    first_mismatch: str = ""
    strange: Counter[str] = field(default_factory=Counter)  # answers that no list explains
    wrong_holes: str = ""
    recognised: int = 0  # real messages that the record's own texts match
    unrecognised: str = ""  # one that they do not

    def complaint(self) -> str:
        parts = []
        if self.mismatches:
            parts.append(f"{self.mismatches} mismatches, first: {self.first_mismatch}")
        parts += [f"{count} x {what}" for what, count in self.strange.most_common(5)]
        parts += [text for text in (self.wrong_holes, self.unrecognised) if text]
        return "; ".join(parts)


@functools.cache
def records() -> Mapping[str, Record]:
    return load(use_cache=False, private=False).records


def guards_of_records(release: str) -> list[tuple[str, int]]:
    """Record id and position of every guard entry that names a caller and speaks of the release."""
    return [
        (record.id, position)
        for record in records().values()
        for position, guard in enumerate(record.guards)
        if guard.call in references()
        and release in releases_of(guard.call)
        and contains(guard.vllm, release)
    ]


@functools.lru_cache(maxsize=1)
def subjects(release: str) -> Mapping[tuple[str, int], Subject]:
    """The same with their rows; made when they are needed, for there are many."""
    return {
        (id_, position): subject(records()[id_], records()[id_].guards[position], release)
        for id_, position in guards_of_records(release)
    }


def releases_of(call: str) -> tuple[str, ...]:
    return tuple(sorted((*OLDER.get(call, ()), *RELEASES), key=lambda one: key(one) or ()))


def all_releases() -> tuple[str, ...]:
    wanted = {*RELEASES, *(release for older in OLDER.values() for release in older)}
    return tuple(sorted(wanted, key=lambda one: key(one) or ()))


@functools.lru_cache(maxsize=1)
def answers(release: str, only: tuple[str, ...] = ()) -> Answers:
    """All answers of one release (or those of some callers), by the name of the request. One
    process for everything; only the last release is kept, for a release is some hundred MB."""
    requests: dict[str, dict[str, Any]] = {}
    for call, reference in references().items():
        if release in releases_of(call) and (not only or call in only):
            requests[call] = _request(call, list(reference.columns), reference.rows())
    for one in subjects(release).values():
        if one.guard.arguments and one.guard.call in requests:
            requests[one.id] = _request(one.guard.call, list(one.names), one.rows)
    with tempfile.TemporaryDirectory(prefix="kvdoctor-oracle-") as stand_ins:
        reply = ask(
            str(environment.python()),
            list(requests.values()),
            seconds=SECONDS,
            environment=_environment(release, Path(stand_ins)),
        )
    if reply.failure:
        raise RuntimeError(f"vLLM {release}: {reply.failure}: {reply.detail}")
    tree = environment.sources() / f"vllm-{release}"
    if not reply.file.startswith(str(tree)):
        raise RuntimeError(f"asked for {release}, but {reply.file} was imported")
    return {name: reply.answers[index] for index, name in enumerate(requests)}


def _request(call: str, names: list[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return {"id": call, "names": names, "rows": [list(row) for row in rows]}


def _environment(release: str, stand_ins: Path) -> Mapping[str, str]:
    path = [str(environment.sources() / f"vllm-{release}")]
    if (key(release) or ()) < (key(RELEASES[0]) or ()):
        for name, text in STAND_INS.items():
            file = stand_ins / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        path.append(str(stand_ins))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        # vLLM keeps what it found out about model classes; releases would overwrite one another
        "VLLM_CACHE_ROOT": str(environment.folder() / "vllm-cache" / release),
    }


# ------------------------------------------------------------------ judging


def compare_reference(call: str, release: str, given: Answers) -> Compared:
    """The reference's expression against the real function."""
    reference = references()[call]
    rows = [dict(zip(reference.columns, row, strict=True)) for row in reference.rows()]
    accepts = reference.accepts(release)
    if accepts:
        expression = parse(accepts, reference.types)
        verdicts = [expression.evaluate(row) for row in rows]
    else:
        verdicts = [True] * len(rows)
    return judge(reference, rows, verdicts, given[call])


def compare_subject(one: Subject, given: Answers) -> Compared:
    """A record's own expression against the real function, and its texts against real messages."""
    reference = references()[one.guard.call]
    name = one.id if one.guard.arguments else one.guard.call
    verdicts = one.verdicts()
    rows = [dict(zip(one.names, row, strict=True)) for row in one.rows]
    found = judge(reference, rows, verdicts, given[name])
    texts = marks_of(one.record.identify)
    known, unknown = 0, ""
    for kind, exception, message, line in given[name]:
        if kind == "raised" and _fits(reference.marks, exception, message, line):
            if _fits(texts, exception, message, line):
                known += 1
            else:
                unknown = f"{exception}: {message or line}"
    found.recognised = known
    if known and unknown:  # with none at all, the guard is a further condition of the record
        found.unrecognised = f"no text of the record fits {unknown}"
    return found


def judge(
    reference: Reference,
    rows: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Any],
    given: Sequence[Sequence[str]],
) -> Compared:
    found = Compared()
    for values, verdict, (kind, exception, message, line) in zip(
        rows, verdicts, given, strict=True
    ):
        if kind == "gone":
            found.gone = True
            continue
        outcome = _outcome(reference, kind, exception, message, line)
        if outcome == "shadowed":
            found.shadowed += 1
        elif outcome == "strange":
            found.strange[f"{kind} {exception}: {message[:200] or line} at {dict(values)}"] += 1
        else:
            _count(found, values, verdict, outcome == "accepted")
            if outcome == "raised" and not found.wrong_holes:
                found.wrong_holes = _wrong_hole(reference, values, exception, message)
    return found


def _count(found: Compared, values: Mapping[str, Any], verdict: Any, accepted: bool) -> None:
    found.combinations += 1
    found.raised += not accepted
    if verdict is not accepted:
        found.mismatches += 1
        said = json.dumps(values, default=str)
        found.first_mismatch = (
            found.first_mismatch or f"{said}: vLLM accepts={accepted}, we={verdict}"
        )


def _outcome(reference: Reference, kind: str, exception: str, message: str, line: str) -> str:
    if kind == "returned":
        return "accepted"
    if kind == "foreign":
        return "shadowed"
    if kind == "raised":
        if _fits(reference.marks, exception, message, line):
            return "raised"
        if _fits(reference.earlier, exception, message, line):
            return "shadowed"
        if _fits(reference.later, exception, message, line):
            return "accepted"
    return "strange"


def _fits(marks: Sequence[Mark], exception: str, message: str, line: str) -> bool:
    return any(mark.fits(exception, message, line) for mark in marks)


def _wrong_hole(
    reference: Reference, values: Mapping[str, Any], exception: str, message: str
) -> str:
    """A hole that is named like an input has to hold that input's value."""
    for mark in reference.marks:
        hit = mark.hit(message) if mark.fits(exception, message, "") else None
        if hit is not None:
            for name, text in hit.holes.items():
                if name in values and text != str(values[name]):
                    return f"hole {name} holds {text!r} and the input was {values[name]!r}"
            return ""
    return ""


def numbers(found: Compared, further_mismatches: int = 0) -> dict[str, int]:
    """What knowledge/proof/guards.json keeps of one comparison."""
    return {
        "combinations": found.combinations,
        "raised": found.raised,
        "shadowed": found.shadowed,
        "mismatches": found.mismatches + further_mismatches,
    }


def mismatches_of_records(call: str, release: str, given: Answers) -> int:
    return sum(
        compare_subject(one, given).mismatches
        for one in subjects(release).values()
        if one.guard.call == call
    )
