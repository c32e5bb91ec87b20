"""The syntax of Python's tracebacks and of the dialects that print them."""

from __future__ import annotations

import re

from kvdoctor.intake.damage import FRAME, TRACEBACK
from kvdoctor.intake.lazy import Lazy

__all__ = ["FRAME", "TRACEBACK"]

DIRECT = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"

_SUFFIX = (
    r"(?:Error|Exception|Interrupt|SystemExit|GeneratorExit|Timeout|ExceptionGroup|StopIteration"
    r"|StopAsyncIteration|Warning|Fault|Failure|Again|NotFound|Exc)"
)
_PATH = r"(?:[A-Za-z_]\w{0,80}\.|<locals>\.){0,14}"
# The last line of a traceback, where its place already says what it is.
EXCEPTION = re.compile(
    rf"({_PATH}[A-Za-z_]\w{{0,100}})(?:\([A-Za-z_][\w.]{{0,100}}\))?(?::(?: (.*)|$)|\s*$)",
    re.DOTALL,
)
# An exception line that must be recognised by itself.
STRICT = re.compile(
    rf"({_PATH}(?:[A-Za-z_]\w{{0,100}}?)?{_SUFFIX}\d?)(?:\([A-Za-z_][\w.]{{0,100}}\))?"
    r"(?::(?: (.*)|$)|\s*$)",
    re.DOTALL,
)
# A dotted path ending in a class name: "zmq.error.Again: text".
DOTTED = re.compile(
    r"((?:[a-z_]\w{0,80}\.){0,12}(?:error|errors|exc|exceptions)\.[A-Z]\w{0,100})"
    r"(?::(?: (.*)|$)|\s*$)",
    re.DOTALL,
)
REPR = Lazy(
    rf"((?:[A-Za-z_]\w{{0,80}}\.){{0,8}}[A-Za-z_]\w{{0,100}}?{_SUFFIX})\((.*)\)[.,]?\s*$", re.DOTALL
)
REPR_INSIDE = Lazy(
    r"(?<![\w.])((?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}?(?:Error|Exception))\((?=['\"(])"
)
RAY = Lazy(r"((?:ray\.exceptions\.)?RayTaskError)\(([\w.]{1,100})\): (ray::.{1,400})")
PYDANTIC_HEAD = Lazy(r"(\d{1,5}) validation errors? for (\S.{0,200})$")
PYDANTIC_END = Lazy(r" ?\[type=([a-z_]{1,60})(?:,|\]|\s*$)")
PYDANTIC_LINE = Lazy(r"\s{0,8}(Value error|Assertion failed), ")
PYDANTIC_LINK = "For further information visit https://errors.pydantic.dev"
ARGPARSE = Lazy(r"((?:[\w./-]{1,80} ){0,4}[\w./-]{1,120}): error: (\S.*)$", re.DOTALL)
MARKERS = re.compile(r"[\s^~]+$")
REPEATED = Lazy(r"\s*\[Previous line repeated \d+ more times?\]")
ELIDED = Lazy(r"\s*\.\.\.<\d+ lines?>\.\.\.$")
MARGIN = Lazy(r"(\s*)([|+])(?:(-\+)?(-{3,}.*)?$|( )|$)")
GROUP_RULE = Lazy(r"\s*\+(?:-\+)?-{3,}(?: (?:\d{1,5}|\.\.\.) -{3,}|-*)?\s*$")
PROCESS = Lazy(r"Process (\S{1,80}):\s*$")
STACK = "Stack (most recent call last"

# IPython and rich: frames without quotes, an arrow at the failing line.
IPYTHON_HEAD = Lazy(rf"({_PATH}[A-Za-z_]\w{{0,100}})\s{{2,80}}{re.escape(TRACEBACK)}\)")
BARE_FRAME = Lazy(
    r"\s{0,8}(?:File )?((?:/|[A-Za-z]:\\|~/|\.{1,3}/|<)[^\s:()]{1,400}|[\w./-]{1,400}\.pyx?)"
    r":(\d{1,7})"
    r"(?:, in | in )([\w.<>]{1,120})(?:\(.*)?$"
)
OLD_FRAME = Lazy(r"\s{0,4}((?:/|~/)\S{1,400}\.py) in ([\w.<>]{1,120})\(.*$")
CELL = Lazy(
    r"\s{0,4}(?:Cell In\s?\[\d{1,6}\], line (\d{1,7})|(<ipython-input-[\w-]{1,60}>) in (\S{1,80}))"
)
ARROW = Lazy(r"\s{0,8}(?:-{2,12}>|❱)\s{1,8}(\d{1,7})\s?(.*)$")
NUMBERED = Lazy(r"\s{0,8}\d{1,7}(?:\s.*)?$")

