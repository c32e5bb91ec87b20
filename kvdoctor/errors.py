"""The one family of errors that kvdoctor shows to people: what is wrong, where, and what to do."""

from __future__ import annotations


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
