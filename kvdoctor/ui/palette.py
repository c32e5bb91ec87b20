"""The list of commands behind ctrl+p."""

from __future__ import annotations

from textual.command import CommandList, CommandPalette


class Palette(CommandPalette):
    """Textual's own, for terminals too, in which no row of its list fits: a page is then a row."""

    def _action_command_list(self, action: str) -> None:
        paging = action.startswith("page_")
        if paging and not self.query_one(CommandList).scrollable_content_region:
            action = action.replace("page_", "cursor_", 1)
        super()._action_command_list(action)
