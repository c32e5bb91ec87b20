"""The application: holds one state, shows it, turns key presses into moves.

Before the first paint only what the first paint needs is imported; the core of the program and the
other panes follow in a thread.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual import events, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import ContentSwitcher, Static

from kvdoctor.ui.actions import Actions
from kvdoctor.ui.heading import Heading
from kvdoctor.ui.keybar import KeyBar
from kvdoctor.ui.keying import Keying
from kvdoctor.ui.keys import IN_FRONT
from kvdoctor.ui.offering import Offering
from kvdoctor.ui.panes.base import Pane
from kvdoctor.ui.panes.start import StartPane
from kvdoctor.ui.remembering import Remembering
from kvdoctor.ui.signals import leave_on_signals
from kvdoctor.ui.touring import Touring

if TYPE_CHECKING:
    from textual.timer import Timer

    from kvdoctor.history.entry import Packed
    from kvdoctor.intake.decode import Decoded
    from kvdoctor.knowledge import Knowledge
    from kvdoctor.report import Report
    from kvdoctor.session import State
    from kvdoctor.ui.piping import Pipe

QUIET_SECONDS = 0.15  # a paste may arrive in several pieces
POLL_SECONDS = 0.05


class Pending(NamedTuple):
    """An input that was named or piped and is not read yet."""

    name: str
    side: str
    data: bytes | str


class Flow(Screen[object]):
    """What lies below the screens in front: its keys do nothing while one of them is open."""

    def on_screen_suspend(self) -> None:
        for bar in self.query(KeyBar):
            bar.show(IN_FRONT)

    def on_screen_resume(self) -> None:
        if self.query(KeyBar):
            the_app(self.app).show_keys()


class KvdoctorApp(Actions, Keying, Remembering, Offering, Touring, App[int]):
    """Paste to proven fix. ``pending`` inputs are read right after the first paint."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "kvdoctor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back, answers kept", priority=True),
        Binding("q", "leave", "quit (from the first step)"),
        Binding("ctrl+q", "quit", "quit", priority=True),
        Binding("y", "copy", "copy the marked fix"),
        Binding("c", "copy_command", "copy your command with the fix"),
        Binding("Y", "copy_note", "copy an incident note"),
        Binding("C", "copy_menu", "copy: fix, command, check, lines, link, note files"),
        Binding("v", "go('values')", "values"),
        Binding("n", "go('related')", "what fails next, related"),
        Binding("e", "go('choose')", "all errors of the text"),
        Binding("l,ctrl+l", "log", "the log, at the marked line"),
        Binding("u", "undo", "undo the last answer"),
        Binding("right_square_bracket", "later", "forward, then later diagnoses"),
        Binding("left_square_bracket", "earlier", "back, then earlier diagnoses"),
        Binding("o,ctrl+o", "other_side", "add the other side's log or command"),
        Binding("g", "pictures", "drawings: heads, blocks, steps, who failed first"),
        Binding("b", "beside", "the values of both sides beside each other"),
        Binding("t", "theme", "dark, light, high contrast"),
        Binding("p", "prove", "ask the guard of your own vLLM"),
        Binding("s", "symptoms", "no error message: symptoms"),
        Binding("slash", "search", "search all records"),
        Binding("H", "history", "past diagnoses"),
        Binding("x", "tour", "a tour on real failures"),
        Binding("question_mark", "keys", "keys of this step"),
        Binding("f1", "explain", "what the question means"),
        Binding("enter", "take_piped", "read what has come", show=False),
        Binding("enter", "take_offered", "read the file", show=False),
    ]

    def __init__(
        self,
        *,
        pending: tuple[Pending, ...] = (),
        pipe: Pipe | None = None,
        knowledge_folders: tuple[str, ...] = (),
        answers: Mapping[str, object] | None = None,
        ascii_only: bool = False,
        knowledge: Knowledge | None = None,
        remember: bool = False,
        resuming: int = 0,
    ) -> None:
        super().__init__()
        self.remember = remember
        self.keeper = None
        self.touring = False
        self._resuming = resuming
        self.pending = pending
        self.pipe = pipe
        self.ascii_only = ascii_only
        self.shown: Report | None = None
        self._state: State | None = None
        self._folders = knowledge_folders
        self._answers = dict(answers or {})
        self._knowledge = knowledge
        self._loading = threading.Lock()
        self._furnishing = threading.Lock()
        self._adding_side = False
        self._wanted = ""
        self._confirming = ""
        self.offered = None
        self._quiet: Timer | None = None
        self._watching: Timer | None = None
        self._leaving = 0.0

    # -- start ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Heading(id="heading")
        with ContentSwitcher(initial="start", id="panes"):
            yield StartPane(id="start")
        yield Static("", id="guide", markup=False)
        yield Static("", id="message", markup=False)
        yield KeyBar(id="keys")

    def get_default_screen(self) -> Screen[object]:
        return Flow(id="_default")

    def on_mount(self) -> None:
        if self.ascii_only:
            self.add_class("-ascii")
        if not self.is_headless:
            leave_on_signals(lambda status: self.exit(status))
        self.show_keys()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """What may wait for the first paint: the collector, the core, the named inputs."""
        gc.freeze()
        gc.enable()
        if self.pipe is not None:
            self._watching = self.set_interval(POLL_SECONDS, self._watch_pipe)
            self._watch_pipe()
        elif self._resuming:
            self.resume(self._resuming)
            return
        elif self.pending:
            self.read_inputs(self.pending)
            return
        self.warm_up()

    @property
    def knowledge(self) -> Knowledge:
        with self._loading:
            if self._knowledge is None:
                from kvdoctor.load import load

                self._knowledge = load([Path(folder) for folder in self._folders])
            return self._knowledge

    @work(thread=True, group="warm")
    def warm_up(self) -> None:
        """Load the core and the knowledge while the user looks for what to paste."""
        self.furnish()
        problems = self.knowledge.problems
        if problems:
            self.call_from_thread(self.say, f"left out: {problems[0]}", True)

    def furnish(self) -> None:
        """Import the other panes (in the calling thread) and mount them."""
        with self._furnishing:
            self._import_panes()

    def _import_panes(self) -> None:
        from kvdoctor.ui.panes.cause import CausePane
        from kvdoctor.ui.panes.choose import ChoosePane
        from kvdoctor.ui.panes.related import RelatedPane
        from kvdoctor.ui.panes.values import ValuesPane

        async def mount() -> bool:
            if not self.query(CausePane):
                panes: list[Pane] = [
                    ChoosePane("choose"),
                    ValuesPane("values"),
                    CausePane("cause"),
                    RelatedPane(id="related"),
                ]
                for pane in panes:
                    pane.display = False
                await self.query_one("#panes", ContentSwitcher).mount(*panes)
            return True

        self.call_from_thread(mount)  # type: ignore[arg-type]

    def read_inputs(self, pending: tuple[Pending, ...]) -> None:
        """Take the inputs apart and match them, away from the event loop. The worker is not given
        them: it would describe itself by all of their text, and outlive it."""
        self.pending = pending
        self._read_pending()

    @work(thread=True, exclusive=True, group="read")
    def _read_pending(self) -> None:
        self.call_from_thread(self.say, "reading…" if not self.ascii_only else "reading...")
        self.furnish()
        inputs: list[Packed] = []
        joined = self._adding_side and self.state.read is not None
        try:
            texts = self._decoded()
            fresh = self._read(texts, inputs) if texts else None
        except Exception as error:  # whatever the text holds, the screen stays
            self.call_from_thread(self.say, f"could not be read: {error!r}", True)
            return
        finally:
            self._adding_side = False
        if fresh is None:  # a text that came right behind this one was read in its place
            return
        self.remember_inputs(inputs, joined=joined)
        gc.freeze()  # a long log is many objects: no later collection need look at them again
        self.call_from_thread(self.take, fresh)
        if joined:
            self.call_from_thread(self.say, "what came has joined what was there")

    def _decoded(self) -> list[tuple[str, str, Decoded]]:
        """Name, side and text of the inputs; what they came as is let go."""
        from kvdoctor.intake.decode import decode

        pending, self.pending = self.pending, ()
        return [(one.name, one.side, decode(one.data)) for one in pending]

    def _read(self, texts: list[tuple[str, str, Decoded]], inputs: list[Packed]) -> State:
        from kvdoctor import session
        from kvdoctor.intake import read
        from kvdoctor.report import Source

        knowledge = self.knowledge
        sources = [
            Source(
                read(
                    text,
                    name,
                    knowledge=knowledge.reading,
                    keep=self.remembering(name, side, inputs),
                ),
                side,
            )
            for name, side, text in texts
        ]
        fresh = self.state
        if self._adding_side and fresh.read is not None:
            for source in sources:
                fresh = session.add_source(fresh, source, knowledge)
            return self._returned(fresh)
        fresh = session.paste(fresh, sources, knowledge)
        for name, value in self._answers.items() if not self.touring else ():
            fresh = session.answer(fresh, name, str(value), knowledge)
        return fresh

    def _returned(self, fresh: State) -> State:
        """After the other side's text has joined: back to where ``o`` was pressed."""
        from kvdoctor import session

        if fresh.visit.step != "start":
            return fresh
        step = "values" if fresh.visit.chosen is not None or fresh.visit.record else "choose"
        visit = session.settled(fresh, replace(fresh.visit, step=step), self.knowledge)
        return replace(fresh, visit=visit)

    # -- state ----------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        if self._state is None:
            from kvdoctor import session

            self._state = session.start()
        return self._state

    @property
    def step(self) -> str:
        """Where the user stands, without importing the core before it is needed."""
        return self._state.visit.step if self._state is not None else "start"

    @property
    def pane(self) -> Pane:
        return self.query_one(f"#{self.query_one('#panes', ContentSwitcher).current}", Pane)

    def take(self, fresh: State) -> None:
        """The only way in which the state changes."""
        from kvdoctor import session

        self._state = fresh
        step = fresh.visit.step
        self.shown = session.view(fresh, self.knowledge) if step != "start" else None
        if self.shown is None:
            step = "start"
        if step != "start":
            self._adding_side = False
        self.offered = None
        self._confirming = ""
        self.remember_state(fresh, self.shown)
        self.query_one("#panes", ContentSwitcher).current = step
        self.pane.show(self.shown, fresh)
        self.query_one(Heading).show(self.shown, fresh)
        self.say(fresh.message, bool(fresh.message))
        self.pane.take_focus()
        self.show_keys()
        self.toured(step)

    def move(self, made: Callable[[], State]) -> None:
        """Apply one move that needs the knowledge."""
        self.take(made())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key that does something now, for ctrl+p too."""
        yield from self.commands(screen)
        for one in super().get_system_commands(screen):
            if one.title == "Screenshot":  # the palette sorts; of the others ours are better
                yield one._replace(title="write a screenshot (SVG)")

    def action_command_palette(self) -> None:
        """The palette that a terminal of any height can take."""
        from kvdoctor.ui.palette import Palette

        if self.use_command_palette and not Palette.is_open(cast("App[object]", self)):
            self.push_screen(Palette(id="--command-palette"))

    def say(self, text: str, wrong: bool = False) -> None:
        """A line for the user above the keys; it takes room at the bottom and hides nothing."""
        line = self.query_one("#message", Static)
        line.update(text)
        line.set_class(wrong, "-wrong")
        line.set_class(bool(text), "-shown")

    # -- input ----------------------------------------------------------------------------------

    def on_paste(self, event: events.Paste) -> None:
        """A paste anywhere but in an answer is a new text (or the other side's)."""
        event.stop()
        event.prevent_default()
        if isinstance(self.screen, ModalScreen):
            return
        if self.step == "values" and self.typing:  # the question is answered by the text
            self._adding_side = True
        self.query_one(StartPane).add(event.text)
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(QUIET_SECONDS, self._pasted)

    def _pasted(self) -> None:
        text = self.query_one(StartPane).taken()
        if text.strip() and not self.offer_path(text):
            if self.touring and not self._adding_side:
                self.end_tour()
            self.read_inputs((Pending("paste", "this", text),))

    def _watch_pipe(self) -> None:
        """Say how much has come; read it when the pipe has ended."""
        pipe = self.pipe
        if pipe is None:
            return
        if pipe.ended.is_set():
            self.action_take_piped()
        elif pipe.size:
            self.say(f"{pipe.size:,} bytes have come; enter reads them, or wait for the end")
        else:
            self.say("waiting for the pipe; a paste works too")

    def action_take_piped(self) -> None:
        """Read what the pipe has brought."""
        pipe = self.pipe
        if pipe is None:
            return
        self.pipe = None
        if self._watching is not None:
            self._watching.stop()
        data = pipe.taken()
        self.show_keys()
        piped = (Pending("-", pipe.side, data),) if data.strip() else ()
        if piped or self.pending:
            self.read_inputs((*piped, *self.pending))
        else:
            self.say("the pipe brought nothing; paste a log")

    # -- leaving --------------------------------------------------------------------------------

    def action_help_quit(self) -> None:
        """ctrl+c: once tells, twice leaves."""
        now = time.monotonic()
        if now - self._leaving < 3.0:
            self.exit(0)
        self._leaving = now
        self.say("ctrl+c once more leaves")

    def action_leave(self) -> None:
        """q leaves from the top; elsewhere it is too easy to hit by mistake."""
        if self._state is not None and self._state.past:
            self.say("esc goes back; ctrl+q leaves from anywhere")
        else:
            self.exit(0)


def the_app(app: object) -> KvdoctorApp:
    """The running application, for the panes that send it moves."""
    return cast(KvdoctorApp, app)
