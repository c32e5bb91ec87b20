"""From the command line's options to a running screen."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kvdoctor.inputs import answers_of, read_bytes
from kvdoctor.ui.app import KvdoctorApp, Pending
from kvdoctor.ui.fastpaste import install

if TYPE_CHECKING:
    import argparse


def launch(options: argparse.Namespace) -> int:
    """Read what was named, take keys from the terminal, run."""
    pending = [Pending(name, "this", read_bytes(name)) for name in options.files]
    pending += [Pending(name, "prefill", read_bytes(name)) for name in options.prefill]
    pending += [Pending(name, "decode", read_bytes(name)) for name in options.decode]
    if not sys.stdin.isatty():
        if not any(one.name == "-" for one in pending):
            data = sys.stdin.buffer.read()
            if data.strip():
                pending.insert(0, Pending("-", "this", data))
        _keys_from_terminal()
    install()
    app = KvdoctorApp(
        pending=tuple(pending),
        knowledge_folders=tuple(options.knowledge),
        answers=answers_of(options.sets),
        ascii_only=options.ascii,
    )
    return app.run() or 0


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
