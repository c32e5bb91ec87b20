"""The text as lines: unwrapped, unglued, joined, in order, each split into prefixes and content."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from sys import intern

from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake import damage, unwrap
from kvdoctor.intake.decode import plain
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.learned import bar_names, common, learn
from kvdoctor.intake.paste import Line
from kvdoctor.intake.physical import SPELLED_END, Around, physical, undamaged
from kvdoctor.intake.pieces import Pieces, cut
from kvdoctor.intake.prefixes import LEVELS, STANDARD, Head, content, split
from kvdoctor.intake.requests import is_request, without_requests
from kvdoctor.intake.wraps import rejoin

LONG = 400  # columns that prefixes never fill
FAILED = ("WARNING", "ERROR", "CRITICAL")
MOST_PARTS = 20  # of one line on average, where a container runtime cuts lines

_LEVELS = r"(?:ERROR|WARNING|INFO|DEBUG|CRITICAL)"
_GLUED = Lazy(
    r"\((?:[A-Za-z]\w{0,80})(?: rank=\d{1,5})? pid=\d{1,9}(?:, ip=[\d.a-fA-F:]{2,45})?\) ?"
    rf"|{_LEVELS} (?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{{1,6}})?"
    r" \[?[^\s\[\]]{1,160}:\d{1,7}\]"
)
_NATIVE = Lazy(
    r"[IWEF](?:\d{4})?\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s{1,8}(?:\d{1,9} )?[\w./+-]{1,200}\.cc?p?p?:\d"
)
_DATED_LEVEL = Lazy(
    rf"(?:\([A-Za-z]\w{{0,80}} pid=\d{{1,9}}[^)\n]{{0,60}}\) ?){{0,6}}"
    rf"{_LEVELS} (?:\d{{4}}-)?\d\d-\d\d \d\d:"
)
_AFTER_PROCESS = re.compile(
    rf'(?:{_LEVELS}\s|\(|\s|File "|Traceback \(|\[|Process |[\w.]{{1,160}}(?:Error|Exception)\b|$)'
)
_SMART = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"',
     "\u00ab": '"', "\u00bb": '"', "\u2032": "'", "\u2033": '"', "\u00a0": " ", "\u202f": " ",
     "\u2007": " ", "\u3000": " ", "\u2026": "..."}
)  # fmt: skip
_TAILS = ("\\n", "]")  # what only the slow way takes off


@dataclass(frozen=True, slots=True)
class Laid:
    """Every line in order. ``carried[i]`` is 1 when line ``i`` ended in a carriage return before
    its newline while others did not: the logger's sign that its record goes on."""

    lines: tuple[Line, ...]
    carried: bytearray
    mixed: bool  # the text has both line ends, so that ``carried`` means something
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Out:
    """Lines as they are built; ``units`` are the starts of what belongs together."""

    lines: list[Line] = field(default_factory=list)
    carried: bytearray = field(default_factory=bytearray)
    outer: list[str] = field(default_factory=list)
    units: array[int] = field(default_factory=lambda: array("L"))
    pending: Line | None = None  # a line that a container runtime cut into parts
    parts: list[str] = field(default_factory=list)  # its parts so far
    suspects: list[str] = field(default_factory=list)
    sterns: set[str] = field(default_factory=set)
    ended: int = 0  # lines in a runtime's JSON that have their line end
    open: int = 0  # and those that have none: parts of lines, if others have it
    once: dict[int, int] = field(default_factory=dict)  # each process id and log line as one object
    last: str = "\n"  # a line that came out as one, so that its repetition need not be read again


@dataclass(frozen=True, slots=True)
class _Known:
    """What looking at the whole text told about its prefixes."""

    learned: tuple[re.Pattern[str], ...] = ()
    names: frozenset[str] = frozenset()
    ends: bool = False  # a runtime's JSON keeps line ends: a line without one was cut
    few: bool = False  # a text of few lines: its newlines may be lost
    table: bool = False  # it may be a CSV export
    tree: bool = False  # it may hold JSON over several lines


