"""Writes the history beside a running screen: in a thread of its own, in order, never in the way.

The first trouble is told once; from then on nothing is kept, and everything else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kvdoctor.history.keeping import Input, Kept
    from kvdoctor.history.store import Store
    from kvdoctor.report import Report
    from kvdoctor.session import State

T = TypeVar("T")
PATIENCE = 20.0  # seconds for an answer: another process may write, a disk may sleep


class Current:
    """The entry that a screen is working on; ``number`` is 0 until it is stored."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.gone = False  # deleted meanwhile: it must not come back
        self.last: Kept | None = None


class Keeper:
    """``tell`` is called, from the thread, with a sentence that the user must hear."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.off = ""
        self.current: Current | None = None
        self._tell = tell
        self._inputs: tuple[Input, ...] = ()
        self._changed = False
        self._store: Store | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="history")

    # -- what the screen does -------------------------------------------------------------------

    def began(self, inputs: Sequence[Input]) -> None:
        """A new text was read: it is a new entry."""
        self.current = None
        self._inputs = tuple(inputs)
        self._changed = True

    def joined(self, inputs: Sequence[Input]) -> None:
        """The other side's text joins the current entry."""
        self._inputs = (*self._inputs, *inputs)
        self._changed = True

    def resumed(self, number: int, inputs: Sequence[Input]) -> None:
        """An entry was opened; what happens now changes it."""
        self.current = Current(number)
        self._inputs = tuple(inputs)
        self._changed = False

    def keep(self, state: State, shown: Report) -> None:
        """Keep what is shown now."""
        if self.off or (self.current is not None and self.current.gone):
            return
        if self.current is None:
            self.current = Current()
            self._changed = True
        current, inputs = self.current, (self._inputs if self._changed else None)
        self._changed = False
        self._thread.submit(
            self._guarded, lambda store: _write(store, current, state, shown, inputs)
        )

    def ask(self, question: Callable[[Store], T]) -> T | None:
        """The store's answer, after everything that was kept before; None in trouble. Waits: call
        it from a thread."""
        if self.off:
            return None
        done: Future[T | None] = self._thread.submit(self._guarded, question)
        try:
            return done.result(PATIENCE)
        except LateError:
            self._tell(f"the history gave no answer for {PATIENCE:.0f} s; try again later")
            return None

    def forget(self, number: int | None) -> int:
        """Delete an entry (None: all of them); returns how many went."""
        current = self.current
        if current is not None and number in (None, current.number):
            current.gone = True

        def delete(store: Store) -> int:
            if number is None:
                return store.delete_all()
            return int(store.delete(number))

        return self.ask(delete) or 0

    def close(self) -> None:
        """Write what is left."""
        self._thread.submit(self._leave)
        self._thread.shutdown(wait=True)

    # -- in the thread --------------------------------------------------------------------------

    def _leave(self) -> None:
        if self._store is not None:
            self._store.close()

    def _guarded(self, work: Callable[[Store], T]) -> T | None:
        from kvdoctor.errors import KvdoctorError
        from kvdoctor.history.store import Store

        if self.off:
            return None
        try:
            if self._store is None:
                self._store = Store()
            result = work(self._store)
        except (KvdoctorError, ValueError, MemoryError) as error:
            self.off = str(error)
            self._tell(f"{error}; everything else works, nothing more is kept")
            return None
        while self._store.notices:
            self._tell(self._store.notices.pop(0))
        return result


def _write(
    store: Store, current: Current, state: State, shown: Report, inputs: tuple[Input, ...] | None
) -> None:
    from kvdoctor.history.keeping import kept, packed

    now = kept(state, shown)
    if current.gone or (now == current.last and inputs is None):
        return
    if current.number == 0:
        current.number = store.add(*now, packed(inputs or ()))
    elif not store.update(current.number, *now, packed(inputs) if inputs is not None else None):
        current.gone = True
    current.last = now
