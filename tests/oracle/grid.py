"""The grids of reference.yaml, and the grids that records need which name their inputs apart."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kvdoctor.expression import UNKNOWN, parse
from kvdoctor.proof.recognise import Mark, mark
from kvdoctor.record import Guard, Record
from kvdoctor.releases import contains

HERE = Path(__file__).resolve().parent
_SPAN = re.compile(r"(-?\d+)\.\.(-?\d+)")
_QUOTED = re.compile(r"'([^']*)'")
CODE = "code:"
SPREAD = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64)


@dataclass(frozen=True)
class Reference:
    """One caller: its grid and what vLLM was seen to accept."""

    call: str
    types: Mapping[str, str]
    columns: Mapping[str, Sequence[Any]]
    where: str
    guards: tuple[tuple[str, str], ...]  # range, accepts
    marks: tuple[Mark, ...]
    earlier: tuple[Mark, ...]
    later: tuple[Mark, ...]

    def rows(self) -> list[tuple[Any, ...]]:
        return list(grid(self.columns, self.types, self.where))

    def accepts(self, release: str) -> str:
        """The expression for one release, "" when the guard does not exist there."""
        found = [accepts for span, accepts in self.guards if contains(span, release)]
        if len(found) > 1:
            raise ValueError(f"{self.call}: two ranges hold {release}")
        return found[0] if found else ""

    @property
    def numeric(self) -> bool:
        """Whether numbers decide: then the grid has to be a large one."""
        return any(
            kind in ("int", "number") and len(self.columns[name]) > 3
            for name, kind in self.types.items()
        )


@functools.cache
def references() -> dict[str, Reference]:
    tree = yaml.safe_load((HERE / "reference.yaml").read_text(encoding="utf-8"))
    return {call: _reference(call, entry) for call, entry in tree.items()}


def _reference(call: str, entry: Mapping[str, Any]) -> Reference:
    messages = entry["message"] if isinstance(entry["message"], list) else [entry["message"]]
    return Reference(
        call=call,
        types={name: one["type"] for name, one in entry["inputs"].items()},
        columns={name: expand(one["grid"]) for name, one in entry["inputs"].items()},
        where=entry.get("where", ""),
        guards=tuple((one["vllm"], one["accepts"]) for one in entry["guards"]),
        marks=tuple(_mark(text, entry["exception"]) for text in messages),
        earlier=tuple(_mark(text) for text in entry.get("earlier", ())),
        later=tuple(_mark(text) for text in entry.get("later", ())),
    )


def _mark(text: str, exception: str = "") -> Mark:
    if text.startswith(CODE):
        return mark("AssertionError", "", text.removeprefix(CODE))
    return mark(exception, text)


def expand(values: Sequence[Any]) -> list[Any]:
    """``[0, "4..6"]`` -> ``[0, 4, 5, 6]``."""
    found: list[Any] = []
    for value in values:
        span = _SPAN.fullmatch(value) if isinstance(value, str) else None
        found += range(int(span[1]), int(span[2]) + 1) if span else [value]
    return found


def grid(
    columns: Mapping[str, Sequence[Any]], types: Mapping[str, str], where: str = ""
) -> Iterator[tuple[Any, ...]]:
    condition = parse(where, types) if where else None
    for row in itertools.product(*columns.values()):
        if condition is None or condition.evaluate(dict(zip(columns, row, strict=True))) is True:
            yield row


# ------------------------------------------------------------------ records


@functools.cache
def record_grids() -> dict[str, dict[str, Any]]:
    """``records.yaml``: record id -> input of the record -> values."""
    return yaml.safe_load((HERE / "records.yaml").read_text(encoding="utf-8")) or {}


def types_of(record: Record) -> dict[str, str]:
    types = {name: spec.type for name, spec in record.inputs.items()}
    types["vllm_release"] = "version"
    types.update({derived.name: derived.type for derived in record.derive})
    return types


@dataclass(frozen=True)
class Subject:
    """A guard entry of a record that names a caller, in one release: the judged values and the
    caller's values."""

    record: Record
    guard: Guard
    release: str
    names: tuple[str, ...]  # the caller's inputs
    rows: tuple[tuple[Any, ...], ...]
    judged: tuple[Mapping[str, Any], ...]  # the record's names, derived ones included

    @property
    def id(self) -> str:
        return f"{self.record.id}:{self.guard.call}:{self.guard.vllm or 'all'}"

    def verdicts(self) -> list[Any]:
        accepts = parse(self.guard.accepts, types_of(self.record))
        return [accepts.evaluate(values) for values in self.judged]


