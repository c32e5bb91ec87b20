"""One line: its prefixes taken off, one after the other, and what they say.

A prefix is whatever a logger, a container runtime, a cluster tool or a cloud put in front of the
text. They nest in any order, so :func:`split` works through them from the left until none matches.
Every pattern is anchored at a position and bounded: the work is linear in the length of the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvdoctor.data import dataclass
from kvdoctor.intake.lazy import Lazy

LEVELS = {
    "TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "NOTICE": "INFO", "WARN": "WARNING",
    "WARNING": "WARNING", "ERROR": "ERROR", "ERR": "ERROR", "FATAL": "CRITICAL",
    "CRITICAL": "CRITICAL", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL",
}  # fmt: skip
_LEVEL = r"(?:ERROR|WARNING|INFO|DEBUG|CRITICAL|FATAL|WARN|TRACE)"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"

# The standard record, alone on a line: nearly every line of a healthy log.
STANDARD = re.compile(
    r"(?:\(([A-Za-z]\w{0,80}) pid=(\d{1,9})\) )?(ERROR|WARNING|INFO|DEBUG|CRITICAL) "
    r"(\d\d-\d\d \d\d:\d\d:\d\d) \[([^\s\[\]:*]{1,200}):(\d{1,7})\](?: |$)"
)
# All forms of the logger's head: with or without bracket, date, year, milliseconds.
_RECORD = re.compile(
    rf"({_LEVEL})(?:\s{{1,4}}((?:\d{{4}}-)?\d\d-\d\d[ T]{_CLOCK}Z?))?\s{{1,4}}"
    r"(\[?)([^\s\[\]:()]{1,200}):(\d{1,7})\](?: |$)"
)
_DATED = re.compile(rf"({_LEVEL})\s{{1,4}}((?:\d{{4}}-)?\d\d-\d\d[ T]{_CLOCK}Z?) ")
_LEVEL_ALONE = Lazy(rf"({_LEVEL})(?::?\s{{1,9}}|:?$)")
_UVICORN = re.compile(rf"({_LEVEL}):(?:\s{{1,9}}|([\w.]{{1,100}}):)")

_PLACED = Lazy(r"[A-Za-z]\w{0,80} (?:[DTPE]P\d{1,5}_?){1,4}$")  # "VllmWorker TP1" of older releases
_PID = re.compile(r" pid=(\d{1,9})((?:, [a-z_]{1,20}=[^),\s]{1,80}){0,4})\)( ?)")
_RANK = Lazy(r"\s(?:rank|local_rank)=\d{1,5}$")
_NAME_ONLY = Lazy(rf"\(([A-Z]\w{{2,60}})\) (?={_LEVEL}\b)")
_SQUARE_RANK = Lazy(r"\[(rank\d{1,5})\]:\s?")
_STAGE = Lazy(rf"\[[\w .:-]{{1,40}}\]\s{{1,4}}(?={_LEVEL}\s|\()")
_POD = Lazy(r"\[pod/([\w.-]{1,253})/([\w.-]{1,253})\] ?")
_SQUARE_TIME = Lazy(r"\[(\d{4}-\d\d-\d\d[T ]" + _CLOCK + r"(?:Z|[+-]\d\d:?\d\d)?)\] ?")
_MPI = Lazy(r"\[\d{1,5},\d{1,5}\]<(?:stdout|stderr)>:")
_LIBRARY = Lazy(rf"([A-Z][A-Za-z]{{1,30}}) ({_LEVEL}): ")

_ISO = re.compile(
    r"(\d{4}[-/]\d\d[-/]\d\d[T ]" + _CLOCK + r")(Z|[+-]\d\d:?\d\d)?(?: |$|(?=\t)|(?=,))"
)
_CRI = Lazy(r"(?:stdout|stderr) ([FP])(?::\w)?(?: |$)")
_JOURNAL = Lazy(r"([\w.-]{1,253}) ([^\s\[\]:()]{1,100})\[(\d{1,9})\]: ?")
_SYSLOG = Lazy(
    r"(?:<\d{1,3}>)?((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d " + _CLOCK + r") "
    r"([\w.:-]{1,253}) ([^\s\[\]:]{1,100})(?:\[\d{1,9}\])?: ?"
)
_AFTER_TIME = Lazy(
    rf"\s{{0,4}}(?:>>\s"  # a wrapper script's own mark
    rf"|\|\s({_LEVEL})\s{{1,8}}\|\s(?:stdout|stderr)\s\|\s"
    rf"|\[({_LEVEL})\s?\]\sW-\d{{1,9}}-\S{{1,120}}\sMODEL_LOG\s-\s"
    rf"|\d{{1,9}}\s[\w.-]{{1,40}}\s({_LEVEL})\s\[[^\]\n]{{1,200}}\]\s)"
)
_NAMED_LEVEL = Lazy(
    rf"\s{{0,4}}(?:-\s[\w.:-]{{1,120}}\s-\s|[-|]\s)?\[?({_LEVEL})\s{{0,8}}\]?(?:\s?[-|:]\s|\s{{1,8}}|$)"
)
_MODULE = Lazy(r"([A-Za-z_][\w]{0,60}(?:(?:\.|::)\w{1,80}){1,8}): ")
_LOGURU = Lazy(r"[\w.<>]{1,120}:[\w<>]{1,80}:(\d{1,7}) - ")
_CLOUD = Lazy(
    r"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY) "
    r"(\d{4}-\d\d-\d\dT" + _CLOCK + r"Z) (?:\[resource\.labels\.\w{1,40}: ([^\]\n]{1,200})\] ?)?"
)
_RUNPOD = re.compile(r"[a-z0-9]{4,32}\[(?:info|error|warning|warn|debug|stdout|stderr)\]")
_COMPOSE = re.compile(r"([A-Za-z0-9][\w.-]{0,120}?-\d{1,4})\s{1,40}\| ?")
_COMPOSE_NAMED = re.compile(r"([A-Za-z][\w.-]{0,120})\s{1,40}\| ?")
_BAR = Lazy(r"\s{0,4}\| (?=\[?\d{4}-\d\d-\d\d|\([A-Za-z]\w{0,80} pid=|\s{0,1}" + _LEVEL + r" \d)")
_QUOTE = Lazy(rf"(?:> ?){{1,8}}(?=\(|{_LEVEL} |\d{{4}}-|\[)")
_STERN = re.compile(
    r"([a-z0-9][a-z0-9.-]{2,252}) ([a-z0-9][\w.-]{0,62}) "
    rf"(?=\([A-Z]\w{{0,80}} pid=|{_LEVEL} (?:\d\d-|\[)|Traceback \(most)"
)

# Records of native libraries.
_GLOG = re.compile(
    r"\[?([IWEF])((?:\d{4})?\d{4} \d\d:\d\d:\d\d\.\d{1,9})\s{1,8}(?:(\d{1,9}) )?"
    r"([\w./+-]{1,200}):(\d{1,7})\] ?"
)
_UCX = Lazy(
    r"\[(\d{9,11}\.\d{1,9})\] \[[^\]\n]{1,120}\]\s{1,40}([\w.-]{1,80}):(\d{1,7})\s{1,4}UCX\s{1,4}"
    r"(\w{1,10})\s{1,4}"
)
_CORO = Lazy(rf"({_LEVEL})\s{{1,8}}\[(\d{{1,9}})\] \[([\w./-]{{1,120}}):(\d{{1,7}})\] ?")
_NCCL = re.compile(
    r"[\w.-]{1,120}:\d{1,9}:\d{1,9} \[\d{1,4}\] (?:\S{1,20} )?NCCL (INFO|WARN|ERROR|TRACE) ?"
)

_REPEATED = Lazy(r"\s{0,8}\[repeated \d{1,9}x across cluster\][^\n]{0,400}$")
_LIBRARY_PLACE = Lazy(r" \(([\w.-]{1,80}\.py):(\d{1,7}):[\w.]{1,160}\)$")
_MARKDOWN_DUNDER = Lazy(r"(?<![\w*])\*\*(\w{1,40})\*\*(?![\w*])")

MAX_PREFIXES = 40


@dataclass(slots=True)
class Head:
    """What the prefixes of one line said; ``end`` is where its content begins."""

    process: str = ""
    pid: int = 0
    level: str = ""
    time: str = ""
    log_file: str = ""
    log_line: int = 0
    pod: str = ""
    native: str = ""
    outer: str = ""  # time written by a shipper: decides the order of lines
    stern: str = ""  # "pod container", the prefix of a line that stern printed
    partial: bool = False  # CRI: the line goes on in the next one
    end: int = 0


def split(
    text: str, learned: Sequence[re.Pattern[str]] = (), names: frozenset[str] = frozenset()
) -> Head:
    """The prefixes of ``text``. ``learned`` are prefixes found by looking at the whole text,
    ``names`` the container names that stand before a bar on several lines."""
    head = Head()
    start = _skip_blanks(text)
    at = start
    for _ in range(MAX_PREFIXES):
        after = _one(text, at, head, names)
        if after < 0 or after == at:
            after = _learned(text, at, learned, head) if learned else -1
            if after < 0:
                break
        at = after
        if at < len(text) and text[at] == " ":
            # an indented prefix behind a prefix: only taken when it is one
            inner = _skip_blanks(text, at)
            if inner >= len(text) or not _may_begin(text, inner):
                break
            probe = _one(text, inner, head, names)
            if probe < 0:
                break
            at = probe
    head.end = 0 if at == start else at
    return head


def _skip_blanks(text: str, at: int = 0) -> int:
    size = len(text)
    while at < size and text[at] in " \t":
        at += 1
    return at


def _may_begin(text: str, at: int) -> bool:
    return text[at] in "(IEWDC" and (
        _RECORD.match(text, at) is not None
        or _DATED.match(text, at) is not None
        or (text[at] == "(" and " pid=" in text[at : at + 120])
    )


def _learned(text: str, at: int, learned: Sequence[re.Pattern[str]], head: Head) -> int:
    for pattern in learned:
        match = pattern.match(text, at)
        if match:
            head.pod = match.groupdict().get("pod", head.pod)
            return match.end()
    return -1


def _one(text: str, at: int, head: Head, names: frozenset[str]) -> int:
    """One prefix at ``at`` read into ``head``; the position behind it, -1 when there is none."""
    if at >= len(text):
        return -1
    first = text[at]
    if first == "(":
        return _parenthesis(text, at, head)
    if first == "[":
        return _bracket(text, at, head)
    if first.isdigit():
        after = _digits(text, at, head)
        if after >= 0:
            return after
    if first.isalnum() or first == "<":
        return _word(text, at, head, names)
    if first == "|":
        match = _BAR.match(text, at)
        return match.end() if match else -1
    if first == ">":
        match = _QUOTE.match(text, at)
        return match.end() if match else -1
    return -1


def _parenthesis(text: str, at: int, head: Head) -> int:
    """``(Worker_TP0 pid=12, ip=10.0.0.1) ``; Ray's names may hold parentheses and colons."""
    found = text.find(" pid=", at, at + 300)
    if found < 0:
        match = _NAME_ONLY.match(text, at)
        if not match:
            return -1
        head.process = match[1]
        return match.end()
    match = _PID.match(text, found)
    name = text[at + 1 : found]
    if not match or not name or name.count("(") != name.count(")") or '"' in name:
        return -1
    rank = _RANK.search(name)
    if rank:
        name = name[: rank.start()]
    if " " in name and not _PLACED.match(name):
        return -1
    head.process, head.pid = name, int(match[1])
    return match.end()


