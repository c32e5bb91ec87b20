"""Rules over one record: what is never used, what contradicts itself, what would break a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from kvdoctor.expression import holes_of, parse, render
from kvdoctor.form.fields import PROVEN
from kvdoctor.form.meaning import OLD, RELEASE, types_of
from kvdoctor.form.shape import Path
from kvdoctor.lint.note import Note, warning
from kvdoctor.record import FixSpec, Record
from kvdoctor.text.template import Pattern

LEAST_LITERALS = 12  # literal characters below which a message fits too much
_SAMPLE = {"int": 7, "number": 0.5, "bool": True, "version": "0.32.0", "text": "a b'c\"d"}
_RAW = re.compile(r"\{([A-Za-z_]\w*)\|raw\}")


def notes(record: Record, tree: Mapping[str, Any]) -> Iterator[Note]:
    """Everything that the record alone gives away."""
    yield from _messages(record, tree)
    yield from _unused(record)
    yield from _checks(record)
    yield from _choices(record)
    for fix in record.fixes.values():
        yield from _proof(record, fix)
        yield from _snippet(record, fix)
    yield from _wording(record)


def identify_path(tree: Mapping[str, Any], index: int) -> Path:
    """Where entry ``index`` stands in the file, in either form of ``identify``."""
    if isinstance(tree["identify"], list):
        return ("identify", index)
    return ("identify", "any", index)


def _messages(record: Record, tree: Mapping[str, Any]) -> Iterator[Note]:
    for index, entry in enumerate(record.identify):
        path = identify_path(tree, index)
        if not entry.message:
            if not entry.code and not entry.exception:
                yield Note("weak-frame", path, "a frame alone fits every error of the function")
            continue
        pattern = Pattern.compile(entry.message)
        helped = entry.frame or entry.any_frame or entry.before
        if pattern.literal_chars < LEAST_LITERALS and not helped:
            yield Note(
                "short-template",
                (*path, "message"),
                f"{pattern.literal_chars} literal characters fit too much",
                "write more of the message, or add any_frame",
            )


def _used_names(record: Record) -> set[str]:
    """Names that any check, guard, fix or text speaks of."""
    types = types_of(record)
    both = {**types, **{OLD + name: kind for name, kind in types.items()}}
    expressions = [check.when for check in record.checks]
    expressions += [guard.accepts for guard in record.guards]
    expressions += [record.danger] if record.danger else []
    texts = [text for check in record.checks for text in (check.cause, check.next_step)]
    used: set[str] = set()
    for fix in record.fixes.values():
        expressions += [fix.when] if fix.when else []
        expressions += list(fix.sets.values())
        texts += [fix.title, fix.snippet, fix.changes, *fix.applies.values()]
        if fix.solve:
            expressions.append(fix.solve.cost)
            expressions += [str(value) for one in fix.solve.vary.values() for value in one]
    for expression in expressions:
        used.update(parse(expression, both).names)
    for text in texts:
        used.update(holes_of(text))
    used = {name.removeprefix(OLD) if name not in types else name for name in used}
    for derived in reversed(record.derive):
        if derived.name in used:
            used.update(parse(derived.expression, types).names)
    return used


def _unused(record: Record) -> Iterator[Note]:
    used = _used_names(record)
    shown = {name for one in record.identify for name in Pattern.compile(one.message).names}
    for name in record.inputs:
        if name not in used and name not in shown and name != RELEASE:
            yield Note("unused-input", ("inputs", name), f"nothing reads {name!r}", "remove it")
    for derived in record.derive:
        if derived.name not in used:
            path = ("derive", derived.name)
            yield Note("unused-derived", path, f"nothing reads {derived.name!r}", "remove it")
    offered = {name for check in record.checks for name in check.fixes}
    for name in record.fixes:
        if name not in offered:
            say = f"no check offers the fix {name!r}"
            yield Note("unused-fix", ("fixes", name), say, "name it under a check, or remove it")


def _checks(record: Record) -> Iterator[Note]:
    types = types_of(record)
    for index, check in enumerate(record.checks):
        path: Path = ("checks", index)
        for earlier in record.checks[:index]:
            always = parse(earlier.when, types).evaluate({}) is True
            same = earlier.when == check.when
            if (always or same) and earlier.vllm in ("", check.vllm):
                say = f"never reached: {earlier.id!r} always holds first"
                yield Note("unreachable-check", path, say, "change the order or the condition")
                break
        asks_what_is_known = "known(" in check.when  # false only as long as nothing is known
        if not asks_what_is_known and parse(check.when, types).evaluate({}) is False:
            yield Note("unreachable-check", path, "the condition can never be true")
        if not check.fixes and not check.next_step:
            say = "neither a fix nor a next step: the user is left alone"
            yield Note("no-way-on", path, say, "add fixes or next_step")


def _choices(record: Record) -> Iterator[Note]:
    """Texts that a choice is compared with and can never be."""
    types = types_of(record)
    sources: list[tuple[Path, str]] = [
        (("checks", index, "when"), check.when) for index, check in enumerate(record.checks)
    ]
    sources += [(("guard", i, "accepts"), guard.accepts) for i, guard in enumerate(record.guards)]
    sources += [(("derive", one.name, "from"), one.expression) for one in record.derive]
    for path, text in sources:
        for name, literal in parse(text, types).literals:
            spec = record.inputs.get(name)
            if spec and spec.choices and literal not in spec.choices:
                say = f"{name} is never {literal!r}"
                yield Note("not-a-choice", path, say, f"choices: {', '.join(spec.choices)}")


def _proof(record: Record, fix: FixSpec) -> Iterator[Note]:
    path: Path = ("fixes", fix.id, "proof")
    level = fix.proof.level
    if record.status == "proven" and level not in PROVEN:
        say = f"the record is proven, the fix {fix.id!r} is not"
        yield Note("unproven-fix", path, say, "prove the fix, or make the record a draft")
    if level in PROVEN and not fix.proof.vllm:
        yield warning("proof-without-release", path, "the proof does not say for which releases")
    if level in ("rerun", "source") and not (fix.proof.note and fix.proof.evidence):
        say = f"a {level} proof needs a note and evidence"
        yield Note("proof-without-evidence", path, say, "say what was run or read, and where")
    if level == "guard" and not record.guards:
        say = "proven by a guard that the record does not have"
        yield Note("proof-without-guard", path, say, "add the guard, or another proof")
    elif level == "guard" and not _touches_guard(record, fix):
        say = "sets nothing that the guard reads, so the guard can prove nothing"
        yield Note("proof-without-guard", path, say, "add sets or solve, or another proof")


def _touches_guard(record: Record, fix: FixSpec) -> bool:
    types = types_of(record)
    changed = {*fix.sets, *(fix.solve.vary if fix.solve else ())}
    read = {name for guard in record.guards for name in parse(guard.accepts, types).names}
    for derived in reversed(record.derive):
        if derived.name in read:
            read.update(parse(derived.expression, types).names)
    ranged = RELEASE in changed and any(guard.vllm for guard in record.guards)
    return bool(changed & read) or ranged


# -- snippets -----------------------------------------------------------------------------------


def _samples(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in types_of(record).items():
        spec = record.inputs.get(name)
        value: Any = spec.choices[0] if spec and spec.choices else _SAMPLE.get(kind, "x")
        found[name] = found[OLD + name] = value
    return found


def _snippet(record: Record, fix: FixSpec) -> Iterator[Note]:
    path: Path = ("fixes", fix.id, "snippet")
    types = types_of(record)
    for name in _RAW.findall(fix.snippet):
        if types.get(name.removeprefix(OLD)) == "text" or types.get(name) == "text":
            say = f"{{{name}|raw}} puts text from a log unquoted into a command"
            yield Note("raw-text", path, say, f"write {{{name}}}")
    shown = render(fix.snippet, _samples(record), quote="shell")
    if shown is None:
        return
    problem = snippet_problem(shown, fix.kind)
    if problem:
        yield Note("broken-snippet", path, f"{problem}: {shown!r}")
    if re.search(r"<[a-z][a-z _-]*>|\.\.\.|\u2026", shown):
        yield Note("placeholder", path, "the text for the clipboard has a gap to fill in")


def snippet_problem(text: str, kind: str) -> str:
    """Why a rendered snippet cannot be pasted as it is; "" when it can."""
    if not text or kind in ("report-bug", "model"):
        return ""
    if _is_json(text):
        return _json_problem(text)
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        return f"not a valid shell text ({error})"
    for word in words:
        value = word.partition("=")[2] if re.match(r"-*[\w-]+=[\[{]", word) else word
        if value[:1] in ("{", "[") and (problem := _json_problem(value)):
            return problem
    return ""


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[", '"')


def _json_problem(text: str) -> str:
    """Why ``text`` is neither JSON nor a piece of an object (``"key": value``)."""
    bare = text.strip().rstrip(",")
    for whole in (bare, "{" + bare + "}"):
        try:
            json.loads(whole)
        except ValueError:
            continue
        return ""
    return "not valid JSON"


def _wording(record: Record) -> Iterator[Note]:
    if len(record.summary) > 600:
        yield warning("long-summary", ("summary",), "longer than 600 characters")
    if len(record.title) > 110:
        yield warning("long-title", ("title",), "longer than 110 characters")
    for name, spec in record.inputs.items():
        if not spec.find:
            say = f"nobody is told where to read {name!r}"
            yield warning("no-find", ("inputs", name), say, "add find")
