"""Help in front of the flow: the keys of this step, and what a question means."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvdoctor.report import Report, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.show.asking import decided_by
from kvdoctor.ui.panes.base import FRONT, text


class HelpScreen(ModalScreen[None]):
    """A page of text; esc or enter closes it. With ``filters`` typing narrows it line by line."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "leave", "close", priority=True),
        Binding("enter", "leave", "close"),
        Binding("down", "scroll(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
    ]

    def __init__(self, page: str, *, filters: bool = True) -> None:
        super().__init__()
        self._page = page
        self._filters = filters

    def compose(self) -> ComposeResult:
        with Vertical():
            if self._filters:
                yield Input(placeholder="type to filter, esc closes", compact=True)
            with VerticalScroll(can_focus=False):
                yield Static(text(self._page), id="help-text")

    def on_mount(self) -> None:
        if self._filters:
            self.query_one(Input).focus()

    @on(Input.Changed)
    def narrow(self, event: Input.Changed) -> None:
        event.stop()
        words = event.value.lower().split()
        lines = [
            line for line in self._page.splitlines() if all(one in line.lower() for one in words)
        ]
        shown = "\n".join(lines) if lines else "nothing here has these words"
        self.query_one("#help-text", Static).update(text(shown))

    @on(Input.Submitted)
    def close(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)


def question_help(shown: Report, name: str) -> str:
    """What one question means, where its value stands, an example, what depends on it."""
    spec = input_spec(shown, name)
    lines = [spec.ask, ""]
    if spec.side == "both":
        lines.append("It is the same on both sides.")
    elif spec.side in ("prefill", "decode"):
        lines.append(f"It is a value of the {spec.side} side.")
    if spec.find:
        lines.append(f"Where it stands: {spec.find}")
    if spec.example:
        lines.append(f"Example: {spec.example}")
    offered = shown.facts.offered.get(name) if shown.facts is not None else None
    if offered is not None:
        lines.append(f"Usual: {spoken(offered.value)} (offered, never assumed)")
    if spec.choices:
        lines.append(f"One of: {', '.join(spec.choices)}")
    if spec.minimum is not None or spec.maximum is not None:
        least = "" if spec.minimum is None else f" from {spec.minimum:g}"
        most = "" if spec.maximum is None else f" up to {spec.maximum:g}"
        lines.append(f"Limits:{least}{most}{f' {spec.unit}' if spec.unit else ''}")
    if spec.reads:
        lines.append(
            "Read by itself from a pasted log, command, YAML or config.json as: "
            f"{', '.join(spec.reads)}"
        )
    sentences = decided_by(shown, name)
    if sentences:
        lines += ["", "The answer tells whether this is the cause:"]
        lines += [f"- {one}" for one in sentences]
    lines += ["", f"On the command line: --set {name}=…, or --set {name}=? if you cannot tell"]
    return "\n".join(lines)
