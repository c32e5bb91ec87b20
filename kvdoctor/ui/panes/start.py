"""The first step: paste, or learn how to bring a log here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from kvdoctor.terminal import is_served
from kvdoctor.ui.panes.base import Pane, text

if TYPE_CHECKING:
    from kvdoctor.report import Report
    from kvdoctor.session import State

SHOWN_LINES = 200  # of a long paste: this many from the top and from the end
SEARCHING = "  / searches all records by words"
PAST = ", H opens past diagnoses"
INTRODUCTION = (
    ("Paste a vLLM log or traceback here.", "bold"),
    ("", ""),
    ("Nothing to press before or after: it is read as soon as it has arrived.", ""),
    ("Whole pod logs are fine, of any side, with any prefix, in any damage.", ""),
    ("", ""),
    ("Other ways in", "bold"),
    ("  kubectl logs POD | kvdoctor          a pipe", ""),
    ("  kvdoctor decode.log                  a file, also .gz", ""),
    ("  kvdoctor --prefill P --decode D      both sides together", ""),
    ("  a launch command, a Pod's YAML or a model's config.json may be pasted too", ""),
    ("", ""),
    ("No error message, only symptoms", "bold"),
    ("  s asks what you see, one checked question after another", ""),
    (SEARCHING, ""),
    ("", ""),
    ("First time here? x shows the way on three real failures.", "bold"),
    ("", ""),
    ("Offline and deterministic: no language model, nothing leaves this machine.", "dim"),
)
IN_A_BROWSER = (
    ("Paste a vLLM log or traceback here, or drop a file, also .gz.", "bold"),
    *INTRODUCTION[1:5],
    ("A launch command, a Pod's YAML or a model's config.json may be pasted too.", ""),
    *INTRODUCTION[10:17],
    ("Offline and deterministic: no language model. What you paste goes to the machine", "dim"),
    ("that serves this page, and no further.", "dim"),
)


class StartPane(Pane):
    """Keeps a paste as plain text outside any editor: a log of any size stays cheap."""

    GUIDE = "Paste a log, a launch command, YAML or a model's config.json. It is read by itself."

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._pieces: list[str] = []

    def compose(self) -> ComposeResult:
        remembers = self.app.check_action("history", ())
        yield Static(_introduction(bool(remembers)), id="introduction")
        yield Static("", id="pasted")

    def add(self, piece: str) -> None:
        """Take a piece of a paste; long pastes arrive in several."""
        self._pieces.append(piece)
        whole = "".join(self._pieces)
        self.query_one("#pasted", Static).update(text(_ends(whole)))
        self.query_one("#introduction").display = False

    def taken(self) -> str:
        """The paste so far; the box is empty afterwards."""
        whole = "".join(self._pieces)
        self._pieces.clear()
        return whole

    def show(self, shown: Report | None, state: State) -> None:
        if not self._pieces:
            self.query_one("#pasted", Static).update("")
            self.query_one("#introduction").display = True
            self.scroll_home(animate=False)


def _introduction(remembers: bool) -> Content:
    """``remembers``: the history is on, so that its key does something."""
    lines = [
        (f"{line}{PAST}" if remembers and line == SEARCHING else line, style)
        for line, style in (IN_A_BROWSER if is_served() else INTRODUCTION)
    ]
    return Content("\n").join([text(line, style) for line, style in lines])


def _ends(whole: str) -> str:
    lines = whole.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) <= 2 * SHOWN_LINES:
        return "\n".join(lines)
    left_out = f"({len(lines) - 2 * SHOWN_LINES:,} lines not shown here)"
    return "\n".join([*lines[:SHOWN_LINES], left_out, *lines[-SHOWN_LINES:]])
