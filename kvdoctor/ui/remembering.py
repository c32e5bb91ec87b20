"""The screen's side of the history: what is kept, what is opened again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import work

if TYPE_CHECKING:
    from textual.app import App

    from kvdoctor.history.entry import Packed
    from kvdoctor.history.keeper import Keeper
    from kvdoctor.report import Report
    from kvdoctor.session import State
    from kvdoctor.ui.app import KvdoctorApp

    Base = App[int]
else:
    Base = object


class Remembering(Base):
    """``remember`` is false when the history is switched off: nothing is imported then."""

    remember: bool
    keeper: Keeper | None

    @property
    def _app(self) -> KvdoctorApp:
        from kvdoctor.ui.app import the_app

        return the_app(self)

    def _keeping(self) -> Keeper | None:
        """The keeper, made when it is first needed; None when the history is off."""
        if self.keeper is None and self.remember:
            from kvdoctor.history.keeper import Keeper

            self.keeper = Keeper(lambda text: self.call_from_thread(self._app.say, text, True))
        return self.keeper

    def remembering(
        self, name: str, side: str, inputs: list[Packed]
    ) -> Callable[[Sequence[str]], None] | None:
        """What packs a text for the history while it is read, so that neither the text as it came
        need be kept nor read again; None when nothing is kept."""
        if not self.remember or self._app.touring:
            return None
        from kvdoctor.history.entry import pack_parts

        return lambda parts: inputs.append(pack_parts(parts, name, side))

    def remember_inputs(self, inputs: Sequence[Packed], *, joined: bool) -> None:
        """A new text, or the other side's, was read: it belongs to the entry from now on."""
        keeper = self._keeping()
        if keeper is None or self._app.touring:
            return
        if joined:
            keeper.joined(inputs)
        else:
            keeper.began(inputs)

    def remember_state(self, state: State, shown: Report | None) -> None:
        """Keep what is shown now; the writing is done in the keeper's thread."""
        if self._app.touring:  # nobody's incident
            return
        if self.keeper is not None and shown is not None and state.read is not None:
            self.keeper.keep(state, shown)

    def close_history(self) -> None:
        """Write what is left. Called when the screen has gone."""
        if self.keeper is not None:
            self.keeper.close()

    def action_history(self) -> None:
        """Past diagnoses: enter opens one with its answers."""
        keeper = self._keeping()
        if keeper is None:
            self._app.say("the history is switched off")
            return
        from kvdoctor.ui.historying import HistoryScreen

        self.push_screen(HistoryScreen(keeper), self._chosen)

    def _chosen(self, number: int | None) -> None:
        if number is not None:
            self.resume(number)

    def action_earlier(self) -> None:
        """One step back; from the first step to the entry before, in the history."""
        if self._app.state.past:
            from kvdoctor import session

            self._app.take(session.back(self._app.state))
        else:
            self.walk_history(-1)

    def action_later(self) -> None:
        """One step forward again; from the last step to the entry after, in the history."""
        if self._app.state.future:
            from kvdoctor import session

            self._app.take(session.forward(self._app.state))
        else:
            self.walk_history(1)

    @work(thread=True, exclusive=True, group="read")
    def walk_history(self, step: int) -> None:
        """Open the entry before (-1) or after (+1) the current one; a new page stands last."""
        keeper = self._keeping()
        if keeper is None or keeper.off:
            return
        current = keeper.current  # its number is known once what was kept before is stored
        beside = keeper.ask(lambda store: store.beside(current.number if current else 0, step))
        if beside is not None:
            self._open(keeper, beside)
        elif not keeper.off:
            words = "earlier" if step < 0 else "later"
            self.call_from_thread(self._app.say, f"there is no {words} diagnosis in the history")

    @work(thread=True, exclusive=True, group="read")
    def resume(self, number: int) -> None:
        """Open an entry as it was left, read anew with today's knowledge."""
        keeper = self._keeping()
        if keeper is not None:
            self._open(keeper, number)

    def _open(self, keeper: Keeper, number: int) -> None:
        """Called in a thread."""
        from kvdoctor.errors import KvdoctorError
        from kvdoctor.history.entry import unpack
        from kvdoctor.history.keeping import Raw, left_out, restored

        self.call_from_thread(self._app.say, f"opening entry {number}")
        self._app.furnish()
        entry = keeper.ask(lambda store: store.entry(number))
        if entry is None:
            self.call_from_thread(self._app.say, f"there is no entry {number}", True)
            return
        try:
            state = restored(entry, self._app.knowledge)
            inputs = [Raw(one.name, one.side, unpack(one)) for one in entry.inputs]
        except KvdoctorError as error:
            self.call_from_thread(self._app.say, str(error), True)
            return
        keeper.resumed(number, inputs)
        self.call_from_thread(self._app.end_tour)
        self.call_from_thread(self._app.take, state)
        told = left_out(entry) or f"entry {number}, as you left it"
        self.call_from_thread(self._app.say, told)
