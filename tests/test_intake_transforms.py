"""Whatever way a log took to the paste, the same cause is found in it."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import yaml
from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.match import match

CASES = Path(__file__).with_name("cases")
Way = Callable[[str], str]


def wrapped(width: int) -> Way:
    def broken(text: str) -> str:
        rows = (row or " " for row in text.split("\n"))
        parts = [row[at : at + width] for row in rows for at in range(0, len(row), width)]
        return "\n".join(parts)

    return broken


def headed(head: str) -> Way:
    """``head`` before each line, {n} its number."""

    def done(text: str) -> str:
        return "\n".join(head.format(n=n) + row for n, row in enumerate(text.split("\n"), 100))

    return done


def json_lines(text: str) -> str:
    return "\n".join(
        json.dumps({"ts": n, "stream": "stderr", "log": f"{row}\n"})
        for n, row in enumerate(text.split("\n"))
    )


WAYS: dict[str, Way] = {
    "windows": lambda text: text.replace("\n", "\r\n"),
    "indented": lambda text: textwrap.indent(text, "    "),
    "tab": lambda text: textwrap.indent(text, "\t"),
    "mail": lambda text: textwrap.indent(text, "> ", lambda _: True),
    "page source": html.escape,
    "word processor": lambda text: text.replace('"', "\u201d").replace("'", "\u2019"),
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "string literal": json.dumps,
    "JSON field": lambda text: json.dumps({"message": text}),
    "JSON lines": json_lines,
    "escaped ends": lambda text: text.replace("\n", "\\n"),
    "cell of a table": lambda text: '"' + text.replace('"', '""') + '"',
    "kubectl": headed("2026-11-30T19:57:30.123456{n}Z "),
    "CRI": headed("2026-11-30T19:57:30.123456{n}Z stderr F "),
    "compose": headed("decode-1  | "),
    "journal": headed("Nov 30 19:57:30 host vllm[12]: "),
    "stern": headed("decode-0 vllm "),
    "cat -n": headed("   {n}\t"),
    "grep -n": headed("{n}:"),
    "grep -n of files": headed("decode.log:{n}:"),
    "blank lines between": lambda text: text.replace("\n", "\n\n"),
    "indentation lost": lambda text: "\n".join(row.strip() for row in text.split("\n")),
    **{f"terminal of {width}": wrapped(width) for width in (80, 100, 120, 132, 157, 211)},
}


@lru_cache(maxsize=1)
def excerpts() -> list[tuple[str, str, str]]:
    """Name, what is found, and the lines around the failure of each real log."""
    made = []
    for file in sorted(CASES.glob("*/expect.yaml")):
        expected = yaml.safe_load(file.read_text("utf-8"))
        log = file.parent / str(expected.get("log_file"))
        if expected["kind"] == "healthy" or not expected.get("log_line") or not log.exists():
            continue
        rows = log.read_text("utf-8", "replace").split("\n")
        at = expected["log_line"]
        text = "\n".join(rows[max(0, at - 30) : at + 6])
        found = cause(text)
        if found:
            made.append((file.parent.name, found, text))
    return made


def cause(text: str) -> str:
    known = shipped()
    found = match(read(text, knowledge=known.reading), known)
    return (found[0].record or found[0].message) if found else ""


@pytest.mark.parametrize("name", WAYS)
def test_the_cause_is_found_whatever_way_the_log_took(name: str) -> None:
    every = excerpts()
    assert len(every) > 40
    for case, found, text in every[list(WAYS).index(name) % 3 :: 3]:
        assert cause(WAYS[name](text)) == found, case
