"""A list of options that also works where no row of it fits the terminal."""

from __future__ import annotations

from textual.widgets import OptionList


class Rows(OptionList):
    """Textual's list looks its rows up by where they stand, which nothing does while the list has
    no room: a page is then one row."""

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]
        else:
            self.action_cursor_down()

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]
        else:
            self.action_cursor_up()
