"""One log from its first to its last byte: pieces, stretches, counts."""

from __future__ import annotations

import re
from collections.abc import Callable

from kvdoctor.data import replace
from kvdoctor.intake.paste import Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Trouble
from kvdoctor.scan import words
from kvdoctor.scan.inputs import PIECE, Opener, Progress, is_binary, pieces
from kvdoctor.scan.picking import Picker, Stretch
from kvdoctor.scan.reading import Reader, Seen
from kvdoctor.scan.result import Partial
from kvdoctor.scan.tally import Key, Tally
from kvdoctor.scan.words import Runs

HEAD = 96 << 10  # bytes of a file's beginning that are read whole
MAX_CARRY = 512 << 10  # bytes that wait for the next piece, so that no traceback is cut
THOROUGH_PIECE = 1 << 20
MAX_SHAPES = 50_000
_TIME = re.compile(rb"(?:ERROR|WARNING|CRITICAL|INFO|DEBUG) (\d\d-\d\d \d\d:\d\d:\d\d) ")
_VARIES = re.compile(rb"\d\d-\d\d \d\d:\d\d:\d\d|(?<=pid=)\d+")
# A word with a digit. It begins where a word begins: from every place of a long word without one,
# the search would go on to its end.
_WORD = re.compile(rb"(?<![\w.:/-])[\w.:/-]*\d[\w.:/-]*")
_NOTES = ("newest line first", "escaped newlines", "editor's line numbers")

Watch = Callable[[str, Progress], None]
Told = Callable[[Key, "LogScan"], None]


class LogScan:
    """The scan of one text. Feed it pieces of whole lines; it holds counts, not lines."""

    def __init__(
        self,
        knowledge: Knowledge,
        name: str,
        *,
        thorough: bool = False,
        compiled: bool = True,
        since: str = "",
        until: str = "",
        told: Told | None = None,
    ) -> None:
        self.knowledge, self.name, self.told = knowledge, name, told
        self.reader = Reader(knowledge, name)
        self.tally = Tally(name, since, until)
        self.thorough = thorough
        self.picker = Picker(
            Runs(knowledge, self.reader.before), words.searcher(words.TRIGGERS, compiled=compiled)
        )
        self.head = b""
        self.lines = self.bytes = 0
        self.notes: list[str] = []
        self._carry = b""
        self._known: dict[bytes, tuple[Seen, ...]] = {}
        self._shapes: dict[tuple[bytes, ...], tuple[Seen, ...] | None] = {}

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read one more piece; ``last``: nothing follows, so that nothing has to wait."""
        if not self.head and piece:
            self._begin(piece)
        if not self.reader.mixed and b"\r" in piece:
            self.reader.mixed = 0 < piece.count(b"\r\n") < piece.count(b"\n")
        text = self._carry + piece if self._carry else piece
        stretches = self.picker.pick(text)
        end = len(text) if last else quiet_end(text, stretches)
        if self.thorough:
            self._whole(text[:end])
            self.lines += text.count(b"\n", 0, end)
        else:
            at = self._parts(text, [one for one in stretches if one.start < end])
            self.lines += text.count(b"\n", at, end)
        self._carry = text[end:]
        self.bytes += end

    def _begin(self, piece: bytes) -> Paste:
        end = piece.find(b"\n", HEAD) + 1
        self.head = piece[: end or len(piece)][: 2 * HEAD]
        paste = self.reader.learn(self.head)
        odd = [note for note in paste.notes if any(one in note for one in _NOTES)]
        if odd and not self.thorough:
            self.thorough = True
            self.notes.append(f"read thoroughly: {odd[0]}")
        return paste

    def begin_behind(self, first: bytes) -> None:
        """Start in the middle of a file whose first piece is known."""
        self.reader.begin_behind(self._begin(first))
        self.reader.mixed = 0 < first.count(b"\r\n") < first.count(b"\n")

    def begin_as(self, other: LogScan, *, behind: bool) -> None:
        """Start in the file that ``other`` began, without reading its head anew; ``behind``: in the
        middle of it."""
        self.head, self.notes = other.head, list(other.notes)
        self.reader, self.picker = other.reader.fresh(behind=behind), other.picker

    def forget(self) -> None:
        """Leave out all that serves further reading: what stays can be pickled and absorbed."""
        self._known, self._shapes, self.told = {}, {}, None
        del self.picker, self.knowledge
        self.reader = self.reader.without_knowledge()

    def absorb(self, later: LogScan) -> None:
        """Add what was found in the part of the text that follows this one's."""
        self.tally.absorb(later.tally, self.lines)
        self.lines += later.lines
        self.bytes += later.bytes
        self.notes += [note for note in later.notes if note not in self.notes]

    def _whole(self, text: bytes) -> None:
        if text:
            self._count(self.reader.read(text), text, 0, self.lines)

    def _parts(self, text: bytes, stretches: list[Stretch]) -> int:
        """Read the stretches; the place up to which lines were counted."""
        counted = 0
        for one in stretches:
            self.lines += text.count(b"\n", counted, one.start)
            counted = one.start
            if one.record is not None:
                self._record(text, one, self.lines)
            else:
                self._block(text, one, self.lines)
        return counted

    def _record(self, text: bytes, one: Stretch, number: int) -> None:
        """A record alone: answered from the ones of the same form before it."""
        match = one.record
        assert match is not None  # noqa: S101
        pod, process, level, time, file, line = match.groups()
        rest = text[one.start + match.end() : one.end]
        key = (level, file, line, _WORD.sub(b"0", rest))
        found = self._shapes.get(key, ())
        if key not in self._shapes:
            seen = tuple(self.reader.read(text[one.start : one.end]))
            self._count(seen, text, one.start, number)
            if len(self._shapes) < MAX_SHAPES:
                self._shapes[key] = None if self._depends(seen) else seen
            return
        if found is None:
            self._count(self.reader.read(text[one.start : one.end]), text, one.start, number)
            return
        for old in found:
            self._add(
                old.trouble, number, (process or b"").decode(), (pod or b"").decode(),
                time.decode(), text, one.start,
            )  # fmt: skip

    def _depends(self, seen: tuple[Seen, ...]) -> bool:
        """Whether the kind of a record may hang on its numbers or on lines before it."""
        return any(
            re.search(r"\d", re.sub(r"\{[^}]*\}", "", one.trouble.identity.template))
            for one in seen
        )

    def _block(self, text: bytes, one: Stretch, number: int) -> None:
        block = text[one.start : one.end]
        key = _VARIES.sub(b"", block)
        known = self._known.get(key)
        if known is None:
            seen = tuple(self.reader.read(block))
            self._count(seen, text, one.start, number)
            rows = block.split(b"\n")
            timed = all(_time_of(rows, s.line) == s.time for s in seen)
            if timed and len(self._known) < 500 and not self.reader.context:
                self._known[key] = seen
            return
        rows = block.split(b"\n")
        for old in known:
            time = _time_of(rows, old.line)
            self._add(old.trouble, number + old.line, old.process, old.pod, time, text, one.start)

    def _count(self, seen: list[Seen] | tuple[Seen, ...], text: bytes, at: int, base: int) -> None:
        for one in seen:
            place = at
            if self.thorough:
                place = _place_of(text, max(0, one.line - 12))
            self._add(one.trouble, base + one.line, one.process, one.pod, one.time, text, place)

    def _add(
        self, trouble: Trouble, line: int, process: str, pod: str, time: str, text: bytes, at: int
    ) -> None:
        excerpt = b""
        if self.tally.is_new(trouble):
            start = text.rfind(b"\n", 0, max(0, at - 2000)) + 1
            end = text.rfind(b"\n", at, at + 24000) + 1  # half a frame would contradict the banner
            excerpt = text[start : end or at + 24000]
        new = self.tally.add(trouble, line + 1, process, pod, time, excerpt)
        if new is not None and self.told is not None:
            self.told(new, self)

    def partial(self, notes: list[str]) -> Partial:
        """What was found so far."""
        found = [*notes, *self.notes]
        release = self.reader.release.release
        return self.tally.partial(self.knowledge, self.head, release, self.lines, self.bytes, found)


