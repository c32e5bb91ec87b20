"""What the terminal can do, and text that is safe to send to it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


SERVED = "kvdoctor.ui.served:ServedDriver"
WEB = "textual.drivers.web_driver:WebDriver"  # by Textual's own server


def can_show_a_screen() -> bool:
    """Whether a full screen makes sense: a terminal to draw on and one to read keys from.

    Standard input may be a pipe (the log); keys then come from the controlling terminal."""
    if is_served():
        return True
    if os.environ.get("TERM", "") in ("dumb", ""):
        return sys.platform == "win32" and is_terminal(sys.stdout)
    return is_terminal(sys.stdout) and (is_terminal(sys.stdin) or has_controlling_terminal())


def is_served() -> bool:
    """Whether a browser is the terminal: ``kvdoctor serve`` has started this process, or another
    server of Textual's screens has."""
    return os.environ.get("TEXTUAL_DRIVER", "") in (SERVED, WEB)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; one that was closed before the start is none."""
    return stream is not None and not stream.closed and stream.isatty()


def has_controlling_terminal() -> bool:
    """Whether the process has a terminal of its own apart from its standard streams."""
    name = "CONIN$" if sys.platform == "win32" else "/dev/tty"
    try:
        descriptor = os.open(name, os.O_RDWR)
    except OSError:
        return False
    os.close(descriptor)
    return True


def wants_colour() -> bool:
    """Colour on standard output: a terminal, and neither NO_COLOR nor TERM=dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    return is_terminal(sys.stdout) and os.environ.get("TERM", "") != "dumb"


def can_encode(text: str) -> bool:
    """Whether standard output's encoding has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", "") or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def clean(text: str) -> str:
    """``text`` without anything that a terminal acts on: escapes, controls, direction marks."""
    if text.isprintable():  # holds for nearly every line, and is quick
        return text
    return "".join(character if _is_harmless(character) else " " for character in text)


def _is_harmless(character: str) -> bool:
    code = ord(character)
    if character in "\n\t":
        return True
    if code < 0x20 or 0x7F <= code < 0xA0:
        return False
    return not (
        0x200B <= code <= 0x200F
        or 0x2028 <= code <= 0x202E
        or 0x2060 <= code <= 0x206F
        or code == 0xFEFF
        or 0xD800 <= code <= 0xDFFF
        or 0xE0000 <= code <= 0xE007F
    )
