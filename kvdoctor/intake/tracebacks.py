"""Lines of one process to failures and log records.

The parser walks each stream once. Most lines of a log hold none of the words that can begin a
failure and are passed over after a few substring tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake import dialects, syntax
from kvdoctor.intake.found import Found, Stream, add, message_lines
from kvdoctor.intake.paste import Failure, Frame, Line
from kvdoctor.intake.syntax import CONTEXT, DIRECT, FRAME, TRACEBACK

CRASHED = ("SIG", "Caught signal", "Segfault", "core dumped", "Fatal Python")
JUNK = 3  # foreign lines tolerated between two frames of an unprefixed traceback


def parse(stream: Stream) -> None:
    """Fill ``stream.found`` and ``stream.owner``."""
    stream.owner = [-1] * len(stream.lines)
    lines = stream.lines
    dialects.margins(stream)
    at, size = 0, len(lines)
    while at < size:
        text = lines[at].text
        if not _may_begin(text):
            at += 1
            continue
        after = _step(stream, at, text)
        at = max(at + 1, after)
    _chain(stream)


def _may_begin(text: str) -> bool:
    return (
        "rror" in text
        or "xception" in text
        or TRACEBACK in text
        or 'File "' in text
        or "Interrupt" in text
        or "SystemExit" in text
        or "[type=" in text
        or "Again" in text
        or "assert " in text
        or "terminate called" in text
        or "ray::" in text
        or "tack (most" in text
        or "Call stack:" in text
        or "SIG" in text
        or "Caught signal" in text
        or "Segfault" in text
        or "core dumped" in text
    )


def _step(stream: Stream, at: int, text: str) -> int:
    """Parse what begins at line ``at``; the position behind it, ``at`` when nothing does."""
    if TRACEBACK in text:
        if syntax.IPYTHON_HEAD.search(text) or dialects.is_bare(stream, at):
            after = dialects.ipython(stream, at)
            if after > at:
                return after
        return _block(stream, at, at + 1)
    if FRAME.match(text):
        return _block(stream, at, at)
    if syntax.STACK in text or text.startswith("Call stack:"):
        return _skip_stack(stream, at + 1)
    if any(word in text for word in CRASHED):
        from kvdoctor.intake.crashes import crash

        after = crash(stream, at)
        if after > at:
            return after
    for parse_one in (dialects.pydantic, dialects.argparse, _alone, dialects.aborted):
        after = parse_one(stream, at)
        if after > at:
            return after
    return at


# ---------------------------------------------------------------- a traceback


@dataclass(slots=True)
class _Block:
    """A traceback being read."""

    base: int  # indentation of the "Traceback" line
    flat: bool = False  # indentation was lost
    frames: list[Frame] = field(default_factory=list)
    codes: list[list[str]] = field(default_factory=list)
    last: int = 0

    def done(self) -> tuple[Frame, ...]:
        return tuple(
            replace(frame, code="\n".join(code)) if code else frame
            for frame, code in zip(self.frames, self.codes, strict=True)
        )


def _block(stream: Stream, first: int, at: int) -> int:
    """The traceback whose "Traceback" line is ``first`` and whose frames begin at ``at``."""
    lines = stream.lines
    opening = lines[first].text
    block = _Block(syntax.indent(opening) if at > first else max(0, syntax.indent(opening) - 2))
    block.last = first
    size, before, junk = len(lines), first, 0
    while at < size:
        text = lines[at].text
        if at > first and not _continues(stream, before, at):
            break
        stripped = text.strip()
        if not stripped:
            at += 1
            continue
        match = FRAME.match(text)
        if match:
            _add_frame(block, lines[at], match)
        elif _ends(stream, at, stripped):
            break
        elif syntax.MARKERS.match(text) or syntax.REPEATED.match(text) or syntax.ELIDED.match(text):
            pass
        elif _is_code(block, text):
            if block.frames:
                block.codes[-1].append(text)
        else:
            result = _exception(stream, first, at, block, stripped)
            if result:
                return result
            if block.flat and block.frames and len(block.codes[-1]) < 3:
                block.codes[-1].append(text)
            elif junk < JUNK and not lines[at].level and _frame_follows(stream, at):
                junk += 1
                at += 1
                continue
            else:
                break
        before = block.last = at
        at += 1
    return _cut(stream, first, block)


def _continues(stream: Stream, before: int, at: int) -> bool:
    """A record's lines share its head; margins and rules of a group part its members."""
    if at in stream.rules:
        return False
    a, b = stream.lines[before], stream.lines[at]
    return a.log_line == b.log_line and a.log_file == b.log_file and a.level == b.level


def _ends(stream: Stream, at: int, stripped: str) -> bool:
    return (
        TRACEBACK in stripped
        or stripped.startswith((DIRECT, CONTEXT))
        or syntax.PROCESS.match(stripped) is not None
    )


def _add_frame(block: _Block, line: Line, match: object) -> None:
    text = line.text
    found = FRAME.match(text)
    if found is None:
        return
    path, number, function = found[1], syntax.number_of(found[2]), (found[3] or "").strip()
    if not block.frames:
        block.flat = syntax.indent(text) <= block.base
    block.frames.append(Frame(path, syntax.module_of(path), number, function, "", line.number))
    block.codes.append([])


def _is_code(block: _Block, text: str) -> bool:
    if not block.frames:
        return False
    return not block.flat and syntax.indent(text) > block.base + 1


