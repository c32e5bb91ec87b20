"""Which error? Shown when more than one is plausible, or when nothing is known."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.match import Match
from kvdoctor.report import Report
from kvdoctor.session import State
from kvdoctor.ui.glyphs import Glyphs
from kvdoctor.ui.marked import MarkedList
from kvdoctor.ui.panes.base import Pane, Place, one_line, text

ROLE_WORDS = {"root_cause": "root cause", "consequence": "consequence", "also": "also"}


class ChoosePane(Pane):
    """The findings in order, the likely root cause first."""

    GUIDE = (
        "Up and down choose an error, enter takes it up. The first one is the likely root cause."
    )

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._findings: tuple[Match, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static("", id="choose-title")
        yield MarkedList(id="findings")

    def show(self, shown: Report | None, state: State) -> None:
        options = self.query_one("#findings", OptionList)
        options.clear_options()
        findings = shown.findings if shown is not None else ()
        self._findings = findings
        self.query_one("#choose-title", Static).update(_title(shown, findings))
        for index, one in enumerate(findings):
            options.add_option(Option(_row(one, self.room, self.glyphs), id=str(index)))
        options.display = bool(findings)
        if findings:
            chosen = state.visit.chosen
            options.highlighted = chosen if chosen is not None else 0

    def take_focus(self) -> None:
        options = self.query_one("#findings", OptionList)
        self.screen.set_focus(options if options.display else self)

    def place(self) -> Place | None:
        at = self.query_one("#findings", OptionList).highlighted
        if at is None or at >= len(self._findings):
            return None
        return self._findings[at].source, self._findings[at].number

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        from kvdoctor import session

        event.stop()
        app = self.app
        index = int(event.option.id or 0)
        app.move(lambda: session.choose(app.state, index, app.knowledge))  # type: ignore[attr-defined]


def _title(shown: Report | None, findings: tuple[Match, ...]) -> Content:
    if shown is None:
        return text("")
    lines = sum(len(source.paste.lines) for source in shown.sources)
    if not findings and shown.next:
        return text(
            f"No error stands in this text, but these values will fail: n shows "
            f"{len(shown.next)} guard{'s' if len(shown.next) > 1 else ''} that would stop them.",
            "bold $text-error",
        )
    if not findings and shown.unexplained:
        rows = "\n".join(f"{one.number:8d} | {one.text[:200]}" for one in shown.unexplained[:6])
        return text(
            f"No known trouble in {lines:,} lines, but errors that nothing here explains "
            f"(other code than vLLM's own, or a patch):\n\n{rows}\n\n"
            "l shows the log. The cause may stand in another process's log: paste that one too."
        )
    if not findings and not any(source.paste.size for source in shown.sources):
        return text("Nothing to read: the input is empty. esc goes back to give another.")
    if not findings:
        return text(
            f"No known trouble in {lines:,} line{'' if lines == 1 else 's'}.\n\n"
            "If something is wrong all the same: the cause may stand in another process's log "
            "(every worker and the engine core, of both sides). Paste that one, press / and "
            "describe what you see, or go back with esc and press s to walk the symptoms."
        )
    if len(findings) == 1:
        return text("One error stands in this text.", "bold")
    return text(f"{len(findings)} errors stand in this text. Which one?", "bold")


def _row(one: Match, room: int, glyphs: Glyphs) -> Content:
    head = f"{one.exception}: " if one.exception else ""
    message = head + (one.message or "(no message)")
    role = ROLE_WORDS[one.role]
    sure = "" if one.confidence >= 0.9 else f", {one.confidence:.0%} sure"
    many = f", {one.count} times" if one.count > 1 else ""
    process = f", {one.process}" if one.process else ""
    where = f"  {role}{sure}, line {one.number}{process}{many}"
    return Content("\n").join(
        [
            one_line(one.title, 2 * room, "bold", glyphs.cut),
            text("  ") + one_line(message, room - 2, "", glyphs.cut),
            one_line(where, room, "dim", glyphs.cut).pad_left(2),
            text(""),
        ]
    )
