"""From a record and what is known to one cause, or to the questions that are still open.

The facts of a diagnosis are gathered from three places, best first: what the user answered, what
the failure's own message says, what the log and the pasted commands state. A usual value (the
default of a release) is offered with the question but never decides anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kvdoctor.data import dataclass, field
from kvdoctor.errors import ExpressionError
from kvdoctor.expression import UNKNOWN, Expression, read_value
from kvdoctor.reach import RELEASE_INPUT, parse_for, read_parts, types_of, with_derived
from kvdoctor.record import Check, Input, Record
from kvdoctor.releases import parse_range
from kvdoctor.text.rendering import render
from kvdoctor.values.value import Scalar, Value, Values

NOT_KNOWN = "?"  # the answer of somebody who cannot tell: the next check is tried
TRUE_WORDS = frozenset({"true", "yes", "y", "on", "1", "enabled"})
FALSE_WORDS = frozenset({"false", "no", "n", "off", "0", "disabled"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a record's inputs: ``known`` maps an input to the value with its source;
    ``offered`` holds usual values that wait for a confirmation; ``rejected`` says which stated
    values did not fit the input's type or limits."""

    known: Mapping[str, Value]
    offered: Mapping[str, Value] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()  # vLLM releases the text can come from
    rejected: tuple[tuple[str, str], ...] = ()
    passed: tuple[str, ...] = ()  # questions that the user cannot answer

    def scalars(self) -> dict[str, Scalar]:
        return {name: value.value for name, value in self.known.items()}


@dataclass(frozen=True, slots=True)
class Branch:
    """One check as it came out: holds, ruled-out, open, or not-reached; ``other-release`` when its
    range excludes the release at hand; ``passed`` when the user could not answer."""

    check: str
    state: str


@dataclass(frozen=True, slots=True)
class Cause:
    check: Check
    text: str
    facts: Facts
    values: Mapping[str, Scalar]  # inputs and derived values
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Asks:
    names: tuple[str, ...]
    facts: Facts
    values: Mapping[str, Scalar]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class NoCause:
    """Every check is false: the record's own conditions do not hold for these values."""

    facts: Facts
    values: Mapping[str, Scalar]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """The record itself cannot be evaluated; the reason names its file."""

    reason: str
    facts: Facts
    values: Mapping[str, Scalar] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()


Outcome = Cause | Asks | NoCause | Broken


def coerce(spec: Input, raw: object) -> tuple[Scalar, str]:
    """The value of ``raw`` as the input's type, and a complaint ("" when it fits)."""
    text = str(raw).strip()
    sized = _in_unit(text, spec)
    try:
        value = _typed(spec.type, raw if sized is None else sized, text)
    except ValueError:
        return None, f"{text!r} is not {_TYPE_WORDS.get(spec.type, spec.type)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if spec.minimum is not None and value < spec.minimum:
            return None, f"{text} is below {spec.minimum:g}"
        if spec.maximum is not None and value > spec.maximum:
            return None, f"{text} is above {spec.maximum:g}"
    if spec.choices and str(value) not in spec.choices:
        return None, f"{text!r} is none of {', '.join(spec.choices)}"
    return value, ""


_SIZES = {"B": 1, "bytes": 1} | {
    f"{letter}{end}": base**power
    for power, letter in enumerate("KMGT", 1)
    for end, base in (("iB", 1024), ("B", 1000))
}
_SIZED = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s{0,3}([A-Za-z]{1,12})")


def _in_unit(text: str, spec: Input) -> int | float | None:
    """The number of a text with a unit after it, in the input's own unit: 4 for "4GiB" where GiB
    are wanted, also for "4096 MiB". None when it has none, or one that does not fit."""
    found = _SIZED.fullmatch(text) if spec.unit and spec.type in ("int", "number") else None
    if found is None:
        return None
    number = float(found[1])
    if found[2].lower() in (spec.unit.lower(), spec.unit.lower().rstrip("s")):
        return int(number) if number.is_integer() else number
    names = {name.lower(): size for name, size in _SIZES.items()}
    here, wanted = names.get(found[2].lower()), names.get(spec.unit.lower())
    if here is None or wanted is None:
        return None
    number = number * here / wanted
    return int(number) if number.is_integer() else number


