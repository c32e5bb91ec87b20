"""From a paste to ranked findings: what went wrong, which line proves it, whose error it is.

Every exception and every log record of note is identified on its own (by record, by site, else by
the owner of its innermost frame); equal ones are put together over ranks and repetitions; chains
decide which of them is the cause and which are its consequences.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from kvdoctor.data import dataclass, field, replace
from kvdoctor.identify import Identifier
from kvdoctor.identity import Identity, Place, frame_place
from kvdoctor.intake.numbered import line_at
from kvdoctor.intake.paste import Failure, LogRecord, Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.values.value import Values, start_of

NO_VALUES = Values()
EVIDENCE_LIMIT = 6
MEASURED = ("bytes", "GiB", "MiB")  # units of what differs from rank to rank by chance
MOST_PARTS = 4  # sets of values by which one failure is told apart; more are no sizes
BEGINNING = 200  # characters of a message, blanks left out, by which two are the same
MOST_ALIKE = 200  # groups with one beginning that are looked at
SEARCHED_BYTES = 400_000  # prose is searched for messages only in pastes up to this size


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of the input that supports the finding, as the user gave it."""

    number: int
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Match:
    """One finding. ``record`` is None for an error that has no record yet.

    ``role``: root_cause, consequence, also. ``confidence`` is calibrated: of findings shown at
    0.9 at least nine in ten are right.
    """

    record: str | None
    title: str
    exception: str
    message: str
    template: str
    kind: str
    owner: str
    role: str
    confidence: float
    place: Place | None
    number: int
    source: str
    raised: str = ""
    process: str = ""
    processes: tuple[str, ...] = ()
    pod: str = ""
    time: str = ""
    count: int = 1
    holes: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    vllm_place: Place | None = None
    alternatives: tuple[str, ...] = ()
    hint: str = ""  # of a wrapper: where the root cause stands; of a foreign message: its meaning
    similar: tuple[str, ...] = ()  # templates of sites with similar wording: a guess, said so

    @property
    def error(self) -> str:
        """The error as Python prints it: exception and message, or the message alone."""
        return f"{self.exception}: {self.message}" if self.exception else self.message


@dataclass(slots=True)
class Trouble:
    """One failure or log record with its identity, before equal ones are put together."""

    identity: Identity
    number: int
    last: int
    process: str
    pid: int
    pod: str
    time: str
    failure: int | None = None
    cause: int | None = None
    link: str = ""
    is_wrapper: bool = False
    evidence: tuple[int, ...] = ()


def match(paste: Paste, knowledge: Knowledge, values: Values = NO_VALUES) -> tuple[Match, ...]:
    """Everything of note in ``paste``, the root cause first; empty for a healthy log.

    ``values``: those of the paste, to tell its several starts of vLLM apart."""
    identifier = Identifier(knowledge, paste)
    troubles = _troubles(paste, identifier)
    if not any(not trouble.is_wrapper for trouble in troubles):
        troubles += _from_prose(paste, identifier, wrappers=not troubles)
    _resolve_chains(troubles)
    groups = _grouped(troubles)
    return _ranked(groups, paste, knowledge, values)


def occurrences(paste: Paste, identifier: Identifier) -> list[Trouble]:
    """Every failure and log record of note by itself, in the order of lines, chains resolved: for
    those who count over more text than one paste holds."""
    found = _troubles(paste, identifier)
    _resolve_chains(found)
    return found


def _troubles(paste: Paste, identifier: Identifier) -> list[Trouble]:
    found: list[Trouble] = []
    for position, failure in enumerate(paste.failures):
        wrapper = identifier.wrapper(failure.message, failure.exception)
        if wrapper is not None and wrapper.noise:
            continue
        identity = identifier.failure(failure)
        if identity is None:
            continue
        wrapped = wrapper is not None and identity.record is None
        if wrapped:
            identity = replace(identity, wrapper=wrapper)
        found.append(_of_failure(position, failure, identity, wrapped))
    for record in paste.records:
        identity = identifier.log(record)
        if identity is not None:
            found.append(_of_record(record, identity))
    found.sort(key=lambda trouble: trouble.number)
    return found


def _of_failure(position: int, failure: Failure, identity: Identity, wrapped: bool) -> Trouble:
    numbers = [failure.number]
    if failure.frames:
        numbers.append(failure.frames[-1].number)
    return Trouble(
        identity,
        failure.number,
        failure.last,
        failure.process,
        failure.pid,
        failure.pod,
        failure.time,
        position,
        failure.cause,
        failure.link,
        wrapped,
        (*identity.evidence, *numbers),
    )


