"""The copy menu: everything of a diagnosis that somebody pastes elsewhere, one key each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.proving import command_line
from kvdoctor.report import OfferedFix, Report
from kvdoctor.show.commands import commands_of, commands_text, of_sides
from kvdoctor.show.document import next_step
from kvdoctor.ui.glyphs import glyphs_of
from kvdoctor.ui.panes.base import FRONT, one_line, text
from kvdoctor.ui.rows import Rows

MOST_LINKS = 5
NAMES = 22  # cells of the column of names
FORMS = (("m", "markdown", "Markdown"), ("s", "slack", "Slack"), ("p", "plain", "plain text"),
         ("i", "issue", "draft of an issue, hosts hidden"))  # fmt: skip


class Row(NamedTuple):
    """``form``: a note's format, "" for a text that is copied as it is."""

    key: str
    name: str
    text: str = ""
    form: str = ""


def rows_of(shown: Report, chosen: OfferedFix | None) -> list[Row]:
    """What there is to copy, the most useful first."""
    rows: list[Row] = []
    if chosen is not None:
        rows.append(Row("y", "fix", chosen.fix.snippet))
        sided = commands_of(shown, chosen)
        if sided:
            rows.append(Row("c", f"command{of_sides(sided)}", commands_text(sided)))
    check = _check(shown, chosen)
    if check:
        rows.append(Row("k", "check", check))
    if shown.finding is not None:
        lines = "\n".join(item.text.rstrip() for item in shown.finding.evidence)
        if lines:
            rows.append(Row("e", "evidence lines", lines))
    if shown.record is not None:
        rows.append(Row("x", "reference", f"kvdoctor explain {shown.record.id}"))
        urls = [one.url for one in shown.record.published if one.url][:MOST_LINKS]
        rows += [Row(str(number), "published link", url) for number, url in enumerate(urls, 1)]
    rows += [Row(key, f"note: {words}", form=form) for key, form, words in FORMS]
    return rows


def _check(shown: Report, chosen: OfferedFix | None) -> str:
    """The command that asks the user's own vLLM about the fix, else what to look at next."""
    record = shown.record
    if record is None:
        return ""
    if chosen is None or not any(guard.call for guard in record.guards) or shown.facts is None:
        return " ".join(next_step(shown).split())
    known = shown.facts.known.items()
    values = {name: one.value for name, one in known if name in record.inputs}
    return command_line(record.id, chosen.fix.id, values)


def write_note(note: str, name: str) -> tuple[str, str]:
    """Write a note to a new file, never over an old one: in the state folder, else in the current
    folder. Returns where it lies ("" for nowhere) and the problem."""
    problem = ""
    for folder in (_state, _here):
        try:
            return str(_fresh(folder(), name, note)), ""
        except OSError as error:
            problem = problem or str(getattr(error, "strerror", None) or error)
    return "", problem


def _here() -> Path:
    return Path.cwd()


def _state() -> Path:
    from kvdoctor.clipboard import state_folder

    folder = state_folder() / "notes"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _fresh(folder: Path, name: str, note: str) -> Path:
    stem, dot, ending = name.rpartition(".")
    for number in range(1, 1000):
        file = folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
                stream.write(note)
        except OSError:  # a full disk: half a note is none
            file.unlink(missing_ok=True)
            raise
        return file
    raise OSError(f"a thousand notes of this name are in {folder}")


class CopyScreen(ModalScreen[Row | None]):
    """Answers with what to copy, or None."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,C", "leave", "close")]

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(text("Copy what? Its letter, or enter. esc closes.", "bold"))
            yield Rows(id="copy-rows", markup=False)

    def on_mount(self) -> None:
        options = self.query_one("#copy-rows", OptionList)
        room = min(self.app.size.width * 9 // 10, 110) - NAMES - 12
        sign = glyphs_of(self.app).cut
        options.add_options(
            [
                Option(
                    text(f"{row.key}  {row.name:{NAMES}} ")
                    + one_line(row.text, max(20, room), "dim", sign)
                )
                for row in self._rows
            ]
        )
        options.highlighted = 0
        options.focus()

    def on_key(self, event: events.Key) -> None:
        row = next((one for one in self._rows if one.key == event.character), None)
        if row is not None:
            event.stop()
            self.dismiss(row)

    @on(OptionList.OptionSelected)
    def taken(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._rows[event.option_index])

    def action_leave(self) -> None:
        self.dismiss(None)
