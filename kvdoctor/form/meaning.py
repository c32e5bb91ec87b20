"""What only the whole record can tell: names are declared, types fit, ranges and texts can be read.

Works on the record and names the place in the file by the path of its tree, so that the loader can
say the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from kvdoctor.errors import ExpressionError, KvdoctorError, did_you_mean
from kvdoctor.expression import TYPES, check_template, parse
from kvdoctor.form.shape import Misfit, Path
from kvdoctor.record import MOST_TRIALS, FixSpec, Identify, Input, Record
from kvdoctor.releases import key, parse_range
from kvdoctor.text.template import Pattern

RELEASE = "vllm_release"  # the input that every record has
OLD = "old_"  # prefix of the value before a fix
_EXPRESSION_KINDS = {"bool": "true or false", "int": "a whole number", "number": "a number"}


def types_of(record: Record) -> dict[str, str]:
    """Name -> type of everything that the record's expressions may speak of."""
    types = {name: spec.type for name, spec in record.inputs.items()}
    types[RELEASE] = "version"
    types.update({derived.name: derived.type for derived in record.derive})
    return types


def misfits_of(record: Record, tree: Mapping[str, Any]) -> Iterator[Misfit]:
    """Every contradiction in a record whose tree has the right form."""
    yield from _ranges(tree, ())
    yield from _identify(record, tree)
    yield from _inputs(record)
    yield from _derived(record)
    types = types_of(record)
    for index, check in enumerate(record.checks):
        path: Path = ("checks", index)
        yield from _expression(check.when, types, ("bool",), (*path, "when"))
        yield from _template(check.cause, types, (*path, "cause"))
        yield from _template(check.next_step, types, (*path, "next_step"))
        yield from _known(check.fixes, tuple(record.fixes), (*path, "fixes"), "fix")
        if check.id in [one.id for one in record.checks[:index]]:
            yield Misfit((*path, "id"), f"a second check is called {check.id!r}")
    guards = tree.get("guard", [])
    for index, guard in enumerate(record.guards):
        path = ("guard", index) if isinstance(guards, list) else ("guard",)
        yield from _expression(guard.accepts, types, ("bool",), (*path, "accepts"))
        for name, text in guard.arguments.items():
            yield from _expression(text, types, TYPES, (*path, "with", name))
        if guard.arguments and not guard.call:
            yield Misfit((*path, "with"), "'with' goes with 'call'")
    for fix in record.fixes.values():
        yield from _fix(record, fix, types)
    if record.danger:
        yield from _expression(record.danger, types, ("bool",), ("danger",))
    yield from _examples(record)


def _expression(
    text: str, types: Mapping[str, str], wanted: tuple[str, ...], path: Path
) -> Iterator[Misfit]:
    try:
        found = parse(text, types)
    except ExpressionError as error:
        yield Misfit(path, error.problem, error.remedy)
        return
    if found.type not in wanted:
        say = _EXPRESSION_KINDS.get(wanted[-1], " or ".join(wanted))
        yield Misfit(path, f"gives {found.type} where {say} is needed: {text!r}")


def _template(text: str, types: Mapping[str, str], path: Path) -> Iterator[Misfit]:
    try:
        check_template(text, types)
    except ExpressionError as error:
        yield Misfit(path, error.problem, error.remedy)


def _known(
    names: tuple[str, ...], known: tuple[str, ...], path: Path, what: str
) -> Iterator[Misfit]:
    for index, name in enumerate(names):
        if name not in known:
            yield Misfit((*path, index), f"no {what} is called {name!r}", did_you_mean(name, known))


def _ranges(tree: Any, path: Path) -> Iterator[Misfit]:
    """Every release range of the record, wherever it stands."""
    if isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _ranges(item, (*path, index))
    elif isinstance(tree, dict):
        for name, value in tree.items():
            here = (*path, name)
            exact = path[:1] == ("examples",) or "compared" in path
            if path[-1:] == ("usual",):
                yield from _range(name, here)
            elif name == "vllm" and isinstance(value, str):
                yield from _release(value, here) if exact else _range(value, here)
            elif name not in ("log", "answers", "values", "snippets"):
                yield from _ranges(value, here)


