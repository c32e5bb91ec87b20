"""Search over all records: type words, enter opens one."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from kvdoctor.knowledge import Knowledge
from kvdoctor.ui.panes.base import FRONT, text


class SearchScreen(ModalScreen[str | None]):
    """Answers with the id of a record, or None."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("down", "results", show=False),
    ]

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__()
        self._knowledge = knowledge

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="words of a message, a symptom, an id or a url")
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def look(self, event: Input.Changed) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        resolved = self._knowledge.resolve(event.value.strip()) if event.value.strip() else None
        ids = [resolved] if resolved else []
        ids += [one.id for one in self._knowledge.search(event.value) if one.id != resolved]
        for record_id in ids[:20]:
            record = self._knowledge.records[record_id]
            options.add_option(
                Option(
                    Content.assemble(text(record.title), "\n", text(f"  {record_id}", "dim")),
                    id=record_id,
                )
            )
        if ids:
            options.highlighted = 0

    @on(Input.Submitted)
    def first(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    @on(OptionList.OptionSelected)
    def opened(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_results(self) -> None:
        self.query_one(OptionList).focus()

    def action_leave(self) -> None:
        self.dismiss(None)