def lay(text: Pieces) -> Laid:
    """The lines of a decoded text, whose pieces are given up."""
    notes: list[str] = []
    text = _real_ends(_without_cell(text, notes), notes)
    around, bars, closed = Around(text), text.has(" | "), text.parts[-1].endswith("\n")
    table = "," in text.parts[0][:4096] and text.has('"')
    tree = text.has("{\n", "[\n", "{ \n")
    numbers, shown, carried = physical(text, notes)
    work = undamaged(around, shown, notes)
    names = bar_names(work) if bars else frozenset()
    known = _Known(names=names, few=len(shown) < 8, table=table, tree=tree)
    out = _build(numbers, shown, work, carried, known)
    learned = learn(out.suspects, out.sterns) or common(out.lines)
    ends = 0 < out.open <= MOST_PARTS * out.ended
    if learned:
        notes.append("a prefix common to many lines was cut")
    if learned or ends:
        known = replace(known, learned=learned, ends=ends)
        out = _build(numbers, shown, work, carried, known)
    if damage.newest_first(out.lines, out.outer):
        notes.append("newest line first: reversed")
        out = _reversed(out)
    lines, flags = rejoin(out.lines, out.carried, notes)
    # the last line of a copy has no line end that could tell anything
    told = flags if closed else flags[:-1]
    return Laid(tuple(lines), flags, 0 < sum(told) < len(told), tuple(notes))


def _without_cell(text: Pieces, notes: list[str]) -> Pieces:
    """A log that was copied as one cell of a table, its quotes doubled; any other as it is."""
    if text.parts[0][:1] != '"' or text.parts[-1].rstrip()[-1:] != '"' or not text.has("\n"):
        return text
    body = text.whole().strip()[1:-1].replace('""', "\0")
    if '"' in body:
        return text
    notes.append("the quotes of a table's cell were cut")
    return Pieces(list(cut(body.replace("\0", '"'), "\n")))


def _real_ends(text: Pieces, notes: list[str]) -> Pieces:
    """A log that was copied as one string literal, with real line ends; any other as it is."""
    escaped = text.count("\\n")
    if escaped < unwrap.LEAST_ENDS or escaped < 3 * text.inner_ends():
        return text
    literal = unwrap.escaped_text(text.whole())
    if literal is None:
        return text
    notes.append("escaped newlines were read as line ends")
    return Pieces(list(cut(plain(literal), "\n")))


# ---------------------------------------------------------------- building


def _build(
    numbers: list[int], shown: list[str], work: list[str], carried: bytearray, known: _Known
) -> _Out:
    out = _Out()
    rows = unwrap.csv_rows(work, shown) if known.table else None
    covered = _csv(out, rows, numbers, known) if rows else 0
    blocks = unwrap.objects(work) if known.tree else {}
    at = covered
    while at < len(work):
        if at in blocks:
            behind, value = blocks[at]
            out.units.append(len(out.lines))
            for record in unwrap.records(value):
                _add_unwrapped(out, numbers[at], record, Head(), known, 0)
            for row in range(at, behind if is_request(value) else at):
                _emit(out, numbers[row], shown[row], "", Head(), known)
            at = behind
            continue
        _add(out, numbers[at], shown[at], work[at], carried[at], known)
        at += 1
    _flush(out)
    return out


def _csv(
    out: _Out,
    rows: Iterator[tuple[int, int, str, str]],
    numbers: list[int],
    known: _Known,
) -> int:
    done = 0
    for start, end, time, message in rows:
        if start >= len(numbers):
            break
        out.units.append(len(out.lines))
        record = unwrap.Unwrapped(plain(message).rstrip("\r\n"))
        _add_unwrapped(out, numbers[start], record, Head(outer=time), known, 0)
        done = min(end, len(numbers))
    return done


