"""The one family of errors that kvdoctor shows to people: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class KvdoctorError(Exception):
    """A problem with something the user gave us.

    ``problem`` says what is wrong in one sentence, ``file`` and ``line`` (1-based) say where when
    that is known, ``remedy`` says what to do about it.
    """

    def __init__(
        self, problem: str, *, file: str = "", line: int = 0, field: str = "", remedy: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.line = line
        self.field = field
        self.remedy = remedy

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place = f"{place or 'line'}:{self.line}"
        if self.field:
            place = f"{place}: {self.field}" if place else self.field
        text = f"{place}: {self.problem}" if place else self.problem
        return f"{text} ({self.remedy})" if self.remedy else text


class InputError(KvdoctorError):
    """A file or stream that cannot be read at all."""


class RecordError(KvdoctorError):
    """A knowledge record that breaks its form; only that record is left out."""


class ExpressionError(KvdoctorError):
    """An expression outside the small closed language, or over undeclared names."""


class ImportedRecordError(KvdoctorError):
    """A published record that cannot be turned into a draft."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the known word closest to ``word``; "" when none is close."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else ""
