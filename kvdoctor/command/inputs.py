"""What the user names on the command line, read: files, pipes, answers, knowledge folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kvdoctor.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.knowledge import Knowledge
    from kvdoctor.report import Source


def tell(text: str) -> None:
    """A problem, on stderr; nothing in it acts on the terminal, and no secret of what it quotes
    is shown."""
    from kvdoctor.intake.redact import redact
    from kvdoctor.terminal import clean

    print(f"kvdoctor: {redact(clean(text))[0]}", file=sys.stderr)


def load_knowledge(folders: Sequence[str]) -> Knowledge:
    """The shipped and private knowledge; problems of private records are told on stderr."""
    from kvdoctor.load import load

    knowledge = load(folders)
    for problem in knowledge.problems:
        tell(f"left out: {problem}")
    return knowledge


def exists(name: str) -> bool:
    """Whether there is anything of this name; never raises, whatever the name holds."""
    from os import path

    try:
        return path.lexists(name)
    except ValueError:
        return False


def has_terminal_input() -> bool:
    """Whether standard input is a terminal; False when it is closed."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _has_pipe() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def read_bytes(name: str) -> bytes:
    """The bytes of a file, or of standard input for "-". Raises InputError."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed", remedy="give a FILE")
            return sys.stdin.buffer.read()
        with open(name, "rb") as stream:  # noqa: PTH123 (pathlib costs start-up time here)
            return stream.read()
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}",
            file=name,
            remedy="give a file that you may read, or - for standard input",
        ) from error


def sources_of(
    options: argparse.Namespace,
    knowledge: Knowledge,
    raw: list[tuple[str, str, bytes]] | None = None,
) -> tuple[list[Source], tuple[InputError, ...]]:
    """The named inputs, each with its side; standard input when it is a pipe and none is named.
    Name, side and bytes of each are added to ``raw``. What was read already (``options.fetched``)
    comes in the same form and stands alone.

    What cannot be read is told on stderr and returned as well; the rest goes on. Raises InputError
    when the only input cannot be read."""
    from kvdoctor.intake import read
    from kvdoctor.report import Source

    fetched: list[tuple[str, str, bytes]] = getattr(options, "fetched", [])
    if fetched:
        if raw is not None:
            raw.extend(fetched)
        return [
            Source(read(data, name, knowledge=knowledge.reading), side)
            for name, side, data in fetched
        ], ()
    named = [(name, "this") for name in options.files]
    named += [(name, "prefill") for name in options.prefill]
    named += [(name, "decode") for name in options.decode]
    if sum(name == "-" for name, _ in named) > 1:
        raise InputError("standard input can be named only once", remedy="give the others as files")
    if not named and _has_pipe():
        named = [("-", "this")]
    sources: list[Source] = []
    unread: list[InputError] = []
    for name, side in named:
        try:
            data = read_bytes(name)
        except InputError as error:
            if len(named) == 1:
                raise
            tell(str(error))
            unread.append(error)
            continue
        if name == "-" and not data.strip():
            if len(named) == 1:
                raise _nothing_came()
            tell(str(_nothing_came()))
            unread.append(_nothing_came())
            continue
        if raw is not None:
            raw.append((name, side, data))
        sources.append(Source(read(data, name, knowledge=knowledge.reading), side))
    return sources, tuple(unread)


def _nothing_came() -> InputError:
    return InputError(
        "standard input is empty: there is nothing to diagnose",
        remedy="pipe a log in, or name a FILE; kubectl logs --previous has the log of a restart",
    )


def answers_of(sets: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE options as answers. Raises InputError for one without "="."""
    answers: dict[str, object] = {}
    for item in sets:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {item}: no value", remedy="write --set NAME=VALUE")
        answers[name.strip()] = value.strip()
    return answers


def near_records(what: str, knowledge: Knowledge) -> str:
    """A remedy that names the records closest to ``what``."""
    from difflib import get_close_matches

    names = get_close_matches(what, list(knowledge.records), n=3, cutoff=0.75)
    names = names or [hit.id for hit in knowledge.search(what)[:3]]
    return f"close: {', '.join(names)}" if names else "kvdoctor search WORDS lists records"


def record_named(what: str, knowledge: Knowledge) -> str:
    """The id of the record meant by an id, a published id, a slug or a url. Raises InputError."""
    found = knowledge.resolve(what)
    if found is None:
        raise InputError(f"no record {what!r}", remedy=near_records(what, knowledge))
    return found
