"""Counts occurrences by kind, process and time, and makes a file's partial result of them."""

from __future__ import annotations

import re

from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Trouble, adopt_frameless
from kvdoctor.report import Source, read_sources
from kvdoctor.scan.reading import UNEXPLAINED
from kvdoctor.scan.result import Began, Partial, Row, Spot, Where

MAX_KINDS = 2000
MAX_EXCERPT = 64 << 10
Key = tuple[str, ...]
_NUMBERS = re.compile(r"(?<![\w.-])[\w.-]*\d[\w.-]*")


@dataclass(slots=True)
class _Count:
    count: int
    first: Spot
    last: Spot


@dataclass(slots=True)
class Kind:
    """One kind of trouble while a file is read."""

    trouble: Trouble
    excerpt: bytes
    where: dict[tuple[str, str], _Count] = field(default_factory=dict)
    quoted: int = 0

    @property
    def count(self) -> int:
        return max(1, sum(one.count for one in self.where.values()) - self.quoted)


def key_of(trouble: Trouble) -> Key:
    """What two occurrences of one kind share: ids and numbers in a message do not count."""
    key = trouble.identity.key
    if key[0] == "site":
        return key[:2]
    if key[0] == "failure":
        message = _NUMBERS.sub("#", " ".join(trouble.identity.message.split()))[:120]
        return (*key[:2], message, *key[3:])
    return key


class Tally:
    """The kinds of one file. ``since`` and ``until``: see :func:`kvdoctor.scan.times.limit`."""

    def __init__(self, file: str, since: str = "", until: str = "") -> None:
        self.file, self.since, self.until = file, since, until
        self.kinds: dict[Key, Kind] = {}
        self.clock = ""
        self.lost = 0

    def is_new(self, trouble: Trouble) -> bool:
        """Whether this would be the first of its kind."""
        return key_of(trouble) not in self.kinds

    def add(
        self, trouble: Trouble, line: int, process: str, pod: str, time: str, excerpt: bytes
    ) -> Key | None:
        """Count one occurrence; its key when it is the first of its kind."""
        if time:
            self.clock = time
        if (self.since or self.until) and not self._is_inside(time or self.clock):
            return None
        key = key_of(trouble)
        kind = self.kinds.get(key)
        new = kind is None
        if kind is None:
            if len(self.kinds) >= MAX_KINDS:
                self.lost += 1
                return None
            kind = self.kinds[key] = Kind(trouble, excerpt[:MAX_EXCERPT])
        kind.quoted += trouble.identity.form == "quoted"
        spot = Spot(self.file, line, time or self.clock)
        count = kind.where.get((process, pod))
        if count is None:
            kind.where[process, pod] = _Count(1, spot, spot)
        else:
            count.count += 1
            count.last = spot
        return key if new else None

    def absorb(self, later: Tally, lines: int) -> None:
        """Add the counts of the text that follows ``lines`` lines further down."""
        for key, kind in later.kinds.items():
            known = self.kinds.get(key)
            if known is None and len(self.kinds) >= MAX_KINDS:
                self.lost += kind.count
                continue
            if known is None:
                known = self.kinds[key] = Kind(kind.trouble, kind.excerpt)
            known.quoted += kind.quoted
            for name, one in kind.where.items():
                moved = _Count(one.count, _below(one.first, lines), _below(one.last, lines))
                known.where[name] = (
                    _joined(known.where[name], moved) if name in known.where else moved
                )
        self.lost += later.lost
        self.clock = later.clock or self.clock

    def _is_inside(self, time: str) -> bool:
        from kvdoctor.scan.times import inside

        return inside(time, self.since, self.until)

    def partial(
        self, knowledge: Knowledge, head: bytes, release: str, lines: int, size: int,
        notes: list[str],
    ) -> Partial:  # fmt: skip
        """The result; warnings that the values of the log show to be harmless are left out."""
        if self.lost:
            notes.append(f"{self.lost} occurrences of further kinds were not counted")
        groups = {key: [kind.trouble] for key, kind in self.kinds.items()}
        owner = {id(kind.trouble): key for key, kind in self.kinds.items()}
        adopt_frameless(groups)
        rows = []
        for key, group in groups.items():
            kinds = [self.kinds[owner[id(one)]] for one in group]
            row = self._row(key, kinds, knowledge)
            if row.severity in ("", "error") or not self._is_denied(row, kinds[0], head, knowledge):
                rows.append(row)
        rows = _with_roles([one for one in rows if one.severity != "notice"], knowledge)
        text = head.decode("utf-8", "replace")
        return Partial(
            self.file, tuple(rows), _began(rows), release, lines, size, text, tuple(notes)
        )

    def _row(self, key: Key, kinds: list[Kind], knowledge: Knowledge) -> Row:
        best = kinds[0].trouble
        identity = best.identity
        record = knowledge.records.get(identity.record) if identity.record else None
        place = identity.place
        counts: dict[tuple[str, str], _Count] = {}
        for kind in kinds:
            for name, one in kind.where.items():
                counts[name] = _joined(counts[name], one) if name in counts else one
        where = tuple(
            Where(self.file, process, pod, one.count, one.first, one.last)
            for (process, pod), one in sorted(counts.items())
        )
        first = min((one.first for one in where), key=lambda spot: spot.line)
        last = max((one.last for one in where), key=lambda spot: spot.line)
        begin = min(kinds, key=lambda one: min(c.first.line for c in one.where.values()))
        return Row(
            key, identity.record, record.title if record else identity.title, identity.exception,
            identity.message[:2000], identity.template, identity.kind, identity.owner,
            record.severity if record else "", "consequence" if best.is_wrapper else "root_cause",
            identity.confidence, identity.tier,
            ":".join(filter(None, (place.file, place.function, str(place.line)))) if place else "",
            max(1, sum(one.count for one in where) - sum(kind.quoted for kind in kinds)),
            first, last, where, identity.form, begin.excerpt.decode("utf-8", "replace"),
        )  # fmt: skip

    def _is_denied(self, row: Row, kind: Kind, head: bytes, knowledge: Knowledge) -> bool:
        paste = read(head + kind.excerpt, self.file, knowledge=knowledge.reading)
        shown = read_sources([Source(paste)], knowledge)
        return all(one.record != row.record for one in shown.findings)


