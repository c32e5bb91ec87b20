"""Ask the guard of the user's own vLLM, in front of the cause."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import LoadingIndicator, Static

from kvdoctor.command.proving import prove_fix
from kvdoctor.report import OfferedFix, Report
from kvdoctor.ui.panes.base import FRONT, text


class ProveScreen(ModalScreen[None]):
    """Says what will be run, runs it in a thread, shows what that build answers."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", "close")]

    def __init__(self, shown: Report, chosen: OfferedFix) -> None:
        super().__init__()
        self._shown = shown
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(
                text("Asking the guard of your own vLLM (not this program's copy)…"),
                id="prove-text",
            )
            yield LoadingIndicator()

    def on_mount(self) -> None:
        self.ask_the_guard()

    @work(thread=True, exclusive=True, group="prove")
    def ask_the_guard(self) -> None:
        answer = prove_fix(self._shown, self._chosen.fix)
        self.app.call_from_thread(self.tell, answer)

    def tell(self, answer: str) -> None:
        self.query_one(LoadingIndicator).display = False
        self.query_one("#prove-text", Static).update(text(answer))