def _add(out: _Out, number: int, shown: str, work: str, carried: int, known: _Known) -> None:
    """One physical line, which may hold several records."""
    match = STANDARD.match(work) if out.pending is None else None
    if match:
        rest = work[match.end() :]
        plain_rest = work.isascii() and not _may_be_glued(rest) and not rest.endswith(_TAILS)
        if plain_rest and not _may_be_flat(rest):
            out.last = "\n"
            out.units.append(len(out.lines))
            process, pid, level, time, file, line = match.groups()
            start = match.end() if work is shown else _place(shown, rest)
            once = out.once.setdefault
            number_, pid_ = int(line), int(pid or 0)
            out.lines.append(
                Line(
                    number, shown, start,  # type: ignore[arg-type]
                    intern(process or ""), once(pid_, pid_), intern(level), intern(time),
                    intern(file), once(number_, number_),
                )
            )  # fmt: skip
            out.carried.append(carried)
            out.outer.append(time)
            return
    at = len(out.lines)
    out.units.append(at)
    if work == out.last and shown == work and out.pending is None:
        before = out.lines[-1]
        out.lines.append(before if before.number == number else _repeated(before, number))
        out.carried.append(carried)
        out.outer.append(out.outer[-1])
        return
    suspects = len(out.suspects)
    _add_slow(out, number, shown, work, known, Head(), 0)
    if len(out.carried) == len(out.lines) and out.carried:
        out.carried[-1] = carried
    alone = len(out.lines) == at + 1 and out.pending is None and shown == work
    out.last = work if alone and len(out.suspects) == suspects else "\n"


def _place(shown: str, text: str) -> str | int:
    """``text``, or where it begins in ``shown`` if it is the end of that."""
    start = len(shown) - len(text)
    if start < 0 or not shown.endswith(text):
        return text
    return start if start else shown


def _repeated(line: Line, number: int) -> Line:
    return Line(
        number, line.shown, _place(line.shown, line.text), line.process,  # type: ignore[arg-type]
        line.pid, line.level, line.time,
        line.log_file, line.log_line, line.pod, line.native,
    )  # fmt: skip


def _may_be_glued(rest: str) -> bool:
    return (
        " pid=" in rest
        or "ERROR " in rest
        or "INFO " in rest
        or "WARNING " in rest
        or "DEBUG " in rest
        or "CRITICAL " in rest
    )


def _may_be_flat(rest: str) -> bool:
    """Whether the line ends inside a traceback or a validation error may be lost."""
    return ('File "' in rest and rest.find('File "') > 4) or "validation error" in rest


def _add_slow(
    out: _Out, number: int, shown: str, work: str, known: _Known, base: Head, depth: int
) -> None:
    work = _straight(work)
    if _add_json(out, number, shown, work, known, base, depth):
        return
    parts = _unglue(work, known)
    if len(parts) > 1 and not known.learned and _may_be_prefix(parts[0]):
        out.suspects.append(parts[0])
    for part in parts:
        head = split(part, known.learned, known.names)
        _inherit(head, base)
        rest = content(part, head)
        if "{" in rest and head.level not in FAILED:
            rest = without_requests(rest)
        if rest.endswith("\\n"):
            rest = rest[:-2]
        for line in _inner_lines(rest, head) or (None,):
            if line is None:
                _emit(out, number, part if part is not work else shown, rest, head, known)
            else:
                _emit(out, number, line, line, head, known)


def _may_be_prefix(front: str) -> bool:
    """Whether what stands before a record is one word with a mark behind it: "decode.log:12:"."""
    return len(front) <= 160 and front[-1:] in (":", "-", "]", ">", "|") and " " not in front


