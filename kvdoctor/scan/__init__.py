"""Whole logs: which known errors and warnings occur, how often, since when, in which process.

``scan(paths, knowledge)`` gives a :class:`~kvdoctor.scan.result.ScanResult`. ``scan_file`` and
``merge`` are its two halves: partial results of files can be made anywhere, pickled and merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvdoctor.knowledge import Knowledge
from kvdoctor.scan.engine import Watch, scan_file
from kvdoctor.scan.inputs import expand
from kvdoctor.scan.merging import merge
from kvdoctor.scan.result import Began, Partial, Row, ScanResult, Spot, Where
from kvdoctor.scan.times import limit

__all__ = [
    "Began", "Partial", "Row", "ScanResult", "Spot", "Where", "merge", "scan", "scan_file",
]  # fmt: skip


def scan(
    paths: Sequence[str],
    knowledge: Knowledge,
    *,
    thorough: bool = False,
    compiled: bool = True,
    since: str = "",
    until: str = "",
    jobs: int = 1,
    folders: Sequence[str] = (),
    watch: Watch | None = None,
    engine: str = "",
    address: str = "auto",
) -> ScanResult:
    """Scan files, folders, globs and "-".

    ``thorough`` reads every line with the ordinary pipeline; ``compiled=False`` leaves the optional
    search engine out. ``since`` and ``until`` are times as a log writes them. ``jobs`` processes
    share the files; they load the knowledge anew, with the private ``folders``. ``engine="ray"``:
    on the Ray cluster at ``address``, with ``jobs`` workers, also ``s3://`` and the like.
    Raises InputError for a path that names nothing and for a time that cannot be read."""
    settings: dict[str, Any] = {
        "thorough": thorough, "compiled": compiled, "since": limit(since), "until": limit(until),
    }  # fmt: skip
    if engine == "ray":
        from kvdoctor.scan.cluster import expand_remote, in_cluster, is_remote

        local = expand([one for one in paths if not is_remote(one)])
        files = [*local, *expand_remote([one for one in paths if is_remote(one)])]
        spread = in_cluster(files, settings, tuple(folders), address=address, workers=max(2, jobs))
        return merge(spread, thorough=thorough)
    files = expand(paths)
    if jobs > 1:
        from kvdoctor.scan.jobs import in_processes

        partials = in_processes(files, knowledge, jobs, settings, tuple(folders), watch)
    else:
        partials = [scan_file(name, knowledge, watch=watch, **settings) for name in files]
    return merge(partials, thorough=thorough)
