"""Answers given by name on the command line, held against what the reports could use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvdoctor.decide import NOT_KNOWN
from kvdoctor.errors import did_you_mean
from kvdoctor.report import Report

SIDES = ("prefill", "decode", "this")
RELEASE = "vllm_release"


def complaints(
    reports: Sequence[Report], answers: Mapping[str, object], releases: Sequence[str]
) -> Iterator[str]:
    """One sentence for each answer that no report has a use for, or whose release is unknown."""
    known = {RELEASE}
    for shown in reports:
        known |= set(_usable(shown))
    for name, value in answers.items():
        if name == RELEASE and value != NOT_KNOWN and releases and str(value) not in releases:
            span = f"{releases[0]} to {releases[-1]}"
            yield f"--set {name}={value}: not a release known here ({span})"
        if name not in known and not _is_value_name(name, known):
            inputs = [one for shown in reports if shown.record for one in shown.record.inputs]
            near = did_you_mean(name, inputs) or did_you_mean(name, known)
            hint = near or f"inputs here: {', '.join(dict.fromkeys([*inputs, RELEASE]))}"
            yield f"--set {name}: no such input here ({hint})"


def _usable(shown: Report) -> Iterator[str]:
    """Names that this report reads: inputs of its record, the names they read, values it found."""
    if shown.record is not None:
        for name, spec in shown.record.inputs.items():
            yield name
            for read in spec.reads:
                yield read
                yield read.rpartition(".")[2] if read.partition(".")[0] in SIDES else read
    for entry in shown.values.entries:
        if entry.origin != "answer":
            yield entry.name
            yield from (f"{side}.{entry.name}" for side in SIDES)


def _is_value_name(name: str, known: set[str]) -> bool:
    """A value named with its side ("prefill.block_size") whose plain name is of use here."""
    side, dot, rest = name.partition(".")
    return bool(dot) and side in SIDES and rest in known
