"""A log as it grows: one line for each new kind of trouble."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kvdoctor.data import dataclass
from kvdoctor.decide import Cause
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.scan.engine import LogScan
from kvdoctor.scan.inputs import MAX_LINE
from kvdoctor.scan.tally import Key, Kind

WAIT = 0.25  # seconds between two looks at a file
QUIET = 1.0  # seconds without a line after which what waits is read
UNFINISHED_QUIET = 15.0  # the same where the last line is a traceback's frame: more must come
_FRAME = re.compile(rb"(?:^|[\])|] ?|: )(?: {2,}\S|Traceback \(most recent call last\):\s*$)")
PER_MINUTE = 30  # lines that are told
BLOCK = 1 << 20


@dataclass(slots=True)
class _Rate:
    """How many lines were told in the minute that runs."""

    began: float = 0.0
    told: int = 0
    held: int = 0

    def allows(self, now: float) -> bool:
        if now - self.began >= 60:
            self.began, self.told = now, 0
        self.told += 1
        if self.told > PER_MINUTE:
            self.held += 1
            return False
        return True


def follow(
    name: str,
    knowledge: Knowledge,
    say: Callable[[str], None],
    *,
    compiled: bool = True,
    until: Callable[[], bool] = lambda: False,
) -> LogScan:
    """Read ``name`` ("-" is a pipe) as it grows and ``say`` one line for each new kind of trouble,
    with cause and fix where the log decides them. Returns at the pipe's end, and for a file when
    ``until`` says so. A file that was rotated or truncated is followed from its new beginning."""
    rate = _Rate()

    def told(key: Key, scan: LogScan) -> None:
        kind = scan.tally.kinds[key]
        if not rate.allows(time.monotonic()):
            return
        text = line_of(kind, scan, knowledge)
        if text:
            say(text)

    scan = LogScan(knowledge, name, compiled=compiled, told=told)
    waiting = b""
    last = time.monotonic()
    patience = QUIET
    source = _growing(name, until)
    if name == "-":
        source = _piped(sys.stdin.fileno())
    elif Path(name).is_fifo():
        source = _piped(os.open(name, os.O_RDONLY))
    for block in source:
        now = time.monotonic()
        if block:
            last = now
            end = block.rfind(b"\n") + 1
            if end:
                text, waiting = waiting + block[:end], block[end:]
                patience = UNFINISHED_QUIET if _is_unfinished(text) else QUIET
                scan.feed(text, last=len(block) < BLOCK // 2 and not _ends_in_trouble(text))
            elif len(waiting) < MAX_LINE:
                waiting += block
        elif now - last >= patience:
            scan.feed(b"", last=True)
            last = now
    scan.feed(waiting + b"\n" if waiting else b"", last=True)
    if rate.held:
        say(f"({rate.held} further kinds were not told: more than {PER_MINUTE} in a minute)")
    return scan


def _ends_in_trouble(text: bytes) -> bool:
    """Whether the last lines may be the beginning of a traceback."""
    tail = text[-4000:].split(b"\n")[-6:]
    from kvdoctor.scan.words import fails, is_bad

    return any(fails(line) or is_bad(line) for line in tail)


def _is_unfinished(text: bytes) -> bool:
    """Whether the last line is inside a traceback: its error has not been written yet."""
    last = text.rstrip().rpartition(b"\n")[2]
    return _FRAME.search(last[:4000]) is not None


def _piped(number: int) -> Iterator[bytes]:
    """What comes through a pipe; b"" while nothing does (not on Windows)."""
    while True:
        if os.name == "posix" and not select.select([number], [], [], QUIET)[0]:
            yield b""
            continue
        block = os.read(number, BLOCK)
        if not block:
            return
        yield block


def _growing(name: str, until: Callable[[], bool]) -> Iterator[bytes]:
    """What a file holds and what is appended to it; b"" while nothing is."""
    stream = Path(name).open("rb")  # noqa: SIM115 (it is replaced when the file is)
    try:
        while True:
            block = stream.read(BLOCK)
            if block:
                yield block
                continue
            try:
                now = Path(name).stat()
                here = os.fstat(stream.fileno())
                if now.st_ino != here.st_ino or now.st_dev != here.st_dev:
                    rest = stream.read(BLOCK)
                    yield rest
                    if not rest:
                        stream.close()
                        stream = Path(name).open("rb")  # noqa: SIM115
                    continue
                if here.st_size < stream.tell():
                    stream.seek(0)
                    continue
            except FileNotFoundError:
                pass  # between the two steps of a rotation
            yield b""
            if until():
                return
            time.sleep(WAIT)
    finally:
        stream.close()


def line_of(kind: Kind, scan: LogScan, knowledge: Knowledge) -> str:
    """One line about a kind's first occurrence; "" for what the values show to be harmless and
    for wrappers, whose cause stands elsewhere."""
    trouble = kind.trouble
    if trouble.is_wrapper:
        return ""
    record = knowledge.records.get(trouble.identity.record or "")
    wanted = (trouble.identity.record or "", trouble.identity.message)
    shown = opened(scan.head, kind.excerpt, scan.name, knowledge, wanted)
    mild = record is not None and record.severity != "error"
    if mild and all(one.record != trouble.identity.record for one in shown.findings):
        return ""
    title = record.title if record is not None else trouble.identity.title
    spot = next(iter(kind.where.values())).first
    parts = [f"{spot.time or 'line ' + str(spot.line)} {trouble.process}".rstrip(), title]
    parts[1] += f" [{record.id}]" if record is not None else " [no record]"
    if isinstance(shown.outcome, Cause):
        parts.append(shown.outcome.text)
    elif shown.asks:
        parts.append(f"open: {', '.join(shown.asks)}")
    if shown.fixes:
        parts.append(f"fix: {', '.join(one.fix.id for one in shown.fixes[:3])}")
    return " | ".join(" ".join(part.split()) for part in parts)


def opened(
    head: bytes, excerpt: bytes, name: str, knowledge: Knowledge, trouble: tuple[str, str]
) -> Report:
    """The ordinary report of a file's beginning and the lines around one occurrence. ``trouble``:
    the record's id ("" without one) and the message of the finding that is wanted."""
    text = joined(head, excerpt)
    seen = read_sources([Source(read(text, name, knowledge=knowledge.reading))], knowledge)
    record, message = trouble
    for number, one in enumerate(seen.findings):
        if one.record == record if record else one.message == message:
            return report(seen, knowledge, chosen=number)
    return report(seen, knowledge)


def joined(head: bytes, excerpt: bytes) -> bytes:
    """A file's beginning, then the excerpt; once where one lies in the other."""
    at = head.find(excerpt[:1000]) if excerpt else -1
    return (head[:at] if at >= 0 else head) + excerpt
