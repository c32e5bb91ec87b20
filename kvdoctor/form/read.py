"""From the text of one record file to its checked tree."""

from __future__ import annotations

from typing import Any

from kvdoctor.errors import RecordError
from kvdoctor.form.decode import record_of
from kvdoctor.form.fields import RECORD
from kvdoctor.form.meaning import misfits_of
from kvdoctor.form.shape import Misfit, field_name, misfits
from kvdoctor.form.yaml_text import Lines, line_of, read_yaml


def read_record(text: str, file: str, name: str) -> tuple[dict[str, Any] | None, list[RecordError]]:
    """The tree of the record in ``text``, or None with every problem found.

    ``file`` is shown to people, ``name`` is the file's name without folder and ending."""
    try:
        tree, lines = read_yaml(text, file)
    except RecordError as error:
        return None, [error]
    found = list(misfits(tree, RECORD))
    if not found and tree["id"] != name:
        found.append(Misfit(("id",), f"the file of record {tree['id']!r} is called {name!r}"))
    if not found:
        found = list(misfits_of(record_of(tree, file=file), tree))
    return (None if found else tree), _errors(found, file, lines)


def _errors(found: list[Misfit], file: str, lines: Lines) -> list[RecordError]:
    return [
        RecordError(
            one.problem,
            file=file,
            line=line_of(lines, one.path),
            field=field_name(one.path),
            remedy=one.remedy,
        )
        for one in found
    ]


def read_sheet(text: str, file: str, name: str) -> tuple[Any, list[RecordError]]:
    """The tree of a knowledge file beside the records (``name`` without ending), or None.

    The forms of wrappers and symptoms are checked here; other files are checked by their users."""
    from kvdoctor.form.sheets import SHEETS, symptom_misfits, wrapper_misfits

    try:
        tree, lines = read_yaml(text, file)
    except RecordError as error:
        return None, [error]
    found = list(misfits(tree, SHEETS[name])) if name in SHEETS else []
    if not found and name in SHEETS:
        found = list({"wrappers": wrapper_misfits, "symptoms": symptom_misfits}[name](tree))
    return (None if found else tree), _errors(found, file, lines)
