"""The user's whole state as one frozen value, and the moves that lead from one to the next.

A screen holds one ``State``, shows ``view(state)`` and sends moves. Every move returns a new state;
going back never loses an answer, and going forward again finds everything as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvdoctor.data import dataclass, field, replace
from kvdoctor.decide import NOT_KNOWN, Asks, coerce
from kvdoctor.knowledge import Knowledge
from kvdoctor.report import Read, Report, Source, input_spec, read_sources, report
from kvdoctor.values.value import Value

STEPS = ("start", "choose", "values", "cause", "related")


@dataclass(frozen=True, slots=True)
class Visit:
    """Where the user stands: which finding or record, at which step.

    ``carried`` are values that came along from the record before: what its message said."""

    step: str = "start"
    chosen: int | None = None
    record: str | None = None
    carried: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """``answers`` maps a record id to its answered inputs; ``undone`` holds answers in the order
    in which they were given, so that the last one can be taken back."""

    read: Read | None = None
    visit: Visit = Visit()
    past: tuple[Visit, ...] = ()
    future: tuple[Visit, ...] = ()
    answers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    order: tuple[tuple[str, str, object], ...] = ()  # (record, input, value before)
    message: str = ""  # one line for the user: a complaint about the last answer, or ""


def start() -> State:
    return State()


def paste(state: State, sources: Sequence[Source], knowledge: Knowledge) -> State:
    """Read new sources; a single plausible finding leads straight on, several to the choice."""
    read = read_sources(sources, knowledge)
    fresh = replace(state, read=read, answers={}, order=(), future=(), message="")
    plausible = [one for one in read.findings if one.role != "consequence"]
    step = "choose" if len(plausible) != 1 else "values"
    chosen = 0 if read.findings else None
    return _go(fresh, settled(fresh, Visit(step, chosen), knowledge))


def add_source(state: State, source: Source, knowledge: Knowledge) -> State:
    """Add the other side's log or command; what was answered stays."""
    old = state.read.sources if state.read else ()
    read = read_sources((*old, source), knowledge)
    moved = replace(state, read=read, message="")
    chosen = (
        state.visit.chosen if state.visit.chosen is not None else (0 if read.findings else None)
    )
    if chosen is not None and chosen >= len(read.findings):
        chosen = 0 if read.findings else None
    visit = replace(state.visit, chosen=chosen)
    if visit.step in ("values", "cause"):
        return replace(moved, visit=settled(moved, replace(visit, step="values"), knowledge))
    return replace(moved, visit=visit)


def choose(state: State, index: int, knowledge: Knowledge) -> State:
    """Take up one of the findings."""
    return _go(state, settled(state, Visit("values", index), knowledge))


def follow(state: State, record_id: str, knowledge: Knowledge) -> State:
    """Walk on to a related record; values and answers come along."""
    if record_id not in knowledge.records:
        return replace(state, message=f"there is no record {record_id}")
    shown = view(state, knowledge)
    carried: tuple[Value, ...] = ()
    if shown is not None and shown.config is not None:
        read = state.read.values.entries if state.read is not None else ()
        carried = tuple(one for one in shown.config.values.entries if one not in read)
    return _go(state, settled(state, Visit("values", None, record_id, carried), knowledge))


def answer(state: State, name: str, raw: str, knowledge: Knowledge) -> State:
    """Answer one question. A value that does not fit is refused with the reason, and kept by the
    widget that sent it."""
    shown = view(state, knowledge)
    if shown is None or shown.record is None:
        return state
    spec = input_spec(shown, name)
    value, complaint = coerce(spec, raw) if raw.strip() != NOT_KNOWN else (NOT_KNOWN, "")
    if complaint:
        return replace(state, message=complaint)
    record = shown.record.id
    given = dict(state.answers.get(record, {}))
    before = given.get(name)
    given[name] = value
    moved = replace(
        state,
        answers={**state.answers, record: given},
        message="",
        order=(*state.order, (record, name, before)),
    )
    if state.visit.step not in ("values", "cause"):
        return moved
    return replace(moved, visit=settled(moved, replace(state.visit, step="values"), knowledge))


