"""A scan in several processes: the files are shared out, the biggest first."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvdoctor.knowledge import Knowledge
from kvdoctor.scan.engine import Watch, scan_file
from kvdoctor.scan.inputs import Progress
from kvdoctor.scan.result import Partial

_loaded: list[Knowledge] = []  # one in each worker process, loaded at its start


def in_processes(
    files: Sequence[str],
    jobs: int,
    settings: Mapping[str, object],
    folders: tuple[str, ...],
    watch: Watch | None = None,
) -> list[Partial]:
    """The partial results of ``files``; standard input is read by this process."""
    piped = [name for name in files if name == "-"]
    named = sorted((name for name in files if name != "-"), key=_size, reverse=True)
    context = multiprocessing.get_context("spawn")
    made: list[Partial] = []
    with context.Pool(min(jobs, max(1, len(named))), _begin, (folders,)) as pool:
        waiting = pool.imap_unordered(_scan, [(name, dict(settings)) for name in named])
        if piped:
            _begin(folders)
            made += [_scan((name, dict(settings))) for name in piped]
        for number, one in enumerate(waiting, 1):
            made.append(one)
            if watch is not None:
                watch(f"{number} of {len(named)} files", Progress(number, len(named)))
    return made


def _size(name: str) -> int:
    return Path(name).stat().st_size if Path(name).exists() else 0


def _begin(folders: tuple[str, ...]) -> None:
    from kvdoctor.load import load

    _loaded[:] = [load(folders)]


def _scan(task: tuple[str, dict[str, Any]]) -> Partial:
    name, settings = task
    return scan_file(name, _loaded[0], **settings)
