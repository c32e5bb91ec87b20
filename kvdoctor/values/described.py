"""Containers as ``kubectl describe`` prints them: each word of the command on a line of its own,
without quotes, and the environment as names and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvdoctor.data import replace
from kvdoctor.intake.paste import Line
from kvdoctor.values.command import Command, parse_command
from kvdoctor.values.commanded import command_server
from kvdoctor.values.found import Server
from kvdoctor.values.listing import write_listing
from kvdoctor.values.table import Table

MOST_WORDS = 500  # of one container
MOST_CONTAINERS = 20
_HEAD = re.compile(r"(\s{0,40})(Command|Args):\s*$")
_IMAGE = re.compile(r"\s{0,40}Image:\s{1,40}(\S{1,400})\s*$")
_ENVIRONMENT = re.compile(r"(\s{0,40})Environment:\s*$")
_VARIABLE = re.compile(r"\s{1,60}([A-Za-z_]\w{0,120}):\s{1,80}(\S.{0,2000}?)\s*$")
_SHELLS = ("sh", "bash", "-c", "-lc")


def described(
    lines: Sequence[Line], table: Table, order: int = 0
) -> Iterator[tuple[Command, Server]]:
    """The commands of the containers in lines that are no log records."""
    at, image, found = 0, "", 0
    while at < len(lines) and found < MOST_CONTAINERS:
        text = lines[at].text
        pictured = _IMAGE.match(text)
        image = pictured[1] if pictured else image
        head = _HEAD.match(text)
        if not head:
            at += 1
            continue
        words, rows, at = _words(lines, at)
        if "vllm" not in image and not any("vllm" in word for word in words[:6]):
            continue
        if not words or any(word.rpartition("/")[2] in _SHELLS for word in words[:2]):
            continue  # its script is a command as it stands
        listing = write_listing(words, _variables(lines, at, len(head[1])))
        command = parse_command(listing, table.flags, number=rows[0], style="list")
        if command.arguments:
            command = replace(command, rows=tuple(rows))
            yield command, command_server(command, table, order + found)
            found += 1


def _words(lines: Sequence[Line], at: int) -> tuple[list[str], list[int], int]:
    """The words below "Command:" and "Args:", their line numbers, and the position behind."""
    words: list[str] = []
    rows: list[int] = []
    head = _HEAD.match(lines[at].text)
    assert head is not None  # noqa: S101
    depth = len(head[1])
    at += 1
    while at < len(lines) and len(words) < MOST_WORDS:
        text = lines[at].text
        again = _HEAD.match(text)
        if again and len(again[1]) == depth:
            at += 1
            continue
        if not text.strip() or len(text) - len(text.lstrip()) <= depth:
            break
        words.append(text.strip())
        rows.append(lines[at].number)
        at += 1
    return words, rows, at


def _variables(lines: Sequence[Line], at: int, depth: int) -> list[tuple[str, str]]:
    """The environment of the container whose arguments end before ``at``."""
    found: list[tuple[str, str]] = []
    inside = False
    for line in lines[at : at + 200]:
        head = _ENVIRONMENT.match(line.text)
        if head:
            inside = len(head[1]) == depth
            continue
        if len(line.text) - len(line.text.lstrip()) < depth or _HEAD.match(line.text):
            break
        variable = _VARIABLE.match(line.text) if inside else None
        if inside and variable is None:
            break
        if variable and "<set to" not in variable[2]:
            found.append((variable[1], variable[2]))
    return found
