"""The files beside the records: wrappers, symptoms, values and the like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvdoctor.compiled import read_beside
from kvdoctor.errors import did_you_mean
from kvdoctor.form.yaml_text import Lines, line_of, read_yaml

if TYPE_CHECKING:
    from kvdoctor.knowledge import Knowledge

Row = tuple[str, int, str, str, str, str]  # file, line, rule, message, remedy, field


def rows(folder: Path, knowledge: Knowledge) -> Iterator[Row]:
    """What is wrong with the files in a knowledge folder that are no records."""
    for file in sorted(folder.glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        tree, problems = read_beside(text, str(file))
        for one in problems:
            yield str(file), one.line, "form", one.problem, one.remedy, one.field
        if tree is not None and file.stem == "symptoms":
            yield from _symptoms(str(file), tree, read_yaml(text)[1], knowledge)


def _symptoms(file: str, tree: Any, lines: Lines, knowledge: Knowledge) -> Iterator[Row]:
    known = tuple(knowledge.records)
    for name, question in tree["questions"].items():
        for index, answer in enumerate(question["answers"]):
            for place, record in enumerate(answer.get("records", ())):
                if record not in known:
                    path = ("questions", name, "answers", index, "records", place)
                    say = f"no record is called {record!r}"
                    remedy = did_you_mean(record, known)
                    line = line_of(lines, path)
                    yield file, line, "related-missing", say, remedy, f"questions.{name}"
