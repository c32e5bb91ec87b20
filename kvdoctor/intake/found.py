"""A failure while it is being read, and the stream of lines it is read from."""

from __future__ import annotations

from array import array

from kvdoctor.data import dataclass, field
from kvdoctor.intake import syntax
from kvdoctor.intake.paste import Failure, Frame, Line
from kvdoctor.intake.syntax import CONTEXT, DIRECT, FRAME, TRACEBACK

MAX_MESSAGE_LINES = 400
MAX_MESSAGE = 60_000  # characters


@dataclass(slots=True)
class Found:
    """A failure as it is found: positions in the stream instead of line numbers."""

    failure: Failure
    first: int
    at: int  # position of the exception line
    last: int
    cause: int | None = None  # index in the stream's list
    depth: int = 0  # column of an exception group's margin


@dataclass(slots=True)
class Stream:
    """The lines of one process, and what was found in them."""

    lines: list[Line]
    order: array[int]  # position of each line in the paste
    carried: bytearray
    mixed: bool
    found: list[Found] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)  # index of the failure a line belongs to, or -1
    depths: dict[int, int] = field(default_factory=dict)  # margins of exception groups
    rules: set[int] = field(default_factory=set)  # lines that part the members of a group

    def same_record(self, a: int, b: int) -> bool:
        """Whether two lines carry the same record head (or neither carries one)."""
        x, y = self.lines[a], self.lines[b]
        return (
            x.log_line == y.log_line
            and x.level == y.level
            and x.log_file == y.log_file
            and x.time == y.time
            and x.native == y.native
        )

    def goes_on(self, at: int) -> bool:
        """Whether line ``at`` may belong to the same record as the line before it."""
        if not self.same_record(at - 1, at):
            return False
        if not self.lines[at].level:
            return True
        return not self.mixed or bool(self.carried[at - 1])


def add(
    stream: Stream,
    first: int,
    at: int,
    last: int,
    name: str,
    message: str,
    frames: tuple[Frame, ...],
    form: str,
    *,
    raised: str = "",
    header: str = "",
    notes: tuple[str, ...] = (),
) -> Found:
    """A failure whose exception line is ``at``, entered into the stream."""
    line = stream.lines[at]
    failure = Failure(
        exception=name, message=message, frames=frames, number=line.number,
        first=stream.lines[first].number, last=stream.lines[last].number, form=form,
        raised=raised, header=header, process=line.process or _named_process(stream, first),
        pid=line.pid, pod=line.pod, level=line.level, time=line.time, log_file=line.log_file,
        log_line=line.log_line, notes=notes,
    )  # fmt: skip
    found = Found(failure, first, at, last, depth=stream.depths.get(at, 0))
    index = len(stream.found)
    stream.found.append(found)
    for position in range(first, last + 1):
        if stream.owner[position] < 0:
            stream.owner[position] = index
    return found


def _named_process(stream: Stream, first: int) -> str:
    """The name in multiprocessing's "Process NAME:" above an unprefixed traceback."""
    for at in range(first - 1, max(-1, first - 3), -1):
        match = syntax.PROCESS.match(stream.lines[at].text)
        if match:
            return match[1]
    return ""


def message_lines(stream: Stream, first: int, at: int) -> tuple[int, list[str]]:
    """The lines that go on with the message of the exception line ``at``: the last of them, and
    their texts."""
    lines = stream.lines
    opener = _opener(stream, first)
    texts: list[str] = []
    last, room = at, MAX_MESSAGE
    position = at + 1
    while position < len(lines) and len(texts) < MAX_MESSAGE_LINES and room > 0:
        if position in stream.rules or not stream.goes_on(position):
            break
        text = lines[position].text
        if _stops(stream, position, text, opener):
            break
        texts.append(text)
        room -= len(text)
        if text.strip():
            last = position
        position += 1
    return last, texts[: last - at]


def _opener(stream: Stream, first: int) -> str:
    """The first two words of the record that printed the traceback."""
    if first == 0 or not stream.lines[first].level or not stream.same_record(first - 1, first):
        return ""
    return " ".join(stream.lines[first - 1].text.split(None, 2)[:2])


def _stops(stream: Stream, at: int, text: str, opener: str) -> bool:
    """Whether line ``at`` is no part of the message above it."""
    lines = stream.lines
    if TRACEBACK in text or text.lstrip().startswith((DIRECT, CONTEXT)) or FRAME.match(text):
        return True
    if lines[at].level:
        if stream.mixed or not text.strip():
            return False
        if opener and " ".join(text.split(None, 2)[:2]) == opener:
            return True
        after = at + 1
        return after < len(lines) and TRACEBACK in lines[after].text and stream.goes_on(after)
    if not text.strip():
        return True
    gap = stream.order[at] - stream.order[at - 1] > 1
    return gap or syntax.starts_something(text) or syntax.strict_line(text) is not None