def _range(text: str, path: Path) -> Iterator[Misfit]:
    try:
        parse_range(text)
    except ExpressionError as error:
        yield Misfit(path, error.problem, error.remedy)


def _release(text: str, path: Path) -> Iterator[Misfit]:
    if text and key(text) is None:
        yield Misfit(path, f"{text!r} is not a release", 'write one release, such as "0.32.0"')


def _identify(record: Record, tree: Mapping[str, Any]) -> Iterator[Misfit]:
    root: Path = ("identify",) if isinstance(tree["identify"], list) else ("identify", "any")
    if not record.identify and not record.danger:  # a danger is found from values
        yield Misfit(("identify",), "no entry: nothing would ever be recognised")
    for index, entry in enumerate(record.identify):
        path = (*root, index)
        if not entry.message and not entry.frame:
            yield Misfit(path, "an entry needs a message or a frame")
        for name in ("message", "before"):
            yield from _pattern(getattr(entry, name), record, (*path, name))
        if entry.code and not entry.frame:
            yield Misfit((*path, "code"), "code goes with frame")
        yield from _class(entry, path)


def _pattern(text: str, record: Record, path: Path) -> Iterator[Misfit]:
    if not text:
        return
    try:
        pattern = Pattern.compile(text)
    except KvdoctorError as error:
        yield Misfit(path, error.problem, error.remedy)
        return
    if not pattern.literal_chars:
        yield Misfit(path, "a message of holes alone fits everything")


def _class(entry: Identify, path: Path) -> Iterator[Misfit]:
    if entry.exception and not all(part.isidentifier() for part in entry.exception.split(".")):
        yield Misfit((*path, "exception"), f"{entry.exception!r} is not the name of a class")


def _inputs(record: Record) -> Iterator[Misfit]:
    for name, spec in record.inputs.items():
        path: Path = ("inputs", name)
        if name == RELEASE and spec.type != "version":
            yield Misfit((*path, "type"), f"{RELEASE} is of type version in every record")
        if name.startswith(OLD):
            yield Misfit(path, f"names with {OLD} are kept for values before a fix")
        if (spec.type == "choice") != bool(spec.choices):
            yield Misfit((*path, "choices"), "choices and the type choice go together")
        if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
            yield Misfit((*path, "minimum"), "the minimum is above the maximum")
        for span, value in spec.usual.items():
            yield from _value(value, spec, (*path, "usual", span))


