"""What the way of pasting did to a text: quoting, borders, line numbers, wraps, order.

Each function looks at the whole text first and changes nothing unless the damage is there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import Line

TRACEBACK = "Traceback (most recent call last"
# A blank may be lost where a line was broken: "line1055", "inget_response".
FRAME = re.compile(r'\s*(?:\|\s+)?File ?"([^"\n]{1,2000})", ?line ?(\w{1,12})(?:, ?in ?(.*))?$')
_BORDERS = "│┃║┆┊╎┇┋"
_BOX = Lazy(r"^[\s╭╮╰╯─━═┌┐└┘├┤┬┴┼╔╗╚╝╞╡╒╕╘╛┏┓┗┛]{2,}|[\s╭╮╰╯─━═┌┐└┘├┤╔╗╚╝╞╡┏┓┗┛]{2,}$")
_EDITOR = Lazy(r"\s{0,8}(\d{1,7})(?=$|[\s:|-])[:|-]?")
# The frames of a native backtrace are numbered by the handler that wrote them.
_NATIVE_FRAME = Lazy(
    r"\s{0,8}\d{1,4}\s{1,8}(?:0x[0-9a-f]{4,20} \S|[^\s()]{1,500}\(.{0,600}\) \[0x)"
)
_QUOTE = Lazy(r"\s{0,3}> ?")
_SYNTAX_START = Lazy(
    r'\s*(?:File "|Traceback \(most|During handling of the above|The above exception was)'
    r"|Process \S+:$|Exception in |[|+]|\S+:\d+: \w*Warning: |\[rank"
)
MAX_WIDTH = 500
NARROWEST = 80  # columns of a terminal that may have broken a single line
_USUAL_WIDTHS = (80, 100, 120, 132, 160, 180, 200, 240)


def unquote(lines: list[str]) -> list[str]:
    """Mail and markdown quotes (``> ``) taken off runs of quoted lines, back-ticks off the ends."""
    out = lines
    for _ in range(4):
        quoted = [line.lstrip().startswith(">") for line in out]
        runs = _runs(quoted, [not line.strip() for line in out])
        if not runs:
            break
        out = list(out)
        for first, behind in runs:
            for at in range(first, behind):
                out[at] = _QUOTE.sub("", out[at], count=1)
    return out


def _runs(marked: list[bool], blank: list[bool]) -> list[tuple[int, int]]:
    """Stretches of two and more marked lines."""
    runs, start = [], -1
    for at, mark in enumerate([*marked, False]):
        if mark and start < 0:
            start = at
        elif not mark and start >= 0:
            if at - start >= 2 or (at - start == len(marked) - sum(blank)):
                runs.append((start, at))
            start = -1
    return runs


def unfence(line: str) -> str:
    """``line`` without the back-ticks a markdown user put around it."""
    stripped = line.strip()
    if len(stripped) > 2 and stripped[0] == "`" and stripped[-1] == "`":
        return stripped.strip("`")
    return line


def unbox(line: str) -> str:
    """``line`` without the borders of a box."""
    stripped = line.strip()
    if stripped and (stripped[0] in _BORDERS or stripped[-1] in _BORDERS):
        inner = stripped.strip(_BORDERS)
        return inner[1:].rstrip() if inner.startswith(" ") else inner.rstrip()
    if TRACEBACK in line or "─" in line:
        return _BOX.sub("", line)
    return line


def unnumber(lines: list[str]) -> list[str] | None:
    """The lines without an editor's running line numbers; ``None`` when there are none. A line
    without a number is the rest of a wrapped one."""
    found = [
        (at, match)
        for at, line in enumerate(lines)
        if (match := _EDITOR.match(line)) and not _NATIVE_FRAME.match(line)
    ]
    rising = sum(int(b[1]) == int(a[1]) + 1 for (_, a), (_, b) in itertools.pairwise(found))
    filled = sum(1 for line in lines if line.strip())
    if filled < 3 or rising < 0.8 * (len(found) - 1) or len(found) < 0.4 * filled:
        return None
    cut = list(lines)
    pads = []
    for at, match in found:
        cut[at] = lines[at][match.end() :]
        if cut[at].strip():
            pads.append(len(cut[at]) - len(cut[at].lstrip()))
    pad = min(pads, default=0)
    for at, _ in found:
        cut[at] = cut[at][pad:]
    return cut


def newest_first(lines: Sequence[Line], times: Sequence[str]) -> bool:
    """Whether the text runs backwards: its times fall, or its tracebacks stand on their heads."""
    rises = falls = 0
    last: dict[int, str] = {}
    for time in times:
        if time:
            before = last.get(len(time))
            if before is not None and before != time:
                if time > before:
                    rises += 1
                else:
                    falls += 1
            last[len(time)] = time
    if rises > falls:
        return False
    votes = _structure(lines)
    if votes < 0:
        return True
    return votes == 0 and falls >= 3 and falls > 3 * rises


def _structure(lines: Sequence[Line]) -> int:
    """Positive when frames stand below their "Traceback" line and errors below their frames."""
    votes = 0
    before = second = ""
    filled = (line.text for line in lines if line.text.strip())
    for text, after in itertools.pairwise(itertools.chain(filled, [""])):
        if TRACEBACK in text:
            if _is_frame(after):
                votes += 3
            elif _is_frame(before) or _is_frame(second):
                votes -= 3
        elif "validation error" in text or "For further information visit " in text:
            sign = 1 if "validation error" in text else -1
            votes += sign * (("[type=" in after) - ("[type=" in before))
        elif "rror" in text and _ERROR.match(text):
            votes += _in_traceback(before) - _in_traceback(after)
        before, second = text, before
    return votes


_ERROR = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Z]\w{0,80}?(?:Error|Exception)(?:: |$)")


_RAISED = Lazy(
    r"(?:[A-Za-z_]\w{0,80}\.){0,10}\w{0,80}?"
    r"(?:Error|Exception|Iteration|Interrupt|Exit)(?:: |\s*$)"
    r"|(?:[A-Za-z_]\w{0,80}\.){1,10}[A-Z]\w{0,80}(?:: |\s*$)"
)


def _in_traceback(text: str) -> bool:
    """A frame or its source line; a message that goes on may be indented a little, too."""
    return text[:4] == "    " or (text[:2] == "  " and _is_frame(text))


def _is_frame(text: str) -> bool:
    return text.lstrip().startswith('File "')


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def filled(shown: str) -> int:
    """Columns up to the last character of a line, borders not counted."""
    if shown.isascii():
        return len(shown.rstrip())
    return len(shown.strip(_BORDERS).rstrip())


def width_of(lines: Sequence[Line]) -> int:
    """The width at which a terminal broke the lines; 0 when it did not."""
    lengths = [filled(line.shown) for line in lines]
    width = max(lengths, default=0)
    if not 40 <= width <= MAX_WIDTH:
        return 0
    full = sum(1 for length in lengths if length == width)
    few = len(lines) <= 80
    usual = full >= 2 or width in _USUAL_WIDTHS or _broken_once(lines, lengths.index(width))
    return width if full >= 3 or (few and usual) else 0


def _broken_once(lines: Sequence[Line], at: int) -> bool:
    """Whether the widest line is a record of trouble whose rest stands below it without a head:
    vLLM puts its head before every line of a message."""
    if at + 1 >= len(lines) or lines[at].level not in ("ERROR", "WARNING", "CRITICAL"):
        return False
    line, rest = lines[at], lines[at + 1]
    headless = not (rest.process or rest.level or rest.pod or rest.native or rest.time)
    near = rest.number == line.number + 1 and filled(line.shown) >= NARROWEST
    goes_on = bool(rest.text.strip()) and not rest.text.startswith(" ") and not is_start(rest.text)
    return bool(line.process and line.log_file) and headless and near and goes_on


def is_start(text: str) -> bool:
    """Whether ``text`` cannot be the rest of a wrapped line."""
    return _SYNTAX_START.match(text) is not None


def ends_code(before: str, text: str) -> bool:
    """Whether ``text`` is the exception below ``before``, a traceback's last frame or source."""
    return _RAISED.match(text) is not None and (
        before[:4] == "    " or FRAME.match(before) is not None
    )
