"""A scan in several processes: files are shared out, and huge plain ones cut into parts."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvdoctor.data import NamedTuple
from kvdoctor.knowledge import Knowledge
from kvdoctor.scan.engine import HEAD, LogScan, Watch, quiet_end, scan_file
from kvdoctor.scan.inputs import PIECE, Progress, is_binary, is_packed
from kvdoctor.scan.result import Partial

PART = 64 << 20  # bytes of the smallest part of a file
AROUND = 1 << 20  # bytes that are looked at for a quiet place to cut
_loaded: list[Knowledge] = []  # one in each worker process, loaded at its start


class Task(NamedTuple):
    """A file, or the bytes from ``start`` to ``end`` of one."""

    name: str
    start: int
    end: int  # 0: the whole file
    settings: dict[str, Any]


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
    tasks = [
        Task(name, start, end, dict(settings))
        for name in files
        if name != "-"
        for start, end in _parts(name, knowledge, jobs, settings, part)
    ]
    tasks.sort(key=lambda task: -(task.end - task.start or _size(task.name)))
    forks = sys.platform == "linux"  # a forked worker has the knowledge already
    context = multiprocessing.get_context("fork" if forks else "spawn")
    _loaded[:] = [knowledge]
    whole: list[Partial] = []
    scans: dict[str, list[tuple[int, LogScan]]] = {}
    with context.Pool(min(jobs, max(1, len(tasks))), _begin, (folders,)) as pool:
        waiting = pool.imap_unordered(_run, tasks)
        whole += [scan_file(name, knowledge, **settings) for name in files if name == "-"]
        for number, (task, made) in enumerate(waiting, 1):
            if isinstance(made, Partial):
                whole.append(made)
            else:
                scans.setdefault(task.name, []).append((task.start, made))
            if watch is not None:
                watch(f"{number} of {len(tasks)} parts", Progress(number, len(tasks)))
    return whole + [_together(parts, knowledge) for parts in scans.values()]


def _together(parts: list[tuple[int, LogScan]], knowledge: Knowledge) -> Partial:
    """The parts of a file in their order as one result."""
    parts.sort(key=lambda one: one[0])
    first = parts[0][1]
    first.knowledge = knowledge
    for _, scan in parts[1:]:
        first.absorb(scan)
    return first.partial([])


def _size(name: str) -> int:
    return Path(name).stat().st_size if Path(name).exists() else 0


def _parts(
    name: str, knowledge: Knowledge, jobs: int, settings: Mapping[str, Any], part: int
) -> list[tuple[int, int]]:
    """Where a plain file is cut: (start, end) of each part; (0, 0) for one that is not."""
    size = _size(name)
    if size < 2 * part or settings.get("thorough"):
        return [(0, 0)]
    scan = LogScan(knowledge, name, compiled=bool(settings.get("compiled", True)))
    cuts = [0]
    try:
        with Path(name).open("rb") as stream:
            head = stream.read(HEAD)
            scan.feed(head[: head.rfind(b"\n") + 1])
            if is_packed(head) or is_binary(head) or scan.thorough or b"\n" not in head:
                return [(0, 0)]
            step = max(part, -(-size // jobs))
            for at in range(step, size - part // 2, step):
                stream.seek(at)
                around = stream.read(AROUND)
                begin = around.find(b"\n") + 1
                text = around[begin : around.rfind(b"\n") + 1]
                if begin and text:
                    cuts.append(at + begin + quiet_end(text, scan.picker.pick(text)))
    except OSError:
        return [(0, 0)]
    return list(zip(cuts, [*cuts[1:], size], strict=True)) if len(cuts) > 1 else [(0, 0)]


def _begin(folders: tuple[str, ...]) -> None:
    if not _loaded:
        from kvdoctor.load import load

        _loaded[:] = [load(folders)]


def _run(task: Task) -> tuple[Task, Partial | LogScan]:
    if not task.end:
        return task, scan_file(task.name, _loaded[0], **task.settings)
    return task, _scan_part(task, _loaded[0])


def _scan_part(task: Task, knowledge: Knowledge) -> LogScan:
    """One part of a file, read with what the file's beginning tells."""
    settings = {k: v for k, v in task.settings.items() if k != "thorough"}
    scan = LogScan(knowledge, task.name, **settings)
    with Path(task.name).open("rb") as stream:
        if task.start:
            scan.begin_behind(stream.read(PIECE))
        stream.seek(task.start)
        at, rest = task.start, b""
        while at < task.end:
            block = stream.read(min(PIECE, task.end - at))
            if not block:
                scan.notes.append("ended before its end: truncated while it was read")
                break
            at += len(block)
            text = rest + block
            cut = text.rfind(b"\n") + 1
            scan.feed(text[:cut])
            rest = text[cut:]
            if len(rest) > 4 * PIECE:
                scan.notes.append("a line of more than 16 MB: its end was skipped")
                rest = rest[:HEAD]
        scan.feed(rest + b"\n" if rest else b"", last=True)
    scan.forget()
    return scan
