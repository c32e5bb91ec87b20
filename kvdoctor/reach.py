"""What a record's expressions speak of, and which values must be known to decide them.

Asking eighty guards about every launch would be most of the work of a short diagnosis; nearly all
of them read nothing that the launch states and cannot be false then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from kvdoctor.data import NamedTuple
from kvdoctor.expression import UNKNOWN, Expression, Scalar, parse
from kvdoctor.record import Record

RELEASE_INPUT = "vllm_release"
SIDE_WORDS = ("prefill", "decode", "this", "other")


class Reach(NamedTuple):
    """The connectors a record is about (none: all), and the names of the values of which one must
    be known before its guard can be false, its danger true; None: they may be so without any."""

    connectors: tuple[str, ...]
    guard: frozenset[str] | None
    danger: frozenset[str] | None


def read_parts(read: str) -> tuple[str, str]:
    """Side and name of an entry of ``reads``: "prefill.block_size", or a plain name ("this")."""
    wanted, dot, name = read.partition(".")
    return (wanted, name) if dot and wanted in SIDE_WORDS else ("this", read)


class _Same:
    """A record as a key of a cache, by identity: its fields are many and cannot all be hashed."""

    __slots__ = ("record",)

    def __init__(self, record: Record) -> None:
        self.record = record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.record is self.record

    def __hash__(self) -> int:
        return id(self.record)


@lru_cache(maxsize=512)
def _types(key: _Same) -> dict[str, str]:
    types = {name: spec.type for name, spec in key.record.inputs.items()}
    types[RELEASE_INPUT] = "version"
    for derived in key.record.derive:
        types[derived.name] = derived.type
    return types


@lru_cache(maxsize=4096)
def _parsed(key: _Same, text: str) -> Expression:
    return parse(text, _types(key))


def types_of(record: Record) -> dict[str, str]:
    """Name → type of everything the record's expressions may speak of."""
    return dict(_types(_Same(record)))


def parse_for(record: Record, text: str) -> Expression:
    """An expression over the record's inputs and derived values. Raises ExpressionError."""
    return _parsed(_Same(record), text)


def with_derived(record: Record, scalars: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """``scalars`` and every derived value that they decide."""
    result = dict(scalars)
    for derived in record.derive:
        value = parse_for(record, derived.expression).evaluate(result)
        if value is not UNKNOWN:
            result[derived.name] = value
    return result


def reach_of(record: Record) -> Reach:
    """Raises ExpressionError for an expression that cannot be read."""
    guard = _deciding(record, [one.accepts for one in record.guards])
    danger = _deciding(record, [record.danger] if record.danger else [])
    return Reach(record.connectors, guard, danger)


def can_touch(names: Collection[str] | None, known: Collection[str]) -> bool:
    """Whether a condition over ``names`` can be decided by values named ``known``."""
    return names is None or any(name in known for name in names)


def _deciding(record: Record, expressions: Iterable[str]) -> frozenset[str] | None:
    """Names of the values that the expressions read, through what is derived from them; None when
    one of them is decided with nothing known, or can be by the release alone."""
    nothing = with_derived(record, {})
    found: set[str] = set()
    for text in expressions:
        inputs = _inputs(record, text)
        if RELEASE_INPUT in inputs or parse_for(record, text).evaluate(nothing) is not UNKNOWN:
            return None
        found |= {read_parts(read)[1] for name in inputs for read in record.inputs[name].reads}
    return frozenset(found)


def _inputs(record: Record, text: str) -> set[str]:
    """The inputs that an expression reads, also through derived values."""
    derived = {one.name: one.expression for one in record.derive}
    seen: set[str] = set()
    ahead = list(parse_for(record, text).names)
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            if name in derived:
                ahead += parse_for(record, derived[name]).names
    return seen - derived.keys()
