"""What a line must hold to be worth reading, and how such lines are found in megabytes of text.

Nothing here is a message: the words are those of tracebacks and of loggers' levels, and the texts
that a line is compared with are short runs of the templates in the knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kvdoctor.identify import NOTED_LEVELS
from kvdoctor.knowledge import Knowledge
from kvdoctor.text.gramindex import PatternIndex

# Without one of these no line begins a failure.
FAILURE = (
    b"rror", b"xception", b"Traceback (most recent call last", b'File "', b'File \\"', b"Interrupt",
    b"SystemExit", b"[type=", b"Again", b"assert ", b"terminate called", b"ray::", b"tack (most",
    b"Call stack:", b"aught signal", b"egfault", b"core dumped", b"SIGSEGV", b"SIGBUS", b"SIGABRT",
    b"SIGILL", b"SIGFPE",
)  # fmt: skip
_BAD = (b"ERROR", b"CRITICAL", b"FATAL", b"Process ", b'"critical', b'"fatal', b'"err"')
_NOTED = (b"WARN", b'"warn', b"NCCL ", b"UCX ")
# Records of native libraries have no level in words: their source files tell them. Few words that
# are not too short keep the compiled search in its quickest form.
_NATIVE = (b".cpp:", b".cc:", b".hpp:", b".cu:")
TRIGGERS = (*FAILURE, *_BAD, *_NOTED, *_NATIVE)
DELETED = b"0123456789 \t\r'\"`\\"  # what a message is compared without, and its digits
LEAST = 4  # characters of a run that is looked for

Search = Callable[[bytes], Iterator[int] | list[int]]
_FAILS = re.compile(b"|".join(map(re.escape, FAILURE)))
_BAD_ONE = re.compile(b"|".join(map(re.escape, _BAD)) + rb"|ERR\b|PANIC")
assert "WARNING" in NOTED_LEVELS  # noqa: S101 (the words above stand for these levels)


def is_fast() -> bool:
    """Whether the compiled multi-pattern search is installed."""
    try:
        import ahocorasick_rs  # noqa: F401
    except ImportError:
        return False
    return True


def searcher(words: Iterable[bytes], *, compiled: bool = True) -> Search:
    """A function that gives the positions of ``words`` in a text, in order.

    Both ways find a word in the same lines; ``compiled=False`` never uses the optional engine."""
    wanted = list(dict.fromkeys(words))
    if compiled and is_fast():
        import ahocorasick_rs

        engine = ahocorasick_rs.BytesAhoCorasick(
            wanted, matchkind=ahocorasick_rs.MatchKind.LeftmostFirst
        )
        find = engine.find_matches_as_indexes
        return lambda text: [one[1] for one in find(text)]
    pattern = re.compile(b"|".join(map(re.escape, wanted)))
    return lambda text: (one.start() for one in pattern.finditer(text))


def fails(line: bytes) -> bool:
    """Whether a line holds a word of tracebacks and exceptions."""
    return _FAILS.search(line) is not None


class Runs:
    """Short runs of every template that a log line can be, digits taken out.

    A line that holds none of them, in the form of :meth:`bare`, is no line of any record, wrapper,
    stated context or library below. The cost of a look does not depend on their number."""

    def __init__(self, knowledge: Knowledge, context: Iterable[str]) -> None:
        texts = [one.message for one in knowledge.wrappers] + list(context)
        texts += knowledge.foreign.quiet
        indexes = [
            knowledge.index,
            PatternIndex.build((str(n), text) for n, text in enumerate(texts)),
        ]
        self._sets: dict[int, set[bytes]] = {}
        self.complete = True
        for index in indexes:
            data = index.to_json()
            self.complete = self.complete and not data["loose"]
            for table in (data["long"], data["short"]):
                for run in table[0].split("\n"):
                    self._enter(run)

    def _enter(self, run: str) -> None:
        bare = run.encode().translate(None, DELETED)
        if len(bare) >= LEAST:
            self._sets.setdefault(len(bare), set()).add(bare)
        elif run:
            self.complete = False

    @staticmethod
    def bare(line: bytes) -> bytes:
        """``line`` without white space, quotes and digits."""
        return line.translate(None, DELETED)

    def among(self, bare: bytes) -> bool:
        """Whether one of the runs stands in a bare line."""
        for size, known in self._sets.items():
            for at in range(len(bare) - size + 1):
                if bare[at : at + size] in known:
                    return True
        return False


def is_bad(line: bytes) -> bool:
    """Whether a line may be an error's, which the catalogue of sites can name too."""
    return _BAD_ONE.search(line) is not None or fails(line)


_GLUED = re.compile(rb"(?: pid=|ERROR |WARNING |CRITICAL )")


def is_glued(line: bytes) -> bool:
    """Whether another record may begin in the middle of a line that begins as one."""
    return _GLUED.search(line, 30) is not None
