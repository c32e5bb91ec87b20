"""Which keys do something now: what the bottom line names, and why a key does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.screen import ModalScreen

from kvdoctor.ui.keybar import KeyBar
from kvdoctor.ui.keys import BACK, keys_of

if TYPE_CHECKING:
    from textual.app import App

    from kvdoctor.report import Report
    from kvdoctor.session import State
    from kvdoctor.ui.app import KvdoctorApp

    Base = App[int]
else:
    Base = object

OFF_WHILE_ADDING = frozenset(
    ("symptoms", "search", "history", "theme", "tour", "leave", "earlier", "later", "undo", "go")
)


class Keying(Base):
    """Decides from the state which actions can be taken."""

    shown: Report | None
    _state: State | None

    @property
    def _keyed(self) -> KvdoctorApp:
        from kvdoctor.ui.app import the_app

        return the_app(self)

    def show_keys(self) -> None:
        """The keys of this step that do something now."""
        inside = bool(self._state is not None and self._state.past)
        usable = tuple(
            one
            for one in keys_of(self._keyed.step, adding=self.adding, typing=self.typing)
            if ((one == BACK and (inside or self._keyed.touring)) or self._usable(one.action))
            and not (inside and one.action == "app.leave")
        )
        if self._keyed.touring:
            usable = tuple(one._replace(word="leave") if one == BACK else one for one in usable)
        self.query_one(KeyBar).show(usable)
        self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        """Other keys work in a field than outside it."""
        if not isinstance(self.screen, ModalScreen):
            self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """A key of ours that does nothing here says why."""
        if isinstance(self.screen, ModalScreen):
            return
        bound = self._bindings.key_to_bindings.get(event.key, [])
        told = [one for one in bound if one.show]
        if not told or any(self._usable(one.action) for one in bound):
            return
        from kvdoctor.ui.refusing import why_not

        event.stop()
        event.prevent_default()
        name, parameters = _taken_apart(told[0].action)
        why = why_not(self._keyed, name, parameters)
        self._keyed.say(why or f"{told[0].description}: not here")

    def _usable(self, action: str) -> bool:
        if action.startswith("screen."):
            return True
        return bool(self.check_action(*_taken_apart(action)))

    @property
    def adding(self) -> bool:
        """Whether the page waits for the other side's text."""
        return self._keyed._adding_side and self._keyed.step == "start"

    @property
    def typing(self) -> bool:
        """Whether a field has the focus, so that letters are typed."""
        from textual.widgets import Input

        return isinstance(self.screen_stack[0].focused, Input)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that make no sense in this step do nothing and are not shown."""
        state, step = self._state, self._keyed.step
        started = state is not None and (state.read is not None or state.visit.record is not None)
        if action == "back" and self._keyed.touring:
            return not isinstance(self.screen, ModalScreen)
        if action == "back":
            return not isinstance(self.screen, ModalScreen) and bool(state and state.past)
        if action == "earlier":
            return self._keyed.remember or bool(state and state.past)
        if action == "later":
            return self._keyed.remember or bool(state and state.future)
        if action == "go":
            return started and parameters[0] != step and self.has_step(str(parameters[0]))
        if action == "take_piped":
            return step == "start" and self._keyed.pipe is not None
        if action == "take_offered":
            return step == "start" and self._keyed.offered is not None
        if self.adding and action in OFF_WHILE_ADDING:
            return False
        if action == "history":
            return self._keyed.remember
        if action in ("symptoms", "tour"):
            return step == "start"
        return self._check_result_action(action, step, started)

    def _check_result_action(self, action: str, step: str, started: bool) -> bool:
        fixes = self.shown.fixes if self.shown is not None else ()
        if action in ("copy", "prove", "fix_detail"):
            return step == "cause" and bool(fixes)
        if action == "copy_command":
            return step == "cause" and any(one.after for one in fixes)
        if action == "pictures":
            return step == "cause"
        if action == "take_up":
            return self.shown is not None and (step != "choose" or bool(self.shown.findings))
        if action == "beside":
            return self.shown is not None
        if action in ("copy_note", "copy_menu"):
            return step in ("cause", "values", "choose") and self.shown is not None
        if action == "log":
            return self.shown is not None and bool(self.shown.sources)
        if action == "other_side":
            return started and step != "start"
        if action == "undo":
            return bool(self._state and self._state.order)
        return True

    def has_step(self, step: str) -> bool:
        """Whether there is something to show in a step."""
        shown = self.shown
        if shown is None:
            return False
        if step == "choose":
            return bool(shown.findings)
        if step == "values":
            return shown.record is not None and bool(shown.record.inputs)
        return shown.record is not None or bool(shown.next) or bool(shown.dangers)


def _taken_apart(action: str) -> tuple[str, tuple[object, ...]]:
    """Name and parameters of an action as Textual writes it."""
    name, _, arguments = action.removeprefix("app.").partition("(")
    return name, tuple(one.strip("'") for one in arguments.rstrip(")").split(",") if one)
