"""What a scan found, as plain values: partial results of single files, and their sum."""

from __future__ import annotations

import json
from typing import Any

from kvdoctor.data import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """One occurrence: where and when."""

    file: str
    line: int
    time: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """How often in one process of one file."""

    file: str
    process: str
    pod: str
    count: int
    first: Spot
    last: Spot


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of trouble. ``role``: root_cause, consequence, also or unexplained; ``severity``:
    error, warning, danger, notice, or "" for a trouble without a record."""

    key: tuple[str, ...]
    record: str | None
    title: str
    exception: str
    message: str
    template: str
    kind: str
    owner: str
    severity: str
    role: str
    confidence: float
    tier: int
    site: str
    count: int
    first: Spot
    last: Spot
    where: tuple[Where, ...]
    form: str = ""
    excerpt: str = ""  # lines around the first occurrence

    def to_json(self) -> dict[str, Any]:
        """The row as JSON has it, without the excerpt."""
        return {
            "record": self.record, "title": self.title, "exception": self.exception,
            "message": self.message, "template": self.template, "kind": self.kind,
            "owner": self.owner, "severity": self.severity, "role": self.role,
            "confidence": self.confidence, "site": self.site or None, "count": self.count,
            "first": _spot(self.first), "last": _spot(self.last),
            "where": [
                {"file": one.file, "process": one.process, "pod": one.pod, "count": one.count,
                 "first": _spot(one.first), "last": _spot(one.last)}
                for one in self.where
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Began:
    """The first root cause of one process of one file."""

    file: str
    process: str
    pod: str
    key: tuple[str, ...]
    spot: Spot


@dataclass(frozen=True, slots=True)
class Partial:
    """What one file holds. It can be sent and merged in any order."""

    file: str
    rows: tuple[Row, ...]
    began: tuple[Began, ...]
    release: str
    lines: int
    bytes: int
    head: str  # the file's beginning: banner and arguments
    notes: tuple[str, ...] = ()
    unread: bool = False

    def packed(self) -> str:
        """Everything as JSON, to be sent to another machine: data that can only become data."""
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> Partial:
        """The partial result that :meth:`packed` gave."""
        tree = json.loads(text)
        rows = tuple(_row_of(one) for one in tree.pop("rows"))
        began = tuple(
            Began(**{**one, "key": tuple(one["key"]), "spot": Spot(**one["spot"])})
            for one in tree.pop("began")
        )
        return cls(**{**tree, "rows": rows, "began": began, "notes": tuple(tree["notes"])})


def _row_of(tree: dict[str, Any]) -> Row:
    where = tuple(
        Where(**{**one, "first": Spot(**one["first"]), "last": Spot(**one["last"])})
        for one in tree["where"]
    )
    first, last = Spot(**tree["first"]), Spot(**tree["last"])
    return Row(**{**tree, "key": tuple(tree["key"]), "first": first, "last": last, "where": where})


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Everything found, the most important row first."""

    files: tuple[Partial, ...]
    rows: tuple[Row, ...]
    began: tuple[Began, ...]
    thorough: bool = False

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.rows

    def to_json(self) -> dict[str, Any]:
        """One JSON document."""
        numbers = {row.key: number for number, row in enumerate(self.rows, 1)}
        return {
            "schema_version": 1,
            "files": [
                {"name": one.file, "lines": one.lines, "bytes": one.bytes, "vllm": one.release,
                 "unread": one.unread, "notes": list(one.notes)}
                for one in self.files
            ],
            "rows": [{"row": numbers[row.key], **row.to_json()} for row in self.rows],
            "began": [
                {"file": one.file, "process": one.process, "pod": one.pod,
                 "row": numbers[one.key], "at": _spot(one.spot)}
                for one in self.began if one.key in numbers
            ],
        }  # fmt: skip


def _spot(spot: Spot) -> dict[str, Any]:
    return {"file": spot.file, "line": spot.line, "time": spot.time}
