"""The lines of a text as it was printed: counted, parted, freed of what pasting put around them."""

from __future__ import annotations

from kvdoctor.intake import damage
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.pieces import Pieces

MAX_LINES = 1_000_000
KEPT_HEAD = 100_000  # of a longer text: the banner stands at the start, the failure at the end
MAX_LINE = 4_000_000  # characters of one line

_ENTITIES = (("&quot;", '"'), ("&#34;", '"'), ("&#39;", "'"), ("&#x27;", "'"), ("&lt;", "<"),
             ("&gt;", ">"), ("&nbsp;", " "), ("&amp;", "&"))  # fmt: skip
SPELLED_END = Lazy(r"(?:\^M|#015|\\r)+$")
_SPELLED = ("^M", "#015", "\\r")


def physical(text: Pieces, notes: list[str]) -> tuple[list[int], list[str], bytearray]:
    """Numbered lines, and which of them ended in a carriage return; a lone one parts a line without
    counting as one. Gives up the pieces of the text."""
    spelled, returned = text.has(*_SPELLED), text.has("\r")
    if returned and not text.has("\n"):
        text, returned = Pieces([text.whole().replace("\r", "\n")]), False
    rows = text.rows()
    numbers = list(range(1, len(rows) + 1))
    if any(len(row) > MAX_LINE for row in rows):
        notes.append(f"lines were cut off after {MAX_LINE} characters")
        rows = [row[:MAX_LINE] for row in rows]
    if len(rows) > MAX_LINES:
        tail = MAX_LINES - KEPT_HEAD
        notes.append(
            f"only the first {KEPT_HEAD} and the last {tail} of {len(rows)} lines were read"
        )
        rows, numbers = rows[:KEPT_HEAD] + rows[-tail:], numbers[:KEPT_HEAD] + numbers[-tail:]
    if spelled:
        rows = [SPELLED_END.sub("\r", row) if row.endswith(_SPELLED) else row for row in rows]
    elif not returned:
        return numbers, rows, bytearray(len(rows))
    flags = bytearray(1 if row.endswith("\r") else 0 for row in rows)
    rows = [row.rstrip("\r") for row in rows]
    if not any("\r" in row for row in rows):
        return numbers, rows, flags
    return _parted(numbers, rows, flags)


def _parted(
    numbers: list[int], rows: list[str], flags: bytearray
) -> tuple[list[int], list[str], bytearray]:
    new_numbers, new_rows, new_flags = [], [], bytearray()
    for number, row, flag in zip(numbers, rows, flags, strict=True):
        parts = [part for part in row.split("\r") if part] or [""]
        new_numbers += [number] * len(parts)
        new_rows += parts
        new_flags += bytes(len(parts) - 1) + bytes([flag])
    return new_numbers, new_rows, new_flags


class Around:
    """What may stand around the lines, told by the text before it is given up."""

    def __init__(self, text: Pieces) -> None:
        self.quotes = text.begins_line(">")
        self.fences = text.begins_line("`")
        self.boxes = text.has("│", "┃", "║", "─")
        self.entities = text.has("&") and text.has(*(entity for entity, _ in _ENTITIES))


def undamaged(around: Around, shown: list[str], notes: list[str]) -> list[str]:
    """The lines without quotes, back-ticks, borders and editor numbers."""
    work = shown
    if around.quotes:
        work = damage.unquote(work)
    if around.fences:
        work = [damage.unfence(line) for line in work]
    if around.boxes:
        work = [line if line.isascii() else damage.unbox(line) for line in work]
    if around.entities:
        work = [_characters(line) if "&" in line else line for line in work]
    if shown and shown[0].lstrip()[:1].isdigit():
        cut = damage.unnumber(work)
        if cut is not None:
            notes.append("an editor's line numbers were cut")
            work = cut
    return work


def _characters(line: str) -> str:
    """HTML entities, as a copied page's source has them, as characters."""
    for entity, character in _ENTITIES:
        if entity in line:
            line = line.replace(entity, character)
    return line
