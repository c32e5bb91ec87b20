"""Finished diagnoses into the history, from the dialogue and from ``diagnose --save``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvdoctor.command.inputs import tell
from kvdoctor.errors import KvdoctorError
from kvdoctor.history import switched_off
from kvdoctor.report import Report
from kvdoctor.session import State, Visit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kvdoctor.history.keeping import Raw
    from kvdoctor.history.store import Store

Inputs = Sequence[tuple[str, str, bytes | str]]


def save_state(state: State, shown: Report, inputs: Inputs) -> None:
    """Keep what the dialogue came to; says nothing when the history is switched off."""
    if not switched_off():
        _saved([lambda store, raw: _one(store, state, shown, raw)], [inputs])


def save_reports(
    reports: Sequence[Report], inputs: Sequence[Inputs], record_id: str | None
) -> None:
    """Keep what ``diagnose --save`` found, and say under which numbers."""
    off = switched_off()
    if off:
        tell(f"not saved: the history is switched off ({off})")
        return
    padded = [*inputs, *([()] * (len(reports) - len(inputs)))]
    numbers = _saved(
        [
            lambda store, raw, shown=shown: _one(  # type: ignore[misc]
                store, _state(shown, record_id), shown, raw
            )
            for shown in reports
        ],
        padded,
    )
    if numbers:
        tell(f"saved as {', '.join(str(one) for one in numbers)}: kvdoctor history open N")


def _state(shown: Report, record_id: str | None) -> State:
    """The state of the screen that a report stands for."""
    answers = {}
    if shown.record is not None and shown.facts is not None:
        given = {
            name: value.value
            for name, value in shown.facts.known.items()
            if value.origin == "answer"
        }
        answers = {shown.record.id: given} if given else {}
    step = "values" if shown.status == "asks" else "cause"
    return State(visit=Visit(step, shown.chosen, record_id), answers=answers)


def _one(store: Store, state: State, shown: Report, raw: Sequence[Raw]) -> int:
    from kvdoctor.history.keeping import save

    return save(store, state, shown, raw)


def _saved(
    works: Sequence[Callable[[Store, Sequence[Raw]], int]], inputs: Sequence[Inputs]
) -> list[int]:
    """Run each on one store; trouble is told and hurts nothing else."""
    from kvdoctor.history.keeping import Raw
    from kvdoctor.history.store import Store

    numbers: list[int] = []
    try:
        store = Store()
    except KvdoctorError as error:
        tell(str(error))
        return numbers
    try:
        for work, given in zip(works, inputs, strict=True):
            numbers.append(work(store, [Raw(*one) for one in given]))
    except KvdoctorError as error:
        tell(str(error))
    finally:
        for notice in store.notices:
            tell(notice)
        store.close()
    return numbers
