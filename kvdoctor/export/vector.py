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
    """The VRL program; the first pattern that matches wins, sure ones first."""
    lines = ['message = string(.message) ?? ""']
    for number, rule in enumerate(sorted(rules, key=lambda one: not one.sure)):
        lines += [
            f"{'if' if number == 0 else '} else if'} contains(message, {literal(rule.literal)}) && "
            f"match(message, {regex(rule.regex)}) {{",
            f"  .kvdoctor.record = {literal(rule.record.id)}",
            f"  .kvdoctor.severity = {literal(rule.record.severity)}",
            f"  .kvdoctor.title = {literal(rule.record.title)}",
        ]
    return [*lines, "}"] if rules else lines


def literal(value: str) -> str:
    """A string of VRL; ``{{`` would open a template."""
    made = json.dumps(value, ensure_ascii=False)
    return made.replace("{{", "\\{{").replace("}}", "\\}}")


def regex(value: str) -> str:
    """A regular expression of VRL stands in single quotes, and has no escape for them."""
    return "r'" + value.replace("'", r"\x27") + "'"
