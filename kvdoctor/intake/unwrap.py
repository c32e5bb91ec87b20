"""Text inside text: JSON records, CSV exports, escaped newlines."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator, Mapping

from kvdoctor.data import dataclass
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.requests import is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE_KEYS = ("message", "msg", "log", "text", "textPayload", "event", "line", "body", "content",
                "MESSAGE", "@message", "Message")  # fmt: skip
TRACE_KEYS = (
    "exc_info",
    "exception",
    "exc_text",
    "stack_trace",
    "traceback",
    "stacktrace",
    "error",
)
LEVEL_KEYS = ("levelname", "level", "severity", "log.level", "lvl", "loglevel")
TIME_KEYS = ("asctime", "time", "timestamp", "@timestamp", "ts", "date")
PROCESS_KEYS = ("processName", "process_name")
POD_KEYS = ("pod", "pod_name", "container_name", "container", "containerName", "host", "hostname")
NESTED_KEYS = ("jsonPayload", "_source", "attributes", "fields", "kubernetes", "resource", "labels",
               "error", "content", "record")  # fmt: skip
_TAGS = ("logtag", "_p")  # of a CRI line: F(ull) or P(artial)
_PARTS = ("partial_message", "_partial", "CONTAINER_PARTIAL_MESSAGE")
MAX_DEPTH = 4
MAX_OBJECT_LINES = 5000
MAX_OBJECT = 4_000_000  # characters of one JSON value
LEAST_ENDS = 4  # escaped line ends of a log that was copied as one string literal


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """One record found inside a JSON object or CSV row."""

    text: str
    level: str = ""
    time: str = ""
    process: str = ""
    pid: int = 0
    pod: str = ""
    log_file: str = ""
    log_line: int = 0
    partial: bool = False  # a container runtime cut the line here, and said so
    ended: bool | None = None  # whether a runtime's line kept its line end; None: has none to keep


def load_json(text: str) -> Any:
    """The value of ``text``, or ``None`` when it is not JSON."""
    if len(text) > MAX_OBJECT:
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def records(value: Any, depth: int = 0) -> list[Unwrapped]:
    """The log records in a JSON value; an empty list when it holds none."""
    if depth > MAX_DEPTH:
        return []
    if isinstance(value, list):
        found = [records(item, depth + 1) for item in value[:100_000] if isinstance(item, dict)]
        return [record for part in found for record in part]
    if not isinstance(value, dict):
        return []
    events = value.get("events") or value.get("entries")
    if isinstance(events, list):
        return records(events, depth + 1)
    record = _record(value)
    return [record] if record else []


def _record(value: Mapping[str, Any]) -> Unwrapped | None:
    if is_request(value):
        return None
    flat = _flat(value)
    message = _first_text(flat, MESSAGE_KEYS)
    trace = _first_text(flat, TRACE_KEYS)
    if message is None and any(flat.get(key) == "" for key in MESSAGE_KEYS):
        message = ""
    if message is None and trace is None:
        return None
    text = message or ""
    if trace and trace not in text:
        text = f"{text}\n{trace}" if text else trace
    level, time = _first_text(flat, LEVEL_KEYS), _first_text(flat, TIME_KEYS)
    line = flat.get("lineno", flat.get("line_number"))
    pid = flat.get("process", flat.get("pid"))
    return Unwrapped(
        text=text.rstrip("\n"),
        level=level or "",
        time=time or "",
        process=_first_text(flat, PROCESS_KEYS) or "",
        pid=pid if isinstance(pid, int) and 0 <= pid < 1 << 31 else 0,
        pod=_first_text(flat, POD_KEYS) or "",
        log_file=_first_text(flat, ("filename", "fileinfo", "file")) or "",
        log_line=line if isinstance(line, int) and 0 <= line < 1 << 31 else 0,
        partial=_is_cut(flat),
        ended=_keeps_end(value, message),
    )


def _is_cut(flat: Mapping[str, Any]) -> bool:
    """Whether a shipper says that the line goes on in the next record."""
    for key in _TAGS:
        tag = flat.get(key)
        if isinstance(tag, str) and tag[:2] in ("P", "P:", "F", "F:"):
            return tag[0] == "P"
    if not any(str(flat.get(key)).lower() == "true" for key in _PARTS):
        return False
    return str(flat.get("partial_last")).lower() != "true"


def _keeps_end(value: Mapping[str, Any], message: str | None) -> bool | None:
    """Docker's own files mark a line that was cut by nothing but the missing line end; others
    write their lines without one. Only the other lines of a text tell which of them it is."""
    told = any(key in value for key in (*_TAGS, *_PARTS))
    if told or "log" not in value or not message or "\n" in message[:-1]:
        return None
    return message[-1] == "\n"


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """``value`` with the keys of the usual nested objects added where they are not taken."""
    flat = dict(value)
    queue: list[tuple[Mapping[str, Any], int]] = [(value, 0)]
    for current, depth in queue:
        for key in NESTED_KEYS:
            inner = current.get(key)
            if isinstance(inner, dict) and depth < MAX_DEPTH:
                for name, item in inner.items():
                    if not isinstance(flat.get(name), (str, int)):
                        flat[name] = item
                queue.append((inner, depth + 1))
    return flat


def _first_text(flat: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        item = flat.get(key)
        if isinstance(item, str) and item:
            return item
        if isinstance(item, list) and item and all(isinstance(part, str) for part in item):
            return "\n".join(part.rstrip("\n") for part in item)
    return None


def objects(lines: list[str]) -> dict[int, tuple[int, Any]]:
    """JSON values printed over several lines: first line -> (line behind the last, value).

    A value begins on a line that is only an opening bracket (and perhaps a key) and ends on the
    first line that is the closing bracket at the same indentation, so that no line is read twice.
    """
    closings: dict[tuple[str, int], list[int]] = {}
    for at, line in enumerate(lines):
        closing = line.strip().rstrip(",")
        if closing in ("}", "]", "}]"):
            closings.setdefault((closing, _indent(line)), []).append(at)
    found: dict[int, tuple[int, Any]] = {}
    behind = 0
    for at, line in enumerate(lines):
        opening = line.strip()
        if at < behind or opening not in _CLOSING:
            continue
        ends = closings.get((_CLOSING[opening], _indent(line)), [])
        nearest = bisect.bisect_right(ends, at)
        if nearest == len(ends) or ends[nearest] - at > MAX_OBJECT_LINES:
            continue
        behind = ends[nearest] + 1
        value = load_json("\n".join(lines[at:behind]).strip().rstrip(","))
        if value is not None and (is_request(value) or records(value)):
            found[at] = (behind, value)
    return found


_CLOSING = {"{": "}", "[": "]", "[{": "}]"}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_HEADER_NAMES = frozenset(
    {"message", "msg", "log", "content", "@message", "textpayload", "line", "body", "event.message"}
)
_EPOCH_ROW = Lazy(r'\d{10,13},"')


def csv_rows(lines: list[str], shown: list[str]) -> Iterator[tuple[int, int, str, str]] | None:
    """Rows of a CSV export as (first line, line behind the last, time, message) with 0-based lines;
    ``None`` when the text is no CSV. ``shown`` are the lines as they were given."""
    first = next((line for line in lines[:5] if line.strip()), "")
    names = [name.strip().strip('"').lower() for name in first.split(",")]
    if len(names) > 1 and len(names) <= 40 and any(name in _HEADER_NAMES for name in names):
        column = next(i for i, name in enumerate(names) if name in _HEADER_NAMES)
        time = next((i for i, name in enumerate(names) if name in _TIME_NAMES), -1)
    elif _EPOCH_ROW.match(first):
        column, time = 1, 0
    else:
        return None
    return _rows(shown, column, time)


_TIME_NAMES = frozenset({"time", "timestamp", "date", "@timestamp", "asctime", "ts", "datetime"})


def _rows(lines: list[str], column: int, time: int) -> Iterator[tuple[int, int, str, str]]:
    import csv

    reader = csv.reader(f"{line}\n" for line in lines)
    start = 0
    while True:
        try:
            row = next(reader)
        except (StopIteration, csv.Error):
            return
        end = reader.line_num
        if len(row) > column:
            yield start, end, row[time] if 0 <= time < len(row) else "", row[column]
        start = end


_ESCAPED = Lazy(r"\\(?:r\\)?n|#012")
_ESCAPES = (('\\"', '"'), ("\\'", "'"), ("\\t", "\t"))


def escaped_lines(text: str) -> list[str] | None:
    """The lines of a string that was printed with its newlines escaped, when it is a traceback."""
    if "\\n" not in text and "#012" not in text:
        return None
    if "Traceback (most recent" not in text and "File " not in text:
        return None
    parts = _ESCAPED.split(_unquoted(text))
    if len(parts) < 3:
        return None
    return [_unescaped(part) for part in parts]


_HEADED = Lazy(r"\\n(?:\([^()\n]{1,80}\) )?(?:INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d \[")


def escaped_text(text: str) -> str | None:
    """A whole log that was copied as one string literal, with real line ends; else ``None``. Most
    line ends in ``text`` are escaped."""
    if "Traceback" not in text and "ERROR" not in text and not _HEADED.search(text):
        return None
    body = text.strip()
    if body[0] == '"' and body[-1] == '"':
        value = load_json(body)
        if isinstance(value, str):
            return value
    row = body.partition("\n")[0].rstrip()
    brace = row.find("{", 0, 400)
    if brace >= 0 and row.endswith("}") and load_json(row[brace:]) is not None:
        return None  # JSON records: each is unwrapped by itself
    body = body.strip("\"'") if body[0] in "\"'" else _unquoted(body)
    return _ESCAPED.sub("\n", _unescaped(body))


def _unquoted(text: str) -> str:
    """``text`` without the quote that closes one opened right before a traceback."""
    start = text.find("Traceback (most")
    if start > 0 and text[start - 1] in "'\"" and text.rstrip()[-1:] == text[start - 1]:
        return text.rstrip()[:-1]
    return text


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES:
        if escape in text:
            text = text.replace(escape, character)
    return text


_FLAT_FRAME = Lazy(r'\s*File "([^"\n]{1,1000})", line (\w{1,10}), in ([\w.<>]{1,200})')
_FLAT_ERROR = Lazy(
    r"(?<![\w.])(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Z]\w{0,80}?(?:Error|Exception|Interrupt)(?:: |\s*$)"
)
_FLAT_START = Lazy(
    r"(?=Traceback \(most recent call last\):|During handling of the above exception, another"
    r"|The above exception was the direct cause)"
)


_FLAT_VALIDATION = Lazy(
    r"(?<=\S)\s*(?=(?:Value error|Assertion failed), |Input should be "
    r"|For further information visit )"
)


def collapsed(text: str) -> list[str] | None:
    """The lines of a traceback or a validation error that was copied without any line end;
    ``None`` for other text."""
    if "validation error" in text:
        parts = _FLAT_VALIDATION.split(text)
        if len(parts) > 1:
            inner = collapsed(parts[0]) or [parts[0]]
            return [*inner, *(f"  {part.strip()}" for part in parts[1:])]
    return _flat_traceback(text)


def _flat_traceback(text: str) -> list[str] | None:
    frames = text.count('File "')
    if not frames or (frames < 2 and "Traceback (most" not in text) or '", line ' not in text:
        return None
    lines: list[str] = []
    for part in _FLAT_START.split(text):
        found = list(_FLAT_FRAME.finditer(part))
        if not found:
            lines += [part.strip()] if part.strip() else []
            continue
        front = part[: found[0].start()].strip()
        lines += [front] if front else []
        for number, match in enumerate(found):
            lines.append(f'  File "{match[1]}", line {match[2]}, in {match[3]}')
            last = number + 1 == len(found)
            rest = part[match.end() : len(part) if last else found[number + 1].start()]
            error = _FLAT_ERROR.search(rest) if last else None
            code = rest[: error.start()] if error else rest
            lines += [f"    {code.strip()}"] if code.strip() else []
            lines += [rest[error.start() :].strip()] if error else []
    return lines if len(lines) > 2 else None
