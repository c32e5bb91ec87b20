"""A scan in several processes: files are shared out, and large plain ones cut into parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvdoctor.data import NamedTuple
from kvdoctor.knowledge import Knowledge
from kvdoctor.scan import words
from kvdoctor.scan.engine import LogScan, Watch, quiet_end, scan_file
from kvdoctor.scan.inputs import PIECE, Progress, is_binary, is_packed, pieces_between
from kvdoctor.scan.picking import Picker
from kvdoctor.scan.result import Partial
from kvdoctor.scan.words import Runs
from kvdoctor.scan.workers import Say, shared_out

PART = 16 << 20  # bytes of the smallest part of a file
PARTS_A_JOB = 4  # so that no process waits long for the one that got the worst lines
AROUND = 1 << 20  # bytes that are looked at for a quiet place to cut


class Task(NamedTuple):
    """A file, or the bytes from ``start`` to ``end`` of one."""

    name: str
    start: int
    end: int  # 0: the whole file
    settings: dict[str, Any]
    size: int


Made = Partial | LogScan | None  # None: the task of the file's beginning answers for this one


def in_processes(
    files: Sequence[str],
    knowledge: Knowledge,
    jobs: int,
    settings: Mapping[str, Any],
    folders: tuple[str, ...],
    watch: Watch | None = None,
    part: int = PART,
) -> list[Partial]:
    """The partial results of ``files``; standard input is read by this process."""
    sizes = {name: _size(name) for name in files if name != "-"}
    step = max(part, -(-sum(sizes.values()) // (jobs * PARTS_A_JOB)))
    tasks = [
        Task(name, start, end, dict(settings), (end - start) or size)
        for name, size in sizes.items()
        for start, end in _parts(name, size, knowledge, settings, step)
    ]
    work = _Work(knowledge, folders)
    whole = [scan_file(name, knowledge, **settings) for name in files if name == "-"]
    parts: dict[str, list[tuple[int, LogScan]]] = {}
    for task, made in shared_out(work, tasks, jobs, watch):
        if isinstance(made, Partial):
            whole.append(made)
        elif made is not None:
            parts.setdefault(task.name, []).append((task.start, made))
    whole += [
        _together(own, knowledge)
        for name, own in parts.items()
        if all(one.file != name for one in whole)
    ]
    return whole


def _together(parts: list[tuple[int, LogScan]], knowledge: Knowledge) -> Partial:
    """The parts of a file in their order as one result."""
    parts.sort(key=lambda one: one[0])
    first = parts[0][1]
    first.knowledge = knowledge
    for _, scan in parts[1:]:
        first.absorb(scan)
    return first.partial([])


def _size(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0


def _parts(
    name: str, size: int, knowledge: Knowledge, settings: Mapping[str, Any], step: int
) -> list[tuple[int, int]]:
    """Where a plain file is cut: (start, end) of each part; (0, 0) for one that is not."""
    count = round(size / step)
    if count < 2 or settings.get("thorough"):
        return [(0, 0)]
    search = words.searcher(words.TRIGGERS, compiled=bool(settings.get("compiled", True)))
    picker = Picker(Runs(knowledge, ()), search)
    cuts = [0]
    try:
        with Path(name).open("rb") as stream:
            head = stream.read(PIECE)
            if is_packed(head) or is_binary(head) or b"\n" not in head:
                return [(0, 0)]
            for number in range(1, count):
                at = size * number // count
                stream.seek(at)
                around = stream.read(AROUND)
                begin = around.find(b"\n") + 1
                text = around[begin : around.rfind(b"\n") + 1]
                if begin and text:
                    cuts.append(at + begin + quiet_end(text, picker.pick(text)))
    except OSError:
        return [(0, 0)]
    return list(zip(cuts, [*cuts[1:], size], strict=True)) if len(cuts) > 1 else [(0, 0)]


class _Work:
    """What a process does with tasks; it keeps what the beginning of its last file told."""

    def __init__(self, knowledge: Knowledge, folders: tuple[str, ...]) -> None:
        self._knowledge: Knowledge | None = knowledge
        self.folders = folders
        self._begun: LogScan | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Loading the knowledge is quicker than unpickling it.
        return {"_knowledge": None, "folders": self.folders, "_begun": None}

    @property
    def knowledge(self) -> Knowledge:
        if self._knowledge is None:
            from kvdoctor.load import load

            self._knowledge = load(self.folders)
        return self._knowledge

    def __call__(self, task: Task, say: Say) -> Made:
        settings = dict(task.settings)
        if not task.end:
            return scan_file(
                task.name, self.knowledge, watch=lambda _, now: say(now.done), **settings
            )
        settings.pop("thorough", None)
        begun = self._beginning(task, settings)
        if begun is None or begun.thorough:
            # Its beginning says that it has to be read in one go.
            return scan_file(task.name, self.knowledge, **settings) if not task.start else None
        return self._part(task, begun, settings, say)

    def _beginning(self, task: Task, settings: Mapping[str, Any]) -> LogScan | None:
        if self._begun is None or self._begun.name != task.name:
            scan = LogScan(self.knowledge, task.name, **settings)
            try:
                with Path(task.name).open("rb") as stream:
                    scan.begin_behind(stream.read(PIECE))
            except OSError:
                return None
            self._begun = scan
        return self._begun

    def _part(self, task: Task, begun: LogScan, settings: Mapping[str, Any], say: Say) -> LogScan:
        """One part of a file, read with what the file's beginning tells."""
        scan = LogScan(self.knowledge, task.name, **settings)
        scan.begin_as(begun, behind=task.start > 0)
        progress = Progress()
        try:
            for piece in pieces_between(task.name, task.start, task.end, progress):
                scan.feed(piece)
                say(progress.done)
        except OSError as error:
            progress.notes.append(f"read up to a place that cannot be read: {error.strerror}")
        scan.feed(b"", last=True)
        scan.notes += progress.notes
        scan.forget()
        return scan
