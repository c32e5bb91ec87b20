"""The whole intake in its order: decode, redact, lay out, parse, name the release."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from kvdoctor.intake.decode import Decoded, decode
from kvdoctor.intake.found import Stream
from kvdoctor.intake.paste import Paste
from kvdoctor.intake.pieces import Pieces
from kvdoctor.intake.records import records_of
from kvdoctor.intake.redact import redact_parts
from kvdoctor.intake.release import Fingerprints, release_of
from kvdoctor.intake.streams import Laid, lay
from kvdoctor.intake.tracebacks import failures_of, parse
from kvdoctor.record import Wrapper


def read_paste(
    data: bytes | str | Decoded,
    name: str,
    wrappers: Sequence[Wrapper],
    fingerprints: Fingerprints | None,
    keep: Callable[[Sequence[str]], object] | None,
) -> Paste:
    """See :func:`kvdoctor.intake.read`."""
    decoded = data if isinstance(data, Decoded) else decode(data)
    redacted = redact_parts(decoded.parts)
    if keep is not None:
        keep(decoded.parts)
    laid = lay(Pieces(decoded.parts))
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
            stream = streams[key] = Stream([], array("L"), bytearray(), laid.mixed)
        stream.lines.append(line)
        stream.order.append(at)
        stream.carried.append(laid.carried[at])
    return list(streams.values())
