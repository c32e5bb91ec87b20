"""`kvdoctor lint`: everything that can be said about records without asking a person.

Each finding names its rule, so that one can look it up in knowledge/README.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvdoctor.data import dataclass
from kvdoctor.form.shape import field_name
from kvdoctor.form.yaml_text import Lines, line_of

if TYPE_CHECKING:
    from kvdoctor.knowledge import Knowledge
    from kvdoctor.lint.note import Note
    from kvdoctor.record import Record

__all__ = ["Finding", "lint", "lint_command"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to change in a record. ``level``: error (the record must not ship) or warning."""

    file: str
    line: int
    rule: str
    message: str
    remedy: str = ""
    level: str = "error"
    field: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f" {self.field}:" if self.field else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}: {self.level} [{self.rule}]{where} {self.message}{remedy}"


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    record: Record
    tree: dict[str, Any]
    lines: Lines


def lint(
    paths: Sequence[Path | str], knowledge: Knowledge, *, examples: bool = True
) -> list[Finding]:
    """Check record files (or folders of them) against their form, themselves and each other.

    ``knowledge``: the other records. ``examples``: run the records' examples too."""
    from kvdoctor.knowledge import with_records
    from kvdoctor.lint import sheets

    files: list[_File] = []
    findings: list[Finding] = []
    for path in _yaml_files(paths):
        read, problems = _read(path)
        findings += problems
        if read is not None:
            files.append(read)
    whole = with_records(knowledge, [file.record for file in files])
    for file in files:
        for note in _notes(file.record, file.tree, whole, examples=examples):
            findings.append(_finding(file, note))
    for path in map(Path, paths):
        if (path / "records").is_dir():
            for row in sheets.rows(path, whole):
                findings.append(Finding(*row[:5], field=row[5]))
    return sorted(findings, key=lambda one: (one.file, one.line, one.rule, one.message))


def _notes(
    record: Record, tree: dict[str, Any], knowledge: Knowledge, *, examples: bool
) -> Iterator[Note]:
    from kvdoctor.lint import across, reach, rules
    from kvdoctor.lint import examples as runs

    yield from rules.notes(record, tree)
    yield from reach.notes(record, knowledge)
    yield from across.notes(record, tree, knowledge)
    if examples:
        yield from runs.notes(record, knowledge)


def _finding(file: _File, note: Note) -> Finding:
    return Finding(
        file.name,
        line_of(file.lines, note.path),
        note.rule,
        note.message,
        note.remedy,
        note.level,
        field_name(note.path),
    )


def _yaml_files(paths: Sequence[Path | str]) -> Iterator[Path]:
    """The record files meant by ``paths``; a knowledge folder stands for its records."""
    for one in map(Path, paths):
        root = one / "records" if (one / "records").is_dir() else one
        if root.is_dir():
            yield from sorted(root.rglob("*.yaml"))
        else:
            yield root


def _read(path: Path) -> tuple[_File | None, list[Finding]]:
    from kvdoctor.errors import RecordError
    from kvdoctor.form.decode import record_of
    from kvdoctor.form.read import read_record
    from kvdoctor.form.yaml_text import read_yaml

    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        tree, problems = read_record(text, name, path.stem)
    except (OSError, UnicodeDecodeError) as error:
        tree, problems = None, [RecordError(f"cannot be read: {error}", file=name)]
    findings = [
        Finding(name, one.line, "form", one.problem, one.remedy, "error", one.field)
        for one in problems
    ]
    if tree is None:
        return None, findings
    return _File(name, record_of(tree, file=name), tree, read_yaml(text, name)[1]), findings


def lint_command(
    paths: Sequence[str], folders: Iterable[str] = (), *, as_json: bool = False
) -> int:
    """`kvdoctor lint`: print the findings; 0 when no error is among them, else 1."""
    import json

    from kvdoctor.data import asdict
    from kvdoctor.load import knowledge_folder, load

    knowledge = load([Path(folder) for folder in folders])
    found = lint(list(paths) or [knowledge_folder()], knowledge)
    if as_json:
        print(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    else:
        for one in found:
            print(one)
        errors = sum(one.level == "error" for one in found)
        print(f"{errors} errors, {len(found) - errors} warnings")
    return 1 if any(one.level == "error" for one in found) else 0
