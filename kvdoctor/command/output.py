"""Standard output that never breaks: any locale, a full disk, a reader that has gone."""

from __future__ import annotations

import os
import sys

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
}


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
