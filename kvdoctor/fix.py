"""From a cause to the fixes that are shown to satisfy vLLM's own guard.

A fix is offered only when the guard, evaluated with the changed values, is true for every release
the log can come from. Anything else comes back as ``NotOffered`` with the reason, so that the
screen can say why a published piece of advice is missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from kvdoctor.data import dataclass, field, replace
from kvdoctor.decide import Cause, open_choices, unknown_inputs
from kvdoctor.expression import UNKNOWN, Unknown, parse
from kvdoctor.proof.results import compared
from kvdoctor.reach import RELEASE_INPUT, parse_for, types_of, with_derived
from kvdoctor.record import MOST_TRIALS, FixProof, FixSpec, Guard, Record, Solve
from kvdoctor.releases import parse_range
from kvdoctor.text.rendering import holes_of, render
from kvdoctor.values.value import Scalar

OLD = "old_"
NOTHING_FITS = "no value in its range satisfies the guard"
UNDECIDED = "the guard cannot be decided with what is known"
MOST_JUDGED = 40  # values of one fix that are held against the guards of other records
Troubles = Callable[[FixSpec, Mapping[str, Scalar]], int]


@dataclass(frozen=True, slots=True)
class Proof:
    """How a fix was shown to work; ``level`` is one of :data:`kvdoctor.record.PROOFS`."""

    level: str
    vllm: str = ""
    note: str = ""
    evidence: tuple[str, ...] = ()
    combinations: int = 0  # compared with the real guard, for level guard


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix with the user's own values, ready for the clipboard."""

    id: str
    title: str
    snippet: str
    changes: str
    side: str
    kind: str
    sets: Mapping[str, Scalar]
    applies: Mapping[str, str]
    removes: tuple[str, ...]
    proof: Proof
    values: Mapping[str, Scalar] = field(default_factory=dict)  # every input after the fix


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A fix that was not shown to work here, and why; ``asks`` names inputs that would decide."""

    id: str
    title: str
    why: str
    asks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guard says about one set of values: True accepted, False raised, None unknown."""

    accepted: bool | None
    asks: tuple[str, ...] = ()
    failing: str = ""  # the release for which it still raises


def offers(
    record: Record, cause: Cause, troubles: Troubles | None = None
) -> tuple[Fix | NotOffered, ...]:
    """The fixes of the cause in the record's order, proven ones before unproven ones.

    ``troubles`` counts the guards of other records that stop vLLM with a fix and its values: of
    the values that a fix may take, those with the fewest are taken."""
    made: list[Fix | NotOffered] = []
    for name in cause.check.fixes:
        one = _offer(record, record.fixes[name], cause, troubles)
        if isinstance(one, Fix) and record.fixes[name].solve is not None:
            told = [two for two in made if isinstance(two, Fix) and two.values == one.values]
            one = NotOffered(one.id, one.title, f"it would be {told[0].id}") if told else one
        made.append(one)
    return tuple(sorted(made, key=lambda one: isinstance(one, NotOffered) * 2 + _unproven(one)))


def _is_idle(spec: FixSpec, changed: Mapping[str, Scalar], cause: Cause) -> bool:
    """Whether every value is as the fix would make it. An input that is set to itself says
    nothing: the answer to its question is the new value."""
    new = [name for name in changed if spec.sets.get(name, "").strip() != name]
    return bool(new) and all(cause.values.get(name) == changed[name] for name in new)


def _unproven(one: Fix | NotOffered) -> int:
    return int(isinstance(one, Fix) and one.proof.level == "unproven")