_TYPE_WORDS = {
    "int": "a whole number",
    "number": "a number",
    "bool": "yes or no",
    "version": "a vLLM release such as 0.32.0",
}


def _typed(kind: str, raw: object, text: str) -> Scalar:
    if kind == "bool" and not isinstance(raw, bool):
        if text.lower() in TRUE_WORDS:
            return True
        if text.lower() in FALSE_WORDS:
            return False
        raise ValueError(text)
    value = read_value(raw, kind)
    if value is UNKNOWN:
        raise ValueError(text)
    return value


def gather(
    record: Record,
    values: Values,
    holes: Mapping[str, str],
    answers: Mapping[str, object],
    candidates: tuple[str, ...],
    *,
    side: str = "this",
    number: int = 0,
    seen: Mapping[str, Value] | None = None,
) -> Facts:
    """What is known about every input of ``record``.

    ``holes`` are the texts captured from the failure's message (standing at line ``number``),
    ``seen`` what other log lines tell (input -> value), ``side`` is the side whose log it is,
    ``candidates`` the possible vLLM releases.
    """
    known: dict[str, Value] = {}
    offered: dict[str, Value] = {}
    rejected: list[tuple[str, str]] = []
    specs = dict(record.inputs)
    specs.setdefault(RELEASE_INPUT, Input(RELEASE_INPUT, "version", "vLLM release"))
    for name, spec in specs.items():
        told = (seen or {}).get(name)
        for entry in _sources(spec, values, holes, answers, candidates, side, number, told):
            value, complaint = coerce(spec, entry.value)
            if complaint:
                if entry.origin == "answer":
                    rejected.append((name, complaint))
                continue
            fitted = Value(
                name,
                value,
                entry.origin,
                entry.side,
                entry.number,
                entry.source,
                entry.certainty,
                entry.why,
            )
            if entry.certainty == "usual":
                offered.setdefault(name, fitted)
                continue
            known[name] = fitted
            break
    passed = tuple(name for name in specs if answers.get(name) == NOT_KNOWN)
    stated = known.get(RELEASE_INPUT)
    if stated is not None and stated.origin == "answer":
        candidates = (str(stated.value),)
    return Facts(known, offered, candidates, tuple(rejected), passed)


def _sources(
    spec: Input,
    values: Values,
    holes: Mapping[str, str],
    answers: Mapping[str, object],
    candidates: tuple[str, ...],
    side: str,
    number: int,
    told: Value | None,
) -> Iterable[Value]:
    name = spec.name
    if answers.get(name) not in (None, NOT_KNOWN):
        yield Value(name, answers[name], "answer", spec.side, why="answered")  # type: ignore[arg-type]
    if name in holes:
        yield Value(name, holes[name], "message", spec.side, number, why="in the message")
    if told is not None:
        yield told
    if name == RELEASE_INPUT and len(candidates) == 1:
        yield Value(name, candidates[0], "log", "this", why="the release of the log")
    later: list[Value] = []
    for read in spec.reads:
        for entry in _read(read, values, side):
            if entry.certainty == "usual":
                later.append(entry)
            else:
                yield entry
    yield from later
    for span, value in spec.usual.items():
        if not span or (candidates and parse_range(span).covers(candidates) == "all"):
            yield Value(name, value, "usual", spec.side, certainty="usual", why="the default")  # type: ignore[arg-type]


OTHER = {"prefill": "decode", "decode": "prefill"}


