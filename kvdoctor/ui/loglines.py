"""The pasted text as a scrolling widget that draws only the rows in sight."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kvdoctor.intake.paste import Line, Paste
from kvdoctor.terminal import clean
from kvdoctor.ui.glyphs import glyphs_of
from kvdoctor.ui.logindex import LOUD

WIDEST = 4000  # characters of a line that are drawn
GUTTER = 10  # mark, line number, space


class LogLines(ScrollView, can_focus=True):
    """Lines of one paste with a cursor. ``marks`` are the line numbers of the evidence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "end(0)", show=False),
        Binding("end,G", "end(1)", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--number",
        "log--mark",
        "log--cursor",
        "log--error",
        "log--warning",
        "log--found",
    }

    class Moved(Message):
        """The cursor stands on another line."""

    def __init__(self, paste: Paste, marks: Iterable[int], start: int = 0) -> None:
        super().__init__()
        self.paste = paste
        ordered = paste.lines
        if ordered and ordered[0].number > ordered[-1].number:  # pasted newest first
            ordered = tuple(sorted(ordered, key=attrgetter("number")))
        self.lines = ordered  # as they stood in the text
        self.marks = frozenset(marks)
        self.rows: Sequence[int] = range(len(self.lines))  # indices of the lines in sight
        self.cursor = 0  # an index into rows
        self._start: int | None = start
        self._widest = -1
        self.needle = ""
        self.short = False  # the process and the message instead of the whole prefix

    def on_mount(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        """The first line in sight is known as soon as the height is."""
        if self._start is not None:
            start, self._start = self._start, None
            self.go(start)
        else:
            self.move_to(self.cursor)

    def _measure(self) -> None:
        """Until the longest line is known, the log is taken to be as wide as any."""
        widest = self._widest if self._widest >= 0 else WIDEST
        self.virtual_size = Size(min(widest, WIDEST) + GUTTER, len(self.rows))

    def widen(self, widest: int) -> None:
        """``widest`` is the length of the longest line."""
        self._widest = widest
        self._measure()

    # -- where the cursor stands ----------------------------------------------------------------

    @property
    def number(self) -> int:
        """The line number under the cursor, 0 when no line is in sight."""
        return self.lines[self.rows[self.cursor]].number if self.rows else 0

    def show_only(self, rows: Sequence[int]) -> None:
        """Show these lines (indices) alone; the cursor stays near where it was."""
        index = self.rows[self.cursor] if self.rows else 0
        self.rows = rows
        self._measure()
        self.cursor = 0
        self.move_to(min(bisect_left(rows, index), max(0, len(rows) - 1)))
        self.refresh()

    def go(self, number: int) -> None:
        """To the line ``number``, or the next one in sight."""
        index = bisect_left(self.lines, number, key=lambda line: line.number)
        self.move_to(min(bisect_left(self.rows, index), max(0, len(self.rows) - 1)), middle=True)

    def next_of(self, numbers: Sequence[int], step: int) -> int:
        """The next (or last) of sorted line ``numbers`` as seen from the cursor, 0 if none is."""
        if step > 0:
            at = bisect_right(numbers, self.number)
            return numbers[at] if at < len(numbers) else 0
        at = bisect_left(numbers, self.number) - 1
        return numbers[at] if at >= 0 else 0

    def move_to(self, row: int, middle: bool = False) -> None:
        row = max(0, min(row, len(self.rows) - 1))
        old, self.cursor = self.cursor, row
        height = self.scrollable_content_region.height or self.app.size.height - 3
        top = int(self.scroll_target_y)
        if not top <= row < top + height:
            start = row - height // 2 if middle else (row if row < top else row - height + 1)
            self.scroll_to(y=max(0, start), animate=False, force=True, immediate=True)
            self.refresh()
        else:
            self._refresh_rows(old, row)
        if row != old:
            self.post_message(self.Moved())

    def _refresh_rows(self, *rows: int) -> None:
        width = self.size.width
        top = int(self.scroll_offset.y)
        for row in rows:
            self.refresh(Region(0, row - top, width, 1))

    def action_move(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(1, self.scrollable_content_region.height - 1))

    def action_end(self, which: int) -> None:
        self.move_to(len(self.rows) - 1 if which else 0)

    def on_click(self, event: object) -> None:
        y = getattr(event, "y", 0) + int(self.scroll_offset.y)
        self.move_to(y)

    # -- drawing --------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        row = int(top) + y
        base = self.rich_style
        if row >= len(self.rows):
            return Strip.blank(width, base)
        line = self.lines[self.rows[row]]
        here = row == self.cursor
        style = base + self._style_of(line)
        if here:
            style += self._component("log--cursor")
        body = Strip(self._body(line, style, base))
        body = body.crop(int(left), int(left) + max(0, width - GUTTER))
        body = body.extend_cell_length(max(0, width - GUTTER), style if here else base)
        return Strip([*self._gutter(line, here, base), *body], width)

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)

    def _gutter(self, line: Line, here: bool, base: Style) -> list[Segment]:
        glyphs = glyphs_of(self.app)
        marked = line.number in self.marks
        sign = glyphs.mark if marked else (glyphs.gutter if here else " ")
        style = base + self._component("log--mark" if marked or here else "log--number")
        return [Segment(f"{sign}{line.number:>{GUTTER - 2}} ", style)]

    def _style_of(self, line: Line) -> Style:
        if line.number in self.marks:
            return self._component("log--mark")
        if line.level in LOUD:
            return self._component("log--error")
        if line.level == "WARNING":
            return self._component("log--warning")
        return Style.null()

    def shorten(self, short: bool) -> None:
        """Show each line without its log prefix, or whole."""
        self.short = short
        self.scroll_to(x=0, animate=False, force=True, immediate=True)
        self.refresh()

    def _words(self, line: Line) -> str:
        if not self.short or not line.text.strip():
            return line.shown
        process = f"{line.process} {glyphs_of(self.app).bar} " if line.process else ""
        level = f"{line.level[0]} " if line.level not in ("", "INFO") else ""
        return f"{process}{level}{line.text}"

    def _body(self, line: Line, style: Style, base: Style) -> list[Segment]:
        shown = clean(self._words(line)[:WIDEST]).expandtabs()
        if not self.needle:
            return [Segment(shown, style)]
        found = base + self._component("log--found")
        parts: list[Segment] = []
        low, start = shown.lower(), 0
        if len(low) != len(shown):  # a letter whose lower case is longer
            return [Segment(shown, style)]
        while (at := low.find(self.needle, start)) >= 0:
            parts += [
                Segment(shown[start:at], style),
                Segment(shown[at : at + len(self.needle)], found),
            ]
            start = at + len(self.needle)
        return [*parts, Segment(shown[start:], style)]
