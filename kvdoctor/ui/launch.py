"""From the command line's options to a running screen."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kvdoctor.command.inputs import answers_of, read_bytes
from kvdoctor.history import switched_off
from kvdoctor.terminal import is_served
from kvdoctor.ui.app import KvdoctorApp, Pending
from kvdoctor.ui.fastpaste import install

if TYPE_CHECKING:
    import argparse

    from kvdoctor.ui.piping import Pipe


def launch(options: argparse.Namespace) -> int:
    """Read what was named, take keys from the terminal, run."""
    named = [(name, "this") for name in options.files]
    named += [(name, "prefill") for name in options.prefill]
    named += [(name, "decode") for name in options.decode]
    files = [(name, side) for name, side in named if name != "-"]
    pending = tuple(Pending(name, side, read_bytes(name)) for name, side in files)
    pending += tuple(Pending(*one) for one in getattr(options, "fetched", ()))
    piped = next((side for name, side in named if name == "-"), "" if pending else "this")
    pipe = None
    if not is_served() and not sys.stdin.isatty():
        pipe = _pipe(piped) if piped else None
        _keys_from_terminal()
    install()
    if options.ascii:
        from kvdoctor.ui.glyphs import plain_scrollbars

        plain_scrollbars()
    app = KvdoctorApp(
        remember=not switched_off(options.no_history),
        resuming=getattr(options, "resume", 0),
        pending=pending,
        pipe=pipe,
        knowledge_folders=tuple(options.knowledge),
        answers=answers_of(options.sets),
        ascii_only=options.ascii,
    )
    del pending  # the application lets go of a long log as soon as it is read
    if options.theme or _is_light():
        from kvdoctor.ui.themes import NAMED, take

        take(app, NAMED[options.theme or "light"])
    try:
        left = app.run()
        return left if left is not None else app.return_code or 0  # 1 when the screen broke
    finally:
        app.close_history()


def _is_light() -> bool:
    """Whether the terminal says that its background is light (COLORFGBG, as rxvt and others)."""
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _pipe(side: str) -> Pipe:
    """The pipe, on a descriptor of its own: standard input is about to become the terminal."""
    from kvdoctor.ui.piping import Pipe

    return Pipe(os.dup(0), side)


def _keys_from_terminal() -> None:
    """Put the controlling terminal where the pipe was: Textual reads keys from standard input."""
    if sys.platform == "win32":
        sys.stdin = open("CONIN$", encoding="utf-8")  # noqa: PTH123, SIM115
        return
    terminal = os.open("/dev/tty", os.O_RDONLY)
    os.dup2(terminal, 0)
    os.close(terminal)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.__stdin__ = sys.stdin  # type: ignore[misc]
