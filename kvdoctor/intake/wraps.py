"""Lines that a terminal or a copy broke are put together again."""

from __future__ import annotations

import re

from kvdoctor.data import replace
from kvdoctor.intake import damage
from kvdoctor.intake.paste import Line


def rejoin(lines: list[Line], carried: bytearray, notes: list[str]) -> tuple[list[Line], bytearray]:
    """Lines that a terminal broke, in one piece again, with the ``carried`` flags of their ends."""
    width = damage.width_of(lines)
    joined: list[Line] = []
    flags = bytearray()
    at, count = 0, 0
    while at < len(lines):
        line, behind = lines[at], at + 1
        if width or ("File" in line.shown and 'File "' in line.text):
            line, behind = _wrapped(lines, at, width)
            count += behind - at - 1
        joined.append(line)
        flags.append(carried[behind - 1])
        at = behind
    if count:
        notes.append(f"{count} wrapped line{' was' if count == 1 else 's were'} joined")
    return joined, flags


def _wrapped(lines: list[Line], at: int, width: int) -> tuple[Line, int]:
    """Line ``at`` with its continuations, and the position behind them."""
    line, behind = lines[at], at + 1
    text = line.text.rstrip()
    frame = text.lstrip().startswith('File "')
    while behind < len(lines) and behind - at < 200:
        rest = lines[behind]
        if _has_head(rest) or rest.number > lines[behind - 1].number + 1 or not rest.text.strip():
            break
        if damage.is_start(rest.text) or damage.ends_code(text, rest.text):
            break
        room = width - damage.filled(lines[behind - 1].shown)
        full = room == 0 or (room == 1 and not rest.text.startswith(" "))
        broken = frame and behind - at <= 4 and _is_broken(text, line, rest, lines, behind)
        if not broken and not (full and not (frame and rest.text.startswith("    "))):
            break
        text += (" " if room == 1 else "") + rest.text.rstrip()
        behind += 1
    if behind == at + 1:
        return line, behind
    shown = "".join(part.shown.rstrip() for part in lines[at:behind])
    return replace(line, text=text, shown=shown), behind


def _has_head(line: Line) -> bool:
    return bool(line.process or line.level or line.pod or line.native or line.time)


def _is_broken(text: str, line: Line, rest: Line, lines: list[Line], behind: int) -> bool:
    """Whether a frame's line ends before it is complete."""
    if not damage.FRAME.match(text):
        if damage.FRAME.match(text + rest.text.rstrip()):
            return True
        return text.count('"') == 1 and not rest.text.startswith(" ")
    if behind + 1 >= len(lines) or not re.fullmatch(r"[\w.<>]{1,80}", rest.text.rstrip()):
        return False
    after = lines[behind + 1]
    if not line.level:  # code or a frame follows: the line between is no exception
        inside = after.text[:4] == "    " or damage.FRAME.match(after.text) is not None
        return inside and not after.level
    return (after.process, after.log_file, after.log_line) == (
        line.process, line.log_file, line.log_line,
    )  # fmt: skip