def forget(state: State, name: str, knowledge: Knowledge) -> State:
    """Take one answer away, so that the stated value counts again."""
    shown = view(state, knowledge)
    if shown is None or shown.record is None:
        return state
    record = shown.record.id
    given = dict(state.answers.get(record, {}))
    if name not in given:
        return state
    before = given.pop(name)
    moved = replace(
        state,
        answers={**state.answers, record: given},
        message="",
        order=(*state.order, (record, name, before)),
    )
    return replace(moved, visit=settled(moved, replace(state.visit, step="values"), knowledge))


def undo(state: State, knowledge: Knowledge) -> State:
    """Take back the last answer."""
    if not state.order:
        return replace(state, message="nothing to undo")
    *rest, (record, name, before) = state.order
    given = dict(state.answers.get(record, {}))
    if before is None:
        given.pop(name, None)
    else:
        given[name] = before
    moved = replace(
        state,
        answers={**state.answers, record: given},
        order=tuple(rest),
        message="",
    )
    if moved.visit.step in ("values", "cause"):
        visit = settled(moved, replace(moved.visit, step="values"), knowledge)
        return replace(moved, visit=visit)
    return moved


def go(state: State, step: str) -> State:
    """Go to a step of the same visit (change values, look at what is related)."""
    return _go(state, replace(state.visit, step=step))


def back(state: State) -> State:
    """One step back, answers kept."""
    if not state.past:
        return state
    *rest, last = state.past
    return replace(
        state,
        visit=last,
        past=tuple(rest),
        future=(state.visit, *state.future),
        message="",
    )


def forward(state: State) -> State:
    """Undo one ``back``."""
    if not state.future:
        return state
    first, *rest = state.future
    return replace(
        state,
        visit=first,
        past=(*state.past, state.visit),
        future=tuple(rest),
        message="",
    )


def _go(state: State, visit: Visit) -> State:
    if visit == state.visit:
        return state
    return replace(
        state,
        visit=visit,
        past=(*state.past, state.visit),
        future=(),
        message="",
    )


def settled(state: State, visit: Visit, knowledge: Knowledge) -> Visit:
    """Skip the questions when nothing is left to ask."""
    if visit.step != "values":
        return visit
    shown = _view(state, visit, knowledge)
    if shown is None or isinstance(shown.outcome, Asks):
        return visit
    return replace(visit, step="cause")


def view(state: State, knowledge: Knowledge) -> Report | None:
    """What there is to show for this state; None before anything was pasted or chosen."""
    return _view(state, state.visit, knowledge)


def _view(state: State, visit: Visit, knowledge: Knowledge) -> Report | None:
    read = state.read
    if read is None:
        if visit.record is None:
            return None
        read = read_sources((), knowledge)
    if visit.carried:
        read = replace(read, values=read.values.plus(visit.carried, first=True))
    record = visit.record
    if record is None and visit.chosen is not None and visit.chosen < len(read.findings):
        record_id = read.findings[visit.chosen].record
    else:
        record_id = record
    answers = _shared_answers(state, record_id, knowledge)
    answers.update(state.answers.get(record_id or "", {}))
    return report(
        read,
        knowledge,
        chosen=visit.chosen,
        record_id=record,
        answers=answers,
    )


def _shared_answers(state: State, record_id: str | None, knowledge: Knowledge) -> dict[str, object]:
    """Answers given for other records, under the names of Values that those inputs read."""
    found: dict[str, object] = {}
    for other, given in state.answers.items():
        record = knowledge.records.get(other)
        if other == record_id or record is None:
            continue
        for name, value in given.items():
            spec = record.inputs.get(name)
            if spec is not None and spec.reads:
                found[spec.reads[0]] = value
            elif name == "vllm_release":
                found[name] = value
    return found
