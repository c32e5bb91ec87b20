"""A transform processor for the OpenTelemetry Collector: marks matching log records."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kvdoctor.export.loki import comments
from kvdoctor.export.rules import Left, Rule

FILE = "kvdoctor-otel.yaml"


def render(rules: Sequence[Rule], left: Sequence[Left], options: dict[str, str]) -> dict[str, str]:
    """A fragment to add to the collector's configuration and to name in its logs pipeline."""
    del options
    lines = [
        *comments(left),
        "processors:",
        "  transform/kvdoctor:",
        "    error_mode: ignore",
        "    log_statements:",
        "      - context: log",
        "        statements:",
    ]
    for rule in rules:
        wanted = f"IsString(body) and IsMatch(body, {literal(rule.regex)})"
        for name, value in (
            ("kvdoctor.record", rule.record.id),
            ("kvdoctor.severity", rule.record.severity),
        ):
            statement = f"set(attributes[{literal(name)}], {literal(value)}) where {wanted}"
            lines.append(f"          - {json.dumps(statement, ensure_ascii=False)}")
    if not rules:
        lines[-1] = "        statements: []"
    return {FILE: "\n".join(lines) + "\n"}


def literal(value: str) -> str:
    """A string of OTTL: double quotes, a backslash before either of its two special characters."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