def _inner_lines(rest: str, head: Head) -> list[str] | None:
    """The lines of a text whose line ends were escaped or lost; ``None`` for other text.

    What a user sent to the server, and the server logged, is left alone."""
    escaped = "\\n" in rest
    if escaped and head.level in ("INFO", "DEBUG"):
        return None
    lines = unwrap.escaped_lines(rest) if escaped or "#012" in rest else None
    return lines or (unwrap.collapsed(rest) if _may_be_flat(rest) else None)


def _add_json(
    out: _Out, number: int, shown: str, work: str, known: _Known, base: Head, depth: int
) -> bool:
    """The records of a line that is a JSON object behind its prefixes; whether it is one."""
    if depth >= unwrap.MAX_DEPTH or "{" not in work or work.rstrip()[-1:] != "}":
        return False
    head = split(work, known.learned, known.names)
    if work[head.end : head.end + 1] != "{":
        return False
    value = unwrap.load_json(work[head.end :])
    found = unwrap.records(value) if isinstance(value, dict) else []
    _inherit(head, base)
    for record in found:
        _add_unwrapped(out, number, record, head, known, depth + 1, shown)
    return bool(found)


def _straight(work: str) -> str:
    """Typographic quotes and odd blanks as plain characters."""
    if not work.isascii():
        work = work.translate(_SMART)
    if work.startswith("--") and work.strip() == "--":
        return ""
    return work


def _inherit(head: Head, base: Head) -> None:
    """What an outer wrapper said and the inner line did not."""
    head.process = head.process or base.process
    head.pid = head.pid or base.pid
    head.level = head.level or base.level
    head.time = head.time or base.time
    head.pod = head.pod or base.pod
    head.outer = base.outer or head.outer
    if not head.log_file:
        head.log_file, head.log_line = base.log_file, base.log_line


def _unglue(work: str, known: _Known) -> list[str]:
    """``work`` parted where another record begins in the middle of the line."""
    if not _may_be_glued(work):
        return [work]
    cuts, end = [0], -1
    for match in _GLUED.finditer(work):
        at = match.start()
        behind_process, end = at == end, match.end()
        if behind_process:
            continue  # the level of the process prefix before it
        blank = at - cuts[-1] < LONG and not work[cuts[-1] : at].strip()
        if not blank and _begins_record(work, match, cuts[-1], known):
            cuts.append(at)
    if len(cuts) == 1:
        return [work]
    return [work[a:b] for a, b in zip(cuts, [*cuts[1:], len(work)], strict=True)]


def _begins_record(work: str, match: re.Match[str], since: int, known: _Known) -> bool:
    """Whether the prefix found in the middle of a line starts a record of its own."""
    at = match.start()
    before = work[max(since, at - 80) : at]
    last = before[-1]
    if before.endswith(("\\n", "\\r")):
        return False
    process = match.group()[0] == "("
    if process and not last.isspace() and _DATED_LEVEL.match(work, match.end()):
        head = None if known.few else STANDARD.match(work, since)
        return not (head and last in "\"'`" and head[3] in ("INFO", "DEBUG"))
    if last in "\"'`(=,:":
        return False
    if not last.isspace():
        # "...it/s](EngineCore pid=1) ERROR", "call(response)(APIServer pid=1)   File"
        return last != ">" and (process or last in "]|)%" or last.isalnum() or known.few)
    if "it/s" in before or "%|" in work[max(since, at - LONG) : at]:
        return True
    if process and not _AFTER_PROCESS.match(work, match.end()):
        return False
    if process and not _DATED_LEVEL.match(work, match.end()) and before.rstrip()[-1:] in ")|>]":
        return False
    # a token or two before it are a prefix, a sentence is another record
    return _is_content(work[since : min(at, since + LONG + 1)], known)


def _is_content(front: str, known: _Known) -> bool:
    """Whether ``front`` holds a record's text, not only prefixes."""
    if len(front) > LONG:
        return True
    head = split(front.rstrip() + " ", known.learned, known.names)
    rest = front[head.end :].strip()
    return (bool(head.log_file or head.level) and bool(rest)) or len(rest.split()) > 6