def _bracket(text: str, at: int, head: Head) -> int:
    match = _SQUARE_RANK.match(text, at)
    if match:
        head.process = head.process or match[1]
        return match.end()
    match = _POD.match(text, at)
    if match:
        head.pod = match[1]
        return match.end()
    match = _SQUARE_TIME.match(text, at)
    if match:
        head.outer = match[1]
        return _after_square_time(text, match.end(), head, match[1])
    if head.native or head.log_file:
        return -1
    match = _GLOG.match(text, at) or _UCX.match(text, at)
    if match:
        return _native(text, match, head)
    match = _STAGE.match(text, at) or _MPI.match(text, at)
    return match.end() if match else -1


def _after_square_time(text: str, at: int, head: Head, time: str) -> int:
    match = _LIBRARY.match(text, at)
    if match:
        head.level, head.time = LEVELS[match[2]], time
        return match.end()
    match = _NAMED_LEVEL.match(text, at)
    if match and not _RECORD.match(text, at) and not _DATED.match(text, at):
        head.level, head.time = LEVELS[match[1]], time
        return match.end()
    return at


def _native(text: str, match: re.Match[str], head: Head) -> int:
    if match.re is _GLOG:
        level, time, place, line = match[1], match[2], match[4], match[5]
    else:
        level, time, place, line = match[4], match[1], match[2], match[3]
    return _set_native(
        head, text[match.start() : match.end()], level, time, place, line, match.end()
    )


