"""Times as logs write them, made comparable without knowing the year."""

from __future__ import annotations

import re

from kvdoctor.errors import InputError

_TIME = re.compile(
    r"(?:(?:\d{4}[-/])?(\d\d)[-/](\d\d))?[ T]?(?:(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?"
)
_GLOG = re.compile(r"(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)")


def limit(text: str) -> str:
    """What the user gave as --since or --until, in comparable form: "MM-DD HH:MM:SS" or, for a
    time of day alone, "HH:MM:SS". Raises InputError."""
    if not text:
        return ""
    made = comparable(text)
    if not made:
        raise InputError(f"no time: {text}", remedy='write "11-30 14:05" or "14:05:00"')
    return made


def comparable(text: str) -> str:
    """A log's time as "MM-DD HH:MM:SS", "HH:MM:SS" when it has no date, "" when it is none."""
    match = _TIME.fullmatch(text.strip().rstrip("Z")) or _GLOG.match(text)
    if not match or not any(match.groups()):
        return ""
    month, day, hour, minute, second = match.groups()
    clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}"
    return f"{month}-{day} {clock}" if month else clock


def inside(time: str, since: str, until: str) -> bool:
    """Whether a log's time lies within the limits; a time that cannot be read does."""
    made = comparable(time)
    if not made:
        return True
    low, high = (min(len(made), len(one)) for one in (since, until))
    return (not since or made[-low:] >= since[-low:]) and (
        not until or made[-high:] <= until[-high:]
    )
