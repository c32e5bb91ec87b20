"""The failures that the tour shows, and the screen that offers them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.ui.panes.base import FRONT, text
from kvdoctor.ui.rows import Rows


class Incident(NamedTuple):
    """``inputs``: files, each with its side."""

    id: str
    title: str
    story: str
    inputs: tuple[tuple[Path, str], ...]


def incidents() -> list[Incident]:
    """What the tour shows. Raises OSError or KvdoctorError when it is not there or damaged."""
    from kvdoctor.form.yaml_text import read_yaml
    from kvdoctor.load import shipped_folder

    folder = Path(shipped_folder()) / "tour"
    file = folder / "tour.yaml"
    return [
        Incident(
            str(one["id"]), str(one["title"]), str(one["story"]),
            tuple((folder / each["file"], str(each["side"])) for each in one["inputs"]),
        )
        for one in read_yaml(file.read_text(encoding="utf-8"), str(file))[0]
    ]  # fmt: skip


class TourScreen(ModalScreen[Incident | None]):
    """Answers with what to look at, or None."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,x", "leave", "close")]

    def __init__(self, found: list[Incident]) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(text("Real failures, shortened. enter opens one, esc closes.", "bold"))
            yield Static(text("Nothing of the tour is kept in the history.\n", "dim"))
            yield Rows(id="tour-rows", markup=False)

    def on_mount(self) -> None:
        options = self.query_one("#tour-rows", OptionList)
        options.add_options([Option(_row(one)) for one in self._found])
        options.highlighted = 0
        options.focus()

    @on(OptionList.OptionSelected)
    def taken(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._found[event.option_index])

    def action_leave(self) -> None:
        self.dismiss(None)


def _row(one: Incident) -> Content:
    return Content.assemble(text(one.title, "bold"), "\n", text(f"  {one.story}\n"))
