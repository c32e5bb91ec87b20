"""Take a bracketed paste out of the terminal's input before it is parsed key by key.

Textual's parser looks at every character of a paste, and takes raw escape bytes inside it (a
coloured log) for key sequences: text is lost and bindings fire. Between the two paste marks nothing
is a key, so the text is cut out whole, which is also far faster. A paste that the terminal does not
mark at all is recognised by its speed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable, Iterator

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from kvdoctor.terminal import is_served

BURST = 40  # characters in one read, a line end among them
BURST_SECONDS = 0.06
START = "\x1b[200~"
END = "\x1b[201~"
SERVED = "textual.drivers.web_driver"
DRIVER = "textual.drivers.win32" if sys.platform == "win32" else "textual.drivers.linux_driver"


class FastPasteParser(XTermParser):
    """Textual's parser with pastes cut out first; marks split over two reads are recognised."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._parts: list[str] = []
        self._held = ""
        self._burst_at = float("-inf")

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
            if self._is_burst(text):
                yield events.Paste(text.replace("\r", "\n").replace("\x00", ""))
            else:
                yield from super().feed(text)

    def _is_burst(self, text: str) -> bool:
        """Whether these are the characters of a paste that the terminal did not mark as one.

        Nobody types a line of that length and its end within one read; what follows at once
        belongs to it. Taken for keys, a pasted log would leave the program at its first "q"."""
        now = time.monotonic()
        ends = "\r" in text or "\n" in text
        printed = "\x1b" not in text or text.count("\n") + text.count("\r") > 1
        burst = printed and ends and len(text) >= BURST
        if not burst and now - self._burst_at < BURST_SECONDS:
            burst = "\x1b" not in text
        if burst:
            self._burst_at = now
        return burst


def _tail(data: str, mark: str, least: int) -> int:
    """How many characters at the end of ``data`` may be the beginning of ``mark``.

    Fewer than ``least`` are handed on: outside a paste a lone escape or "ESC [" must stay a key
    press, inside one every character can begin the end mark."""
    for length in range(min(len(mark) - 1, len(data)), least - 1, -1):
        if data.endswith(mark[:length]):
            return length
    return 0


def install() -> None:
    """Let the driver of this platform use the parser."""
    module = importlib.import_module(SERVED if is_served() else DRIVER)
    if getattr(module, "XTermParser", None) is not None:
        module.XTermParser = FastPasteParser  # type: ignore[attr-defined]
