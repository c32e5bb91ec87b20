"""The cause with the lines that prove it, and the fixes."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.report import Report
from kvdoctor.session import State
from kvdoctor.show.commands import commands_of
from kvdoctor.show.pictures import picture
from kvdoctor.ui.marked import MarkedList
from kvdoctor.ui.panes import cause_text
from kvdoctor.ui.panes.base import Pane, Place, text

TALL = 30  # rows from which costs need no cut


class CausePane(Pane):
    """Everything on one scrolling page; the fixes are a list, so that y knows which one.

    ``_before`` holds, for a record, how its checks came out the last time they were shown: after a
    changed answer the tree says what that changed."""

    GUIDE = (
        "y copies the marked fix, enter shows it whole with its proof, up and down move the mark: "
        "over the fixes, then the evidence, then the values. Enter on an evidence line opens the "
        "log there, enter on a value changes it, l on a value opens the log where it was read."
    )

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._last: tuple[str, dict[str, str]] = ("", {})
        self._before: dict[str, str] = {}
        self._shown: Report | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="cause-text")
        yield MarkedList(id="fixes")
        yield Static("", id="advice")
        yield Static("", id="tree")
        yield Static("", id="picture")
        yield Static("Evidence (enter opens the log)", id="evidence-title", classes="title")
        yield MarkedList(id="evidence")
        yield Static("Values (enter changes one)", id="cause-values-title", classes="title")
        yield MarkedList(id="cause-values")

    def show(self, shown: Report | None, state: State) -> None:
        if shown is None:
            return
        marked = self.marked()
        fresh = self._shown is not shown
        self._remember(shown)
        self._shown = shown
        room, glyphs = self.room, self.glyphs
        self.query_one("#cause-text", Static).update(cause_text.story(shown, room, glyphs))
        many = len(shown.fixes)
        fixes = [
            Option(
                cause_text.fix_row(
                    one,
                    position,
                    many,
                    room,
                    glyphs,
                    commands_of(shown, one),
                    tall=self.app.size.height >= TALL,
                ),
                id=one.fix.id,
            )
            for position, one in enumerate(shown.fixes, 1)
        ]
        at = next((i for i, one in enumerate(shown.fixes) if one.fix.id == marked), 0)
        self._fill("#fixes", fixes, 0 if fresh else at)
        self._show_texts(shown)
        self._show_lists(shown)
        if fresh:
            self.scroll_home(animate=False)

    def _remember(self, shown: Report) -> None:
        branches = shown.outcome.branches if shown.outcome is not None else ()
        states = {one.check: one.state for one in branches}
        record = shown.record.id if shown.record is not None else ""
        last_record, last_states = self._last
        if self._shown is not shown:
            self._before = last_states if last_record == record else {}
        self._last = (record, states)

    def _show_texts(self, shown: Report) -> None:
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        for name, content in (
            ("#advice", self._advice(shown)),
            ("#tree", cause_text.tree(shown, self._before, self.room, self.glyphs)),
            ("#picture", text(picture(shown, ascii_only))),
        ):
            widget = self.query_one(name, Static)
            widget.update(content)
            widget.display = bool(content.plain)

    def _advice(self, shown: Report) -> Content:
        """Below the fixes; for an error without a record what is known of its place."""
        if shown.record is None:
            return cause_text.unrecorded(shown, self.app.knowledge)  # type: ignore[attr-defined]
        return cause_text.advice(shown)

    def _show_lists(self, shown: Report) -> None:
        room, glyphs = self.room, self.glyphs
        evidence = shown.finding.evidence if shown.finding is not None else ()
        rows = [Option(cause_text.evidence_row(shown, one, room, glyphs)) for one in evidence]
        self._fill("#evidence", rows)
        known = shown.facts.known if shown.facts is not None else {}
        values = [
            Option(cause_text.value_row(name, value, room, glyphs), id=name)
            for name, value in known.items()
        ]
        self._fill("#cause-values", values)
        self.query_one("#evidence-title").display = bool(rows)
        self.query_one("#cause-values-title").display = bool(values)

    def _fill(self, name: str, options: list[Option], marked: int | None = None) -> None:
        """Rows into a list; a list without focus, but for the fixes, marks nothing."""
        target = self.query_one(name, MarkedList)
        target.set_options(options)
        target.display = bool(options)
        target.highlighted = marked if options else None

    def on_resize(self, event: events.Resize) -> None:
        if self._shown is not None:
            self.show(self._shown, State())

    def marked(self) -> str:
        """The id of the marked fix, "" when there is none."""
        options = self.query_one("#fixes", MarkedList)
        if options.highlighted is None or not options.display:
            return ""
        return options.get_option_at_index(options.highlighted).id or ""

    def take_focus(self) -> None:
        options = self.query_one("#fixes", MarkedList)
        if options.display:
            self.screen.set_focus(options, scroll_visible=False)
        else:
            self.screen.set_focus(self)

    def place(self) -> Place | None:
        shown = self._shown
        if shown is None:
            return None
        focused = self.app.focused
        finding = shown.finding
        if isinstance(focused, MarkedList) and focused.highlighted is not None:
            if focused.id == "evidence" and finding is not None:
                item = finding.evidence[focused.highlighted]
                return item.source, item.number
            if focused.id == "cause-values" and shown.facts is not None:
                value = shown.facts.known[focused.get_option_at_index(focused.highlighted).id or ""]
                if value.number:
                    return value.source, value.number
        return (finding.source, finding.number) if finding is not None else None

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A list that gets the focus by tab or click shows a mark."""
        focused = event.widget
        if isinstance(focused, MarkedList) and focused.highlighted is None:
            focused.highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        app = self.app
        if event.option_list.id == "fixes":
            app.run_worker(app.run_action("fix_detail"))
        elif event.option_list.id == "evidence":
            app.run_worker(app.run_action("log"))
        elif event.option.id:
            app.change_value(event.option.id)  # type: ignore[attr-defined]
