"""The first step: paste, or learn how to bring a log here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from kvdoctor.terminal import is_served
from kvdoctor.ui.fields import PathField
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
        yield PathField(placeholder="path of a file, enter reads it", id="path", compact=True)
        yield Static("", id="pasted")

    def on_mount(self) -> None:
        self.query_one("#path").display = False

    def take_focus(self) -> None:
        path = self.query_one("#path")
        self.screen.set_focus(path if path.display else self)

    def name_file(self, line: str, adding: bool) -> None:
        """A path was pasted: it stands in the field, where there is one."""
        self.show_page(adding)
        if adding:
            path = self.query_one("#path", PathField)
            path.value = line
            path.cursor_position = len(line)

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """A typed path is one that was meant: it is read, if it is a file."""
        event.stop()
        app = self.app
        if not event.value.strip():
            app.say("paste the text, or type the path of a file; esc leads back")  # type: ignore[attr-defined]
        elif app.offer_path(event.value):  # type: ignore[attr-defined]
            if app.offered is not None:  # type: ignore[attr-defined]
                app.action_take_offered()  # type: ignore[attr-defined]
        else:
            app.say("there is no file of that name here", True)  # type: ignore[attr-defined]

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
            self.show_page(self.app.adding)  # type: ignore[attr-defined]
            self.scroll_home(animate=False)

    def show_page(self, adding: bool) -> None:
        """What is wanted here; ``adding``: it joins what was read."""
        app = self.app
        self.query_one("#pasted", Static).update("")
        introduction = self.query_one("#introduction", Static)
        introduction.display = True
        remembers = bool(app.check_action("history", ()))
        introduction.update(
            _other_side(app._wanted, app.state.read is not None, self.room)  # type: ignore[attr-defined]
            if adding
            else _introduction(remembers)
        )
        path = self.query_one("#path", PathField)
        path.display = adding and not is_served()
        path.value = ""


def _other_side(wanted: str, joins: bool, room: int) -> Content:
    """The page that waits for the other side: what it wants, of whom, and that nothing is lost."""
    whose = f"THE {wanted.upper()} SIDE" if wanted in ("prefill", "decode") else "THE OTHER SIDE"
    rule = "─" * room
    told = [
        (rule, "$text-accent"),
        (f"PASTE {whose} HERE".center(room), "bold reverse $text-accent"),
        (rule, "$text-accent"),
        ("", ""),
        ("Its log, its launch command or its YAML: read as soon as it has come.", ""),
        ("It joins what is there." if joins else "The values in it count.", ""),
        ("", ""),
        ("Nothing is lost: the error at hand, your answers and the fixes stay.", "bold"),
        ("esc leads back without adding anything.", "bold"),
        ("", ""),
    ]
    if not is_served():
        told.append(("Or name a file of this machine, also .gz (pasted or typed, then enter):", ""))
    return Content("\n").join([text(line, style) for line, style in told])


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
