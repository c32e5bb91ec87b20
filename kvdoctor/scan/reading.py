"""A stretch of a log through the ordinary pipeline: what stands in it, where and when."""

from __future__ import annotations

from kvdoctor.data import NamedTuple, replace
from kvdoctor.identify import Identifier
from kvdoctor.identity import Identity
from kvdoctor.intake import read
from kvdoctor.intake.paste import LogRecord, Paste, Release
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Trouble, occurrences
from kvdoctor.text.template import Skeleton
from kvdoctor.unexplained import LONGEST, call_of, unexplained_records

UNEXPLAINED = 5  # tier of an error that nothing explains
MAX_CONTEXT = 64  # earlier lines that are kept because a record asks for them


class Seen(NamedTuple):
    """One occurrence; ``line`` is counted from the stretch's first line, 0."""

    trouble: Trouble
    line: int
    process: str
    pod: str
    time: str


class Reader:
    """Reads the stretches of one file, in their order."""

    def __init__(self, knowledge: Knowledge, name: str) -> None:
        self.knowledge = knowledge
        self.name = name
        self.release = Release()
        self.mixed = False  # the file has both line ends: a carriage return joins records
        self.context: list[LogRecord] = []
        self._learned: tuple[Release, tuple[LogRecord, ...]] = (self.release, ())
        entries = knowledge.entries
        self.before = tuple(dict.fromkeys(e.identify.before for e in entries if e.identify.before))

    def without_knowledge(self) -> Reader:
        """What was learned about the file, to be sent to another process."""
        made = Reader(Knowledge(), self.name)
        made.release, made.mixed = self.release, self.mixed
        return made

    def learn(self, head: bytes) -> Paste:
        """The file's beginning: what it says about the release holds for all of it."""
        paste = read(head, self.name, knowledge=self.knowledge.reading)
        self.release = paste.release
        return paste

    def begin_behind(self, paste: Paste) -> None:
        """Go on behind a file's beginning: keep its records that others are recognised by."""
        self._keep(paste)
        self._learned = (self.release, tuple(self.context))

    def fresh(self, *, behind: bool) -> Reader:
        """One that knows what the file's beginning tells, and nothing of what was read since.
        ``behind``: it goes on behind the beginning, else it starts there."""
        made = Reader(self.knowledge, self.name)
        made._learned, made.mixed = self._learned, self.mixed and behind
        made.release, made.context = self._learned[0], list(self._learned[1]) if behind else []
        return made

    def read(self, text: bytes) -> list[Seen]:
        """Everything of note in a stretch of whole lines."""
        shift = 1
        if self.mixed:
            text, shift = b"\r\n" + text, 2
        paste = read(text, self.name, knowledge=self.knowledge.reading)
        if paste.release.how != "banner" and self.release.candidates:
            paste = replace(paste, release=self.release)
        elif paste.release.how == "banner":
            self.release = paste.release
        self._keep(paste)
        known = replace(paste, records=(*self.context, *paste.records))
        found = occurrences(paste, Identifier(self.knowledge, known))
        found += self._unexplained(paste, {number for one in found for number in _lines_of(one)})
        return [Seen(t, max(0, t.number - shift), t.process, t.pod, t.time) for t in found]

    def _unexplained(self, paste: Paste, explained: set[int]) -> list[Trouble]:
        """Errors that nothing in the knowledge explains: told, last of all."""
        return [
            Trouble(
                Identity(
                    ("unexplained", *call_of(one)), "", one.message, "log", "", 0.0, UNEXPLAINED,
                    title=" ".join(one.message.split())[:LONGEST],
                ),
                one.number, one.last, one.process, one.pid, one.pod, one.time,
                evidence=(one.number,),
            )
            for one in unexplained_records(paste, self.knowledge, explained)
        ]  # fmt: skip

    def _keep(self, paste: Paste) -> None:
        """Records that others are recognised by, kept for the stretches that follow."""
        for record in paste.records:
            text = Skeleton(record.message)
            for wanted in self.before:
                if self.knowledge.fits(wanted, text):
                    if all(one.message != record.message for one in self.context):
                        self.context.append(replace(record, number=0))
                        del self.context[:-MAX_CONTEXT]
                    break


def _lines_of(trouble: Trouble) -> range:
    return range(trouble.number, max(trouble.number, trouble.last) + 1)
