"""The application: holds one state, shows it, turns key presses into moves."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import ContentSwitcher, Footer, Static

from kvdoctor import session
from kvdoctor.load import Knowledge, load
from kvdoctor.report import OfferedFix, Report, Source
from kvdoctor.session import State
from kvdoctor.ui.heading import Heading
from kvdoctor.ui.panes.base import Pane
from kvdoctor.ui.panes.cause import CausePane
from kvdoctor.ui.panes.choose import ChoosePane
from kvdoctor.ui.panes.related import RelatedPane
from kvdoctor.ui.panes.start import StartPane
from kvdoctor.ui.panes.values import ValuesPane

QUIET_SECONDS = 0.3  # a paste may arrive in several pieces


@dataclass(frozen=True, slots=True)
class Pending:
    """An input that was named or piped and is not read yet."""

    name: str
    side: str
    data: bytes | str


class KvdoctorApp(App[int]):
    """Paste to proven fix. ``pending`` inputs are read right after the first paint."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "kvdoctor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", priority=True),
        Binding("q", "leave", "quit"),
        Binding("ctrl+q", "quit", "quit", show=False, priority=True),
        Binding("y", "copy", "copy fix"),
        Binding("c", "copy_command", "copy command"),
        Binding("Y", "copy_note", "copy note"),
        Binding("v", "go('values')", "values"),
        Binding("n", "go('related')", "next"),
        Binding("e", "go('choose')", "errors"),
        Binding("u", "undo", "undo"),
        Binding("right_square_bracket", "forward", "forward", show=False),
        Binding("left_square_bracket", "back", "back", show=False),
        Binding("o", "other_side", "other side"),
        Binding("p", "prove", "prove"),
        Binding("slash", "search", "search"),
        Binding("question_mark", "keys", "keys"),
        Binding("f1", "explain", "explain", show=False),
    ]

    state: reactive[State] = reactive(State, init=False)

    def __init__(
        self,
        *,
        pending: tuple[Pending, ...] = (),
        knowledge_folders: tuple[str, ...] = (),
        answers: Mapping[str, object] | None = None,
        ascii_only: bool = False,
        knowledge: Knowledge | None = None,
    ) -> None:
        super().__init__()
        self.pending = pending
        self.ascii_only = ascii_only
        self.shown: Report | None = None
        self._folders = knowledge_folders
        self._answers = dict(answers or {})
        self._knowledge = knowledge
        self._adding_side = False
        self._confirming = ""

    # -- start ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Heading(id="heading")
        with ContentSwitcher(initial="start", id="panes"):
            yield StartPane(id="start")
            yield ChoosePane(id="choose")
            yield ValuesPane(id="values")
            yield CausePane(id="cause")
            yield RelatedPane(id="related")
        yield Static("", id="message", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """What may wait for the first paint: the collector, the knowledge, the named inputs."""
        gc.freeze()
        gc.enable()
        if self.pending:
            self.read_inputs(self.pending)
        else:
            self.warm_up()

    @property
    def knowledge(self) -> Knowledge:
        if self._knowledge is None:
            self._knowledge = load([Path(folder) for folder in self._folders])
        return self._knowledge

    @work(thread=True, exclusive=True, group="read")
    def warm_up(self) -> None:
        """Load the knowledge while the user looks for what to paste."""
        problems = self.knowledge.problems
        if problems:
            text = f"left out: {problems[0]}"
            self.call_from_thread(self.say, text, True)

    @work(thread=True, exclusive=True, group="read")
    def read_inputs(self, pending: tuple[Pending, ...]) -> None:
        """Take the inputs apart and match them, away from the event loop."""
        from kvdoctor.intake import read

        self.call_from_thread(self.say, "reading…")
        knowledge = self.knowledge
        sources = [
            Source(read(one.data, one.name, knowledge=knowledge.reading), one.side)
            for one in pending
        ]
        old = self.state
        if self._adding_side and old.read is not None:
            fresh = old
            for source in sources:
                fresh = session.add_source(fresh, source, knowledge)
        else:
            fresh = session.paste(old, sources, knowledge)
            for name, value in self._answers.items():
                fresh = session.answer(fresh, name, str(value), knowledge)
        self._adding_side = False
        self.call_from_thread(self.take, fresh)

    # -- state ----------------------------------------------------------------------------------

    def take(self, fresh: State) -> None:
        """The only way in which the state changes."""
        self.state = fresh

    def move(self, made: Callable[[], State]) -> None:
        """Apply one move that needs the knowledge."""
        self.take(made())

    def watch_state(self, state: State) -> None:
        self.shown = session.view(state, self.knowledge) if state.visit.step != "start" else None
        step = state.visit.step
        if self.shown is None and step != "start":
            step = "start"
        switcher = self.query_one("#panes", ContentSwitcher)
        pane = self.query_one(f"#{step}", Pane)
        pane.show(self.shown, state)
        switcher.current = step
        self.query_one(Heading).show(self.shown, state)
        self.say(state.message, bool(state.message))
        pane.take_focus()
        self.refresh_bindings()

    def say(self, text: str, wrong: bool = False) -> None:
        """One line for the user above the footer."""
        line = self.query_one("#message", Static)
        line.update(text)
        line.set_class(wrong, "-wrong")
        line.set_class(bool(text), "-shown")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that make no sense in this step are not shown."""
        step = self.state.visit.step
        started = self.state.read is not None or self.state.visit.record is not None
        if action == "go":
            return started and parameters[0] != step and self._has(str(parameters[0]))
        fixes = self.shown.fixes if self.shown is not None else ()
        if action in ("copy", "prove"):
            return step == "cause" and bool(fixes)
        if action == "copy_command":
            return step == "cause" and any(one.after for one in fixes)
        if action in ("copy_note", "explain"):
            return step in ("cause", "values")
        if action == "other_side":
            return started
        if action == "undo":
            return bool(self.state.order)
        if action == "leave":
            return True
        return True

    def _has(self, step: str) -> bool:
        shown = self.shown
        if shown is None:
            return False
        if step == "choose":
            return bool(shown.findings)
        if step == "values":
            return shown.record is not None and bool(shown.record.inputs)
        return shown.record is not None or bool(shown.next) or bool(shown.dangers)

    # -- input ----------------------------------------------------------------------------------

    def on_paste(self, event: events.Paste) -> None:
        """A paste anywhere but in an answer is a new text (or the other side's)."""
        from textual.widgets import Input

        if isinstance(self.focused, Input) and "\n" not in event.text.strip():
            return
        event.stop()
        self.query_one(StartPane).add(event.text)
        self.set_timer(QUIET_SECONDS, self._pasted)

    def _pasted(self) -> None:
        text = self.query_one(StartPane).taken()
        if text.strip():
            self.read_inputs((Pending("paste", "this", text),))

    # -- actions --------------------------------------------------------------------------------

    async def action_back(self) -> None:
        if isinstance(self.screen, ModalScreen):
            self.screen.dismiss(None)
            return
        self.take(session.back(self.state))

    def action_forward(self) -> None:
        self.take(session.forward(self.state))

    def action_leave(self) -> None:
        """q leaves from the top; elsewhere it is too easy to hit by mistake."""
        if self.state.past:
            self.say("esc goes back; ctrl+q quits")
        else:
            self.exit(0)

    def action_go(self, step: str) -> None:
        self.take(session.go(self.state, step))

    def action_undo(self) -> None:
        self.move(lambda: session.undo(self.state, self.knowledge))

    def action_other_side(self) -> None:
        """The next paste or file joins what is there instead of replacing it."""
        self._adding_side = True
        self.take(replace(session.go(self.state, "start"), message=""))
        self.say("Paste the other side's log, launch command or YAML; it joins what is there.")

    def marked_fix(self) -> OfferedFix | None:
        """The fix that the list marks."""
        marked = self.query_one(CausePane).marked()
        fixes = self.shown.fixes if self.shown is not None else ()
        return next((one for one in fixes if one.fix.id == marked), None)

    def action_copy(self) -> None:
        """Copy the marked fix."""
        chosen = self.marked_fix()
        if chosen is None:
            self.say("no fix is offered here")
        elif self._confirmed(chosen, "y"):
            self._copy(chosen.fix.snippet)

    def action_copy_command(self) -> None:
        """Copy the user's own launch command as the marked fix changes it."""
        chosen = self.marked_fix()
        if chosen is None or not chosen.after:
            self.say("no launch command was in the text; o adds one")
        elif self._confirmed(chosen, "c"):
            self._copy(chosen.after)

    def _confirmed(self, chosen: OfferedFix, key: str) -> bool:
        """An unproven fix, or one that runs into the next error, needs a second press."""
        unproven = chosen.fix.proof.level == "unproven"
        if (unproven or chosen.breaks) and self._confirming != chosen.fix.id:
            self._confirming = chosen.fix.id
            why = "This fix is unproven" if unproven else "This fix runs into the next error"
            self.say(f"{why}. Press {key} once more to copy it all the same.", True)
            return False
        self._confirming = ""
        return True

    def _copy(self, what: str) -> None:
        from kvdoctor.clipboard import copy

        self.say(copy(what, self._send_escape).told)

    def action_copy_note(self) -> None:
        from kvdoctor.note import incident_note

        if self.shown is not None:
            self._copy(incident_note(self.shown, self.knowledge))

    def _send_escape(self, sequence: str) -> bool:
        """Write a sequence through the driver, so that it cannot land amid a repaint."""
        if self._driver is None or self.is_headless:
            return False
        self._driver.write(sequence)
        self._driver.flush()
        return True

    def action_keys(self) -> None:
        from kvdoctor.ui.helping import HelpScreen

        self.push_screen(HelpScreen(self._keys_text()))

    def action_explain(self) -> None:
        from kvdoctor.ui.helping import HelpScreen, question_help

        pane = self.query_one(ValuesPane)
        if self.shown is not None and self.state.visit.step == "values" and pane.asked:
            self.push_screen(HelpScreen(question_help(self.shown, pane.asked)))
        else:
            self.push_screen(HelpScreen(self._keys_text()))

    def _keys_text(self) -> str:
        pane = self.query_one(f"#{self.query_one('#panes', ContentSwitcher).current}", Pane)
        lines = [pane.GUIDE, ""]
        for _, binding, enabled, _ in self.active_bindings.values():
            if enabled and binding.description and len(binding.key) < 24:
                lines.append(f"  {self.get_key_display(binding):10} {binding.description}")
        return "\n".join(dict.fromkeys(lines))

    def action_search(self) -> None:
        from kvdoctor.ui.searching import SearchScreen

        def opened(record: str | None) -> None:
            if record:
                self.move(lambda: session.follow(self.state, record, self.knowledge))

        self.push_screen(SearchScreen(self.knowledge), opened)

    def action_prove(self) -> None:
        from kvdoctor.ui.proving import ProveScreen

        chosen = self.marked_fix()
        if self.shown is not None and chosen is not None:
            self.push_screen(ProveScreen(self.shown, chosen))