_RAW_START = re.compile(
    r"(?:Process \S{1,80}:$|Exception in |Exception ignored|During handling of "
    r"|The above exception |\[rank\d|INFO:|ERROR:|WARNING:|usage: |Call stack:|Stack \(most"
    r"|Thread 0x|Fatal Python error|\S{1,300}:\d{1,7}: \w{0,40}Warning: |sys:1: |Killed$|Aborted"
    r"|Segmentation fault|terminate called|\[[^\[\]\s]{1,100}\] Caught signal |SIG[A-Z]{2,8}\(\d"
    r"|\*\*\* SIG|!!!!!!! |\S{0,80}(?:\$|#|>>>) )"
)
_NOT_CLASSES = frozenset(
    {"INFO", "ERROR", "WARNING", "DEBUG", "CRITICAL", "Message", "Arguments", "Note", "Hint",
     "Killed", "Aborted", "Terminated", "Output", "Input", "Error", "Warning", "File", "Process",
     "Usage", "usage"}
)  # fmt: skip


def exception_line(text: str) -> tuple[str, str] | None:
    """Class and message of a line that stands where a traceback's last line is expected."""
    match = EXCEPTION.match(text)
    if not match or match[1] in _NOT_CLASSES:
        return None
    name = match[1]
    last = name.rpartition(".")[2]
    if not last[0].isupper() and "rror" not in last and "xcept" not in last:
        return None
    if match[2] is None and not text.rstrip().endswith(":") and " " in text.strip():
        return None
    return name, (match[2] or "").rstrip()


def strict_line(text: str) -> tuple[str, str] | None:
    """Class and message of a line that is an exception line wherever it stands."""
    match = STRICT.match(text) or DOTTED.match(text)
    if not match or match[1] in _NOT_CLASSES or match[1].endswith("Warning"):
        return None
    return match[1], (match[2] or "").rstrip()


def starts_something(text: str) -> bool:
    """Whether an unprefixed line begins something new, so that no message goes on with it."""
    return _RAW_START.match(text) is not None


def indent(text: str) -> int:
    """Columns of white space at the beginning of ``text``."""
    return len(text) - len(text.lstrip())


_PACKAGES = ("vllm", "lmcache", "sglang", "vllm_ascend", "vllm_omni", "nixl", "mooncake", "dynamo",
             "torch", "ray", "zmq", "transformers", "flashinfer", "kvcached")  # fmt: skip


def module_of(path: str) -> str:
    """The path from the package root on; the path as printed where no root can be seen."""
    path = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        at = path.rfind(folder)
        if at >= 0:
            return path[at + len(folder) :]
    best = -1
    for package in _PACKAGES:
        at = path.rfind(f"/{package}/")
        if at >= 0 and (best < 0 or at < best):
            best = at
    return path[best + 1 :] if best >= 0 else path


def names_python(path: str) -> bool:
    """Whether a traceback can name this file: not so a C file or address in a crash dump."""
    return path.endswith((".py", ".pyx", ".pxi")) or (path[:1] == "<" and path != "<unknown>")


def number_of(text: str) -> int:
    """The line number of a frame; 0 when it was masked."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


_LITERAL = Lazy(
    r"""\s*[rbuf]{0,2}(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*,?\s*$""", re.DOTALL
)


def repr_message(arguments: str) -> str:
    """The message of ``Class(arguments)``: the string inside, or the arguments as they stand."""
    match = _LITERAL.match(arguments)
    if not match:
        return arguments.strip()
    body = match[1] if match[1] is not None else match[2]
    return unescape(body or "")


_ESCAPE = Lazy(r"\\(n|t|r|'|\"|\\)")
_PLAIN = {"n": "\n", "t": "\t", "r": "", "'": "'", '"': '"', "\\": "\\"}


def unescape(text: str) -> str:
    """``text`` with the escapes of a Python string literal resolved."""
    return _ESCAPE.sub(lambda match: _PLAIN[match[1]], text) if "\\" in text else text
