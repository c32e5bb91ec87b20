"""Search over all records: type words, enter opens one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from kvdoctor.knowledge import Knowledge
from kvdoctor.ui.panes.base import FRONT, text
from kvdoctor.ui.rows import Rows


class SearchScreen(ModalScreen[str | None]):
    """Answers with the id of a record, or None."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("down", "results", show=False),
    ]

    def __init__(self, knowledge: Callable[[], Knowledge]) -> None:
        """``knowledge`` is asked for in a thread: it may still be loading."""
        super().__init__()
        self._ask = knowledge
        self._sought = ""  # the words whose records are listed
        self._taking = False  # enter came before the records did

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="words of a message, a symptom, an id or a url", compact=True)
            yield Rows(markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        self._taking = False
        self.look(event.value)

    @work(thread=True, exclusive=True, group="search")
    def look(self, words: str) -> None:
        """Search away from the event loop: the first search reads every record."""
        knowledge = self._ask()
        resolved = knowledge.resolve(words.strip()) if words.strip() else None
        ids = [resolved] if resolved else []
        ids += [one.id for one in knowledge.search(words) if one.id != resolved]
        rows = [(one, knowledge.records[one].title) for one in ids[:20]]
        self.app.call_from_thread(self.show_rows, words, rows)

    def show_rows(self, words: str, rows: list[tuple[str, str]]) -> None:
        """List the records found, unless other words have been typed since."""
        if not self.is_attached or words != self.query_one(Input).value:
            return
        self._sought = words
        options = self.query_one(OptionList)
        options.set_options(
            Option(
                Content.assemble(text(title), "\n", text(f"  {record}", "dim")),
                id=record,
            )
            for record, title in rows
        )
        if rows:
            options.highlighted = 0
        elif words.strip():
            options.add_option(Option("no record speaks of these words", disabled=True))
        if self._taking:
            self.first()

    @on(Input.Submitted)
    def first(self) -> None:
        options = self.query_one(OptionList)
        if self._sought != self.query_one(Input).value:
            self._taking = True
        elif options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    @on(OptionList.OptionSelected)
    def opened(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_results(self) -> None:
        self.query_one(OptionList).focus()

    def action_leave(self) -> None:
        self.dismiss(None)