def _of_record(record: LogRecord, identity: Identity) -> Trouble:
    return Trouble(
        identity,
        record.number,
        record.last,
        record.process,
        record.pid,
        record.pod,
        record.time,
        is_wrapper=identity.wrapper is not None,
        evidence=(*identity.evidence, record.number),
    )


def _from_prose(paste: Paste, identifier: Identifier, *, wrappers: bool) -> list[Trouble]:
    """Messages that stand in running text: titles, quotes, cut-off tails."""
    if paste.size > SEARCHED_BYTES:
        return []
    return [
        Trouble(
            identity,
            number,
            number,
            "",
            0,
            "",
            "",
            is_wrapper=identity.wrapper is not None,
            evidence=(number,),
        )
        for number, identity in identifier.prose(wrappers)
    ]


def _resolve_chains(troubles: list[Trouble]) -> None:
    """Of two chained failures the cause stays, the other becomes a consequence; unless the outer
    one says more: it has a record and the inner one has none, or it is vLLM's own statement about
    something that went wrong right there (an import, a lookup) and not in somebody else's code.
    """
    by_failure = {t.failure: t for t in troubles if t.failure is not None}
    for trouble in troubles:
        cause = by_failure.get(trouble.cause) if trouble.cause is not None else None
        if cause is None or cause is trouble or cause.is_wrapper:
            continue
        if _says_more(trouble, cause):
            cause.is_wrapper = True
        else:
            trouble.is_wrapper = True


def _says_more(outer: Trouble, inner: Trouble) -> bool:
    if inner.identity.record is not None or inner.identity.site:
        return False
    if outer.identity.record is not None:
        return True
    right_there = inner.identity.place == inner.identity.vllm_place
    return bool(outer.identity.site) and (right_there or outer.link == "context")


def _grouped(troubles: list[Trouble]) -> list[list[Trouble]]:
    groups: dict[tuple[str, ...], list[Trouble]] = {}
    for trouble in troubles:
        groups.setdefault(trouble.identity.key, []).append(trouble)
    adopt_frameless(groups)
    return list(groups.values())


def _told_apart(group: list[Trouble], knowledge: Knowledge, values: Values) -> list[list[Trouble]]:
    """One failure with other sizes is another failure: the group by what its messages say of the
    record's whole numbers. That of the latest start of vLLM comes first: it is today's."""
    record = knowledge.records.get(group[0].identity.record or "")
    if record is None or len(group) == 1:
        return [group]
    telling = [
        name
        for name, spec in record.inputs.items()
        if spec.type == "int" and not spec.unit.endswith(MEASURED)
    ]
    parts: dict[tuple[str, ...], list[Trouble]] = {}
    for trouble in group:
        holes = trouble.identity.holes
        said = tuple(holes.get(name, "") for name in telling)
        parts.setdefault(said if any(said) else next(iter(parts), said), []).append(trouble)
    if len(parts) == 1 or len(parts) > MOST_PARTS:
        return [group]

    def latest(part: list[Trouble]) -> int:
        return max(start_of(values.spoke, one.number, one.pod, one.pid) for one in part)

    return sorted(parts.values(), key=latest, reverse=True)


def adopt_frameless(groups: dict[tuple[str, ...], list[Trouble]]) -> None:
    """A message that a wrapper quotes, or that stands alone or as a repr, belongs to the group
    in which the same message was raised."""
    texts = _Texts(groups)
    for key, group in list(groups.items()):
        frameless = group[0].identity
        if frameless.vllm_place is not None or group[0].failure is None:
            continue
        for other_key in texts.like(frameless):
            other = groups.get(other_key)
            if other is None or other_key == key or not _is_better(other[0].identity, frameless):
                continue
            other.extend(group)
            del groups[key]
            break


class _Texts:
    """The groups by their messages without blanks, sorted, so that those that begin with another
    one's message lie side by side."""

    def __init__(self, groups: Mapping[tuple[str, ...], list[Trouble]]) -> None:
        self._keys = list(groups)
        self._records: dict[str, list[int]] = {}
        for number, key in enumerate(self._keys):
            record = groups[key][0].identity.record
            if record is not None:
                self._records.setdefault(record, []).append(number)
        self._sorted = sorted(
            ("".join(groups[key][0].identity.message.split())[:BEGINNING], number)
            for number, key in enumerate(self._keys)
        )

    def like(self, frameless: Identity) -> list[tuple[str, ...]]:
        """Keys of the groups with the same message or, for a quoted one, the same record."""
        found: set[int] = set()
        if frameless.form == "quoted" and frameless.record is not None:
            found.update(self._records[frameless.record])
        wanted = "".join(frameless.message.split())[:BEGINNING]
        if wanted:
            for at in range(bisect_left(self._sorted, (wanted, -1)), len(self._sorted)):
                text, number = self._sorted[at]
                if not text.startswith(wanted) or len(found) > MOST_ALIKE:
                    break
                found.add(number)
        return [self._keys[number] for number in sorted(found)]


