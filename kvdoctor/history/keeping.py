"""From the user's state to what is kept of it, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvdoctor import session
from kvdoctor.data import asdict, replace
from kvdoctor.decide import Cause
from kvdoctor.history.entry import Entry, Outcome, Packed, Place, clear, cleared, pack, unpack
from kvdoctor.history.store import Store
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.report import Report, Source
from kvdoctor.session import State, Visit
from kvdoctor.values.value import Value

LONGEST_FIX = 4000  # characters of a snippet


class Raw(NamedTuple):
    """An input as it was given."""

    name: str
    side: str
    data: bytes | str


Input = Raw | Packed


class Kept(NamedTuple):
    """What an entry holds beside its inputs."""

    outcome: Outcome
    place: Place
    answers: dict[str, dict[str, object]]


def kept(state: State, shown: Report) -> Kept:
    """What is worth keeping of a state, without secrets."""
    visit = state.visit
    carried = tuple(
        {name: cleared(value) for name, value in asdict(one).items()} for one in visit.carried
    )
    answers = {
        record: {name: cleared(value) for name, value in given.items()}
        for record, given in state.answers.items()
    }
    return Kept(outcome_of(shown), Place(visit.step, visit.chosen, visit.record, carried), answers)


def outcome_of(shown: Report) -> Outcome:
    """The found cause and its fixes in a few lines."""
    finding = shown.finding
    error = finding.error if finding is not None else ""
    title = finding.title if finding is not None else "no known trouble"
    outcome = shown.outcome
    return Outcome(
        status=shown.status,
        title=clear(shown.record.title if shown.record is not None else title),
        record=shown.record.id if shown.record is not None else "",
        error=clear(" ".join(error.split())),
        cause=clear(" ".join(outcome.text.split()) if isinstance(outcome, Cause) else ""),
        release=shown.release.release or " to ".join(_ends(shown.release.candidates)),
        fixes=tuple(clear(one.fix.snippet, LONGEST_FIX) for one in shown.fixes),
    )


def _ends(releases: Sequence[str]) -> Sequence[str]:
    return releases if len(releases) < 2 else (releases[0], releases[-1])


def packed(inputs: Sequence[Input]) -> tuple[Packed, ...]:
    """Inputs ready to be stored: secrets replaced, compressed, cut where they are too long."""
    return tuple(
        one if isinstance(one, Packed) else pack(one.data, one.name, one.side) for one in inputs
    )


def save(store: Store, state: State, shown: Report, inputs: Sequence[Input]) -> int:
    """One finished diagnosis as a new entry; returns its id. Raises HistoryError."""
    return store.add(*kept(state, shown), packed(inputs))


def restored(entry: Entry, knowledge: Knowledge) -> State:
    """The state in which an entry was left, read anew with today's knowledge. Raises HistoryError
    when a stored input is damaged."""
    sources = [
        Source(read(unpack(one), one.name, knowledge=knowledge.reading), one.side)
        for one in entry.inputs
    ]
    state = session.start()
    if sources:
        state = session.paste(state, sources, knowledge)
    state = replace(state, answers=entry.answers)
    visit = _visit(entry, state, knowledge)
    if visit.step in ("values", "cause"):
        visit = session.settled(state, replace(visit, step="values"), knowledge)
    past = (Visit(),) if visit.step != "start" else ()
    return replace(state, visit=visit, past=past, future=())


def _visit(entry: Entry, state: State, knowledge: Knowledge) -> Visit:
    """The place in which the entry was left, as far as the knowledge still has it."""
    place = entry.place
    if place.record is not None and place.record in knowledge.records:
        carried = tuple(Value(**one) for one in place.carried)
        return Visit(place.step, place.chosen, place.record, carried)
    findings = state.read.findings if state.read is not None else ()
    if place.record is not None or not findings or place.chosen is None:
        return state.visit
    chosen = min(place.chosen, len(findings) - 1)
    if findings[chosen].record != (entry.outcome.record or None):
        fitting = [i for i, one in enumerate(findings) if one.record == entry.outcome.record]
        chosen = fitting[0] if fitting else chosen
    return Visit(place.step, chosen)


def left_out(entry: Entry) -> str:
    """A sentence when an input was too long to be kept whole, else ""."""
    cut = [one for one in entry.inputs if one.left_out]
    if not cut:
        return ""
    lost = sum(one.left_out for one in cut)
    names = ", ".join(one.name for one in cut)
    return f"{lost:,} characters in the middle of {names} were not kept: it may read differently"
