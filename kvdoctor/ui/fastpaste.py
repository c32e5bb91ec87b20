"""Take a bracketed paste out of the terminal's input before it is parsed key by key.

Textual's parser looks at every character of a paste, and takes raw escape bytes inside it (a
coloured log) for key sequences: text is lost and bindings fire. Between the two paste marks nothing
is a key, so the text is cut out whole, which is also far faster.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

START = "\x1b[200~"
END = "\x1b[201~"
DRIVERS = (
    "textual.drivers.linux_driver",
    "textual.drivers.win32",
    "textual.drivers.linux_inline_driver",
)


class FastPasteParser(XTermParser):
    """Textual's parser with pastes cut out first; marks split over two reads are recognised."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._parts: list[str] = []
        self._held = ""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            return self._finished()
        return self._fed(data)

    def _finished(self) -> Iterator[Message]:
        if self._held and not self._pasting:
            yield from super().feed(self._held)
            self._held = ""
        yield from super().feed("")

    def _fed(self, data: str) -> Iterator[Message]:
        data, self._held = self._held + data, ""
        while data:
            mark = END if self._pasting else START
            at = data.find(mark)
            if at < 0:
                keep = _tail(data, mark, 1 if self._pasting else 3)
                self._held = data[len(data) - keep :] if keep else ""
                data = data[: len(data) - keep] if keep else data
                yield from self._plain(data)
                return
            yield from self._plain(data[:at])
            data = data[at + len(mark) :]
            if self._pasting:
                text = "".join(self._parts).replace("\x00", "")
                self._parts.clear()
                yield events.Paste(text)
            self._pasting = not self._pasting

    def _plain(self, text: str) -> Iterator[Message]:
        if self._pasting:
            if text:
                self._parts.append(text)
        elif text:
            yield from super().feed(text)


def _tail(data: str, mark: str, least: int) -> int:
    """How many characters at the end of ``data`` may be the beginning of ``mark``.

    Fewer than ``least`` are handed on: outside a paste a lone escape or "ESC [" must stay a key
    press, inside one every character can begin the end mark."""
    for length in range(min(len(mark) - 1, len(data)), least - 1, -1):
        if data.endswith(mark[:length]):
            return length
    return 0


def install() -> None:
    """Let the drivers of this platform use the parser."""
    for name in DRIVERS:
        try:
            module = importlib.import_module(name)
        except ImportError:  # another platform's driver
            continue
        if getattr(module, "XTermParser", None) is not None:
            module.XTermParser = FastPasteParser  # type: ignore[attr-defined]
