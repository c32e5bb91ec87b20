"""Failures that are not written as a plain traceback: pydantic, argparse, groups, IPython…"""

from __future__ import annotations

import re

from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake import syntax
from kvdoctor.intake.found import Found, Stream, add, message_lines
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import Frame
from kvdoctor.intake.syntax import CONTEXT, DIRECT, FRAME, TRACEBACK

MAX_ERRORS = 100  # of one validation
MAX_ERROR_LINES = 400


# ---------------------------------------------------------------- exception groups


def margins(stream: Stream) -> None:
    """Take the margins of exception groups off, and note the lines that part their members."""
    inside = False
    lines = stream.lines
    for at, line in enumerate(lines):
        text = line.text
        if not inside:
            inside = "+ Exception Group Traceback" in text or "| Exception Group Traceback" in text
            if not inside:
                continue
        match = syntax.MARGIN.match(text)
        if not match:
            if text.strip() and TRACEBACK not in text:
                inside = False
            continue
        stream.depths[at] = len(match[1]) // 2 + 1
        if syntax.GROUP_RULE.match(text):
            stream.rules.add(at)
            lines[at] = replace(line, text="")
        else:
            lines[at] = replace(line, text=text[match.end(2) + 1 :])


# ---------------------------------------------------------------- pydantic and argparse


@dataclass(slots=True)
class _Error:
    """One error of a validation."""

    at: int
    last: int
    where: str
    texts: list[str] = field(default_factory=list)
    closed: bool = False


def pydantic(stream: Stream, at: int) -> int:
    """A validation error whose exception line is incomplete or missing."""
    text = stream.lines[at].text
    if "validation error" in text:
        head = syntax.PYDANTIC_HEAD.search(text)
        if head and (not text[: head.start()].strip() or text[: head.start()].endswith(": ")):
            return pydantic_body(stream, at, at, head.group().strip(), ())
    if syntax.PYDANTIC_LINE.match(text) or ("[type=" in text and "input_value=" in text):
        return pydantic_body(stream, at, at - 1, "", ())
    return at


def pydantic_body(
    stream: Stream, first: int, at: int, header: str, frames: tuple[Frame, ...]
) -> int:
    """The errors below the header line ``at``, each one a failure; the position behind them."""
    count = syntax.PYDANTIC_HEAD.match(header)
    wanted = min(int(count[1]) if count else 1, MAX_ERRORS)
    errors = _errors(stream, first, at, wanted)
    if not errors:
        last = max(at, first)
        add(stream, first, last, last, "ValidationError", "", frames, "pydantic", header=header)
        return last + 1
    for number, error in enumerate(errors):
        _add_error(stream, first if number == 0 else error.at, error, header, frames)
    return max(errors[-1].last + 1, first + 1)


def _errors(stream: Stream, first: int, at: int, wanted: int) -> list[_Error]:
    """At most ``wanted`` errors below the header line ``at``."""
    errors: list[_Error] = []
    lines, where = stream.lines, ""
    depth = syntax.indent(lines[at].text) if at >= first else 0
    for position in range(at + 1, min(len(lines), at + MAX_ERROR_LINES)):
        text = lines[position].text
        stripped = text.strip()
        current = errors[-1] if errors and not errors[-1].closed else None
        if position > first and not _same_head(stream, position):
            break
        if _foreign(text, stripped) or (not lines[position].level and _leaves(text, current)):
            break
        if stripped.startswith(syntax.PYDANTIC_LINK):
            if errors:
                errors[-1].last, errors[-1].closed = position, True
            if len(errors) >= wanted:
                break
        elif current is None and len(errors) >= wanted:
            break
        elif stripped and current is None and _is_place(text, stripped, depth):
            where = stripped
        elif stripped:
            if current is None:
                if not _is_error(text, depth):
                    break
                current = _Error(position, position, where)
                errors.append(current)
                where = ""
            _extend(current, position, stripped)
    return errors


def _leaves(text: str, current: _Error | None) -> bool:
    """Whether an unprefixed line begins something else than the rest of a message."""
    return current is not None and syntax.starts_something(text)


