"""Ask the guard of the user's own vLLM, in front of the cause."""

from __future__ import annotations

import threading
import time
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import LoadingIndicator, Static

from kvdoctor.proving import prove_fix
from kvdoctor.report import OfferedFix, Report
from kvdoctor.ui.panes.base import FRONT, text

ASKING = "Asking the guard of your own vLLM (not this program's copy)"


class ProveScreen(ModalScreen[None]):
    """Says what is run, runs it in a thread with the time that has passed, shows what that build
    answers. Leaving ends the other process."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "leave", "stop and close")]

    def __init__(self, shown: Report, chosen: OfferedFix) -> None:
        super().__init__()
        self._shown = shown
        self._chosen = chosen
        self._stop = threading.Event()
        self._begun = time.monotonic()
        self._done = False

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(text(f"{ASKING}, esc stops."), id="prove-text")
            yield LoadingIndicator()

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self.ask_the_guard()

    def _tick(self) -> None:
        if not self._done:
            passed = int(time.monotonic() - self._begun)
            self.query_one("#prove-text", Static).update(
                text(f"{ASKING}, {passed} s so far (importing vLLM takes most of it), esc stops.")
            )

    @work(thread=True, exclusive=True, group="prove")
    def ask_the_guard(self) -> None:
        answer = prove_fix(self._shown, self._chosen.fix, self._stop)
        if not self._stop.is_set():
            self.app.call_from_thread(self.tell, answer)

    def tell(self, answer: str) -> None:
        self._done = True
        self.query_one(LoadingIndicator).display = False
        self.query_one("#prove-text", Static).update(text(answer))

    def action_leave(self) -> None:
        self._stop.set()
        self.dismiss()
