"""Rows of a text that a terminal, a log shipper or an escape broke inside one value.

Secrets are looked for before a text is laid out, and half a secret is one too. So only where a
secret may stand are rows put together: by the width that they were broken at, by a runtime's mark
of a part, or because what starts on one row plainly goes on in the next. The rows themselves stay
as they are; a chain says which piece of which row each of its characters is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from kvdoctor.data import dataclass
from kvdoctor.intake.damage import MAX_WIDTH, is_start
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.prefixes import Head, split

MAX_ROWS = 200  # of one chain
MAX_CHAIN = 16_000  # characters of one chain, behind its first row
ROWS_BEFORE = 6  # how far before the row with a mark its chain may begin
LEAST_PART = 1000  # characters of a JSON record that a runtime parted without saying so
LONGEST_ROW = 200_000  # characters of a row that is looked at
SHORT = 40  # characters of a row that no terminal breaks
SEAM = 24  # characters on each side of a line end in which a mark may be broken

# What terminals, pagers, mail and log runtimes break at.
_USUAL = frozenset(
    {72, 80, 100, 120, 132, 160, 200, 240, 256, 512, 1000, 1024, 2000, 2048, 4096, 8192, 16384}
)  # fmt: skip
_LEVELS = ("INFO", "ERROR", "WARNING", "DEBUG", "CRITICAL", "Traceback", "During ", "The above ")
_BLANK = " \t\r"
_BORDERS = "│┃║|"
_RUN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+/~%-"
_JSON_TEXT = Lazy(
    r'"(?:log|message|msg|text|line|body|MESSAGE|content|textPayload)"\s{0,3}:\s{0,3}"'
    r'([^"\\]*(?:\\.[^"\\]*)*)'
)
_ESCAPED_END = Lazy(r"(?:\\{1,8}[rn])+$")
_ESCAPED_BREAK = Lazy(r"((?:\\{1,8}r)?\\{1,8}n|#012)")
_QUOTED = Lazy(r"(?:[│┃║|>] ?){0,4}\s*")
_BEGUN = Lazy(
    r"(?<![A-Za-z0-9])(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|ya29\.|nvapi-|rpa_"
    r"|r8_|xox[abeprs]-|xapp-|eyJ|pypi-|npm_|hv[sbr]\.|do[opr]_v1_|tskey-|SG\.|[sr]k_(?:live|test)_"
    r"|whsec_)"
)
# Tokens that are always of one length.
_LENGTHS = (
    (("AKIA", "ASIA"), 20), (("hf_",), 37), (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), 40),
    (("AIza",), 39), (("npm_",), 40), (("glpat-",), 26),
)  # fmt: skip
_NAMED_BEFORE = Lazy(
    r"(?:(?:key|secret|token|passw(?:or)?d|passphrase|pass|key[_-]?id|credentials?|auth"
    r"|authorization|data|sig|signature)(?:\\{0,7}[\"'])?\s{0,3}[=:]\s{0,3}(?:\[?b?\\{0,7}[\"'])?"
    r"(?:(?:bearer|basic)\s{1,3})?"
    r"|--[a-z-]{0,40}(?:key|token|password|secret)\s{1,3}[\"']?"
    r"|\bcookie[\"']?\s{0,3}[:=][^\"']{0,100}=|\b(?:bearer|basic)\s{1,3})$",
    2,  # re.IGNORECASE
)
_HEAD_ALONE = Lazy(r"(?:\b(?:bearer|basic)|--[a-z-]{0,40}(?:key|token|password|secret))$", 2)
_ADDRESS = Lazy(
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}:(?:\\?/){2}([^\s/:@\"'<>]{0,100}):([^\s/@\"'<>]{0,100})$"
)
_TO_HOST = Lazy(r"[^\s/\"'<>@]{0,200}@[\w.-]{1,253}")
_PATH = Lazy(r"-|/[\w.~-]+/|/[\w.-]+\.\w{1,5}$|/[a-z_-]+$")
_IDENTIFIER = Lazy(
    r"(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}|\d{4}-\d\d-\d\d|0x|[\d.]+$"
    r"|[A-Za-z]+[_-]?[A-Za-z]*\d{0,4}$|[a-z]+(?:[_-][a-z0-9]+)+$|[\w.-]+\.(?:py|so|json|log|txt)$)"
)


@dataclass(frozen=True, slots=True)
class Chain:
    """``joined``: what stands on several rows as one; ``pieces``: where in it a piece begins, the
    row that it came from, and its first and last+1 character there."""

    joined: str
    pieces: tuple[tuple[int, int, int, int], ...]

    def crossed(self, first: int, end: int) -> bool:
        """Whether ``joined[first:end]`` stands on more than one row."""
        return any(first < at < end for at, *_ in self.pieces)

    def padded(self, first: int, end: int) -> int:
        """``end``, or the line end before it behind the padding that ends every such value."""
        for at, *_ in self.pieces:
            if first < at < end and self.joined[at - 1] == "=" and self.joined[at] != "=":
                return at
        return end

    def places(self, first: int, end: int) -> list[tuple[int, int, int]]:
        """The pieces of rows in which ``joined[first:end]`` stands: row, first, last+1."""
        found = []
        for at, row, start, stop in self.pieces:
            left, right = max(first, at), min(end, at + stop - start)
            if left < right:
                found.append((row, start + left - at, start + right - at))
        return found


@dataclass(frozen=True, slots=True)
class _Body:
    """The part of a row that is text, not prefix, border or JSON around it."""

    start: int
    end: int
    head: Head
    json: bool
    partial: bool  # the runtime says that the record goes on

    def same_record(self, other: _Body) -> bool:
        a, b = self.head, other.head
        return (a.process, a.pid, a.level, a.log_file, a.log_line) == (
            b.process, b.pid, b.level, b.log_file, b.log_line,
        )  # fmt: skip


def escaped_rows(row: str) -> list[str]:
    """``row`` parted at escaped line ends; every second part is such an end."""
    return _ESCAPED_BREAK.split(row)


def parted(rows: Sequence[str]) -> list[int]:
    """The rows that a container runtime may have parted, which it tells behind or before them."""
    return [
        at
        for at, row in enumerate(rows)
        if (len(row) >= LEAST_PART and row.rstrip(_BLANK).endswith("}")) or " P " in row[:60]
    ]


def seams(rows: Sequence[str]) -> tuple[frozenset[int], list[int]]:
    """The widths at which a text may have been broken, and the rows that end there."""
    lengths = [len(row) for row in rows]
    if any(row and row[-1] in _BLANK for row in rows):
        lengths = [len(row.rstrip(_BLANK)) for row in rows]
    widest = max(lengths, default=0)
    full = lengths.count(widest)
    evident = 40 <= widest <= MAX_WIDTH and (full >= 3 or (full >= 2 and len(rows) <= 80))
    widths = _USUAL | {widest} if evident else _USUAL
    ends = [
        at
        for at, length in enumerate(lengths[:-1])
        if length in widths or (length > SHORT and _may_go_on(rows[at + 1]))
    ]
    return widths, ends


def _may_go_on(row: str) -> bool:
    """Whether nothing at the start of ``row`` speaks against its being the rest of another."""
    start = row[:1]
    return (start == "_" or start.isalnum()) and row[4:5] != "-" and not row.startswith(_LEVELS)


def at_seam(rows: Sequence[str], at: int) -> str:
    """What stands around the end of row ``at``, in one piece."""
    return rows[at].rstrip(_BLANK)[-SEAM:] + rows[at + 1][:SEAM]


def torn(rows: Sequence[str], at: int, marks: Sequence[str]) -> bool:
    """Whether one of ``marks`` begins on row ``at`` and ends on the next."""
    before, behind = rows[at].rstrip(_BLANK)[-SEAM:].lower(), rows[at + 1][:SEAM].lower()
    return any(
        mark in before[1 - len(mark) :] + behind[: len(mark) - 1] for mark in marks if mark[1:]
    )


def chains(
    rows: Sequence[str],
    widths: frozenset[int],
    marked: Sequence[int],
    ends: frozenset[int] = frozenset(),
) -> Iterator[Chain]:
    """The rows around the ``marked`` ones (in order) that belong together; each row once. ``ends``:
    rows whose ends part a mark."""
    finder = _Finder(rows, widths, ends)
    behind = 0
    for row in marked:
        if row < behind or len(rows[row]) > LONGEST_ROW:
            continue
        first = row
        while first > max(behind, row - ROWS_BEFORE) and finder.goes_on(first - 1, 0) is not None:
            first -= 1
        chain, behind = finder.chain(first)
        behind = max(behind, row + 1 if chain is None else behind)
        if chain is not None:
            yield chain


class _Finder:
    def __init__(self, rows: Sequence[str], widths: frozenset[int], ends: frozenset[int]) -> None:
        self.rows, self.widths, self.ends = rows, widths, ends
        self.known: dict[int, _Body] = {}

    def body(self, at: int) -> _Body:
        found = self.known.get(at)
        if found is None:
            if len(self.known) > 1000:
                self.known.clear()
            found = self.known[at] = _body(self.rows[at])
        return found

    def wide(self, at: int, filled: int) -> bool:
        """Whether row ``at`` ends where a terminal would have broken it. ``filled``: the length
        of the row before it in its chain."""
        body = self.body(at)
        if body.json or body.partial:
            return body.partial
        length = len(self.rows[at].rstrip(_BLANK))
        return length in self.widths or body.end - body.start in _USUAL or length == filled > 40

    def goes_on(self, at: int, filled: int) -> tuple[int, int, bool] | None:
        """The piece of the row behind ``at`` that belongs to it, and whether that is all of it."""
        if at + 1 >= len(self.rows) or len(self.rows[at + 1]) > LONGEST_ROW:
            return None
        body, after = self.body(at), self.body(at + 1)
        text = self.rows[at + 1][after.start : after.end]
        if not text or body.json != after.json or is_start(text):
            return None
        if body.partial:
            return after.start, after.end, True
        before = self.rows[at][body.start : body.end]
        head = after.head
        headless = not (head.level or head.log_file or head.time or head.native)
        same = headless and head.process in ("", body.head.process)
        if same and (at in self.ends or self.wide(at, filled)):
            return after.start, after.end, True
        if not _is_open(before) or not (body.same_record(after) or not head.log_file):
            return None
        if (address := _ADDRESS.search(before[-250:])) and (host := _TO_HOST.match(text)):
            known = address[1] and (not address[2] or address[2].isdigit())
            return None if known else (after.start, after.start + host.end(), False)
        length = _rest_of_value(text, _missing(before))
        return (after.start, after.start + length, length == len(text)) if length else None

    def blank(self, at: int, start: int) -> bool:
        """Whether a blank stands at the seam behind row ``at``, of whose next row the text begins
        at ``start``."""
        head = self.body(at + 1).head
        return self.rows[at + 1][head.end : start].isspace() or (
            head.end == 0 and self.rows[at][-1:] == " "
        )

    def chain(self, first: int) -> tuple[Chain | None, int]:
        """The chain that begins at row ``first``, if it has a second one; and the row behind."""
        body = self.body(first)
        text = self.rows[first][body.start : body.end]
        parts, pieces, size = [text], [(0, first, body.start, body.end)], len(text)
        at, filled, limit = first, 0, len(text) + MAX_CHAIN
        while at - first < MAX_ROWS and size < limit:
            found = self.goes_on(at, filled)
            if found is None:
                break
            filled = len(self.rows[at].rstrip(_BLANK))
            start, end, whole = found
            piece = self.rows[at + 1][start:end]
            if self.blank(at, start) or _HEAD_ALONE.search(parts[-1][-60:]) or _BEGUN.match(piece):
                parts.append(" ")
                size += 1
            pieces.append((size, at + 1, start, end))
            parts.append(piece)
            size += end - start
            at += 1
            if not whole:
                break
        if at == first:
            return None, first
        return Chain("".join(parts), tuple(pieces)), at


def _body(row: str) -> _Body:
    trimmed = row.rstrip(_BLANK)
    head = split(trimmed)
    if trimmed.endswith(("}", "},")) and (found := _JSON_TEXT.search(trimmed)):
        start, end = found.span(1)
        ended = _ESCAPED_END.search(trimmed[max(start, end - 40) : end])
        partial = ended is None and end - start >= LEAST_PART
        end -= len(ended[0]) if ended else 0
        return _Body(start, end, head, True, partial)
    end = len(trimmed)
    if trimmed and trimmed[-1] in _BORDERS:
        end = len(trimmed[:-1].rstrip(_BLANK))
    quoted = _QUOTED.match(trimmed, head.end)
    start = min(end, quoted.end() if quoted else head.end)
    return _Body(start, end, head, False, head.partial)


def _begun(text: str) -> str:
    """The token that ``text`` ends in, from its mark on; "" when it ends in none."""
    run = text[len(text.rstrip(_RUN)) :][-8000:]
    mark = _BEGUN.search(run) if run else None
    return run[mark.start() :] if mark else ""


def _missing(text: str) -> int | None:
    """How many characters are missing of the token at the end of ``text``; ``None`` when its kind
    has no length of its own."""
    token = _begun(text)
    for marks, length in _LENGTHS:
        if token.startswith(marks):
            return max(0, length - len(token))
    return None


def _is_open(text: str) -> bool:
    """Whether ``text`` ends inside a secret, or right before one."""
    if _begun(text):
        return _missing(text) != 0
    if _HEAD_ALONE.search(text[-60:]):
        return True
    value = len(text.rstrip(_RUN))
    if _NAMED_BEFORE.search(text[max(0, value - 120) : value]):
        return True
    return _ADDRESS.search(text[-250:]) is not None


def _rest_of_value(text: str, missing: int | None) -> int:
    """How many characters at the start of a row look like the rest of a random value. ``missing``:
    how many there must be, if that is known."""
    quote = 1 if text[:1] in "\"'" else 0
    length = len(text) - len(text[quote:].lstrip(_RUN)) - quote
    run, rest = text[quote : quote + length].rstrip("."), text[quote + length :]
    if missing and len(run) == missing and rest[:1] not in (":", "=", "("):
        return quote + length
    padded = len(rest) - len(rest.lstrip("="))
    if _BEGUN.match(run):
        return quote + length + padded
    if padded > 2 or (padded and rest[padded:].strip("\"',;)}] ")):
        return 0  # a name and its value
    rest = rest[padded:]
    alone = not rest.strip("\"',;)}]\\ ")
    if rest[:1] in (":", "(", "[") or _PATH.match(run) or _IDENTIFIER.match(run):
        return 0
    if length < (6 if alone else 8):
        return 0
    share = _switches(run) / length
    return quote + length + padded if share >= (0.25 if alone else 0.45) else 0


def _switches(run: str) -> int:
    """How often the kind of character changes: often in random text, seldom in words."""
    kinds = [0 if one.isdigit() else 1 if one.islower() else 2 for one in run if one.isalnum()]
    return sum(a != b for a, b in itertools.pairwise(kinds))
