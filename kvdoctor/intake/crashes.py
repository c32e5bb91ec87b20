"""Crashes of native code, as the signal handlers of UCX, torch, TVM, Abseil, glog and Python write
them: the signal, and the frames of the thread that was hit.

A crash becomes a failure of the form ``crash``: ``exception`` is the signal's name (SIGSEGV),
``message`` what the handler says of it without addresses, ``frames`` those that are not the
handler's own, the outermost first. A native frame's ``module`` is its library."""

from __future__ import annotations

from posixpath import normpath

from kvdoctor.intake import syntax
from kvdoctor.intake.found import Stream, add
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import CRASH, Frame

MOST_LINES = 400  # of one backtrace
CLOSE = 4  # lines between the words of two handlers about one crash
_NUMBERS = {"4": "SIGILL", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "11": "SIGSEGV"}
_WORDS = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
}
_WORD = "|".join(_WORDS)

_UCX = Lazy(
    r"\[[^\[\]\s]{1,100}?:\s{0,4}\d{1,10}(?:\s{0,2}:\s{0,4}\d{1,10}){0,2}\s{0,2}\] "
    r"Caught signal (\d{1,3}) \((.{1,300})\)\s*$"
)
_PYTHON = Lazy(rf"Fatal Python error: ({_WORD})\s*$")
_TORCH = Lazy(r"(SIG[A-Z]{2,8})\(\d{1,3}\), PID: \d{1,10}, Thread \d{1,20}:")
_TVM = Lazy(r"!{3,10} Segfault encountered !{3,10}")
_RECEIVED = Lazy(r"\*\*\* (SIG[A-Z]{2,8}) (?:received at time=|\(@0x)")
_SHELL = Lazy(
    rf"(?:\S{{1,200}}: line \d{{1,7}}:\s{{1,8}}\d{{1,10}} )?({_WORD}) {{1,20}}\(core dumped\)"
)

# Why the C library aborts, in the line above.
_REASON = Lazy(
    r"(?:\w{1,40}\(\): .{1,200}|double free or corruption.{0,100}|corrupted .{1,100}"
    r"|.{1,300}: Assertion [`'].{1,300}' failed\.)$"
)
# A frame: file or library, function, and the line of its source where the handler knows it.
_AT_LIBRARY = Lazy(
    r"\s{0,8}(?:\d{1,4}\s{1,8})?([^\s()]{1,500})\((.{0,600})\) \[0x[0-9a-f]{1,20}\]\s*$"
)
_AT_SYMBOL = Lazy(
    r"\s{0,8}(?:\d{1,4}\s{1,8})?0x[0-9a-f]{4,20} (\S.{0,600}?)\(\)\s{1,8}(\S{1,400}):(\d{1,7})\s*$"
)
_FRAME_NUMBER = Lazy(
    r"\s{0,8}frame #\d{1,4}: (.{1,600}?) \+ 0x[0-9a-f]{1,20} \(0x[0-9a-f]{1,20} in (\S{1,500})\)"
)
_FILE = Lazy(r'\s{0,8}File "([^"\n]{1,500})", line (\d{1,7}),? in (\S.{0,600})$')
_AT_ADDRESS = Lazy(
    r"(?:PC:)?\s{0,8}@\s{1,20}0x[0-9a-f]{1,20}\s{1,12}(?:\d{1,10}|\(unknown\))\s{1,12}(\S.{0,600})$"
)
_BETWEEN = Lazy(
    r"\s*$|==== backtrace|=+\s*$|(?:Current thread|Thread) 0x|<omitting python|Python frame"
)
_ADDRESS = Lazy(r" (?:at )?(?:address )?0x[0-9a-f]{1,20}")
_MANGLED = Lazy(r"_ZN[VK]{0,2}")
_SIZE = Lazy(r"[1-9]\d{0,2}")
# Whose frame 0 is the signal handler, not what crashed.
_HANDLER = Lazy(r"handle_error|SignalHandler|sigaction| killpg$")
_RUNTIME = ("libc.so", "libc-2", "libpthread", "ld-linux")


def crash(stream: Stream, at: int) -> int:
    """The crash that is announced in line ``at``; the position behind its frames."""
    told = _announced(stream.lines[at].text.strip())
    if told is None or _is_told(stream, at, told[0]):
        return at
    signal, message = told
    if signal == "SIGABRT" and at:
        reason = _REASON.match(stream.lines[at - 1].text.strip())
        message = reason[0] if reason else message
    frames, last = _frames(stream, at)
    add(stream, at, at, last, signal, message, tuple(reversed(_without_handler(frames))), CRASH)
    return last + 1


