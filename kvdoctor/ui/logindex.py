"""What a log's lines are sorted by, as arrays of whole numbers: made once, in a thread.

Every key of the log view then only picks an array. Two hundred thousand lines cost about a
megabyte per array."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import compress

from kvdoctor.intake.paste import Line, Paste

LOUD = frozenset({"ERROR", "CRITICAL"})


def error_rows(paste: Paste) -> tuple[int, ...]:
    """Line numbers at which an error stands, in order: exception lines and error records."""
    printed = {one.number for one in paste.failures}
    said = {one.number for one in paste.records if one.level in LOUD and one.failure is None}
    return tuple(sorted(printed | said))


def library_rows(paste: Paste) -> frozenset[int]:
    """Line numbers of traceback frames that are not vLLM's own, with their source lines."""
    hidden: set[int] = set()
    for failure in paste.failures:
        ends = [*(frame.number for frame in failure.frames[1:]), failure.number]
        for frame, end in zip(failure.frames, ends, strict=False):  # no frame: no end counts
            if not frame.module.startswith("vllm/"):
                lines = range(frame.number, min(end, frame.number + 6))
                hidden.update(lines)
    return frozenset(hidden)


class LogIndex:
    """``errors`` are line numbers; ``rows`` and the filters speak of indices into ``lines``."""

    def __init__(self, paste: Paste, lines: Sequence[Line]) -> None:
        self.errors = array("I", error_rows(paste))
        self.processes: dict[str, array[int]] = {}
        self._all = range(len(lines))
        hidden = library_rows(paste)
        self._own = bytearray(b"\x01" * len(lines))  # 0: a frame of another library
        widest = 0
        for at, line in enumerate(lines):
            widest = max(widest, len(line.shown))
            if line.process:
                rows = self.processes.get(line.process)
                if rows is None:
                    rows = self.processes[line.process] = array("I")
                rows.append(at)
            if line.number in hidden:
                self._own[at] = 0
        self.widest = widest
        self.names = sorted(self.processes)
        self._folded: dict[str, array[int]] = {
            name: array("I", compress(rows, map(self._own.__getitem__, rows)))
            for name, rows in self.processes.items()
        }
        self._folded[""] = array("I", compress(self._all, self._own))

    def rows(self, process: str, folded: bool) -> Sequence[int]:
        """The lines of one process ("" is every line), without other libraries' frames if
        ``folded``."""
        if folded:
            return self._folded[process]
        return self.processes[process] if process else self._all
