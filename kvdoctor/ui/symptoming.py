"""No error message: the tree of symptoms, one checked question after another, to a record."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.knowledge import Knowledge
from kvdoctor.symptoms import Question, Standing, walk
from kvdoctor.ui.panes.base import FRONT, text
from kvdoctor.ui.rows import Rows


class SymptomScreen(ModalScreen[str | None]):
    """Answers with the id of a record, or None. Esc takes the last answer back."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "one answer back")]

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__()
        self._knowledge = knowledge
        self.standing: Standing = walk(knowledge, ())

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static("", id="symptom-text")
            yield Rows(id="symptom-answers", markup=False)

    def on_mount(self) -> None:
        self.stand(self.standing)

    def stand(self, standing: Standing) -> None:
        """Show the question at hand, or the records at the end of the answers."""
        self.standing = standing
        question = standing.question
        options = self.query_one("#symptom-answers", OptionList)
        rows: list[Option] = []
        if question is not None:
            rows = [Option(text(one.text), id=f"answer:{one.id}") for one in question.answers]
        rows += [Option(self._record_row(one), id=f"record:{one}") for one in standing.records]
        options.set_options(rows)
        options.highlighted = 0 if rows else None
        options.focus()
        self.query_one("#symptom-text", Static).update(self._words(question))

    def _record_row(self, record: str) -> Content:
        lead = "" if self.standing.question is None else "open now: "
        return text(lead, "dim") + text(self._knowledge.records[record].title, "bold")

    def _words(self, question: Question | None) -> Content:
        parts = [text(f"{told}\n") for told in self.standing.told]
        if question is None:
            some = (
                "These records fit; enter opens one:"
                if self.standing.records
                else ("These answers lead to no record. / searches by words.")
            )
            return Content("\n").join([*parts, text(some, "bold"), text("")])
        parts.append(text(f"{len(self.standing.given) + 1}. {question.text}", "bold"))
        for word, said in (
            ("check ", question.check),
            ("metric", question.metric),
            ("look  ", question.look),
        ):
            if said:
                parts.append(text(f"   {word} ", "dim") + text(" ".join(said.split())))
        return Content("\n").join([*parts, text("")])

    @on(OptionList.OptionSelected)
    def answered(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        kind, _, what = (event.option.id or "").partition(":")
        if kind == "record":
            self.dismiss(what)
        else:
            self.stand(walk(self._knowledge, (*self.standing.given, what)))

    def action_back(self) -> None:
        if self.standing.given:
            self.stand(walk(self._knowledge, self.standing.given[:-1]))
        else:
            self.dismiss(None)
