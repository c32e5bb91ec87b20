"""Secrets are replaced on the way in, so that no later stage can show, store or copy one.

The same secret always becomes the same ``<secret-N>``. What a diagnosis needs stays: request ids,
engine ids, hashes, paths, hosts and ports have none of these forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvdoctor.intake import broken
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.longlines import closed
from kvdoctor.intake.pieces import cut
from kvdoctor.intake.secretforms import GROUPS, OVER_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kvdoctor.intake.broken import Chain

_BREAK = r"(?:\r?\n)?"  # a terminal may break the mark of a key like everything else


def _over_rows(word: str) -> str:
    return _BREAK.join(word)


_PEM = Lazy(
    rf"{_over_rows('-----')}{_BREAK}({_over_rows('BEGIN')}|{_over_rows('END')})"
    rf"[A-Z0-9 \r\n]{{0,44}}?{_over_rows('PRIVATE')}[ \r\n]{{1,3}}{_over_rows('KEY')}"
    rf"(?: BLOCK)?{_BREAK}{_over_rows('-----')}"
)
_KEY_LINE = Lazy(
    r"(?:^|[\s\"'|>:\]\u2502])[A-Za-z0-9+/]{24,200}={0,2}(?:\\{1,4}r)?(?:\\{1,4}n)?"
    r"[\s|\u2502]{0,200}(?:[\"']\s{0,3}[,}][^\n]{0,400})?$"
)
_KEY_REST = Lazy(r"(?=[^=]*[0-9=+/])[A-Za-z0-9+/]{1,23}={0,2}\s{0,2}$")
MAX_KEY_LINE = 600  # characters at the end of a line in which one line of a key stands
MAX_PEM = 40_000  # characters of one private key, with what stands before each of its lines

NEAR = 40  # rows on each side of a cut between two pieces of a text in which a secret may stand

_HARMLESS = frozenset(
    {"none", "null", "true", "false", "empty", "unset", "undefined", "required", "optional",
     "redacted", "hidden", "secret", "token", "bearer", "basic", "string", "value", "file",
     "with", "from", "must", "does", "your", "this", "that", "will", "should", "when", "provided"}
)  # fmt: skip
_STARS = Lazy(r"[*xX.…•-]{3,}$")
# A header or an argument whose value may stand on the next row.
_OPEN_MARKS = ("earer", "asic", "authorization")
_MARKS = _OPEN_MARKS + tuple({mark for marks, _ in GROUPS for mark in marks})


def redact(text: str) -> tuple[str, int]:
    """``text`` with every secret replaced, and how many places were replaced."""
    parts = [text]
    count = Redactor().run(parts)
    return parts[0], count


def redact_parts(parts: list[str]) -> int:
    """The same for a text in pieces of whole lines: each is replaced in the list."""
    return Redactor().run(parts)


class Redactor:
    """Gives a secret the same name in every text that it is asked to clear."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.count = 0

    def run(self, parts: list[str]) -> int:
        """Replace every secret in the pieces of a text, line ends kept; how many places so far."""
        if any("-----" in part for part in parts):
            parts[:] = self._without_keys_in(parts)
        for at in range(len(parts)):
            if at + 1 < len(parts):
                parts[at : at + 2] = self._mended_seam(parts[at], parts[at + 1])
            parts[at] = closed(self._cleared(parts[at]))
        return self.count

    def _cleared(self, text: str) -> str:
        low = text.encode("utf-8", "replace").lower()  # a search in bytes is several times as fast
        rows = text.split("\n")
        groups: dict[int, list[int]] = {}
        for number, (marks, _) in enumerate(GROUPS):
            for row in _rows_with(low, marks):
                groups.setdefault(row, []).append(number)
        self._mend(rows, set(groups) | _rows_with(low, _OPEN_MARKS))
        for row in sorted(groups):
            for number in groups[row]:
                rows[row] = self._replaced(GROUPS[number][1], rows[row])
        self._over_rows(rows, low)
        return "\n".join(rows)

    def _over_rows(self, rows: list[str], low: bytes) -> None:
        """Replace the values that stand on another row than their names."""
        for marks, pattern in OVER_ROWS:
            for row in sorted(_rows_with(low, marks)):
                chain = _window(rows, row)
                self._edit(rows, chain, _secrets(pattern, chain.joined))

    def _mended_seam(self, before: str, behind: str) -> tuple[str, str]:
        """Two pieces of a text without the secrets that the cut between them parts."""
        ends = before[len(before.rstrip("\n")) :]
        if len(ends) != 1:
            return before, behind
        left, right = before.rstrip("\n").rsplit("\n", NEAR), behind.split("\n", NEAR)
        front, rest = left[1:] if len(left) > NEAR else left, right[NEAR:]
        rows = [*front, *right[:NEAR]]
        old = "\n".join(rows)
        low = old.encode("utf-8", "replace").lower()
        self._mend(rows, _rows_with(low, _MARKS))
        self._over_rows(rows, low)
        if "\n".join(rows) == old:
            return before, behind
        left[len(left) - len(front) :] = rows[: len(front)]
        return "\n".join(left) + ends, "\n".join([*rows[len(front) :], *rest])

    # ------------------------------------------------------------ secrets on several rows

    def _mend(self, rows: list[str], marked: set[int]) -> None:
        """Replace the secrets that a line end parts, in ``rows``."""
        widths, ends = broken.seams(rows)
        near = "\n".join(broken.at_seam(rows, at) for at in ends).encode("utf-8", "replace").lower()
        close = [ends[one] for one in _rows_with(near, _MARKS)]
        torn = frozenset(at for at in close if broken.torn(rows, at, _MARKS))
        marked = marked.union(close, broken.parted(rows))
        for chain in broken.chains(rows, widths, sorted(marked), torn):
            self._join(rows, chain)
        for row in marked:
            if "\\n" in rows[row] or "#012" in rows[row]:
                rows[row] = self._mended_escapes(rows[row])

    def _mended_escapes(self, row: str) -> str:
        """``row`` without the secrets that an escaped line end parts."""
        parts = broken.escaped_rows(row)
        inner = parts[::2]
        if len(inner) < 2:
            return row
        widths, _ = broken.seams(inner)
        for chain in broken.chains(inner, widths, range(len(inner))):
            self._join(inner, chain)
        parts[::2] = inner
        return "".join(parts)

    def _join(self, rows: list[str], chain: Chain) -> None:
        """Replace the secrets of a chain that a line end parts. What stands alone on one of its
        rows goes as well: what names it may be taken for the rest of the secret before."""
        spans = _crossing(chain)
        if not spans:
            return
        alone = []
        for at, row, first, end in chain.pieces:
            for marks, pattern in GROUPS:
                if any(mark in rows[row].lower() for mark in marks):
                    alone += [
                        (at + max(start, first) - first, at + min(stop, end) - first)
                        for start, stop in _secrets(pattern, rows[row])
                        if start < end and stop > first
                    ]
        self._edit(rows, chain, _merged(spans + alone))

    def _edit(self, rows: list[str], chain: Chain, spans: Iterable[tuple[int, int]]) -> None:
        """Replace ``spans`` of a chain in the rows that they stand on."""
        edits: list[tuple[int, int, int, str]] = []
        for first, end in spans:
            name = self._name(chain.joined[first:end])
            edits += [(*place, name) for place in chain.places(first, end)]
        for row, first, end, name in sorted(edits, reverse=True):
            rows[row] = rows[row][:first] + name + rows[row][end:]

    # ------------------------------------------------------------ private keys

    def _without_keys_in(self, parts: list[str]) -> list[str]:
        if not any("PRIV" in part.replace("\n", "").replace("\r", "") for part in parts):
            return parts
        text = self._without_keys("".join(parts))
        return list(cut(text, "\n")) if len(parts) > 1 else [text]

    def _without_keys(self, text: str) -> str:
        """Private keys replaced, each line of theirs by itself so that line numbers stay. Of a key
        that is cut off goes what looks like one."""
        out: list[str] = []
        done, begin, inside = 0, -1, 0
        for mark in _PEM.finditer(text):
            if mark[1][0] == "B":
                done = self._half_key(text, out, done, begin, inside)
                begin, inside = mark.span()
                continue
            if begin < 0 or mark.end() - begin > MAX_PEM:
                done = self._half_key(text, out, done, begin, inside)
                begin = _first_of_key(text, mark.start(), done)
            name = self._name(text[begin : mark.end()])
            lines = text.count("\n", begin, mark.end()) + 1
            out += (text[done:begin], "\n".join([name] * lines))
            done, begin = mark.end(), -1
        done = self._half_key(text, out, done, begin, inside)
        return "".join([*out, text[done:]])

    def _half_key(self, text: str, out: list[str], done: int, begin: int, inside: int) -> int:
        """Replace the key at ``begin`` whose end is missing; returns up to where it was done."""
        if begin < 0:
            return done
        end = _line_end(text, inside)
        whole = False
        while end < len(text) and end - begin < MAX_PEM:
            behind = _line_end(text, end + 1)
            line = text[end + 1 : behind]
            if _KEY_LINE.search(line[-MAX_KEY_LINE:]):
                whole = True
            elif whole and _KEY_REST.match(line):
                whole = False
            else:
                break
            end = behind
        name = self._name(text[begin:end])
        lines = text.count("\n", begin, end) + 1
        out += (text[done:begin], "\n".join([name] * lines))
        return end

    # ------------------------------------------------------------ one row

    def _name(self, secret: str) -> str:
        self.count += 1
        return self.names.setdefault(secret, f"<secret-{len(self.names) + 1}>")

    def _replaced(self, pattern: Lazy, row: str) -> str:
        """``row`` with the values that are secrets replaced."""
        out: list[str] = []
        done = 0
        for start, end in _secrets(pattern, row):
            out += (row[done:start], self._name(row[start:end]))
            done = end
        return "".join([*out, row[done:]]) if out else row


