"""A child process on a pseudo-terminal of its own, for tests of what a user really sees."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence

ESCAPES = re.compile(rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")


class Terminal:
    """kvdoctor with ``arguments``; ``piped`` text stands on its standard input instead of the
    terminal. Every wait is bounded."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        piped: bytes | None = None,
        size: tuple[int, int] = (80, 24),
    ) -> None:
        source, sink = os.pipe()
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            if piped is not None:
                os.dup2(source, 0)
            os.close(sink)
            os.execve(  # noqa: S606
                sys.executable, [sys.executable, "-m", "kvdoctor", *arguments], dict(environment)
            )
        os.close(source)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self.end)
        self.raw = b""
        if piped is not None:
            os.write(sink, piped)
        os.close(sink)

    @property
    def text(self) -> str:
        return ESCAPES.sub(b"", self.raw).decode("utf-8", "replace")

    def wait_for(self, words: str, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > until or not self._read(0.2):
                raise AssertionError(f"never saw {words!r} in {self.text[-3000:]!r}")

    def _read(self, seconds: float) -> bool:
        """Take what has come; False at the end."""
        if select.select([self.end], [], [], seconds)[0]:
            try:
                piece = os.read(self.end, 1 << 16)
            except OSError:
                return False
            self.raw += piece
            return bool(piece)
        return True

    def send(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def ended(self, seconds: float = 30.0) -> int:
        """The exit status, once the program has left."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.pid = 0
                while self._read(0) and select.select([self.end], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status)
            self._read(0.05)
        raise AssertionError("the program did not leave")

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.end)
