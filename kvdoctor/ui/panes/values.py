"""The values: what was read and where, and one question at a time for what is missing."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor import session
from kvdoctor.plain import value_source
from kvdoctor.report import Report, input_spec
from kvdoctor.session import State
from kvdoctor.ui.panes.base import Pane, text


class ValuesPane(Pane):
    """Answers are sent as moves; a refused one stays in the field with the reason."""

    GUIDE = (
        "Type the answer and press enter; an empty answer takes the usual value where one is "
        "offered. Tab goes to the list: enter there changes a value that was read."
    )

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.asked = ""
        self._usual = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="values-title")
        yield Static("", id="question")
        yield Input(id="answer", compact=True)
        yield Static("", id="find")
        yield OptionList(id="known", markup=False)

    def show(self, shown: Report | None, state: State) -> None:
        if shown is None:
            return
        record = shown.record
        title = (
            record.title
            if record is not None
            else (shown.finding.title if shown.finding is not None else "")
        )
        self.query_one("#values-title", Static).update(text(title, "bold"))
        self._list(shown)
        names = shown.asks
        self.ask(shown, names[0] if names else "")

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
        self._usual = str(offered.value) if offered is not None else ""
        side = f" ({spec.side})" if spec.side in ("prefill", "decode") else ""
        unit = f", in {spec.unit}" if spec.unit else ""
        choices = f"\n{' / '.join(spec.choices)}" if spec.choices else ""
        yes_no = "  yes / no" if spec.type == "bool" else ""
        question.update(text(f"{spec.ask}{side}{unit}{yes_no}{choices}"))
        field.value = ""
        field.placeholder = (
            f"usually {self._usual} (enter takes it)" if self._usual else (spec.example or name)
        )
        find.update(text(f"Find it: {spec.find}", "dim") if spec.find else "")

    def _list(self, shown: Report) -> None:
        options = self.query_one("#known", OptionList)
        options.clear_options()
        if shown.facts is None or shown.record is None:
            return
        for name, value in shown.facts.known.items():
            options.add_option(Option(_row(name, str(value.value), value_source(value)), id=name))
        for name in shown.record.inputs:
            if name not in shown.facts.known:
                options.add_option(Option(_row(name, "?", "not known"), id=name))

    def take_focus(self) -> None:
        field = self.query_one("#answer", Input)
        (field if field.display else self.query_one("#known", OptionList)).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        shown = self.app.shown  # type: ignore[attr-defined]
        if shown is not None and event.option.id:
            self.ask(shown, event.option.id)
            known = shown.facts.known.get(event.option.id) if shown.facts else None
            field = self.query_one("#answer", Input)
            field.value = str(known.value) if known is not None else ""
            field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        raw = event.value.strip() or self._usual
        app = self.app
        if not raw:
            app.say("type an answer, or leave with esc")  # type: ignore[attr-defined]
            return
        name = self.asked
        made = session.answer(app.state, name, raw, app.knowledge)  # type: ignore[attr-defined]
        if made.message:
            app.say(made.message, True)  # type: ignore[attr-defined]
            return
        app.take(made)  # type: ignore[attr-defined]


def _row(name: str, value: str, source: str) -> Content:
    return Content.assemble(
        text(f"{name:36.36} "), text(f"{value[:40]:16} ", "bold"), text(source[:80], "dim")
    )