def subject(record: Record, guard: Guard, release: str) -> Subject:
    """The rows for one guard entry in one release: the reference's own grid when the record uses
    the caller's names."""
    reference = references()[guard.call]
    if not guard.arguments:
        rows = tuple(reference.rows())
        names = tuple(reference.columns)
        plain = [dict(zip(names, row, strict=True)) for row in rows]
        judged = tuple(with_derived(record, values, release) for values in plain)
        return Subject(record, guard, release, names, rows, judged)
    return _named_apart(record, guard, reference, release)


def _named_apart(record: Record, guard: Guard, reference: Reference, release: str) -> Subject:
    types = types_of(record)
    arguments = {name: parse(text, types) for name, text in guard.arguments.items()}
    used = set(parse(guard.accepts, types).names)
    used.update(name for one in arguments.values() for name in one.names)
    columns = {name: _column(record, name, reference) for name in _inputs_behind(record, used)}
    where = str(record_grids().get(record.id, {}).get("where", ""))
    judged = [
        with_derived(record, dict(zip(columns, row, strict=True)), release)
        for row in grid(columns, types, where)
    ]
    direct = [name for name in reference.columns if name in columns and name not in arguments]
    names = (*arguments, *direct)
    rows = tuple(
        (
            *(one.evaluate(values) for one in arguments.values()),
            *(values[name] for name in direct),
        )
        for values in judged
    )
    return Subject(record, guard, release, names, rows, tuple(judged))


def _inputs_behind(record: Record, names: set[str]) -> list[str]:
    """The inputs from which these names follow, in the order of the record."""
    derived = {one.name: one.expression for one in record.derive}
    types = types_of(record)
    todo, found = list(names), set()
    while todo:
        name = todo.pop()
        if name in derived:
            todo += parse(derived[name], types).names
        elif name != "vllm_release":
            found.add(name)
    return [name for name in record.inputs if name in found]


def _column(record: Record, name: str, reference: Reference) -> Sequence[Any]:
    given = record_grids().get(record.id, {}).get(name)
    if given is not None:
        return expand(given)
    spec = record.inputs[name]
    if spec.type == "bool":
        return (False, True)
    if spec.choices:
        return spec.choices
    if name in reference.columns:
        return reference.columns[name]
    if spec.type in ("int", "number"):
        low = spec.minimum if spec.minimum is not None else 0
        high = spec.maximum if spec.maximum is not None else 1 << 30
        return [one for one in SPREAD if low <= one <= high]
    return _texts(record, name)


def _texts(record: Record, name: str) -> Sequence[str]:
    """Every text that the record's guards and derived values write out, none, and a foreign one."""
    spoken = [guard.accepts for guard in record.guards]
    spoken += [text for guard in record.guards for text in guard.arguments.values()]
    spoken += [derived.expression for derived in record.derive]
    texts = {found for text in spoken if name in text for found in _QUOTED.findall(text)}
    return sorted({"", "SomethingElse", *texts})


def with_derived(record: Record, values: Mapping[str, Any], release: str) -> dict[str, Any]:
    types = types_of(record)
    found = {**values, "vllm_release": release}
    for derived in record.derive:
        value = parse(derived.expression, types).evaluate(found)
        if value is not UNKNOWN:
            found[derived.name] = value
    return found
