"""What a rule says about a place in a record, before the place is turned into a line."""

from __future__ import annotations

from kvdoctor.data import dataclass
from kvdoctor.form.shape import Path


@dataclass(frozen=True, slots=True)
class Note:
    rule: str
    path: Path
    message: str
    remedy: str = ""
    level: str = "error"


def warning(rule: str, path: Path, message: str, remedy: str = "") -> Note:
    return Note(rule, path, message, remedy, "warning")