def scan_file(
    name: str,
    knowledge: Knowledge,
    *,
    thorough: bool = False,
    compiled: bool = True,
    since: str = "",
    until: str = "",
    watch: Watch | None = None,
    piece: int = 0,
    opener: Opener | None = None,
) -> Partial:
    """Scan one file ("-" is standard input; ``opener`` opens what is no local file). Never raises
    for what the file holds: what cannot be read is told in the notes of the result, ``unread``
    when nothing could."""
    progress = Progress()
    scan = LogScan(knowledge, name, thorough=thorough, compiled=compiled, since=since, until=until)
    size = piece or (THOROUGH_PIECE if thorough else PIECE)
    for one in pieces(name, progress, size, opener):
        if not scan.bytes and not scan.head and is_binary(one):
            progress.notes.append("binary: not a log")
            break
        scan.feed(one)
        if watch is not None:
            watch(name, progress)
    scan.feed(b"", last=True)
    made = scan.partial(progress.notes)
    if progress.notes and not scan.bytes:
        made = replace(made, unread=True)
    return made


def quiet_end(text: bytes, stretches: list[Stretch]) -> int:
    """Where a piece can be cut without parting what belongs together."""
    end = max(0, len(text) - (16 << 10))
    end = text.rfind(b"\n", 0, end) + 1
    for one in reversed(stretches):
        if one.end < end:
            break
        if one.start < end and one.record is None:
            end = one.start
    if len(text) - end > MAX_CARRY:
        end = text.rfind(b"\n", 0, len(text) - (16 << 10)) + 1
    return end


def _time_of(rows: list[bytes], line: int) -> str:
    match = _TIME.search(rows[line]) if line < len(rows) else None
    return match[1].decode() if match else ""


def _place_of(text: bytes, line: int) -> int:
    at = 0
    for _ in range(line):
        at = text.find(b"\n", at) + 1
        if not at:
            return len(text)
    return at