def _frame_follows(stream: Stream, at: int) -> bool:
    lines = stream.lines
    for ahead in range(at + 1, min(len(lines), at + 1 + JUNK)):
        text = lines[ahead].text
        if FRAME.match(text):
            return True
        if TRACEBACK in text:
            return False
    return False


def _exception(stream: Stream, first: int, at: int, block: _Block, text: str) -> int:
    """The exception line at ``at``; 0 when the line is none."""
    if not block.frames and at > first + 1:
        return 0
    found = syntax.strict_line(text) if block.flat else syntax.exception_line(text)
    if block.flat and found and _frame_next(stream, at):
        found = None
    if not found:
        return 0
    ray = syntax.RAY.match(text)
    if ray:
        _record(stream, first, at, at, ray[1], ray[3], block, "traceback")
        return at + 1
    head = syntax.PYDANTIC_HEAD.match(found[1])
    if head:
        return dialects.pydantic_body(stream, first, at, found[1], block.done())
    name, message = found
    last, rest = message_lines(stream, first, at)
    whole = "\n".join([message, *rest]).rstrip()
    outer = _record(stream, first, at, last, name, whole, block, "traceback")
    return dialects.raised(stream, outer, last + 1)


def _frame_next(stream: Stream, at: int) -> bool:
    lines = stream.lines
    for ahead in range(at + 1, min(at + 4, len(lines))):
        text = lines[ahead].text
        if text.strip():
            return FRAME.match(text) is not None and stream.same_record(at, ahead)
    return False


def _record(
    stream: Stream,
    first: int,
    at: int,
    last: int,
    name: str,
    message: str,
    block: _Block | None,
    form: str,
) -> Found:
    frames = block.done() if block else ()
    return add(stream, first, at, last, name, message, frames, form)


def _cut(stream: Stream, first: int, block: _Block) -> int:
    """A traceback without its exception line: kept as ``cut`` when it has frames of Python."""
    if any(syntax.names_python(frame.path) for frame in block.frames):
        last = block.last
        found = add(stream, first, last, last, "", "", block.done(), "cut")
        number = block.frames[-1].number
        found.failure = replace(found.failure, number=number)
    return max(block.last + 1, first + 1)


def _skip_stack(stream: Stream, at: int) -> int:
    """The frames of a stack that was printed without an exception."""
    lines = stream.lines
    while at < len(lines) and (not lines[at].text.strip() or syntax.indent(lines[at].text) >= 2):
        at += 1
    return at


# ---------------------------------------------------------------- one line


def _alone(stream: Stream, at: int) -> int:
    """An exception line without a traceback, in str or repr form."""
    line = stream.lines[at]
    text = line.text.strip()
    if text.startswith("E  "):
        text = text[1:].strip()  # pytest
    if line.native or line.level in ("INFO", "DEBUG"):
        return at
    ray = syntax.RAY.match(text)
    if ray:
        add(stream, at, at, at, ray[1], ray[3], (), "line")
        return at + 1
    found = syntax.strict_line(text)
    if found:
        return _line(stream, at, *found)
    form = syntax.REPR.match(text)
    if form:
        add(stream, at, at, at, form[1], syntax.repr_message(form[2]), (), "repr")
        return at + 1
    if line.level in ("ERROR", "CRITICAL") or text.startswith(("future:", "task:")):
        inside = dialects.repr_inside(text)
        if inside:
            add(stream, at, at, at, inside[0], inside[1], (), "repr")
            return at + 1
    return dialects.asserted(stream, at)


def _line(stream: Stream, at: int, name: str, message: str) -> int:
    if syntax.PYDANTIC_HEAD.match(message):
        return dialects.pydantic_body(stream, at, at, message, ())
    last, rest = message_lines(stream, at, at)
    outer = add(stream, at, at, last, name, "\n".join([message, *rest]).rstrip(), (), "line")
    return dialects.raised(stream, outer, last + 1)


# ---------------------------------------------------------------- chains


def _chain(stream: Stream) -> None:
    """Link failures that a "direct cause" or "during handling" line stands between."""
    for index in range(1, len(stream.found)):
        found = stream.found[index]
        link = _separator(stream, stream.found[index - 1].last + 1, found.first)
        if link:
            found.cause = index - 1
            found.failure = replace(found.failure, link=link)
    for index, (group, leaf) in enumerate(itertools.pairwise(stream.found)):
        if group.depth and leaf.depth > group.depth and group.cause is None:
            group.cause = index + 1
            group.failure = replace(group.failure, link="group")


def _separator(stream: Stream, start: int, end: int) -> str:
    for at in range(start, min(end, start + 6)):
        text = stream.lines[at].text.strip()
        if text.startswith(DIRECT):
            return "direct"
        if text.startswith(CONTEXT):
            return "context"
    return ""


def failures_of(
    streams: Sequence[Stream],
) -> tuple[tuple[Failure, ...], dict[tuple[int, int], int]]:
    """The failures of all streams in order of appearance, and where each one went:
    (stream, index in it) -> index in the result."""
    entries = [
        (stream.order[found.first], stream.order[found.at], number, index)
        for number, stream in enumerate(streams)
        for index, found in enumerate(stream.found)
    ]
    entries.sort()
    places = {(number, index): place for place, (_, _, number, index) in enumerate(entries)}
    failures = []
    for _, _, number, index in entries:
        found = streams[number].found[index]
        cause = None if found.cause is None else places[number, found.cause]
        failures.append(replace(found.failure, cause=cause))
    return tuple(failures), places
