"""``kvdoctor scan``: whole logs, folders and pipes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kvdoctor.command.inputs import load_knowledge
from kvdoctor.errors import InputError
from kvdoctor.terminal import clean, is_terminal

if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands
    from kvdoctor.knowledge import Knowledge
    from kvdoctor.scan import ScanResult
    from kvdoctor.scan.engine import Watch
    from kvdoctor.scan.inputs import Progress

FOUND, UNREADABLE = 0, 2


def add(commands: Commands) -> None:
    """The options of ``kvdoctor scan``."""
    from kvdoctor.command.arguments import add_ascii

    scan = commands.add_parser("scan", help="whole logs: what occurs, how often, since when")
    scan.add_argument("paths", nargs="*", metavar="PATH", help="file, folder, glob; - is stdin")
    scan.add_argument("--follow", "-f", action="store_true", help="go on as the log grows")
    scan.add_argument("--json", action="store_true")
    scan.add_argument("--since", default="", metavar="TIME", help='"11-30 14:05" or "14:05:00"')
    scan.add_argument("--until", default="", metavar="TIME")
    scan.add_argument("--top", type=int, default=0, metavar="N", help="the first N rows")
    scan.add_argument("--open", type=int, metavar="N", dest="row", help="diagnose row N")
    scan.add_argument("--out", metavar="FILE", help="with --open: write the lines around it")
    scan.add_argument("--thorough", action="store_true", help="read every line (slow)")
    scan.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    scan.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="ray: on a Ray cluster"
    )
    scan.add_argument("--ray-address", default="auto", metavar="HOST:PORT")
    scan.add_argument("--no-extra", action="store_true", help="without the optional search engine")
    add_ascii(scan)
    scan.add_argument("--no-progress", action="store_true", help="no progress bar")
    scan.add_argument(
        "--knowledge", action="append", default=[], metavar="FOLDER", help="private records"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 when everything was read, whatever was found; 2 when something was not."""
    paths = options.paths or ([] if sys.stdin is None or sys.stdin.isatty() else ["-"])
    if not paths:
        raise InputError("nothing to scan", remedy="give a FILE, a folder, or pipe a log in")
    if options.out and options.row is None:
        raise InputError("--out needs --open N")
    if options.top < 0:
        raise InputError(f"--top {options.top}: below 0", remedy="give a number of rows")
    knowledge = load_knowledge(options.knowledge)
    if options.follow or (paths == ["-"] and is_terminal(sys.stdout) and not options.json):
        return _follow(options, paths, knowledge)
    from kvdoctor.scan import scan

    bar = _Bar() if is_terminal(sys.stderr) and not options.no_progress else None
    watch: Watch | None = bar.show if bar is not None else None
    try:
        found = scan(
            paths, knowledge, thorough=options.thorough, compiled=not options.no_extra,
            since=options.since, until=options.until, jobs=options.jobs,
            folders=options.knowledge, watch=watch,
            engine="ray" if options.engine == "ray" else "", address=options.ray_address,
        )  # fmt: skip
    finally:
        if bar is not None:
            bar.clear()
    if options.row is not None:
        return _open(options, found, knowledge)
    if options.json:
        document = found.to_json()
        if options.top:
            document["rows"] = document["rows"][: options.top]
        print(json.dumps(document))
    else:
        from kvdoctor.scan.show import result_text

        print(result_text(found, options.top, _again(options, paths)))
    return UNREADABLE if any(one.unread for one in found.files) else FOUND


def _again(options: argparse.Namespace, paths: list[str]) -> str:
    """The words after ``kvdoctor scan`` that make the same rows."""
    import shlex

    words = list(paths)
    for name in ("since", "until"):
        if getattr(options, name):
            words += [f"--{name}", getattr(options, name)]
    for folder in options.knowledge:
        words += ["--knowledge", folder]
    return shlex.join(words + (["--thorough"] if options.thorough else []))


def _follow(options: argparse.Namespace, paths: list[str], knowledge: Knowledge) -> int:
    from kvdoctor.scan.follow import follow

    if len(paths) > 1:
        raise InputError("--follow takes one file or -", remedy="start one for each file")
    if paths != ["-"] and not (Path(paths[0]).is_file() or Path(paths[0]).is_fifo()):
        raise InputError("no such file", file=paths[0])
    try:
        follow(
            paths[0], knowledge, lambda text: print(clean(text), flush=True),
            compiled=not options.no_extra,
        )  # fmt: skip
    except KeyboardInterrupt:
        return FOUND
    return FOUND


def _open(options: argparse.Namespace, found: ScanResult, knowledge: Knowledge) -> int:
    """The ordinary report at a row's first occurrence."""
    from kvdoctor.scan.follow import joined, opened

    if not 1 <= options.row <= len(found.rows):
        raise InputError(f"--open {options.row}: no such row", remedy=f"1 to {len(found.rows)}")
    row = found.rows[options.row - 1]
    file = next(one for one in found.files if one.file == row.first.file)
    head, excerpt = file.head.encode(), row.excerpt.encode()
    if options.out:
        from kvdoctor.intake.decode import decode
        from kvdoctor.intake.redact import redact

        text, _ = redact(decode(joined(head, excerpt)).text)
        try:
            Path(options.out).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"not written: {error.strerror}", file=options.out) from error
        print(f"{options.out}: open it with kvdoctor {options.out}")
        return FOUND
    name = row.first.file
    if head.find(excerpt[:1000]) < 0:  # then lines are counted anew
        name = f"{name} (its head, and lines around {row.first.line})"
    shown = opened(head, excerpt, name, knowledge, (row.record or "", row.message))
    if options.json:
        from kvdoctor.show.document import document

        print(json.dumps(document(shown)))
        return FOUND
    from kvdoctor.show.plain import report_text
    from kvdoctor.terminal import wants_colour

    print(report_text(shown, knowledge, colour=wants_colour()))
    return FOUND


class _Bar:
    """Progress on standard error, drawn ten times a second at most."""

    def __init__(self) -> None:
        self._last = 0.0
        self._drawn = False

    def show(self, name: str, progress: Progress) -> None:
        """Draw how far ``name`` was read."""
        now = time.monotonic()
        if now - self._last < 0.1:
            return
        self._last, self._drawn = now, True
        share = min(1.0, progress.done / progress.size) if progress.size else 0.0
        filled = int(share * 24)
        bar = f"[{'#' * filled}{'.' * (24 - filled)}] {share:4.0%}" if progress.size else "reading"
        print(f"\r\x1b[K{bar} {clean(name)[-40:]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
