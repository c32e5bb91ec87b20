"""What comes after the cause: the guards this configuration would hit next, and related records.

The values of one record are carried to the guards of all others through the names that both read
(``prefill.tensor_parallel_size`` and so on), so that "what fails next" needs no further question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from kvdoctor.data import dataclass, replace
from kvdoctor.decide import OTHER, Cause, Facts, diagnose, gather
from kvdoctor.fix import Verdict, guard_verdict, own_guards
from kvdoctor.knowledge import Knowledge
from kvdoctor.reach import Reach, can_touch, parse_for, read_parts, with_derived
from kvdoctor.record import Record
from kvdoctor.values.value import Scalar, Value, Values

BACKWARD = {
    "mistaken-for": "mistaken-for",
    "leads-to": "follows-from",
    "same-cause": "same-cause",
}
TRANSFER = "--kv-transfer-config"
CONNECTOR = "kv_transfer_config.kv_connector"
SIDES = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Link:
    """A way on from a record. ``kind`` is ``fails-next``, ``danger`` or a kind of relation."""

    record: str
    title: str
    kind: str
    why: str = ""
    sure: bool = True  # False: some releases that this may be would let the values pass


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything known about the launch: values by (side, name), the connector, the releases."""

    values: Values
    side: str
    candidates: tuple[str, ...]
    connectors: tuple[str, ...] = ()


def configuration(
    record: Record | None,
    scalars: Mapping[str, Scalar],
    values: Values,
    side: str,
    candidates: tuple[str, ...],
) -> Configuration:
    """The launch as a set of values: a record's inputs written back under the names they read."""
    carried: list[Value] = []
    if record is not None:
        for name, spec in record.inputs.items():
            if name in scalars:
                carried.extend(_written_back(spec.reads, scalars[name], side))
    everything = values.plus(carried, first=True)
    names = [entry.value for entry in everything.all("kv_connector")]
    names += [
        entry.value
        for entry in everything.entries
        if entry.name.startswith("extra.connectors.") and entry.name.endswith(".kv_connector")
    ]
    if record is not None and not names and len(record.connectors) == 1:
        names = [record.connectors[0]]
    connectors = tuple(dict.fromkeys(str(name) for name in names if name))
    return Configuration(everything, side, candidates, connectors)


def _written_back(reads: Iterable[str], value: Scalar, side: str) -> Iterable[Value]:
    """The first name that an input reads, under the side that it means."""
    for read in reads:
        wanted, name = read_parts(read)
        if wanted == "other" and side == "this":
            wanted = "other"
        elif wanted == "other":
            wanted = OTHER[side]
        elif wanted == "this":
            wanted = side
        yield Value(name, value, "inferred", wanted, why="carried over")
        return


def links(
    record: Record,
    cause: Cause | None,
    config: Configuration,
    knowledge: Knowledge,
) -> tuple[Link, ...]:
    """What fails next first, then dangers, then relations in both directions."""
    found: dict[str, Link] = {}
    for link in fails_next(config, knowledge, {record.id}):
        found.setdefault(link.record, link)
    for link in dangers(config, knowledge, {record.id}):
        found.setdefault(link.record, link)
    for link in relations(record, knowledge):
        found.setdefault(link.record, link)
    return tuple(found.values())


def relations(record: Record, knowledge: Knowledge) -> tuple[Link, ...]:
    """Stated relations, then those that other records state about this one."""
    found: dict[str, Link] = {}
    for related in record.related:
        other = knowledge.records.get(related.id)
        if other is not None:
            found[related.id] = Link(related.id, other.title, related.kind, related.why)
    for other_id, kind, why in knowledge.relations_to(record.id):
        other = knowledge.records.get(other_id)
        if other is not None and other_id not in found:
            found[other_id] = Link(other_id, other.title, BACKWARD.get(kind, kind), why)
    return tuple(found.values())


def concerns(about: Record | Reach, config: Configuration) -> bool:
    """Whether a record can speak about this launch at all, by its connector."""
    if not about.connectors:
        return True
    return any(name in about.connectors for name in config.connectors)


def _facts(record: Record, config: Configuration) -> Facts:
    return gather(record, config.values, {}, {}, config.candidates, side=config.side)


def verdict_for(record: Record, config: Configuration) -> tuple[Verdict, dict[str, Scalar]]:
    """The guard that raises another record's error, over this configuration."""
    scalars = with_derived(record, _facts(record, config).scalars())
    own = own_guards(record)
    return guard_verdict(record, scalars, config.candidates, asking=False, guards=own), scalars


def refusing(
    record: Record, scalars: Mapping[str, Scalar], candidates: Sequence[str]
) -> tuple[bool, str]:
    """Whether the guard of another record's error surely refuses values that it refuses in some
    release, and in which releases, in words ("" for all that this may be). Sure is what all
    variants of the guard refuse, or what is said of releases by name."""
    own = own_guards(record)
    if candidates:
        at = [
            one
            for one in candidates
            if guard_verdict(record, scalars, (one,), asking=False, guards=own).accepted is False
        ]
        if len(at) == len(candidates):
            return True, ""
        middle = candidates[candidates.index(at[0]) : candidates.index(at[-1]) + 1]
        return True, f"in vLLM {', '.join(at) if len(middle) > len(at) else _span(at)}"
    no = [
        one
        for one in own
        if guard_verdict(record, scalars, (), asking=False, guards=(one,)).accepted is False
    ]
    where = "" if any(not one.vllm for one in no) else f"in vLLM {', '.join(g.vllm for g in no)}"
    return len(no) == len(own), where


