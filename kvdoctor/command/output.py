"""Standard output that never breaks: any locale, a full disk, a reader that has gone."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

_SIMPLER = {
    "…": "...",
    "→": "->",
    "←": "<-",
    "–": "-",
    "—": "--",
    "∗": "*",
    "≤": "<=",
    "≥": ">=",
    "·": "-",
    "×": "x",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "│": "|",
    "•": "*",
    "‹": "<",
    "›": ">",
    "≠": "!=",
    "✓": "+",
    "✗": "x",
    "█": "#",
    "▌": ">",
    "▶": ">",
    "▕": "[",
    "▏": "]",
    "─": "-",
    "┼": "|",
}
_TO_ASCII = str.maketrans(_SIMPLER)


def make_safe() -> None:
    """Let the standard streams write what their encoding does not have in a simpler form.

    Costs nothing where the locale is UTF-8 but for lone surrogates (file names), which become
    question marks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue  # closed, or replaced by a test
        if (getattr(stream, "encoding", "") or "").lower().replace("-", "") == "utf8":
            reconfigure(errors="replace")
            continue
        import codecs

        codecs.register_error("kvdoctor", _simpler)
        reconfigure(errors="kvdoctor")


class _Ascii:
    """A stream that writes our own signs in ASCII. The signs alone: another language in the user's
    text stays as it is. It calls itself ASCII, so that JSON is escaped and drawings are plain."""

    encoding = "ascii"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.translate(_TO_ASCII))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def only_ascii() -> None:
    """From here on, nothing but ASCII of ours on the standard streams (``--ascii``)."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Ascii):
            setattr(sys, name, _Ascii(stream))


def _simpler(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    cut = error.object[error.start : error.end]
    return "".join(_SIMPLER.get(one, "?") for one in cut), error.end


def give_up() -> None:
    """Send everything further nowhere, so that the interpreter does not fail once more at exit."""
    if sys.stdout is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
