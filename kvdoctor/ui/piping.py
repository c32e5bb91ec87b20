"""A log that arrives through a pipe while the screen is already there."""

from __future__ import annotations

import os
import threading

PIECE = 1 << 18


class Pipe:
    """Reads a descriptor to its end in a thread of its own.

    The thread is a daemon: a pipe that never ends (``kubectl logs -f``) must not keep the process
    from leaving. Only the thread adds to ``pieces``; anyone may join them."""

    def __init__(self, descriptor: int, side: str = "this") -> None:
        self.side = side
        self.pieces: list[bytes] = []
        self.size = 0
        self.ended = threading.Event()
        self._descriptor = descriptor
        threading.Thread(target=self._read, name="pipe", daemon=True).start()

    def _read(self) -> None:
        try:
            while piece := os.read(self._descriptor, PIECE):
                self.pieces.append(piece)
                self.size += len(piece)
        except OSError:
            pass  # the writer's end broke: what came before it counts
        self.ended.set()

    def taken(self) -> bytes:
        """What has come so far."""
        return b"".join(self.pieces)