def _offer(
    record: Record, spec: FixSpec, cause: Cause, troubles: Troubles | None
) -> Fix | NotOffered:
    candidates = cause.facts.candidates
    blocked = _range_blocks(spec, candidates)
    if blocked is not None:
        return blocked
    types = _fix_types(record)
    if spec.when:
        when = parse(spec.when, types)
        verdict = when.evaluate(cause.values)
        asks = unknown_inputs(record, when, cause.values)
        if verdict is UNKNOWN and set(asks) <= set(open_choices(record, cause.facts)):
            verdict = True
        if verdict is UNKNOWN:
            return NotOffered(spec.id, spec.title, "not known whether it applies", asks)
        if verdict is not True:
            return NotOffered(spec.id, spec.title, "does not apply to these values")
    blanks = _blanks(record, spec, cause, types)
    if blanks and (spec.solve is None):
        return _unfilled(record, spec, cause, blanks, types)
    changed = _assignments(record, spec, cause, troubles)
    if isinstance(changed, NotOffered):
        return changed
    if _is_idle(spec, changed, cause):
        return NotOffered(spec.id, spec.title, "it would change nothing: the values are so already")
    return _prove(record, spec, cause, changed)


def _range_blocks(spec: FixSpec, candidates: Sequence[str]) -> NotOffered | None:
    if not spec.vllm:
        return None
    reach = parse_range(spec.vllm).covers(candidates)
    if reach == "none":
        return NotOffered(spec.id, spec.title, f"works only in vLLM {spec.vllm}")
    if reach == "some":
        why = f"works only in vLLM {spec.vllm}, and the release is not known"
        return NotOffered(spec.id, spec.title, why, (RELEASE_INPUT,))
    return None


def _fix_types(record: Record) -> dict[str, str]:
    types = types_of(record)
    return {**types, **{OLD + name: kind for name, kind in types.items()}}