def _announced(text: str) -> tuple[str, str] | None:
    """The signal and what is said of it."""
    ucx = _UCX.match(text)
    if ucx:
        name = _NUMBERS.get(ucx[1], f"signal {ucx[1]}")
        return name, _ADDRESS.sub("", ucx[2])
    for pattern in (_PYTHON, _SHELL):
        match = pattern.match(text)
        if match:
            return _WORDS[match[1]], match[1]
    for pattern in (_TORCH, _RECEIVED):
        match = pattern.match(text)
        if match:
            words = {name: word for word, name in _WORDS.items()}
            return match[1], words.get(match[1], "")
    return ("SIGSEGV", "Segmentation fault") if _TVM.match(text) else None


def _is_told(stream: Stream, at: int, signal: str) -> bool:
    """Whether the crash stands above already: the exception that aborted the process, the same
    signal in its other threads, by another handler, or the shell's word about its end."""
    for found in reversed(stream.found[-3:]):
        if at - found.last > MOST_LINES:
            break
        if found.failure.form == CRASH and found.failure.exception == signal:
            before, now = (_handler(stream.lines[one].text.strip()) for one in (found.at, at))
            others = at - found.last <= CLOSE and before is not now
            return others or now is _SHELL or now is before is _TORCH
        if signal == "SIGABRT":
            return True
    return False


def _handler(text: str) -> Lazy:
    """The form in which a crash is announced."""
    return next(one for one in (_UCX, _PYTHON, _TORCH, _TVM, _RECEIVED, _SHELL) if one.match(text))


def _frames(stream: Stream, at: int) -> tuple[list[Frame], int]:
    """The frames below an announcement, the innermost first, and the last line that is theirs."""
    frames: list[Frame] = []
    last = at
    for position in range(at + 1, min(len(stream.lines), at + MOST_LINES)):
        line = stream.lines[position]
        frame = _frame(line.text, line.number)
        if frame is not None:
            frames.append(frame)
            last = position
        elif frames and not line.text.strip():
            break  # the next thread's
        elif not _BETWEEN.match(line.text.strip()):
            break
    return frames, last


def _frame(text: str, number: int) -> Frame | None:
    match = _AT_LIBRARY.match(text)
    if match:
        return _native(match[1], match[2].partition("+0x")[0], 0, number)
    match = _FRAME_NUMBER.match(text)
    if match:
        return _native(match[2], match[1].replace("<unknown function>", ""), 0, number)
    match = _FILE.match(text)
    if match:
        path = "" if match[1] == "<unknown>" else match[1]
        line = syntax.number_of(match[2])
        if path.endswith(".py"):
            return Frame(path, syntax.module_of(path), line, match[3], "", number)
        return Frame(path, path, line, match[3], "", number)
    match = _AT_SYMBOL.match(text)
    if match:
        return Frame("", "", 0, match[1], "", number)
    match = _AT_ADDRESS.match(text)
    return Frame("", "", 0, match[1], "", number) if match else None


def _native(path: str, function: str, line: int, number: int) -> Frame:
    return Frame(path, syntax.module_of(normpath(path)), line, plain_name(function), "", number)


def plain_name(symbol: str) -> str:
    """A mangled C++ name as its parts, without arguments: nixlAgent::loadRemoteMD; any other
    symbol as it is."""
    found = _MANGLED.match(symbol)
    if not found:
        return symbol
    parts: list[str] = []
    rest = symbol[found.end() :]
    while (size := _SIZE.match(rest)) and len(parts) < 20:
        end = size.end() + int(size[0])
        if end > len(rest):
            return symbol
        parts.append(rest[size.end() : end])
        rest = rest[end:]
    return "::".join(parts) or symbol


def _without_handler(frames: list[Frame]) -> list[Frame]:
    """The frames below those of the signal handler and of the C library that called it."""
    if not frames or not any(_HANDLER.search(f"{one.module} {one.function}") for one in frames[:2]):
        return frames
    own = frames[0].module
    rest = frames[1:]
    while rest and own and rest[0].module == own:
        rest = rest[1:]
    while rest and _is_runtime(rest[0]):
        rest = rest[1:]
    return rest or frames


def _is_runtime(frame: Frame) -> bool:
    name = frame.module.rpartition("/")[2]
    return name.startswith(_RUNTIME) or (
        not frame.module and frame.function.startswith("__restore")
    )
