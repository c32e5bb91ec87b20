"""What every pane is: a widget that shows a report and says where the focus goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content

from kvdoctor.terminal import clean
from kvdoctor.ui.glyphs import Glyphs, glyphs_of

if TYPE_CHECKING:
    from kvdoctor.report import Report
    from kvdoctor.session import State

FRONT = Path(__file__).parent.with_name("front.tcss")
Place = tuple[str, int]  # a source's name and a line of it


class Pane(VerticalScroll):
    """One step of the flow. ``show`` is called with every new state, and again after a resize;
    a pane keeps no state of its own but where the mark stands."""

    GUIDE: ClassVar[str] = ""

    def show(self, shown: Report | None, state: State) -> None:
        raise NotImplementedError

    def take_focus(self) -> None:
        self.focus()

    def place(self) -> Place | None:
        """The line of the log that belongs to what is marked."""
        return None

    @property
    def glyphs(self) -> Glyphs:
        return glyphs_of(self.app)

    @property
    def room(self) -> int:
        """Cells in a row, the scroll bar's and the gutter's left out."""
        return max(20, (self.size.width or self.app.size.width) - 5)


def text(value: str, style: str = "") -> Content:
    """Pasted or recorded text as content: never markup, nothing that a terminal acts on."""
    return Content.styled(clean(value), style) if style else Content(clean(value))


def one_line(value: str, width: int, style: str = "", sign: str = "…") -> Content:
    """``value`` on one line, cut at ``width`` cells with a sign that says so."""
    flat = text(" ".join(value.split()), style)
    if flat.cell_length <= width:
        return flat
    return flat.truncate(max(0, width - len(sign))) + text(sign, style)
