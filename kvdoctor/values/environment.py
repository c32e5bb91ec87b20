"""Variables set in the text: ``export NAME=value``, ``NAME: value``, ``-e NAME=value``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvdoctor.intake.paste import Line
from kvdoctor.values.found import Found
from kvdoctor.values.literals import scalar
from kvdoctor.values.value import Value

RANK = 46

_LINE = (  # compiled when a line names a variable
    r"""\s{0,80}(?:export\s{1,8}|declare\s{1,8}-x\s{1,8}|setenv\s{1,8}|set\s{1,8}|ENV\s{1,8}
        |\$env:|-e\s{1,8}|--env[\s=]{1,8}|-\s{1,8})?
        (?P<name>[A-Z][A-Z0-9_]{2,80})\s{0,40}(?P<sign>=|:\s)\s{0,40}
        (?P<value>"[^"]{0,2000}"|'[^']{0,2000}'|[^\s;&|'"]{0,2000})
        \s{0,80}(?:\\|;|,|&&.*|\#.*)?\s*$"""
)


def read_environment(lines: Iterable[Line], prefixes: tuple[str, ...]) -> Iterator[Found]:
    """The variables that matter, one per line, only where the line says nothing else."""
    for line in lines:
        if line.level or ("=" not in line.text and ": " not in line.text):
            continue
        if not any(prefix in line.text for prefix in prefixes):
            continue
        found = re.match(_LINE, line.text[:4000], re.VERBOSE)
        if found is None or not found["name"].startswith(prefixes):
            continue
        value = found["value"].strip("\"'")
        made = Value(
            found["name"], scalar(value), "config", "this", line.number, why="variable in the text"
        )
        yield Found(made, RANK)
