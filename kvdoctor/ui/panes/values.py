"""The values: what was read and where, and one question at a time for what is missing."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor import session
from kvdoctor.report import Report, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.session import State
from kvdoctor.show.asking import most_questions
from kvdoctor.ui.fields import Field
from kvdoctor.ui.marked import MarkedList
from kvdoctor.ui.panes.base import Pane, Place, one_line, text
from kvdoctor.ui.panes.cause_text import error_lines, meaning, value_row
from kvdoctor.ui.places import line_at, telling

TALL = 36  # rows from which the whole meaning is shown


class ValuesPane(Pane, can_focus=False):
    """Answers are sent as moves; a refused one stays in the field with the reason."""

    GUIDE = (
        "Type the answer and press enter; an empty answer takes the usual value where one is "
        "offered. Tab goes to the list: enter there changes a value that was read, l opens the "
        "log where it was read. F1 explains the question"
    )

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.asked = ""
        self._usual = ""
        self._shown: Report | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="values-title")
        yield Static("", id="context")
        yield Static("", id="question")
        yield Field(id="answer", compact=True)
        yield Static("", id="find")
        yield Static("What is known (enter changes one)", classes="title")
        yield MarkedList(id="known")

    def show(self, shown: Report | None, state: State) -> None:
        if shown is None:
            return
        self._shown = shown
        record = shown.record
        title = (
            record.title
            if record is not None
            else (shown.finding.title if shown.finding is not None else "")
        )
        self.query_one("#values-title", Static).update(text(title, "bold $text-error"))
        self._tell(shown)
        self._list(shown)
        names = shown.asks or shown.fix_asks
        self.ask(shown, names[0] if names else "")

    def _tell(self, shown: Report) -> None:
        """The error that the question is about, and what it means: at 80×24 the question, the
        field and the first values must stay in sight."""
        tall = self.app.size.height >= TALL
        parts = []
        if shown.finding is not None:
            parts += error_lines(shown.finding, self.room, self.glyphs, 4 if tall else 2)
        parts += meaning(shown, self.room, 8 if tall else 2, self.glyphs)
        self.query_one("#context", Static).update(Content("\n").join([*parts, text("")]))

    def ask(self, shown: Report, name: str) -> None:
        """Put one question; "" when nothing is open."""
        self.asked = name
        field = self.query_one("#answer", Input)
        field.display = bool(name)
        question = self.query_one("#question", Static)
        find = self.query_one("#find", Static)
        if not name:
            question.update(text("Nothing is left to ask. Enter in the list changes a value."))
            find.update("")
            return
        spec = input_spec(shown, name)
        offered = shown.facts.offered.get(name) if shown.facts else None
        self._usual = spoken(offered.value) if offered is not None else ""
        question.update(_question(shown, name))
        field.value = ""
        field.placeholder = (
            f"usually {self._usual} (enter takes it)"
            if self._usual
            else "type the answer, or ? if you cannot tell"
        )
        rows = [text(f"Find it   {spec.find}")] if spec.find else []
        for item in shown.to_look_at.get(name, ()):
            line = line_at(shown.sources, item.source, item.number)
            told = telling(line, item.text, self.room - 20)
            rows.append(one_line(f"Line {item.number} {told}", self.room, "", self.glyphs.cut))
        if spec.example:
            rows.append(text(f"Example   {spec.example}"))
        if self._usual:
            rows.append(text(f"Usual     {self._usual} (enter on an empty answer takes it)"))
        find.update(Content("\n").join(rows))

    def change(self, shown: Report, name: str) -> None:
        """Put the question of a value that is known, the value in the field."""
        self.ask(shown, name)
        known = shown.facts.known.get(name) if shown.facts is not None else None
        field = self.query_one("#answer", Input)
        field.value = str(known.value) if known is not None else ""
        self.screen.set_focus(field)

    def _list(self, shown: Report) -> None:
        options = self.query_one("#known", MarkedList)
        marked = options.highlighted
        rows: list[Option] = []
        if shown.facts is not None and shown.record is not None:
            known = shown.facts.known
            open_ones = [name for name in shown.record.inputs if name not in known]
            for name, value in [*known.items(), *((name, None) for name in open_ones)]:
                rows.append(Option(value_row(name, value, self.room, self.glyphs), id=name))
        options.set_options(rows)
        options.highlighted = marked if rows else None

    def on_resize(self, event: events.Resize) -> None:
        if self._shown is not None:
            self._tell(self._shown)
            self._list(self._shown)

    def take_focus(self) -> None:
        field = self.query_one("#answer", Input)
        self.screen.set_focus(field if field.display else self.query_one("#known", MarkedList))

    def _marked(self) -> str:
        options = self.query_one("#known", MarkedList)
        if options.has_focus and options.highlighted is not None:
            return options.get_option_at_index(options.highlighted).id or ""
        return ""

    def in_focus(self) -> str:
        """The input whose question or row is in focus."""
        return self._marked() or self.asked

    def place(self) -> Place | None:
        shown = self._shown
        if shown is None or shown.facts is None:
            return None
        value = shown.facts.known.get(self._marked())
        if value is not None and value.number:
            return value.source, value.number
        return (shown.finding.source, shown.finding.number) if shown.finding is not None else None

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        focused = event.widget
        if isinstance(focused, MarkedList) and focused.highlighted is None:
            focused.highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        shown = self.app.shown  # type: ignore[attr-defined]
        if shown is not None and event.option.id:
            self.change(shown, event.option.id)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        raw = event.value.strip() or self._usual
        app = self.app
        if not raw:
            app.say("type an answer, ? if you cannot tell, or leave with esc")  # type: ignore[attr-defined]
            return
        name = self.asked
        made = session.answer(app.state, name, raw, app.knowledge)  # type: ignore[attr-defined]
        if made.message:
            app.say(made.message, True)  # type: ignore[attr-defined]
            return
        app.take(made)  # type: ignore[attr-defined]


def _question(shown: Report, name: str) -> Content:
    """What is asked, of which side, in which unit, out of which choices."""
    spec = input_spec(shown, name)
    side = f" ({spec.side})" if spec.side in ("prefill", "decode") else ""
    unit = f" (in {spec.unit})" if spec.unit else ""
    asked = text(f"{spec.ask}{side}{unit}", "bold $text-accent")
    if spec.type == "bool":
        asked += text("  yes / no")
    if spec.choices:
        asked += text(f"\n{' / '.join(spec.choices)}")
    left = most_questions(shown)
    if name in shown.asks and left > 1:
        asked = text(f"At most {left} questions left. ", "dim") + asked
    return asked
