"""One remembered diagnosis, and its form in the store.

Everything that is kept passes :func:`clear` or :func:`pack` first: no secret reaches the disk.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvdoctor.data import dataclass, field
from kvdoctor.errors import KvdoctorError
from kvdoctor.intake.decode import decode
from kvdoctor.intake.redact import redact, redact_parts

KEPT_HEAD = 1024 * 1024  # characters of the beginning (the banner) of a longer text
KEPT_TAIL = 3 * 1024 * 1024  # and of its end (the failure)
LONGEST_FIELD = 1000  # characters of a title, an error or a name


class HistoryError(KvdoctorError):
    """The history cannot be read or written; everything else works without it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One input, compressed. ``size``: characters of the text after redaction; ``left_out``: those
    of its middle that were not kept (their line ends were, so that line numbers stay)."""

    name: str
    side: str
    size: int
    left_out: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where the user stood: the step, the finding or the record, and what came along to it."""

    step: str = "start"
    chosen: int | None = None
    record: str | None = None
    carried: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found; ``status`` as in a report, ``fixes`` the snippets that were offered."""

    status: str
    title: str
    record: str = ""
    error: str = ""
    cause: str = ""
    release: str = ""
    fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """``id`` gives the order; the times are for people (a clock may jump). ``answers``: record id
    -> input -> value. ``inputs`` are names until the entry is opened."""

    id: int
    started: str
    changed: str
    outcome: Outcome
    place: Place = Place()
    answers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    inputs: tuple[Packed, ...] = ()


def clear(text: str, limit: int = LONGEST_FIELD) -> str:
    """``text`` without secrets, at most ``limit`` characters."""
    return redact(text)[0][:limit]


def cleared(value: object) -> object:
    """An answer without secrets."""
    return clear(value) if isinstance(value, str) else value


def pack(data: bytes | str, name: str, side: str) -> Packed:
    """An input ready to be stored. The whole text is searched for secrets before any of it is left
    out: half a secret is one too."""
    parts = decode(data).parts
    redact_parts(parts)
    return pack_parts(parts, name, side)


def pack_parts(parts: Sequence[str], name: str, side: str) -> Packed:
    """The same for a text whose secrets are replaced already, in pieces of whole lines."""
    size, left_out = sum(map(len, parts)), 0
    if size > KEPT_HEAD + KEPT_TAIL:
        text, left_out = _ends(parts, size)
    else:
        text = "".join(parts)
    return Packed(clear(name), side, size, left_out, zlib.compress(text.encode("utf-8", "replace")))


def _ends(parts: Sequence[str], size: int) -> tuple[str, int]:
    """Beginning and end of a long text with the line ends of what stood between them, and how many
    characters that were."""
    front = "".join(_enough(parts, KEPT_HEAD))
    back = "".join(reversed(_enough(reversed(parts), KEPT_TAIL)))
    head = front.rfind("\n", 0, KEPT_HEAD) + 1 or KEPT_HEAD
    tail = back.find("\n", len(back) - KEPT_TAIL) + 1 or len(back) - KEPT_TAIL
    lines = sum(part.count("\n") for part in parts)
    lines -= front.count("\n", 0, head) + back.count("\n", tail)
    return front[:head] + "\n" * lines + back[tail:], size - (len(back) - tail) - head


def _enough(parts: Iterable[str], least: int) -> list[str]:
    """The first pieces that have so many characters together."""
    found: list[str] = []
    for part in parts:
        found.append(part)
        least -= len(part)
        if least <= 0:
            break
    return found


def unpack(packed: Packed) -> str:
    """The stored text. Raises HistoryError when it is damaged or too long."""
    machine = zlib.decompressobj()
    most = 4 * (KEPT_HEAD + KEPT_TAIL) + max(0, packed.left_out)
    try:
        raw = machine.decompress(packed.data, most)
    except zlib.error as error:
        raise HistoryError("the stored text is damaged", file=packed.name) from error
    if not machine.eof:
        raise HistoryError("the stored text is damaged or too long", file=packed.name)
    return raw.decode("utf-8", "replace")
