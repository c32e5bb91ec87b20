"""Help in front of the flow: the keys of this step, and what a question means."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kvdoctor.report import Report, input_spec
from kvdoctor.ui.panes.base import text


class HelpScreen(ModalScreen[None]):
    """A page of text; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "close"),
    ]

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(text(self._page))


def question_help(shown: Report, name: str) -> str:
    """What one question means, where its value stands, and what depends on it."""
    spec = input_spec(shown, name)
    lines = [f"{name}: {spec.ask}", ""]
    if spec.side in ("prefill", "decode", "both"):
        lines.append(
            f"It is a value of the {spec.side} side."
            if spec.side != "both"
            else "It is the same on both sides."
        )
    if spec.find:
        lines.append(f"Where it stands: {spec.find}")
    if spec.reads:
        lines.append(
            f"Read by itself from a pasted log, command, YAML or config.json as: "
            f"{', '.join(spec.reads)}"
        )
    if spec.choices:
        lines.append(f"One of: {', '.join(spec.choices)}")
    if spec.example:
        lines.append(f"Example: {spec.example}")
    if shown.record is not None:
        depending = [check.id for check in shown.record.checks if name in check.when]
        if depending:
            lines += ["", f"It decides: {', '.join(depending)}"]
    return "\n".join(lines)
