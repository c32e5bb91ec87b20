"""Partial results of files put together; the order in which they come does not matter."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.data import replace
from kvdoctor.scan.result import Partial, Row, ScanResult
from kvdoctor.scan.times import comparable

_ROLES = ("root_cause", "also", "consequence", "unexplained")


def merge(partials: Iterable[Partial], *, thorough: bool = False) -> ScanResult:
    """The sum of partial results, files by name and rows by weight."""
    files = tuple(sorted(partials, key=lambda one: one.file))
    rows: dict[tuple[str, ...], Row] = {}
    for file in files:
        for row in file.rows:
            known = rows.get(row.key)
            rows[row.key] = _joined(known, row) if known is not None else row
    began = tuple(one for file in files for one in file.began)
    return ScanResult(files, tuple(sorted(rows.values(), key=_weight)), began, thorough)


def _joined(one: Row, two: Row) -> Row:
    early, _ = sorted((one, two), key=lambda row: (comparable(row.first.time), row.first.file))
    last = max(one, two, key=lambda row: (comparable(row.last.time), row.last.file)).last
    role = min(one.role, two.role, key=_ROLES.index)
    return replace(
        early, role=role, count=one.count + two.count, last=last, where=(*one.where, *two.where)
    )


def _weight(row: Row) -> tuple[object, ...]:
    return (
        _ROLES.index(row.role), row.tier, row.record is None, comparable(row.first.time),
        row.first.file, row.first.line, row.key,
    )  # fmt: skip
