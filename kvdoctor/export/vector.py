"""A remap transform for Vector: VRL that sets ``.kvdoctor`` on matching events."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kvdoctor.export.loki import comments
from kvdoctor.export.rules import Left, Rule

FILE = "kvdoctor-vector.yaml"


def render(rules: Sequence[Rule], left: Sequence[Left], options: dict[str, str]) -> dict[str, str]:
    """A transform to put behind the source of the logs; ``options``: inputs (comma-separated)."""
    inputs = [one.strip() for one in (options.get("inputs") or "logs").split(",")]
    lines = [
        *comments(left),
        "transforms:",
        "  kvdoctor:",
        "    type: remap",
        f"    inputs: {json.dumps(inputs)}",
        "    source: |-",
    ]
    lines += [f"      {line}" for line in program(rules)]
    return {FILE: "\n".join(lines) + "\n"}


def program(rules: Sequence[Rule]) -> list[str]:
    """The VRL program; the first pattern that matches wins: sure ones first, then long ones.

    A condition for each, not one long ``else if``: Vector takes the square of its length to
    compile that."""
    lines = ['message = string(.message) ?? ""', "del(.kvdoctor)"]
    same: dict[tuple[str, str], list[Rule]] = {}
    for rule in sorted(rules, key=lambda one: (not one.sure, -len(one.regex))):
        same.setdefault((rule.literal, rule.regex), []).append(rule)
    for (words, pattern), (rule, *others) in same.items():
        lines += [
            f"if !exists(.kvdoctor) && contains(message, {literal(words)}) && "
            f"match(message, {regex(pattern)}) {{",
            f"  .kvdoctor.record = {literal(rule.record.id)}",
            f"  .kvdoctor.severity = {literal(rule.record.severity)}",
            f"  .kvdoctor.title = {literal(rule.record.title)}",
        ]
        if others:  # the same line is theirs as well: only what stands around it tells which
            ids = ", ".join(literal(one.record.id) for one in others)
            lines.append(f"  .kvdoctor.or = [{ids}]")
        lines.append("}")
    return lines


def literal(value: str) -> str:
    """A string of VRL; ``{{`` would open a template."""
    made = json.dumps(value, ensure_ascii=False)
    return made.replace("{{", "\\{{").replace("}}", "\\}}")


def regex(value: str) -> str:
    """A regular expression of VRL stands in single quotes, and has no escape for them."""
    return "r'" + value.replace("'", r"\x27") + "'"
