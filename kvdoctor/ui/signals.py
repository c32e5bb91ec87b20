"""Leave in order when the process is told to end: the terminal must be usable afterwards."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable


def leave_on_signals(leave: Callable[[int], None]) -> None:
    """Call ``leave`` with the exit status on SIGTERM and SIGHUP."""
    if sys.platform == "win32":
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        try:
            loop.add_signal_handler(number, leave, 128 + number)
        except (RuntimeError, ValueError):  # not the main thread: somebody else runs the loop
            return