def _span(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def fails_next(
    config: Configuration, knowledge: Knowledge, leave_out: Collection[str]
) -> tuple[Link, ...]:
    """Records whose guard these values break in some release that this may be, in the order in
    which vLLM reaches the guards."""
    broken: list[tuple[int, Link]] = []
    stated = {entry.name for entry in config.values.entries}
    for record_id in knowledge.guarded:
        reach = knowledge.reach(record_id)
        if record_id in leave_out or not can_touch(reach.guard, stated):
            continue
        if not concerns(reach, config):
            continue
        record = knowledge.records[record_id]
        # The guard of a danger says what works; vLLM itself stops at nothing there.
        if record.status == "retired" or record.danger:
            continue
        verdict, scalars = verdict_for(record, config)
        if verdict.accepted is False:
            sure, where = refusing(record, scalars, config.candidates)
            why = _why(record, scalars, config) + (f" ({where})" if where else "")
            broken.append((record.stage, Link(record_id, record.title, "fails-next", why, sure)))
    broken.sort(key=lambda one: (one[0], one[1].record))
    return tuple(link for _, link in broken)


def _why(record: Record, scalars: Mapping[str, Scalar], config: Configuration) -> str:
    outcome = diagnose(record, _facts(record, config))
    if isinstance(outcome, Cause):
        return outcome.text
    if record.danger:  # no guard refuses it
        return record.summary.strip()
    shown = ", ".join(f"{name}={value}" for name, value in scalars.items() if value is not None)
    return f"its guard does not accept {shown}" if shown else record.title


def dangers(
    config: Configuration, knowledge: Knowledge, leave_out: Collection[str] = ()
) -> tuple[Link, ...]:
    """Configurations that pass every guard and still move wrong data or hang."""
    found: list[tuple[int, Link]] = []
    stated = {entry.name for entry in config.values.entries}
    for record_id in knowledge.dangerous:
        reach = knowledge.reach(record_id)
        if record_id in leave_out or not can_touch(reach.danger, stated):
            continue
        if not concerns(reach, config):
            continue
        record = knowledge.records[record_id]
        if record.status == "retired":
            continue
        scalars = with_derived(record, _facts(record, config).scalars())
        if parse_for(record, record.danger).evaluate(scalars) is True:
            found.append(
                (
                    record.stage,
                    Link(record_id, record.title, "danger", _why(record, scalars, config)),
                )
            )
    found.sort(key=lambda one: (one[0], one[1].record))
    return tuple(link for _, link in found)


def after_fix(
    record: Record,
    values: Mapping[str, Scalar],
    before: Configuration,
    *,
    side: str = "this",
    applies: Mapping[str, str] = MappingProxyType({}),
    removes: Collection[str] = (),
) -> Configuration:
    """The launch with a fix: ``values`` are the record's inputs after it, ``applies`` and
    ``removes`` the keys of the command of ``side`` that it sets or takes away. What such a key
    said is forgotten, for it holds no more."""
    keys = (*applies, *removes)
    sides = {"this": {before.side}, "both": {"prefill", "decode", before.side}}.get(side, {side})
    if side == "other":
        sides.add(OTHER.get(before.side, side))
    if before.side in sides:
        sides.add("this")
    kept = before.values
    if keys:
        kept = replace(
            kept,
            entries=tuple(
                one
                for one in kept.entries
                if one.side not in sides or not any(_speaks_of(key, one.name) for key in keys)
            ),
        )
    after = configuration(record, values, kept, before.side, _release(values, before.candidates))
    connectors = after.connectors
    if "this" in sides and TRANSFER in removes:
        connectors = ()
    if "this" in sides and CONNECTOR in applies:
        connectors = (applies[CONNECTOR],)
    return replace(after, connectors=connectors)


def _speaks_of(key: str, name: str) -> bool:
    """Whether the option, dotted key or variable ``key`` sets the value ``name``."""
    if key == TRANSFER:
        return name.startswith(("kv_", "extra."))
    plain = key.removeprefix("--no-").removeprefix("--").replace("-", "_")
    plain = plain.removeprefix("kv_transfer_config.")
    plain = plain.replace("kv_connector_extra_config", "extra", 1)
    return name == plain or name.startswith(f"{plain}.")


def fails_after(
    record: Record,
    before: Configuration,
    after: Configuration,
    knowledge: Knowledge,
    already: Iterable[Link],
    side: str = "this",
) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """The guards that stop vLLM after a fix of ``side``: those that the configuration satisfied
    (or could not be judged by) before it, and those among ``already`` that the fix leaves as they
    were. A fix may change the launch of the side whose log this is not: that one is judged too."""
    known = {link.record for link in already}
    failing = fails_next(after, knowledge, {record.id})
    new = {link.record: link for link in failing if link.record not in known}
    changed = SIDES if side == "both" else (OTHER.get(after.side, "") if side == "other" else side,)
    for seen_from in SIDES:
        if seen_from in changed and seen_from != after.side:
            there = fails_next(replace(after, side=seen_from), knowledge, {record.id, *known, *new})
            if there:
                old = fails_next(replace(before, side=seen_from), knowledge, {record.id})
                held = {link.record for link in old}
                new.update((link.record, link) for link in there if link.record not in held)
    return tuple(new.values()), tuple(link for link in failing if link.record in known)


def _release(values: Mapping[str, Scalar], candidates: Sequence[str]) -> tuple[str, ...]:
    stated = values.get("vllm_release")
    return (stated,) if isinstance(stated, str) else tuple(candidates)
