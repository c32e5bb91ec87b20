"""Intake: bytes to :class:`~kvdoctor.intake.paste.Paste`. Never raises on any input.

Importing the package costs nothing; what reads a text is imported with the first text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kvdoctor.intake.decode import Decoded
    from kvdoctor.intake.paste import Paste
    from kvdoctor.intake.release import Fingerprints, Reading
    from kvdoctor.record import Wrapper

__all__ = ["read"]


def read(
    data: bytes | str | Decoded,
    name: str = "-",
    *,
    wrappers: Sequence[Wrapper] = (),
    fingerprints: Fingerprints | None = None,
    knowledge: Reading | None = None,
    keep: Callable[[Sequence[str]], object] | None = None,
) -> Paste:
    """One input taken apart: lines, failures, records, release.

    ``data`` is a text or the bytes of one, compressed or not; or what they were decoded to, which
    is used up: a caller that lets go of the bytes before saves their room. ``knowledge`` (or
    ``wrappers`` and ``fingerprints`` one by one) brings in what vLLM writes: which messages quote
    the root message, and which release has which line. ``keep`` is given the text, free of escapes
    and secrets, in pieces of whole lines, before it is taken apart."""
    from kvdoctor.intake.reading import read_paste

    if knowledge is not None:
        wrappers = (*knowledge.wrappers, *wrappers)
        fingerprints = fingerprints or knowledge.fingerprints
    return read_paste(data, name, wrappers, fingerprints, keep)
