"""What the intake stage gives: one paste, taken apart but not yet understood.

Line numbers are 1-based positions in the text as the user gave it (after decompression), so that
every later stage can point at the line that proves its claim.
"""

from __future__ import annotations

from collections.abc import Callable

from kvdoctor.data import dataclass, derive


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text, split into its prefixes and its content.

    A line that a terminal broke is one ``Line`` under its first number; records that stand on one
    line (glued, or inside JSON) are several with the same number; a text that was pasted newest
    line first is turned round, so that its numbers fall.

    ``shown`` is the line as given, decoded and free of terminal escapes and control characters: it
    is what evidence shows. ``text`` is the content after every prefix, indentation kept; it may be
    given as the place in ``shown`` at which it begins, which takes no room.
    """

    number: int
    shown: str
    text: str
    process: str = ""  # "Worker_TP0", "EngineCore_DP1", "APIServer"; "" when the line names none
    pid: int = 0
    level: str = ""  # "ERROR", "WARNING", "INFO", "DEBUG", "CRITICAL"; "" when not a log record
    time: str = ""  # as written in the line
    log_file: str = ""  # file of the log call as written: "core.py" or "v1/engine/core.py"
    log_line: int = 0
    pod: str = ""  # pod or container, when a runner's prefix names it
    native: str = ""  # head of a native library's record (glog, UCX, coro_rpc), "" for others


def _text(kept: Callable[[Line], str | int]) -> Callable[[Line], str]:
    def text(line: Line) -> str:
        given = kept(line)
        return given if isinstance(given, str) else line.shown[given:]

    return text


derive(Line, "text", _text)


CRASH = "crash"  # the form of a failure that a signal handler wrote


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback. ``module`` is the path from the package root on
    (``vllm/v1/core/sched/scheduler.py``, ``zmq/backend/cython/_zmq.py``); for the standard library
    and unknown layouts it is the path as printed."""

    path: str
    module: str
    line: int
    function: str
    code: str  # the source line(s) printed below it, "" when none was
    number: int  # line of the paste where the frame stands


@dataclass(frozen=True, slots=True)
class Failure:
    """One exception as it stands in one place of the text.

    ``form`` says in which dialect it was written: ``traceback`` (frames and an exception line),
    ``line`` (an exception line alone), ``pydantic`` (a validation error: ``exception`` is
    ``ValidationError``, ``raised`` the class inside the validator, ``message`` the inner message),
    ``argparse``, ``quoted`` (the message inside "Worker failed with error '...'": class unknown,
    ``exception`` is ""), ``repr``, ``cut`` (frames whose exception line is missing), ``crash``
    (native code was hit by a signal: see intake/crashes.py).

    ``cause`` is the index in ``Paste.failures`` of the failure that led to this one, ``link`` how:
    ``direct`` (raise from), ``context`` (while handling), ``group`` (a leaf of an exception group
    names the group's index in ``cause`` reversed: the group points at its first leaf).
    """

    exception: str
    message: str  # full message, its lines joined with "\n"
    frames: tuple[Frame, ...]  # outermost first
    number: int  # line of the exception line (or of the last frame when the text is cut)
    first: int  # first line of the block (the "Traceback" line, or ``number``)
    last: int  # last line that belongs to the message
    form: str = "traceback"
    raised: str = ""
    header: str = ""  # pydantic: "1 validation error for VllmConfig"
    process: str = ""
    pid: int = 0
    pod: str = ""
    level: str = ""
    time: str = ""
    log_file: str = ""
    log_line: int = 0
    cause: int | None = None
    link: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record (its first line carries a level, or a native head); continuation lines that
    are not part of a traceback are joined with newlines. The ``message`` of one that is a single
    line may be given as that :class:`Line`."""

    number: int
    last: int
    level: str
    message: str
    process: str = ""
    pid: int = 0
    pod: str = ""
    time: str = ""
    log_file: str = ""
    log_line: int = 0
    native: str = ""  # head of a native record; "" for vLLM's own logger
    failure: int | None = None  # index of the traceback that this record prints


def _message(kept: Callable[[LogRecord], str | Line]) -> Callable[[LogRecord], str]:
    def message(record: LogRecord) -> str:
        given = kept(record)
        return given if isinstance(given, str) else given.text

    return message


derive(LogRecord, "message", _message)


@dataclass(frozen=True, slots=True)
class Release:
    """The vLLM release a text came from. ``candidates`` is empty when nothing tells it.

    ``how``: ``banner``, ``image``, ``frames``, ``log-lines``, ``paths`` or ``unknown``; ``suffix``
    is what a vendor or development build adds to the version ("rc1.dev50+g12ab", "+vendor")."""

    release: str = ""
    candidates: tuple[str, ...] = ()
    how: str = "unknown"
    suffix: str = ""
    number: int = 0  # line of the banner, 0 when worked out otherwise
    patched: bool = False  # frames contradict the stated release


@dataclass(frozen=True, slots=True)
class Paste:
    """Everything the intake stage found in one input."""

    name: str  # "-", a path, or "paste"
    lines: tuple[Line, ...]
    failures: tuple[Failure, ...]  # in order of appearance
    records: tuple[LogRecord, ...]  # in order of appearance, every level
    release: Release
    size: int  # bytes as given
    notes: tuple[str, ...] = ()  # what was done to read it: "newest line first: reversed", ...
    redacted: int = 0  # secrets replaced on the way in

    @property
    def text(self) -> str:
        """The text as shown, lines joined with newlines."""
        return "\n".join(line.shown for line in self.lines)