def _add_unwrapped(
    out: _Out,
    number: int,
    record: unwrap.Unwrapped,
    outer: Head,
    known: _Known,
    depth: int,
    shown: str = "",
) -> None:
    """The lines of a record that was found inside JSON or CSV."""
    cut = record.partial or (known.ends and record.ended is False)
    out.ended += record.ended is True
    out.open += record.ended is False
    base = Head(
        process=record.process or outer.process,
        pid=record.pid or outer.pid,
        level=LEVELS.get(record.level.upper(), "") if not cut else outer.level,
        time=record.time or outer.time,
        pod=record.pod or outer.pod,
        outer=outer.outer or record.time,
        log_file=record.log_file,
        log_line=record.log_line,
    )
    text = plain(record.text)
    if cut and "\n" not in text:
        _hold(out, Line(number, shown or text.replace("\r", " "), text))
        return
    if out.pending is not None:
        text, out.pending = "".join([*out.parts, text]), None
    if "\r" in text:  # line ends, and redrawn lines of a progress bar
        text = "\n".join(line.rstrip("\r").replace("\r", "\n") for line in text.split("\n"))
    for line in text.split("\n"):
        line = SPELLED_END.sub("", line)
        _add_slow(out, number, line, line, known, base, depth)


def _hold(out: _Out, line: Line) -> None:
    if out.pending is None:
        out.pending, out.parts = line, []
    out.parts.append(line.text)


def _emit(out: _Out, number: int, shown: str, text: str, head: Head, known: _Known) -> None:
    once = out.once.setdefault
    line = Line(
        number, shown, _place(shown, text),  # type: ignore[arg-type]
        intern(head.process), once(head.pid, head.pid), head.level, intern(head.time),
        intern(head.log_file), once(head.log_line, head.log_line), intern(head.pod),
        intern(head.native),
    )  # fmt: skip
    if head.partial:
        _hold(out, line)
        return
    if out.pending is not None:
        line = _released(out, line)
    if not known.learned:
        _suspect(out, text, head)
        if head.stern:
            out.sterns.add(head.stern)
    out.lines.append(line)
    out.carried.append(0)
    out.outer.append(head.outer or head.time)


def _released(out: _Out, last: Line) -> Line:
    """The held line, completed by ``last``."""
    whole = _one_row([*out.parts, last.text])
    line = replace(out.pending or last, text=whole, shown=whole)
    out.pending = None
    return line


def _one_row(parts: list[str]) -> str:
    """Parts of one line put together: what returned the carriage in one of them is a blank."""
    return "".join(parts).replace("\r", " ")


def _flush(out: _Out) -> None:
    if out.pending is not None:
        out.lines.append(replace(out.pending, text=_one_row(out.parts)))
        out.carried.append(0)
        out.outer.append("")
        out.pending = None


def _reversed(out: _Out) -> _Out:
    """The units in opposite order, each with its own lines as they were."""
    turned = _Out()
    ends = [*out.units[1:], len(out.lines)]
    for start, end in reversed(list(zip(out.units, ends, strict=True))):
        turned.lines += out.lines[start:end]
        turned.carried += out.carried[start:end]
        turned.outer += out.outer[start:end]
    return turned


def _suspect(out: _Out, text: str, head: Head) -> None:
    """Note what stands before a frame, a traceback or a record: perhaps an unknown prefix."""
    if head.log_file:
        return
    at = text.find('  File "')
    if at <= 0:
        at = text.find("Traceback (most recent")
    if _may_be_glued(text):
        match = _GLUED.search(text)
        if match and (at <= 0 or match.start() < at):
            at = match.start()
    if at <= 0 and (".cpp:" in text or ".cc:" in text):
        match = _NATIVE.search(text[:LONG])
        at = match.start() if match and not head.native else 0
    if 0 < at <= 160 and "%|" not in text[:at] and text[:at].strip():
        out.suspects.append(text[:at])