def _same_head(stream: Stream, at: int) -> bool:
    a, b = stream.lines[at - 1], stream.lines[at]
    return (a.level, a.log_file, a.log_line) == (b.level, b.log_file, b.log_line)


def _foreign(text: str, stripped: str) -> bool:
    return TRACEBACK in text or stripped.startswith((DIRECT, CONTEXT)) or bool(FRAME.match(text))


def _is_place(text: str, stripped: str, depth: int) -> bool:
    """The name of the field stands above its error, indented like the header."""
    return (
        syntax.indent(text) <= depth
        and not syntax.PYDANTIC_LINE.match(text)
        and "[type=" not in text
        and " " not in stripped
    )


def _is_error(text: str, depth: int) -> bool:
    """Whether an error's text begins on this line: indented, or told by pydantic's own words."""
    return (
        syntax.indent(text) > depth
        or "[type=" in text
        or syntax.PYDANTIC_LINE.match(text) is not None
    )


def _extend(error: _Error, position: int, text: str) -> None:
    error.last = position
    end = syntax.PYDANTIC_END.search(text)
    if end:
        text, error.closed = text[: end.start()], True
    error.texts.append(text)


def _add_error(
    stream: Stream, first: int, error: _Error, header: str, frames: tuple[Frame, ...]
) -> None:
    message, raised = "\n".join(error.texts).strip(), ""
    for start, kind in (("Value error, ", "ValueError"), ("Assertion failed, ", "AssertionError")):
        if message.startswith(start):
            message, raised = message[len(start) :], kind
    notes = (error.where,) if error.where else ()
    add(
        stream, first, error.at, error.last, "ValidationError", message, frames, "pydantic",
        raised=raised, header=header, notes=notes,
    )  # fmt: skip


_ARGUMENT = Lazy(
    r"(?:argument |unrecognized argument|the following argument|invalid |ambiguous option|expected "
    r"|one of the arguments |not allowed |too few arguments)"
)


def argparse(stream: Stream, at: int) -> int:
    """``vllm serve: error: argument --x: text``: a refusal without a traceback."""
    line = stream.lines[at]
    if line.level or ": error: " not in line.text:
        return at
    match = syntax.ARGPARSE.match(line.text.strip())
    if not match:
        return at
    before = (stream.lines[i].text.startswith("usage:") for i in range(max(0, at - 40), at))
    if not _ARGUMENT.match(match[2]) and not any(before):
        return at
    last, rest = message_lines(stream, at, at)
    message = "\n".join([match[2], *rest]).rstrip()
    add(stream, at, at, last, "", message, (), "argparse")
    return last + 1


# ---------------------------------------------------------------- one failure inside another


def raised(stream: Stream, outer: Found, at: int) -> int:
    """``BackendFailed: backend='x' raised:`` with the real class and message on the next line."""
    texts = outer.failure.message.split("\n")
    for number, text in enumerate(texts[:MAX_ERROR_LINES]):
        if text.rstrip().endswith("raised:") and number + 1 < len(texts):
            inner = syntax.exception_line(texts[number + 1].strip())
            if inner:
                position = min(outer.at + number + 1, outer.last)
                message = "\n".join([inner[1], *texts[number + 2 :]]).rstrip()
                own = "\n".join(texts[: number + 1])
                _inner(stream, outer, own, position, outer.last, inner[0], message)
                return at
    if texts[-1].rstrip().endswith("raised:") and at < len(stream.lines):
        inner = syntax.exception_line(stream.lines[at].text.strip())
        if inner and _same_head(stream, at):
            last, rest = message_lines(stream, at, at)
            message = "\n".join([inner[1], *rest]).rstrip()
            _inner(stream, outer, outer.failure.message, at, last, inner[0], message)
            return last + 1
    return at


def _inner(
    stream: Stream, outer: Found, own: str, at: int, last: int, name: str, message: str
) -> None:
    form = outer.failure.form
    add(stream, at, at, last, name, message, outer.failure.frames, form)
    outer.cause = len(stream.found) - 1
    outer.failure = replace(outer.failure, message=own, link="direct")