def _rows_with(low: bytes, marks: Sequence[str]) -> set[int]:
    """The rows of ``low`` that hold one of ``marks``."""
    rows: set[int] = set()
    for mark in marks:
        word = mark.encode()
        row = done = 0
        at = low.find(word)
        while at >= 0:
            row += low.count(b"\n", done, at)
            done = at
            rows.add(row)
            at = low.find(b"\n", at)
            if at >= 0:
                at = low.find(word, at)
    return rows


def _secrets(pattern: Lazy, text: str) -> list[tuple[int, int]]:
    """Where the secrets of one form stand."""
    return [(start, end) for _, start, end in _matches(pattern, text)]


def _matches(pattern: Lazy, text: str) -> list[tuple[int, int, int]]:
    """Where what names a secret begins, the secret, and its end. What follows a name
    that turned out to be prose may be a name itself."""
    found: list[tuple[int, int, int]] = []
    at = 0
    while match := pattern.search(text, at):
        parts = match.groupdict()
        start, end = match.span("value" if "value" in parts else 0)
        at = start if start > match.start() else start + 1
        before = text[max(0, match.start() - 40) : match.start()]
        if _is_secret(text[start:end], parts.get("head") or "", before):
            found.append((match.start(), start, end))
            at = end
    return found


def _crossing(chain: Chain) -> list[tuple[int, int]]:
    """The secrets of a chain that a line end parts, from themselves or from what names them."""
    low = chain.joined.lower()
    found: list[tuple[int, int]] = []
    for marks, pattern in GROUPS:
        if any(mark in low for mark in marks):
            for begin, start, end in _matches(pattern, chain.joined):
                end = chain.padded(start, end)
                if chain.crossed(begin, end):
                    found.append((start, end))
    return _merged(found)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """``spans`` in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _window(rows: Sequence[str], row: int) -> Chain:
    """A row with its neighbours, the line ends between them kept."""
    pieces: list[tuple[int, int, int, int]] = []
    size = 0
    first, end = max(0, row - 1), min(len(rows), row + 2)
    for at in range(first, end):
        pieces.append((size, at, 0, len(rows[at])))
        size += len(rows[at]) + 1
    return broken.Chain("\n".join(rows[first:end]), tuple(pieces))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _first_of_key(text: str, end: int, floor: int) -> int:
    """Where the lines of a key start whose last line begins at or before ``end``."""
    first = max(text.rfind("\n", floor, end) + 1, floor)
    while first > floor and end - first < MAX_PEM:
        before = max(text.rfind("\n", floor, first - 1) + 1, floor)
        line = text[before : first - 1]
        if not _KEY_LINE.search(line[-MAX_KEY_LINE:]) and not _KEY_REST.match(line):
            break
        first = before
    return first


def _is_secret(value: str, head: str, before: str) -> bool:
    if value.lower().rstrip(".:,)") in _HARMLESS or _STARS.match(value):
        return False
    if value.startswith(("<secret-", "/", "$", "os.environ", "%(", "{{")):
        return False
    if not head or "curl" in head:
        return True
    if head[-1].isspace() and "=" not in head and ":" not in head and "asic" not in head.lower():
        # "--api-key value" is a value, "the API key is wrong" is prose
        return "earer" in head.lower() or "--" in before + head
    return True
