"""From a finding, a value or an evidence line to its place in the pasted text."""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.decide import OTHER
from kvdoctor.intake import numbered
from kvdoctor.intake.paste import Line
from kvdoctor.report import Report, Source


def source_name(name: str) -> str:
    """What to call a source: the file without its folders."""
    if name == "-":
        return "the pipe"
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name


def line_at(sources: Sequence[Source], name: str, number: int) -> Line | None:
    """The line ``number`` of the source called ``name``; of the only source if none is named."""
    for source in sources:
        if source.paste.name == name or (not name and len(sources) == 1):
            return numbered.line_at(source.paste.lines, number)
    return None


def telling(line: Line | None, shown: str, width: int, message: str = "") -> str:
    """What fits of a log line, without the prefixes; the message is kept in sight."""
    told = " ".join((line.text if line is not None and line.text.strip() else shown).split())
    start = " ".join(message.split())[:24]
    at = told.find(start) if start else -1
    if len(told) > width and at > width // 2:
        head = told.rfind(" ", 0, max(0, at - 1)) + 1  # the exception's name stays
        return "…" + told[head:]
    return told


def lacking(shown: Report | None) -> str:
    """The side of which there is no text while there is one of its peer; "" otherwise."""
    sides = {source.side for source in shown.sources} & set(OTHER) if shown is not None else set()
    return OTHER[sides.pop()] if len(sides) == 1 else ""