def _is_better(one: Identity, frameless: Identity) -> bool:
    """Whether ``one`` knows more of where the message was raised."""
    if frameless.form == "quoted":
        return one.form != "quoted"
    return one.vllm_place is not None


def _ranked(
    groups: list[list[Trouble]], paste: Paste, knowledge: Knowledge, values: Values
) -> tuple[Match, ...]:
    roots = [group for group in groups if not group[0].is_wrapper]
    wrappers = [group for group in groups if group[0].is_wrapper]
    roots.sort(key=lambda group: _order(group[0]))
    roots = _causes_first(roots, knowledge)
    made: list[Match] = []
    for group in roots:
        for part in _told_apart(group, knowledge, values):
            role = "also" if made else "root_cause"
            made.append(_finding(part, role, paste, knowledge))
    for group in wrappers:
        made.append(_finding(group, "consequence", paste, knowledge))
    return _with_roles(made, knowledge)


def _order(trouble: Trouble) -> tuple[int, int]:
    return (trouble.identity.tier, trouble.number)


def _causes_first(groups: list[list[Trouble]], knowledge: Knowledge) -> list[list[Trouble]]:
    """Where one record is known to lead to another, it goes first, whatever the order of lines."""
    ordered = list(groups)
    for _ in range(len(ordered)):
        first = ordered[0][0].identity.record if ordered else None
        if first is None:
            break
        for position, group in enumerate(ordered[1:], 1):
            other = group[0].identity.record
            if other is not None and knowledge.leads_to(other, first):
                ordered.insert(0, ordered.pop(position))
                break
        else:
            break
    return ordered


def _with_roles(made: list[Match], knowledge: Knowledge) -> tuple[Match, ...]:
    if not made or made[0].role != "root_cause" or made[0].record is None:
        return tuple(made)
    root = made[0].record
    return tuple(
        replace(one, role="consequence")
        if one.role == "also" and one.record is not None and knowledge.leads_to(root, one.record)
        else one
        for one in made
    )


def _finding(group: list[Trouble], role: str, paste: Paste, knowledge: Knowledge) -> Match:
    best = max(group, key=lambda t: (t.identity.form != "quoted", t.identity.confidence))
    identity = best.identity
    record = knowledge.records.get(identity.record) if identity.record else None
    title = record.title if record is not None else identity.title
    processes = tuple(dict.fromkeys(t.process for t in group if t.process))
    occurrences = {(t.process, t.pid, t.number) for t in group if t.identity.form != "quoted"}
    return Match(
        record=identity.record,
        title=title,
        exception=identity.exception,
        message=identity.message,
        template=identity.template,
        kind=identity.kind,
        owner=identity.owner,
        role=role,
        confidence=identity.confidence,
        place=identity.place,
        number=best.number,
        source=paste.name,
        raised=identity.raised,
        process=best.process,
        processes=processes,
        pod=best.pod,
        time=best.time,
        count=max(1, len(occurrences)),
        holes=identity.holes,
        evidence=_evidence(group, best, paste),
        vllm_place=identity.vllm_place,
        alternatives=identity.alternatives,
        hint=identity.wrapper.where if identity.wrapper is not None else identity.meaning,
        similar=identity.similar,
    )


def _evidence(group: list[Trouble], best: Trouble, paste: Paste) -> tuple[Evidence, ...]:
    numbers = sorted({*best.evidence})
    for trouble in group:
        if len(numbers) >= EVIDENCE_LIMIT:
            break
        if trouble.number not in numbers and trouble is not best:
            numbers.append(trouble.number)
    return tuple(
        Evidence(number, line.shown, paste.name)
        for number in numbers[:EVIDENCE_LIMIT]
        if (line := line_at(paste.lines, number)) is not None
    )


def together(findings: Iterable[tuple[Match, ...]]) -> tuple[Match, ...]:
    """Findings of several inputs in one order: the surest root cause first."""
    everything = [one for found in findings for one in found]
    roots = [one for one in everything if one.role == "root_cause"]
    roots.sort(key=lambda one: (one.record is None, -one.confidence, one.time))
    others = [one for one in everything if one.role != "root_cause"]
    return tuple(
        replace(one, role="root_cause" if position == 0 else "also")
        for position, one in enumerate(roots)
    ) + tuple(others)


__all__ = [
    "Evidence",
    "Match",
    "Place",
    "Trouble",
    "adopt_frameless",
    "frame_place",
    "match",
    "occurrences",
    "together",
]
