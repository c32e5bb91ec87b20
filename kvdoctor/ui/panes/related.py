"""What comes next: the errors these values would hit, dangers, and related records."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor import session
from kvdoctor.report import Report
from kvdoctor.session import State
from kvdoctor.ui.glyphs import Glyphs
from kvdoctor.ui.marked import MarkedList
from kvdoctor.ui.panes.base import Pane, one_line, text
from kvdoctor.walk import Link

KIND_WORDS = {
    "fails-next": "would fail next",
    "danger": "dangerous, though nothing is logged",
    "mistaken-for": "often mistaken for this",
    "leads-to": "comes of this",
    "follows-from": "leads to this",
    "same-cause": "has the same cause",
}


class RelatedPane(Pane):
    """Links in the order in which vLLM would reach them, then relations."""

    GUIDE = "Up and down choose, enter opens a record with your values; esc comes back."

    def compose(self) -> ComposeResult:
        yield Static("", id="related-title")
        yield MarkedList(id="links")

    def show(self, shown: Report | None, state: State) -> None:
        options = self.query_one("#links", OptionList)
        options.clear_options()
        if shown is None:
            return
        links = (*shown.next, *shown.dangers, *shown.related)
        for link in dict.fromkeys(links):
            options.add_option(
                Option(_row(link, self.room, self.glyphs), id=f"{link.kind}:{link.record}")
            )
        options.display = bool(links)
        self.query_one("#related-title", Static).update(_title(shown, bool(links)))
        if links:
            options.highlighted = 0

    def take_focus(self) -> None:
        options = self.query_one("#links", OptionList)
        self.screen.set_focus(options if options.display else self)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        record = (event.option.id or "").partition(":")[2]
        app = self.app
        app.move(lambda: session.follow(app.state, record, app.knowledge))  # type: ignore[attr-defined]


def _title(shown: Report, some: bool) -> Content:
    if not some:
        return text("No known guard would stop these values next, and nothing is related.")
    if shown.next:
        return text(f"With these values {len(shown.next)} more would fail, in this order:", "bold")
    return text("No known guard would stop these values next.", "bold")


def _row(link: Link, room: int, glyphs: Glyphs) -> Content:
    word = KIND_WORDS.get(link.kind, link.kind)
    return Content.assemble(
        text(f"{word}: ", "bold" if link.kind in ("fails-next", "danger") else "dim"),
        text(link.title),
        "\n",
        text("  ") + one_line(link.why, 2 * room - 4, "dim", glyphs.cut),
        "\n",
    )
