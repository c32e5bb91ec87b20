"""The list of past diagnoses: type to search, enter opens, delete removes."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.history.entry import Entry
from kvdoctor.history.keeper import Keeper
from kvdoctor.ui.panes.base import FRONT, text
from kvdoctor.ui.rows import Rows

STATUS = {
    "cause": "cause found", "asks": "answers missing", "no_cause": "no cause fits",
    "no_match": "nothing known", "broken": "record broken",
}  # fmt: skip
KEYS = "type to search   enter opens   ctrl+d deletes the marked one   ctrl+x all   esc closes"


class HistoryScreen(ModalScreen[int | None]):
    """Answers with the number of an entry, or None."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("down", "results", show=False),
        Binding("ctrl+d", "delete", "delete the marked entry", priority=True),
        Binding("ctrl+x", "delete_all", "delete all", priority=True),
    ]

    def __init__(self, keeper: Keeper) -> None:
        super().__init__()
        self._keeper = keeper
        self._sure = False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="words of a title, an error, a file or a day")
            yield Static(KEYS, id="history-keys", markup=False)
            yield Rows(markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.look("")

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        self.look(event.value)

    @work(thread=True, exclusive=True, group="history")
    def look(self, words: str) -> None:
        found = self._keeper.ask(lambda store: store.entries(words))
        self.app.call_from_thread(self._fill, found or [])

    def _fill(self, found: list[Entry]) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(_row(one), id=str(one.id)) for one in found])
        if found:
            options.highlighted = 0
        elif not self.query_one(Input).value:
            self._say("nothing is kept yet")

    def _say(self, words: str) -> None:
        self.query_one("#history-keys", Static).update(words)

    def _marked(self) -> int | None:
        options = self.query_one(OptionList)
        if options.highlighted is None:
            return None
        return int(options.get_option_at_index(options.highlighted).id or 0)

    @on(Input.Submitted)
    def first(self) -> None:
        marked = self._marked()
        if marked is not None:
            self.dismiss(marked)

    @on(OptionList.OptionSelected)
    def opened(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(int(event.option.id or 0))

    def action_results(self) -> None:
        self.query_one(OptionList).focus()

    def action_delete(self) -> None:
        marked = self._marked()
        if marked is not None:
            self._forget(marked)

    def action_delete_all(self) -> None:
        """All entries; asked once more."""
        if self._sure:
            self._forget(None)
        else:
            self._say("ctrl+x once more deletes every entry")
        self._sure = not self._sure

    @work(thread=True, exclusive=True, group="history")
    def _forget(self, number: int | None) -> None:
        gone = self._keeper.forget(number)
        self.app.call_from_thread(self._say, f"{gone} deleted")
        found = self._keeper.ask(lambda store: store.entries(self.query_one(Input).value))
        self.app.call_from_thread(self._fill, found or [])

    def action_leave(self) -> None:
        self.dismiss(None)


def _row(one: Entry) -> Content:
    names = ", ".join(one.names)
    status = STATUS.get(one.outcome.status, one.outcome.status)
    return Content.assemble(
        text(f"{one.id:>4}  {one.changed[:16]}  {one.outcome.title}"),
        "\n",
        text(f"      {status}  {names}", "dim"),
    )
