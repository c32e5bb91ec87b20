"""The log beside the answer: evidence marked, errors a key apart, find, filter, fold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvdoctor.report import Source
from kvdoctor.ui.keybar import Key, KeyBar
from kvdoctor.ui.logindex import LogIndex
from kvdoctor.ui.loglines import LogLines
from kvdoctor.ui.panes.base import FRONT, Place, text
from kvdoctor.ui.places import source_name

KEYS = (
    Key("esc", "back", "screen.leave"),
    Key("e", "next error", "screen.next_error"),
    Key("E", "last error", "screen.last_error"),
    Key("m", "evidence", "screen.evidence"),
    Key("/", "find", "screen.find"),
    Key("n", "next hit", "screen.next_hit"),
    Key("w", "whole lines", "screen.whole"),
    Key("p", "process", "screen.process"),
    Key("f", "fold libraries", "screen.fold"),
    Key("s", "other text", "screen.source"),
    Key("?", "keys", "screen.keys"),
)
NARROW = 130  # columns under which the prefixes are left out at first
HELP = """The text as it was pasted or read; escapes and secrets are taken out.

  up down, j k      a line            pgup pgdn, space  a page
  home end, g G     top and end       left right        sideways
  e E               next, last error  m                 next line of evidence
  /                 find; enter goes on, n and N go to the next and the last hit
  w                 whole lines, or without their log prefix (as on narrow terminals at first)
  p                 one process after the other, then all again
  f                 hide traceback frames that are not vLLM's own
  s                 the next text, when several were given
  esc               back to the answer"""


class LogScreen(ModalScreen[None]):
    """``place`` is where the cursor starts; ``marks`` maps a source's name to evidence lines."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,l", "leave", "back to the answer"),
        Binding("e", "next_error", "next error"),
        Binding("E", "last_error", "last error"),
        Binding("m", "evidence", "next line of evidence"),
        Binding("slash", "find", "find"),
        Binding("n", "next_hit", "next hit"),
        Binding("N", "last_hit", "last hit"),
        Binding("w", "whole", "whole lines or without prefix"),
        Binding("p", "process", "filter by process"),
        Binding("f", "fold", "fold library frames"),
        Binding("s", "source", "next text"),
        Binding("question_mark,f1", "keys", "keys"),
    ]

    def __init__(
        self, sources: Sequence[Source], marks: Mapping[str, Sequence[int]], place: Place | None
    ) -> None:
        super().__init__()
        self._sources = list(sources)
        self._marks = marks
        names = [one.paste.name for one in self._sources]
        self._at = names.index(place[0]) if place is not None and place[0] in names else 0
        self._start = place[1] if place is not None else 0
        self._index: LogIndex | None = None
        self._waiting: Callable[[], None] | None = None
        self._hits: Sequence[int] = ()
        self._process = ""
        self._folded = False

    def compose(self) -> ComposeResult:
        yield Static("", id="log-title", markup=False)
        yield self._view()
        yield Input(placeholder="find in this text", id="log-find", compact=True)
        yield KeyBar(KEYS, id="log-keys")

    def _view(self, start: int | None = None) -> LogLines:
        paste = self._sources[self._at].paste
        marks = self._marks.get(paste.name, ())
        start = self._start if start is None else start
        return LogLines(paste, marks, start or min(marks, default=0))

    @property
    def lines(self) -> LogLines:
        return self.query_one(LogLines)

    def on_mount(self) -> None:
        self.query_one("#log-find").display = False
        self.lines.short = self.app.size.width < NARROW
        self.tell()
        self.lines.focus()
        self.sort(self.lines)

    @work(thread=True, exclusive=True, group="sort")
    def sort(self, view: LogLines) -> None:
        """Sort the lines away from the event loop; a key that needs it waits for it."""
        made = LogIndex(view.paste, view.lines)
        self.app.call_from_thread(self.sorted, view, made)

    def sorted(self, view: LogLines, made: LogIndex) -> None:
        if not self.is_attached or view is not self.lines:
            return
        self._index = made
        view.widen(made.widest)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()

    def _indexed(self, then: Callable[[], None]) -> LogIndex | None:
        """The sorted lines; ``then`` is called again when they are not there yet."""
        if self._index is None:
            self._waiting = then
            self._say("the lines are being sorted")
        return self._index

    @on(LogLines.Moved)
    def tell(self) -> None:
        """The title line: which text, which line, what is in force."""
        view = self.lines
        paste = view.paste
        side = self._sources[self._at].side
        parts = [
            f"{source_name(paste.name)}{f' ({side})' if side != 'this' else ''}",
            f"line {view.number:,} of {len(view.lines):,}",
        ]
        if self._process:
            parts.append(f"only {self._process}")
        if self._folded:
            parts.append("libraries folded")
        if view.needle:
            many = len(self._hits)
            parts.append(f"{many:,} line{'' if many == 1 else 's'} with '{view.needle}'")
        self.query_one("#log-title", Static).update(text(" | ".join(parts)))

    def _say(self, what: str) -> None:
        self.query_one("#log-title", Static).update(text(what, "bold"))

    # -- actions --------------------------------------------------------------------------------

    def action_leave(self) -> None:
        field = self.query_one("#log-find", Input)
        if field.display:
            self.set_focus(self.lines)
            field.display = False
        else:
            self.dismiss(None)

    def action_next_error(self) -> None:
        self._error(1)

    def action_last_error(self) -> None:
        self._error(-1)

    def _error(self, step: int) -> None:
        index = self._indexed(lambda: self._error(step))
        if index is None:
            return
        number = self.lines.next_of(index.errors, step)
        if number:
            self.lines.go(number)
        else:
            self._say("no error below this line" if step > 0 else "no error above this line")

    def action_evidence(self) -> None:
        marks = sorted(self.lines.marks)
        if marks:
            self.lines.go(self.lines.next_of(marks, 1) or marks[0])
        else:
            self._say("no line of this text is evidence")

    def action_find(self) -> None:
        field = self.query_one("#log-find", Input)
        field.display = True
        self.set_focus(field)  # at once: the next key may be here already

    @on(Input.Submitted, "#log-find")
    def looked_for(self, event: Input.Submitted) -> None:
        event.stop()
        self.set_focus(self.lines)
        event.input.display = False
        self.lines.needle = event.value.lower()
        self._hits = ()
        self.lines.refresh()
        if event.value:
            self.look(self.lines, event.value.lower())
        else:
            self.tell()

    @work(thread=True, exclusive=True, group="find")
    def look(self, view: LogLines, needle: str) -> None:
        """All lines with the words, away from the event loop."""
        hits = [line.number for line in view.lines if needle in line.shown.lower()]
        self.app.call_from_thread(self.found, needle, hits)

    def found(self, needle: str, hits: Sequence[int]) -> None:
        if needle != self.lines.needle:
            return
        self._hits = hits
        if not hits:
            self._say(f"'{needle}' does not stand in this text")
        elif hits[min(bisect_left(hits, self.lines.number), len(hits) - 1)] == self.lines.number:
            self.tell()
        else:
            self.lines.go(self.lines.next_of(hits, 1) or hits[0])

    def action_next_hit(self) -> None:
        self._hit(1)

    def action_last_hit(self) -> None:
        self._hit(-1)

    def _hit(self, step: int) -> None:
        if not self._hits:
            self._say("nothing was found; / looks for words")
            return
        fallback = self._hits[0] if step > 0 else self._hits[-1]
        self.lines.go(self.lines.next_of(self._hits, step) or fallback)

    def action_process(self) -> None:
        index = self._indexed(self.action_process)
        if index is None:
            return
        following = [*index.names, ""]
        at = following.index(self._process) + 1 if self._process else 0
        self._process = following[at % len(following)]
        self._filter(index)
        if not index.names:
            self._say("no line of this text names its process")

    def action_whole(self) -> None:
        self.lines.shorten(not self.lines.short)

    def action_fold(self) -> None:
        index = self._indexed(self.action_fold)
        if index is not None:
            self._folded = not self._folded
            self._filter(index)

    def _filter(self, index: LogIndex) -> None:
        self.lines.show_only(index.rows(self._process, self._folded))
        self.tell()

    async def action_source(self) -> None:
        if len(self._sources) < 2:
            self._say("only one text was given; o in the answer adds the other side's")
            return
        self._at = (self._at + 1) % len(self._sources)
        self._index, self._waiting = None, None
        self._hits, self._process, self._folded = (), "", False
        old = self.lines
        fresh = self._view(0)
        fresh.short = self.lines.short
        await self.mount(fresh, after=old)
        await old.remove()
        self.set_focus(fresh)
        self.tell()
        self.sort(fresh)

    def action_keys(self) -> None:
        from kvdoctor.ui.helping import HelpScreen

        self.app.push_screen(HelpScreen(HELP))
