"""A list whose marked row has a sign in the gutter, and that scrolls the page it lies on."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import OptionList

from kvdoctor.ui.glyphs import glyphs_of
from kvdoctor.ui.panes.base import Pane

GUTTER = 2


class MarkedList(OptionList):
    """The mark is a sign, not a bar of colour: the text keeps its own colours and contrast.

    At its ends up and down move on to the next list of the page, then scroll the page."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"marked--gutter"}

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, markup=False)

    def _get_left_gutter_width(self) -> int:
        return GUTTER

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if line >= len(self._lines):
            return strip
        option, offset = self._lines[line]
        marked = option == self.highlighted
        sign = glyphs_of(self.app).gutter if marked else " "
        name = "marked--gutter" if marked else "option-list--option"
        style = self.get_visual_style("option-list--option", name).rich_style
        last = offset + 1 == self._heights[option] and self._blank_after(option)
        gutter = Segment(f"{' ' if last else sign} ", style)
        return Strip([gutter, *strip], strip.cell_length + GUTTER)

    def _blank_after(self, index: int) -> bool:
        """Whether the option ends in an empty line, which belongs to none."""
        return str(self.options[index].prompt).endswith("\n")

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and self.has_focus:
            self.call_after_refresh(self.show_marked)

    def show_marked(self) -> None:
        """Scroll the page so far that the marked row is seen whole."""
        index = self.highlighted
        page = next((one for one in self.ancestors if isinstance(one, Pane)), None)
        if index is None or page is None or index not in self._index_to_line:
            return
        top = self.virtual_region.y + self._index_to_line[index]
        rows = min(self._heights[index], page.size.height)
        page.scroll_to_region(Region(0, top, 1, rows), animate=False, force=True, x_axis=False)

    def action_cursor_down(self) -> None:
        if self.highlighted is not None and self.highlighted + 1 >= self.option_count:
            self._leave(1)
        else:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        if not self.highlighted:
            self._leave(-1)
        else:
            super().action_cursor_up()

    def action_page_down(self) -> None:
        self._page().scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self._page().scroll_page_up(animate=False)

    def _page(self) -> Pane:
        return next(one for one in self.ancestors if isinstance(one, Pane))

    def _leave(self, step: int) -> None:
        page = self._page()
        lists = [one for one in page.query(MarkedList) if one.display and one.option_count]
        at = lists.index(self) + step
        if 0 <= at < len(lists):
            following = lists[at]
            following.highlighted = 0 if step > 0 else following.option_count - 1
            following.focus(scroll_visible=False)
            following.call_after_refresh(following.show_marked)
        elif step > 0:
            page.scroll_down(animate=False)
        else:
            page.scroll_up(animate=False)
