"""A scan's result for people."""

from __future__ import annotations

from kvdoctor.scan.result import Row, ScanResult
from kvdoctor.terminal import clean

_HEADS = {
    "root_cause": "Root causes",
    "also": "Warnings and dangers",
    "consequence": "Consequences of them",
    "unexplained": "Errors that nothing here explains (other code than vLLM's own, or a patch)",
}
MAX_NAMED = 4  # processes, files and notes that are named one by one


def result_text(found: ScanResult, top: int = 0, again: str = "") -> str:
    """The whole answer. ``top``: rows that are shown, 0 for all; ``again``: the words that make
    the same scan, for the shell."""
    lines: list[str] = []
    size = sum(one.bytes for one in found.files)
    total = sum(one.lines for one in found.files)
    unread = sum(one.unread for one in found.files)
    read = len(found.files) - unread
    lines.append(f"{read} file{'s' * (read != 1)}, {total} lines, {_amount(size)} read")
    for one in found.files:
        lines += [f"  note: {_safe(one.file)}: {_safe(note)}" for note in one.notes[:MAX_NAMED]]
    if not found.rows:
        nothing = "No known error or warning." if read else "Nothing was read."
        return "\n".join([*lines, "", nothing])
    shown = found.rows[:top] if top else found.rows
    role = ""
    for number, row in enumerate(shown, 1):
        if row.role != role:
            role = row.role
            lines += ["", _HEADS[role]]
        lines += _row(number, row)
    if len(shown) < len(found.rows):
        lines += ["", f"{len(found.rows) - len(shown)} more rows: leave --top out"]
    lines += _began(found)
    lines += ["", f"Open one: kvdoctor scan {_safe(again)} --open N (--out FILE keeps its lines)"]
    return "\n".join(lines)


def _row(number: int, row: Row) -> list[str]:
    name = row.record or (f"no record; {row.owner}" if row.owner else "no record")
    if row.role == "unexplained":
        name = row.key[1] or "no place"
    lines = [f"{number:3}  {row.count}x  {_safe(row.title, 110)}  [{name}]"]
    if row.message and row.message != row.title:
        shown = f"{row.exception}: {row.message}" if row.exception else row.message
        lines.append(f"       {_safe(shown, 150)}")
    if row.site:
        lines.append(f"       at {_safe(row.site, 120)}")
    first, last = row.first, row.last
    span = f"{_safe(first.file)}:{first.line}" + (f" {first.time}" if first.time else "")
    if last != first:
        span += f" .. {_safe(last.file) + ':' if last.file != first.file else 'line '}{last.line}"
        span += f" {last.time}" if last.time else ""
    lines.append(f"       {_safe(span, 300)}")
    told = _places(row)
    if told:
        lines.append(f"       in {_safe(', '.join(told), 300)}")
    return lines


def _places(row: Row) -> list[str]:
    """Each process with its count; with the file where two files have one of the same name."""
    places = [one for one in row.where if one.process or one.pod]
    names = [" ".join(part for part in (one.pod, one.process) if part) for one in places]
    told = []
    for one, name in list(zip(places, names, strict=True))[:MAX_NAMED]:
        file = f" ({one.file.rpartition('/')[2]})" if names.count(name) > 1 else ""
        told.append(f"{name}{file} {one.count}x")
    if len(places) > MAX_NAMED:
        told.append(f"{len(places) - MAX_NAMED} more")
    return told


def _began(found: ScanResult) -> list[str]:
    numbers = {row.key: number for number, row in enumerate(found.rows, 1)}
    lines = []
    for one in found.began:
        if one.key not in numbers:
            continue
        who = " ".join(part for part in (one.pod, one.process) if part) or "(no process named)"
        time = f" {one.spot.time}" if one.spot.time else ""
        lines.append(
            _safe(f"  {one.file}: {who}: row {numbers[one.key]} at line {one.spot.line}{time}")
        )
    if not lines:
        return []
    more = len(lines) - 20
    return ["", "What began it", *lines[:20], *([f"  {more} more (--json)"] if more > 0 else [])]


def _safe(text: str, most: int = 400) -> str:
    text = clean(text).replace("\n", " ")
    return text if len(text) <= most else text[: most - 1] + "…"


def _amount(size: int) -> str:
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size} bytes"