def _olds(values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {OLD + name: value for name, value in values.items()}


def _assignments(
    record: Record, spec: FixSpec, cause: Cause, troubles: Troubles | None
) -> dict[str, Scalar] | NotOffered:
    """The new values of the inputs that the fix changes."""
    types = _fix_types(record)
    before = {**cause.values, **_olds(cause.values)}
    changed: dict[str, Scalar] = {}
    for name, text in spec.sets.items():
        expression = parse(text, types)
        value = expression.evaluate(before)
        if value is UNKNOWN:
            asks = unknown_inputs(record, expression, before)
            return NotOffered(spec.id, spec.title, "a value it needs is not known", asks)
        changed[name] = value
    if spec.solve is not None:
        solved = _solve(record, spec, spec.solve, cause, changed, troubles)
        if isinstance(solved, NotOffered):
            return solved
        changed.update(solved)
    return changed


def _blanks(
    record: Record, spec: FixSpec, cause: Cause, types: Mapping[str, str]
) -> dict[str, Scalar]:
    """What stands in place of the fix's values that hang on a choice left open; {} when none of
    its texts does."""
    choices = open_choices(record, cause.facts)
    if not choices:
        return {}
    derived = {one.name: one.expression for one in record.derive}
    blanks = dict(choices)
    for one in record.derive:
        asks = unknown_inputs(record, parse_for(record, one.name), cause.values)
        if asks and set(asks) <= set(choices):
            blanks[one.name] = f"<{one.expression}>"
    for name, text in spec.sets.items():
        expression = parse(text, types)
        asks = unknown_inputs(record, expression, {**cause.values, **_olds(cause.values)})
        if asks and set(asks) <= set(choices):
            blanks[name] = f"<{derived.get(text.strip(), text)}>"
    texts = (spec.snippet, *spec.applies.values())
    named = {name for text in texts for name in holes_of(text)}
    return blanks if named & set(blanks) else {}


def _unfilled(
    record: Record,
    spec: FixSpec,
    cause: Cause,
    blanks: Mapping[str, Scalar],
    types: Mapping[str, str],
) -> Fix | NotOffered:
    """The fix with blanks in place of what the user has yet to choose: nothing of it is proven,
    and the user's own command is left alone."""
    before = {**cause.values, **_olds(cause.values)}
    made = {name: parse(text, types).evaluate(before) for name, text in spec.sets.items()}
    changed = {name: value for name, value in made.items() if not isinstance(value, Unknown)}
    kept = {name: one for name, one in cause.facts.scalars().items() if name not in spec.sets}
    after = with_derived(record, {**kept, **changed})
    if guard_verdict(record, after, _candidates_after(cause, after)).accepted is False:
        return NotOffered(spec.id, spec.title, "vLLM's guard would still raise")
    shown = {**after, **_olds(cause.values), **blanks}
    snippet = render(spec.snippet, shown, quote="shell")
    changes = render(spec.changes, shown)
    if snippet is None or changes is None:
        return NotOffered(spec.id, spec.title, "a value it needs is not known")
    names = list(open_choices(record, cause.facts))
    note = f"{' and '.join(f'<{one}>' for one in names)} is yours to choose: put it in, or give it"
    note += f" here ({' '.join(f'--set {one}=…' for one in names)}), which checks the fix"
    title = render(spec.title, shown) or spec.title
    proof = Proof("unproven", spec.proof.vllm, note)
    return Fix(
        spec.id, title, snippet, changes, spec.side, spec.kind, changed, {}, (), proof, after
    )  # fmt: skip


def _candidate_values(
    raw: object, before: Mapping[str, Scalar], types: Mapping[str, str]
) -> Scalar | object:
    if isinstance(raw, str):
        return parse(raw, types).evaluate(before)
    return raw


def _solve(
    record: Record,
    spec: FixSpec,
    solve: Solve,
    cause: Cause,
    fixed: Mapping[str, Scalar],
    troubles: Troubles | None,
) -> dict[str, Scalar] | NotOffered:
    """Of the assignments of ``solve.vary`` that the guard accepts those with the fewest
    ``troubles``, of these the cheapest; ties go by the order in which values are declared."""
    types, olds = _fix_types(record), _olds(cause.values)
    before = {**cause.values, **olds}
    domains = [
        [_candidate_values(one, before, types) for one in all_] for all_ in solve.vary.values()
    ]
    cost = parse(solve.cost, types)
    found: list[tuple[float, dict[str, Scalar], Mapping[str, Scalar]]] = []
    asks: dict[str, None] = {}
    for chosen in itertools.islice(itertools.product(*domains), MOST_TRIALS):
        if any(value is UNKNOWN for value in chosen):
            continue
        trial: dict[str, Scalar] = dict(zip(solve.vary, chosen, strict=True))  # type: ignore[arg-type]
        after = _after(record, cause, {**fixed, **trial})
        verdict = guard_verdict(record, after, _candidates_after(cause, after), asking=not found)
        if verdict.accepted is not True:
            asks.update(dict.fromkeys(verdict.asks if verdict.accepted is None else ()))
            continue
        price = cost.evaluate({**after, **olds})
        if isinstance(price, int | float) and not isinstance(price, bool):
            found.append((price, trial, after))
    if not found:
        return NotOffered(spec.id, spec.title, UNDECIDED if asks else NOTHING_FITS, tuple(asks))
    found.sort(key=lambda one: one[0])
    return _least_trouble(spec, found, troubles)


def _least_trouble(
    spec: FixSpec,
    found: Sequence[tuple[float, dict[str, Scalar], Mapping[str, Scalar]]],
    troubles: Troubles | None,
) -> dict[str, Scalar]:
    """Of accepted assignments, cheapest first, the first with the fewest troubles."""
    best, fewest = found[0][1], -1
    for _, trial, after in found[:MOST_JUDGED]:
        many = troubles(spec, after) if troubles else 0
        if many < fewest or fewest < 0:
            best, fewest = trial, many
        if not many:
            break
    return best


def _after(record: Record, cause: Cause, changed: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Inputs with the changes, derived values worked out anew."""
    inputs = {**cause.facts.scalars(), **changed}
    return with_derived(record, inputs)


def _candidates_after(cause: Cause, after: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The releases to judge by: the new one when the fix is an upgrade."""
    target = after.get(RELEASE_INPUT)
    if isinstance(target, str) and target not in cause.facts.candidates:
        return (target,)
    return cause.facts.candidates


def _prove(
    record: Record, spec: FixSpec, cause: Cause, changed: Mapping[str, Scalar]
) -> Fix | NotOffered:
    after = _after(record, cause, changed)
    candidates = _candidates_after(cause, after)
    verdict = guard_verdict(record, after, candidates)
    taken: dict[str, Scalar] = {}
    if record.guards and verdict.accepted is None:
        taken = _taken(record, cause, after, candidates)
        if taken:
            after = _after(record, cause, {**changed, **taken})
            verdict = Verdict(True)
    if record.guards and verdict.accepted is False:
        where = f" in vLLM {verdict.failing}" if verdict.failing else ""
        return NotOffered(spec.id, spec.title, f"vLLM's guard would still raise{where}")
    if record.guards and verdict.accepted is None:
        return NotOffered(spec.id, spec.title, UNDECIDED, verdict.asks)
    shown = {**after, **_olds(cause.values)}
    snippet = render(spec.snippet, shown, quote="shell")
    changes = render(spec.changes, shown)
    applies = {key: render(text, shown) for key, text in spec.applies.items()}
    if snippet is None or changes is None or None in applies.values():
        return NotOffered(
            spec.id, spec.title, "a value it needs is not known", _unfillable(record, spec, shown)
        )
    return Fix(
        spec.id,
        render(spec.title, shown) or spec.title,
        snippet,
        changes,
        spec.side,
        spec.kind,
        {name: value for name, value in changed.items() if cause.values.get(name) != value},
        {key: text for key, text in applies.items() if text is not None},
        spec.removes,
        _with_taken(_proof(record, spec.proof, cause, candidates), taken),
        after,
    )


def _taken(
    record: Record, cause: Cause, after: Mapping[str, Scalar], candidates: Sequence[str]
) -> dict[str, Scalar]:
    """vLLM's own defaults with which the guard accepts ``after``, of values that nothing states;
    {} when they do not decide it, or would have let the failing configuration pass as well."""
    taken: dict[str, Scalar] = {}
    for _ in record.inputs:
        trial = with_derived(record, {**_plain(record, after), **taken})
        verdict = guard_verdict(record, trial, candidates)
        if verdict.accepted is not None:
            before = with_derived(record, {**cause.facts.scalars(), **taken})
            passed = accepts(record, before, cause.facts.candidates)
            return taken if verdict.accepted and not passed else {}
        usual = {
            name: cause.facts.offered[name].value
            for name in verdict.asks
            if name in cause.facts.offered and name not in taken
        }
        if not usual:
            return {}
        taken |= usual
    return {}


def _plain(record: Record, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """``values`` without the derived ones."""
    derived = {one.name for one in record.derive}
    return {name: value for name, value in values.items() if name not in derived}


def _with_taken(proof: Proof, taken: Mapping[str, Scalar]) -> Proof:
    """The proof with the defaults on which it rests."""
    if not taken:
        return proof
    told = ", ".join(f"{name} {value}" for name, value in taken.items())
    note = f"with {told}, vLLM's default, as nothing here says otherwise"
    return replace(proof, note=f"{note}; {proof.note}" if proof.note else note)


def _unfillable(record: Record, spec: FixSpec, shown: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The inputs without which a text of the fix cannot be filled."""
    found: dict[str, None] = {}
    for text in (spec.snippet, spec.changes, *spec.applies.values()):
        for name in holes_of(text):
            if name not in shown and not name.startswith(OLD):
                found.update(dict.fromkeys(unknown_inputs(record, parse_for(record, name), shown)))
    return tuple(found)


def _proof(record: Record, claimed: FixProof, cause: Cause, candidates: Sequence[str]) -> Proof:
    """The proof that may be shown.

    Outside the releases of a claim only the guard as it was read in those releases is left to
    stand on; without one it is unproven. A guard that accepts the values already before the fix
    shows nothing."""
    level, note = claimed.level, claimed.note
    tested = 0
    if level == "guard":
        # A release without the guard is judged by what was compared where it still was.
        tested = _combinations(record, candidates) or (
            _combinations(record, cause.facts.candidates)
            if not any(any(guards_for(record.guards, one)) for one in candidates)
            else 0
        )
    if level == "guard" and not tested:
        level = "source"
    reach = parse_range(claimed.vllm).covers(candidates) if claimed.vllm else "all"
    if reach != "all" and level in ("guard", "rerun"):
        read = bool(candidates) and all(any(guards_for(record.guards, one)) for one in candidates)
        level = "source" if read else "unproven"
        where = "another release" if reach == "none" else "a release that is not known for sure"
        note = f"shown for vLLM {claimed.vllm}; this log is from {where}. {note}".strip()
    elif reach != "all":
        level = "unproven"
    needless = accepts(record, cause.values, cause.facts.candidates)
    if claimed.level == "guard" and (not record.guards or needless):
        level = "unproven"
    return Proof(level, claimed.vllm, note, claimed.evidence, tested if level == "guard" else 0)


def _combinations(record: Record, candidates: Sequence[str]) -> int:
    """Combinations of values over which the guards in force were compared with the real function;
    0 when one of them never was, or was found to differ."""
    total = 0
    calls = {one.call for name in candidates for one in guards_for(record.guards, name)}
    for call in calls:
        found = compared(call) if call else ()
        if not found or any(one.mismatches for one in found):
            return 0
        total += sum(one.combinations for one in found)
    return total


def guards_for(guards: Sequence[Guard], release: str) -> Iterator[Guard]:
    """The guard entries in force in ``release``."""
    for guard in guards:
        if not guard.vllm or parse_range(guard.vllm).contains(release):
            yield guard


def own_guards(record: Record) -> Sequence[Guard]:
    """The guards that raise this very error. A record may also name those that its fixes must pass
    further on; whoever breaks one of these alone gets another error."""
    raisers = {_function(one.raised_in) for one in record.seen_in}
    own = [one for one in record.guards if not one.mirrors or _function(one.mirrors) in raisers]
    return own or record.guards


def _function(place: str) -> str:
    return place.rpartition(":")[2].rpartition(".")[2]


def accepts(record: Record, values: Mapping[str, Scalar], candidates: Sequence[str]) -> bool:
    """Whether vLLM's guard is known to let ``values`` pass in every candidate release."""
    return guard_verdict(record, values, candidates, asking=False).accepted is True


def guard_verdict(
    record: Record,
    values: Mapping[str, Scalar],
    candidates: Sequence[str],
    *,
    asking: bool = True,
    guards: Sequence[Guard] | None = None,
) -> Verdict:
    """What vLLM's guard says about ``values`` in every candidate release.

    With no candidate the guard must hold in each of its variants. A release that no variant
    covers has no such guard and accepts. ``asking``: also tell which inputs would decide;
    ``guards``: these of the record's only."""
    guards = record.guards if guards is None else guards
    asks: list[str] = []
    undecided = False
    checks: Sequence[tuple[str, Guard]]
    if candidates:
        checks = [(one, guard) for one in candidates for guard in guards_for(guards, one)]
    else:
        checks = [("", guard) for guard in guards]
    seen: set[str] = set()  # most guards do not ask for the release and are evaluated once
    for release, guard in checks:
        key = guard.accepts if RELEASE_INPUT not in guard.accepts else release + guard.accepts
        if key in seen:
            continue
        seen.add(key)
        known = {**values, RELEASE_INPUT: release} if release else values
        condition = parse_for(record, guard.accepts)
        verdict = condition.evaluate(known)
        if verdict is False:
            return Verdict(False, (), release)
        if verdict is not True:
            undecided = True
            for name in unknown_inputs(record, condition, known) if asking else ():
                if name not in asks:
                    asks.append(name)
    return Verdict(None, tuple(asks)) if undecided else Verdict(True)
