"""What every pane is: a widget that shows a report and says where the focus goes."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from kvdoctor.report import Report
from kvdoctor.session import State
from kvdoctor.terminal import clean


class Pane(VerticalScroll):
    """One step of the flow. ``show`` is called with every new state; a pane keeps none."""

    GUIDE: ClassVar[str] = ""

    def show(self, shown: Report | None, state: State) -> None:
        raise NotImplementedError

    def take_focus(self) -> None:
        self.focus()

    def first_focusable(self, widget: Widget) -> None:
        widget.focus()


def text(value: str, style: str = "") -> Content:
    """Pasted or recorded text as content: never markup, nothing that a terminal acts on."""
    return Content.styled(clean(value), style) if style else Content(clean(value))