def _value(value: object, spec: Input, path: Path) -> Iterator[Misfit]:
    """Whether a value in the record can be one of the input."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        "int": number and value == int(value),  # type: ignore[call-overload]
        "number": number,
        "bool": isinstance(value, bool),
        "choice": str(value) in spec.choices,
        "text": isinstance(value, str),
        "version": isinstance(value, str) and key(value) is not None,
    }[spec.type]
    if not fits:
        extra = f" of {', '.join(spec.choices)}" if spec.choices else ""
        yield Misfit(path, f"{value!r} is no {spec.type}{extra}, which {spec.name} is")
    elif isinstance(value, (int, float)) and not _inside(value, spec):
        yield Misfit(path, f"{value!r} is outside the limits of {spec.name}")


def _inside(value: float, spec: Input) -> bool:
    low, high = spec.minimum, spec.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def _derived(record: Record) -> Iterator[Misfit]:
    types = {name: spec.type for name, spec in record.inputs.items()}
    types[RELEASE] = "version"
    for derived in record.derive:
        path: Path = ("derive", derived.name)
        if derived.name in types:
            yield Misfit(path, f"{derived.name!r} is declared twice")
        wanted = _accepted(derived.type)
        yield from _expression(derived.expression, types, wanted, (*path, "from"))
        types[derived.name] = derived.type


def _accepted(type_: str) -> tuple[str, ...]:
    """Types of results that a name of ``type_`` can take."""
    return {
        "number": ("int", "number"),
        "text": ("text", "choice", "version"),
        "choice": ("text", "choice"),
        "version": ("version", "text"),
    }.get(type_, (type_,))


def _fix(record: Record, fix: FixSpec, types: Mapping[str, str]) -> Iterator[Misfit]:
    path: Path = ("fixes", fix.id)
    both = {**types, **{OLD + name: type_ for name, type_ in types.items()}}
    if fix.when:
        yield from _expression(fix.when, both, ("bool",), (*path, "when"))
    for name, text in fix.sets.items():
        yield from _set(name, text, types, both, (*path, "sets", name))
    if fix.solve:
        yield from _solve(fix, types, both, (*path, "solve"))
        if not record.guards:
            yield Misfit((*path, "solve"), "solve needs a guard to search by")
    for name in ("title", "snippet", "changes"):
        yield from _template(getattr(fix, name), both, (*path, name))
    for target, text in fix.applies.items():
        yield from _template(text, both, (*path, "applies", target))
    if not fix.snippet and fix.kind != "report-bug":
        yield Misfit(path, "'snippet' is missing", "the exact text for the clipboard")


def _set(
    name: str, text: str, types: Mapping[str, str], both: Mapping[str, str], path: Path
) -> Iterator[Misfit]:
    if name not in types:
        yield Misfit(path, f"no input is called {name!r}", did_you_mean(name, tuple(types)))
        return
    yield from _expression(text, both, _accepted(types[name]), path)


def _solve(
    fix: FixSpec, types: Mapping[str, str], both: Mapping[str, str], path: Path
) -> Iterator[Misfit]:
    assert fix.solve is not None  # noqa: S101
    trials = math.prod(len(values) for values in fix.solve.vary.values())
    if trials > MOST_TRIALS:
        say = f"{trials:,} combinations, more than the {MOST_TRIALS:,} that one search may try"
        yield Misfit((*path, "vary"), say, "name fewer values")
    for name, values in fix.solve.vary.items():
        here = (*path, "vary", name)
        if name not in types:
            yield Misfit(here, f"no input is called {name!r}", did_you_mean(name, tuple(types)))
            continue
        for index, value in enumerate(values):
            yield from _expression(str(value), both, _accepted(types[name]), (*here, index))
    yield from _expression(fix.solve.cost, both, ("int", "number"), (*path, "cost"))


def _examples(record: Record) -> Iterator[Misfit]:
    names = tuple(types_of(record))
    checks = tuple(check.id for check in record.checks)
    for index, example in enumerate(record.examples):
        path: Path = ("examples", index)
        yield from _known(tuple(example.answers), names, (*path, "answers"), "input")
        for name, value in example.answers.items():
            spec = record.inputs.get(name)
            if spec:
                yield from _value(value, spec, (*path, "answers", name))
        if example.check and example.check not in checks:
            remedy = did_you_mean(example.check, checks)
            say = f"no check is called {example.check!r}"
            yield Misfit((*path, "expect", "check"), say, remedy)
        yield from _known(tuple(example.values), names, (*path, "expect", "values"), "value")
        fixes = tuple(record.fixes)
        yield from _known(tuple(example.snippets), fixes, (*path, "expect", "snippets"), "fix")
        yield from _known(example.asks, names, (*path, "expect", "asks"), "input")
        for name, text in example.snippets.items():
            if text is not None and not isinstance(text, str):
                yield Misfit((*path, "expect", "snippets", name), "a text or null is expected")
        if not (example.check or example.asks or example.belongs_to or example.values):
            yield Misfit((*path, "expect"), "expects nothing", "name a check, asks or belongs_to")
