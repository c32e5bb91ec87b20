"""Alerting rules for Loki's ruler: one LogQL expression a pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from kvdoctor.errors import InputError
from kvdoctor.export.rules import Left, Rule

FILE = "kvdoctor-loki.yaml"
SELECTOR = '{job=~".+"}'
LEVELS = {"error": "critical", "danger": "critical", "warning": "warning", "notice": "info"}

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r'(?:"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`)'
_MATCHER = rf"{_NAME}\s*(?:=~|!~|!=|=)\s*{_STRING}"
_SELECTOR = re.compile(rf"\{{\s*{_MATCHER}(?:\s*,\s*{_MATCHER})*\s*,?\s*\}}")
_LABELS = re.compile(rf"{_NAME}(?:\s*,\s*{_NAME})*")
_WINDOW = re.compile(r"(?:[1-9][0-9]{0,8}(?:ms|[smhdwy]))+")
_ADDRESS = re.compile(r"https?://[^\s\"'<>`{}\\/?#][^\s\"'<>`{}\\]*", re.IGNORECASE)


def render(rules: Sequence[Rule], left: Sequence[Left], options: dict[str, str]) -> dict[str, str]:
    """One rules file; ``options``: selector, window, by (labels to keep), url (of the runbooks)."""
    selector = _given(options, "selector", SELECTOR, _SELECTOR, 'like {app="vllm"}')
    window = _given(options, "window", "5m", _WINDOW, "like 5m or 1h30m")
    by = _given(options, "by", "namespace, pod", _LABELS, "names of labels with commas between")
    url = _given(options, "url", "", _ADDRESS, "an address that starts with http:// or https://")
    lines = [*comments(left), "groups:", "  - name: kvdoctor", "    rules:"]
    for rule in rules:
        query = f"{selector} |= {quoted(rule.literal)} |~ {quoted(rule.regex)}"
        counted = f"sum by ({by}) (count_over_time({query} [{window}])) > 0"
        lines += [
            f"      - alert: {alert(rule.name)}",
            f"        expr: {json.dumps(counted)}",
            "        labels:",
            f"          severity: {LEVELS[rule.record.severity]}",
            f"          kvdoctor_record: {rule.record.id}",
            f"          kvdoctor_sure: {json.dumps('yes' if rule.sure else 'no')}",
            "        annotations:",
            f"          summary: {text(rule.record.title)}",
            f"          description: {text(rule.record.summary)}",
            f"          explain: {text('kvdoctor explain ' + rule.record.id)}",
        ]
        if url:
            lines.append(f"          runbook_url: {text(url + rule.record.id)}")
    if not rules:
        lines[-1] = "    rules: []"
    return {FILE: "\n".join(lines) + "\n"}


def _given(
    options: dict[str, str], name: str, usual: str, form: re.Pattern[str], remedy: str
) -> str:
    """One option, for it goes into the rules as it is; raises InputError when Loki would not take
    it for what it is meant to be."""
    said = (options.get(name) or "").strip()
    if said and not form.fullmatch(said):
        raise InputError(f"--{name} {said}: not of its form", remedy=remedy)
    return said or usual


def comments(left: Sequence[Left]) -> list[str]:
    """What could not be exported, as comments of YAML."""
    lines = ["# Made by kvdoctor export from its knowledge; not to be edited by hand."]
    if left:
        lines.append("# Not in here, because a line alone cannot tell them:")
        lines += [f"#   {one.record.id}: {one.why}" for one in left]
    return lines


def alert(name: str) -> str:
    """KvdoctorNixlHandshakeTimeout: what Prometheus takes as the name of an alert."""
    return "Kvdoctor" + "".join(part.capitalize() for part in name.split("-"))


def quoted(literal: str) -> str:
    """A string of LogQL (those of Go): JSON's escapes are among them."""
    return json.dumps(literal, ensure_ascii=False)


def text(value: str) -> str:
    """An annotation: YAML's double quotes around a text in which no template can start."""
    plain = " ".join(value.split()).replace("{{", "{ {").replace("}}", "} }")
    return json.dumps(plain, ensure_ascii=False)