def _set_native(
    head: Head, native: str, level: str, time: str, place: str, line: str, end: int
) -> int:
    head.native = native.rstrip()
    head.level = LEVELS.get(level.upper(), "INFO")
    head.time, head.log_file, head.log_line = time, place, int(line)
    return end


def _digits(text: str, at: int, head: Head) -> int:
    """Whatever begins with a time."""
    match = _ISO.match(text, at)
    if not match:
        return -1
    head.outer = match[1]
    end = match.end()
    if text[end : end + 1] == "\t":  # a table's column ends here; what is indented comes behind it
        end += 1
    if end >= len(text):
        return end
    rest = text[end]
    if rest in "so":
        cri = _CRI.match(text, end)
        if cri:
            head.partial = cri[1] == "P"
            return cri.end()
    coro = _CORO.match(text, end)
    if coro:
        native = text[at : coro.end()]
        return _set_native(head, native, coro[1], match[1], coro[3], coro[4], coro.end())
    if _RECORD.match(text, end) or _DATED.match(text, end):
        return end
    known = _AFTER_TIME.match(text, end)
    if known:
        if known[3]:
            head.level, head.time = LEVELS[known[3]], match[1]
        return known.end()
    journal = _JOURNAL.match(text, end)
    if journal:
        head.pod = journal[1]
        return journal.end()
    return _level_after_time(text, end, head, match[1])