def sides_of(wanted: str, side: str) -> tuple[str, ...]:
    """Under which sides a value can stand that is wanted for ``wanted``, seen from a log of
    ``side`` ("this" when it is not known whose log it is)."""
    if wanted == "this":
        return (side, "this") if side != "this" else ("this", "prefill", "decode")
    if wanted == "other":
        return (OTHER[side], "other") if side in OTHER else ("other",)
    if wanted == side:
        return (wanted, "this")
    return (wanted, "other") if side in OTHER else (wanted,)


def _read(read: str, values: Values, side: str) -> Iterable[Value]:
    wanted, name = read_parts(read)
    for one in sides_of(wanted, side):
        for entry in values.entries:
            if entry.name == name and entry.side == one:
                yield entry


def diagnose(record: Record, facts: Facts) -> Outcome:
    """Walk the record's checks over ``facts``; the first that holds is the cause."""
    try:
        return _walk_checks(record, facts)
    except ExpressionError as error:
        return Broken(f"{record.file or record.id}: {error}", facts)


def _walk_checks(record: Record, facts: Facts) -> Outcome:
    values = with_derived(record, facts.scalars())
    branches: list[Branch] = []
    for position, check in enumerate(record.checks):
        reach = parse_range(check.vllm).covers(facts.candidates) if check.vllm else "all"
        if reach == "none":
            branches.append(Branch(check.id, "other-release"))
            continue
        when = parse_for(record, check.when)
        verdict = when.evaluate(values)
        if verdict is False:
            branches.append(Branch(check.id, "ruled-out"))
            continue
        rest = tuple(Branch(later.id, "not-reached") for later in record.checks[position + 1 :])
        if verdict is not True and reach == "all" and _left_to_choose(record, when, facts, values):
            verdict = True
        if verdict is True and reach == "all":
            text = render(check.cause, {**open_choices(record, facts), **values}) or record.summary
            done = (*branches, Branch(check.id, "holds"), *rest)
            return Cause(check, text, facts, values, done)
        open_names = unknown_inputs(record, when, values)
        if reach == "some" and RELEASE_INPUT not in open_names:
            open_names = (*open_names, RELEASE_INPUT)
        open_names = tuple(name for name in open_names if name not in facts.passed)
        if not open_names:
            branches.append(Branch(check.id, "passed"))
            continue
        return Asks(open_names, facts, values, (*branches, Branch(check.id, "open"), *rest))
    return NoCause(facts, values, tuple(branches))


def open_choices(record: Record, facts: Facts) -> dict[str, Scalar]:
    """Choices for a fix that the user left open, as the words that stand for them."""
    return {
        name: f"<{name}>"
        for name in facts.passed
        if name in record.inputs and record.inputs[name].chosen and name not in facts.known
    }


def _left_to_choose(
    record: Record, when: Expression, facts: Facts, values: Mapping[str, Scalar]
) -> bool:
    """Whether nothing but a choice left open keeps ``when`` undecided: the cause stands."""
    names = unknown_inputs(record, when, values)
    return bool(names) and set(names) <= set(open_choices(record, facts))


def unknown_inputs(
    record: Record, expression: Expression, values: Mapping[str, Scalar]
) -> tuple[str, ...]:
    """Inputs that keep ``expression`` undecided, in the order in which it speaks of them."""
    derived = {item.name: item.expression for item in record.derive}
    found: list[str] = []

    def visit(undecided: Expression, depth: int) -> None:
        for name in undecided.open_names(values):
            if name in derived and depth < len(derived) + 1:
                visit(parse_for(record, derived[name]), depth + 1)
            elif name not in found:
                found.append(name)

    visit(expression, 0)
    return tuple(found)


__all__ = [
    "RELEASE_INPUT",
    "Asks",
    "Branch",
    "Broken",
    "Cause",
    "Facts",
    "NoCause",
    "Outcome",
    "coerce",
    "diagnose",
    "gather",
    "open_choices",
    "read_parts",
    "types_of",
    "unknown_inputs",
    "with_derived",
]
