"""Intake: bytes to :class:`~kvdoctor.intake.paste.Paste`. Never raises on any input."""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.intake.decode import decode as _decode
from kvdoctor.intake.found import Stream
from kvdoctor.intake.paste import Paste
from kvdoctor.intake.records import records_of
from kvdoctor.intake.redact import redact as _redact
from kvdoctor.intake.release import Fingerprints, Reading, release_of
from kvdoctor.intake.streams import Laid, lay
from kvdoctor.intake.tracebacks import failures_of, parse
from kvdoctor.record import Wrapper

__all__ = ["Fingerprints", "Reading", "read"]


def read(
    data: bytes | str,
    name: str = "-",
    *,
    wrappers: Sequence[Wrapper] = (),
    fingerprints: Fingerprints | None = None,
    knowledge: Reading | None = None,
) -> Paste:
    """One input taken apart: lines, failures, records, release.

    ``data`` is a text or the bytes of one, compressed or not. ``knowledge`` (or ``wrappers`` and
    ``fingerprints`` one by one) brings in what vLLM writes: which messages quote the root message,
    and which release has which line."""
    if knowledge is not None:
        wrappers = (*knowledge.wrappers, *wrappers)
        fingerprints = fingerprints or knowledge.fingerprints
    decoded = _decode(data)
    text, redacted = _redact(decoded.text)
    laid = lay(text)
    streams = _streams(laid)
    for stream in streams:
        parse(stream)
    failures, places = failures_of(streams)
    records = records_of(streams, places)
    if any(wrapper.quotes for wrapper in wrappers):
        from kvdoctor.intake.quoted import unquoted

        failures, records = unquoted(failures, records, wrappers)
    release = release_of(laid.lines, failures, records, fingerprints)
    notes = (*decoded.notes, *laid.notes)
    return Paste(name, laid.lines, failures, records, release, decoded.size, notes, redacted)


def _streams(laid: Laid) -> list[Stream]:
    """The lines by process; lines that name none are one stream per pod."""
    streams: dict[tuple[str, str, int], Stream] = {}
    for at, line in enumerate(laid.lines):
        key = (line.pod, line.process, line.pid)
        stream = streams.get(key)
        if stream is None:
            stream = streams[key] = Stream([], [], bytearray(), laid.mixed)
        stream.lines.append(line)
        stream.order.append(at)
        stream.carried.append(laid.carried[at])
    return list(streams.values())