_STRING = Lazy(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)


def repr_inside(text: str) -> tuple[str, str] | None:
    """Class and message of an exception printed with repr inside another text."""
    if "rror(" not in text and "xception(" not in text:
        return None
    match = syntax.REPR_INSIDE.search(text)
    if not match or text[: match.start()].rstrip().endswith("raise"):
        return None
    body = _STRING.match(text, match.end())
    if not body:
        return None
    return match[1], syntax.unescape(body[1] if body[1] is not None else body[2])


def asserted(stream: Stream, at: int) -> int:
    """An asserted source line that somebody copied without its traceback."""
    line = stream.lines[at]
    code = line.text.strip().removeprefix("...").strip()
    if line.level not in ("ERROR", "CRITICAL") or not code.startswith("assert "):
        return at
    frame = Frame("", "", 0, "", code, line.number)
    add(stream, at, at, at, "AssertionError", "", (frame,), "cut")
    return at + 1


_TERMINATE = Lazy(r"terminate called after throwing an instance of '([^'\n]{1,200})'")


def aborted(stream: Stream, at: int) -> int:
    """A C++ exception that nobody caught."""
    match = _TERMINATE.match(stream.lines[at].text.strip())
    if not match:
        return at
    message, last = "", at
    if at + 1 < len(stream.lines):
        text = stream.lines[at + 1].text.strip()
        if text.startswith("what():"):
            last, rest = message_lines(stream, at, at + 1)
            message = "\n".join([text[7:].strip(), *rest]).rstrip()
            last = max(last, at + 1)
    add(stream, at, at, last, match[1], message, (), "line")
    return last + 1


# ---------------------------------------------------------------- IPython and rich


def is_bare(stream: Stream, at: int) -> bool:
    """Whether the frames below the "Traceback" line ``at`` are written without quotes."""
    seen = 0
    for ahead in range(at + 1, min(len(stream.lines), at + 6)):
        text = stream.lines[ahead].text
        if not text.strip() or set(text.strip()) <= {"-"}:
            continue
        seen += 1
        if FRAME.match(text) or seen > 2:
            return False
        if _bare_frame(text, 0):
            return True
    return False


def _bare_frame(text: str, number: int) -> Frame | None:
    match = syntax.BARE_FRAME.match(text)
    if match:
        line = syntax.number_of(match[2])
        return Frame(match[1], syntax.module_of(match[1]), line, match[3], "", number)
    match = syntax.OLD_FRAME.match(text)
    if match:
        return Frame(match[1], syntax.module_of(match[1]), 0, match[2], "", number)
    match = syntax.CELL.match(text)
    if match:
        path = match[2] or "<cell>"
        return Frame(
            path, path, syntax.number_of(match[1] or "0"), match[3] or "<module>", "", number
        )
    return None


def ipython(stream: Stream, first: int) -> int:
    """A traceback of IPython or rich; ``first`` when it holds no frame."""
    lines = stream.lines
    frames: list[Frame] = []
    at = first + 1
    while at < len(lines) and at - first < 4000:
        text = lines[at].text
        frame = _bare_frame(text, lines[at].number)
        arrow = syntax.ARROW.match(text)
        if frame:
            frames.append(frame)
        elif arrow and frames:
            code = arrow[2].lstrip("│ ").rstrip()
            line = frames[-1].line or syntax.number_of(arrow[1])
            frames[-1] = replace(frames[-1], code=code, line=line)
        elif text.strip() and not syntax.NUMBERED.match(text) and syntax.indent(text) < 4:
            found = syntax.exception_line(text.strip())
            if found and frames:
                last, rest = message_lines(stream, at, at)
                message = "\n".join([found[1], *rest]).rstrip()
                add(stream, first, at, last, found[0], message, tuple(frames), "traceback")
                return last + 1
            if TRACEBACK in text or not frames:
                break
        at += 1
    if any(syntax.names_python(frame.path) for frame in frames):
        add(stream, first, at - 1, at - 1, "", "", tuple(frames), "cut")
        return at
    return at if frames else first  # the frames of a native crash are no traceback