def _below(spot: Spot, lines: int) -> Spot:
    return replace(spot, line=spot.line + lines)


def _joined(one: _Count, two: _Count) -> _Count:
    return _Count(
        one.count + two.count,
        min(one.first, two.first, key=lambda spot: spot.line),
        max(one.last, two.last, key=lambda spot: spot.line),
    )


def _with_roles(rows: list[Row], knowledge: Knowledge) -> list[Row]:
    """Root causes, their consequences, and what else is worth knowing."""
    records = {row.record for row in rows if row.record and row.role != "consequence"}
    made = []
    for row in rows:
        led = row.record and any(knowledge.leads_to(one, row.record) for one in records if one)
        if led:
            row = replace(row, role="consequence")
        elif row.tier == UNEXPLAINED:
            row = replace(row, role="unexplained")
        elif row.role != "consequence" and row.tier > 1:
            row = replace(row, role="also")
        made.append(row)
    return made


def _began(rows: list[Row]) -> tuple[Began, ...]:
    """The first root cause of every process."""
    first: dict[tuple[str, str], Began] = {}
    for row in rows:
        if row.role != "root_cause":
            continue
        for one in row.where:
            made = Began(one.file, one.process, one.pod, row.key, one.first)
            known = first.get((one.process, one.pod))
            if known is None or made.spot.line < known.spot.line:
                first[one.process, one.pod] = made
    return tuple(sorted(first.values(), key=lambda one: one.spot.line))