def _level_after_time(text: str, at: int, head: Head, time: str) -> int:
    """``2026-01-01T00:00:00Z  INFO module.function: text`` and its many relatives."""
    match = _NAMED_LEVEL.match(text, at)
    if not match:
        return at
    if _RECORD.match(text, _skip_blanks(text, at)):
        return at
    head.level, head.time = LEVELS[match[1]], time
    at = match.end()
    place = _LOGURU.match(text, at)
    if place:
        head.log_line = int(place[1])
        head.log_file = text[at : at + place.group().index(":")]
        return place.end()
    module = _MODULE.match(text, at)
    if module:
        return module.end()
    return at


def _word(text: str, at: int, head: Head, names: frozenset[str]) -> int:
    """A level, a native head, syslog, a cloud's severity, a container's name."""
    first = text[at]
    if first in "EWIDCFTN" and text[at + 1 : at + 2].isupper():
        after = _level(text, at, head)
        if after >= 0:
            return after
    if head.log_file or head.native:
        return -1
    if first in "IWEF" and text[at + 1 : at + 5].isdigit():
        match = _GLOG.match(text, at)
        return _native(text, match, head) if match else -1
    if first in "JFMASOND<":
        match = _SYSLOG.match(text, at)
        if match:
            head.outer, head.pod = match[1], match[2]
            return match.end()
    return _container(text, at, head, names)


def _container(text: str, at: int, head: Head, names: frozenset[str]) -> int:
    match = _RUNPOD.match(text, at)
    if match:
        return match.end()
    match = _COMPOSE.match(text, at)
    if match and not head.level:
        head.pod = match[1]
        return match.end()
    match = _COMPOSE_NAMED.match(text, at)
    if match and match[1] in names and not head.level:
        head.pod = match[1]
        return match.end()
    match = _STERN.match(text, at)
    if match:
        head.pod, head.stern = match[1], f"{match[1]} {match[2]}"
        return match.end()
    match = _NCCL.match(text, at)
    if match:
        head.native = match.group().rstrip()
        head.level = LEVELS[match[1]]
        return match.end()
    return -1


def _level(text: str, at: int, head: Head) -> int:
    match = _RECORD.match(text, at)
    if match and (match[2] or match[3]):
        head.level, head.time = LEVELS[match[1]], match[2] or ""
        head.log_file, head.log_line = dunder(match[4]), int(match[5])
        return match.end()
    cloud = _CLOUD.match(text, at)
    if cloud:
        head.outer = cloud[1]
        head.pod = cloud[2] or head.pod
        return cloud.end()
    match = _DATED.match(text, at)
    if match:
        head.level, head.time = LEVELS[match[1]], match[2]
        return match.end()
    if head.level:
        return -1
    match = _UVICORN.match(text, at)
    if not match and head.process:
        match = _LEVEL_ALONE.match(text, at)
    if match:
        head.level = LEVELS[match[1]]
        return match.end()
    return -1


def content(text: str, head: Head) -> str:
    """What follows the prefixes, without what shippers and libraries append."""
    rest = text[head.end :]
    if "x across cluster]" in rest:
        rest = _REPEATED.sub("", rest)
    if head.level and not head.log_file and rest.endswith(")"):
        match = _LIBRARY_PLACE.search(rest, max(0, len(rest) - 300))
        if match:
            head.log_file, head.log_line = match[1], int(match[2])
            rest = rest[: match.start()]
    return rest


def dunder(text: str) -> str:
    """``**init**``, as markdown leaves it, back to ``__init__``."""
    return _MARKDOWN_DUNDER.sub(r"__\1__", text) if "**" in text else text
