"""All drawings that the values of a report allow, in front of the cause."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kvdoctor.ui.panes.base import FRONT, text


class PageScreen(ModalScreen[None]):
    """A page of drawn text as wide as the terminal; esc closes it."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,g,d", "dismiss", "close")]

    def __init__(self, title: str, page: str) -> None:
        super().__init__()
        self._title = title
        self._page = page

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(text(f"{self._title}  (esc closes)", "bold"))
            yield Static("")
            yield Static(text(self._page), id="page-text")

    def on_click(self) -> None:
        self.dismiss(None)
