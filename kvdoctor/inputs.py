"""What the user names on the command line, read: files, pipes, answers, knowledge folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvdoctor.errors import InputError

if TYPE_CHECKING:
    import argparse

    from kvdoctor.knowledge import Knowledge
    from kvdoctor.report import Source


def load_knowledge(folders: Sequence[str]) -> Knowledge:
    """The shipped and private knowledge; problems of private records are told on stderr."""
    from pathlib import Path

    from kvdoctor.load import load

    knowledge = load([Path(folder) for folder in folders])
    for problem in knowledge.problems:
        print(f"kvdoctor: left out: {problem}", file=sys.stderr)
    return knowledge


def read_bytes(name: str) -> bytes:
    """The bytes of a file, or of standard input for "-". Raises InputError."""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as stream:  # noqa: PTH123 (pathlib costs start-up time here)
            return stream.read()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            file=name,
            remedy="give a file that you may read, or - for standard input",
        ) from error


def sources_of(options: argparse.Namespace, knowledge: Knowledge) -> list[Source]:
    """The named inputs, each with its side; standard input when it is a pipe and none is named."""
    from kvdoctor.intake import read
    from kvdoctor.report import Source

    named = [(name, "this") for name in options.files]
    named += [(name, "prefill") for name in options.prefill]
    named += [(name, "decode") for name in options.decode]
    if not named and not sys.stdin.isatty():
        named = [("-", "this")]
    return [
        Source(read(read_bytes(name), name, knowledge=knowledge.reading), side)
        for name, side in named
    ]


def answers_of(sets: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE options as answers. Raises InputError for one without "="."""
    answers: dict[str, object] = {}
    for item in sets:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {item}: no value", remedy="write --set NAME=VALUE")
        answers[name.strip()] = value.strip()
    return answers


def record_named(what: str, knowledge: Knowledge) -> str:
    """The id of the record meant by an id, a published id, a slug or a url. Raises InputError."""
    found = knowledge.resolve(what)
    if found is None:
        near = ", ".join(hit.id for hit in knowledge.search(what)[:3])
        remedy = f"close: {near}" if near else "kvdoctor search WORDS lists records"
        raise InputError(f"no record {what!r}", remedy=remedy)
    return found
