"""The tour: real failures to learn the keys on, with a line that names the next key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from kvdoctor.ui.panes.base import text

if TYPE_CHECKING:
    from textual.app import App

    from kvdoctor.session import State
    from kvdoctor.ui.app import KvdoctorApp
    from kvdoctor.ui.tourscreen import Incident

    Base = App[int]
else:
    Base = object

STEPS = {
    "start": "] goes on where you were",
    "choose": "several errors; the root cause is marked: enter takes it up",
    "values": "the log does not say this: type the answer and press enter; F1 explains it",
    "related": "what leads here or fails next; [ goes back to the cause",
}
CAUSE = (  # what has been done → the next key
    ("copied", "the cause, and fixes with their proof: y copies the marked fix"),
    ("log", "l opens the log at the line that proves it, esc comes back"),
    ("related", "n shows what would fail next"),
)
DONE = "that is the whole way; your own log goes the same"


def guidance(step: str, done: frozenset[str]) -> str:
    """One line: which key to press next."""
    words = STEPS.get(step) or next((say for what, say in CAUSE if what not in done), DONE)
    return f"Tour: {words}. esc leaves."


class Touring(Base):
    """The application's side. ``touring`` is whether what is shown belongs to the tour."""

    touring: bool
    _done: frozenset[str]
    _before: State | None

    @property
    def _toured(self) -> KvdoctorApp:
        from kvdoctor.ui.app import the_app

        return the_app(self)

    def action_tour(self) -> None:
        """Choose one of the tour's failures."""
        from kvdoctor.errors import KvdoctorError
        from kvdoctor.ui.tourscreen import TourScreen, incidents

        try:
            found = incidents()
        except (OSError, KvdoctorError) as error:
            self._toured.say(f"the tour cannot be read: {error}", True)
            return
        self.push_screen(TourScreen(found), self._begin)

    def _begin(self, chosen: Incident | None) -> None:
        from kvdoctor import session
        from kvdoctor.ui.app import Pending

        if chosen is None:
            return
        try:
            pending = tuple(
                Pending(file.name, side, file.read_bytes()) for file, side in chosen.inputs
            )
        except OSError as error:
            self._toured.say(f"the tour cannot be read: {error}", True)
            return
        if not self.touring:
            self._before = self._toured.state
        self.touring, self._done = True, frozenset()
        self._toured.take(session.start())
        self._toured.read_inputs(pending)

    def leave_tour(self) -> None:
        """Back to what was there before."""
        from kvdoctor import session

        before, self._before = self._before, None
        self.touring = False
        self._toured.take(before or session.start())
        self.show_guidance()
        self._toured.say("the tour is left; x opens it again")

    def end_tour(self) -> None:
        """The user's own text takes its place."""
        self.touring, self._before = False, None
        self.show_guidance()

    def toured(self, what: str) -> None:
        """Something that the tour waits for was done."""
        if self.touring:
            self._done |= {what}
            self.show_guidance()

    def show_guidance(self) -> None:
        """The line of the tour, above the keys; nothing outside it."""
        line = self.query_one("#guide", Static)
        line.set_class(self.touring, "-shown")
        if self.touring:
            line.update(text(guidance(self._toured.step, self._done)))
