"""Bytes to text: compression, character encoding, terminal escapes.

Nothing here raises on any input: what cannot be read is said in the notes. Every step is linear in
the size of its input, and decompression stops at :data:`MAX_BYTES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from kvdoctor.data import dataclass
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.longlines import short_of_runs, with_gaps
from kvdoctor.intake.pieces import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 160 * 1024 * 1024  # of text, after decompression
MAX_LAYERS = 3  # a .gz inside a .zst is real; deeper nesting is an attack
KEPT_HEAD = 8 * 1024 * 1024  # bytes of the beginning of a longer text
MAX_RATIO = 200  # text per compressed byte: logs reach 60
LEAST_ROOM = 32 * 1024 * 1024  # bytes that a small file may always unpack to
MAX_MEMBERS = 20_000  # gzip files appended to each other
CHUNK = 1 << 16

_GZIP, _ZSTD, _BZ2, _XZ = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00"

# CSI and OSC sequences with a real escape byte (or its C1 form); bounded so that a lone escape in
# binary data cannot swallow text.
_ESCAPES = Lazy(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b\n]{0,512}\x1b\\"
    r"|\x1b[ -/]{0,4}[0-~]"
)
# The same colours after a viewer, syslog or a copy spelled the escape byte out or lost it.
_SPELLED = Lazy(
    r"(?:\^\[|#033|\\x1[bB]|\\0?33|\\u001[bB]|\\e|[\u241b\u2190\ufffd])\[[0-9;]{0,24}[mKGHJ]"
)
_BARE_COLOUR = Lazy(r"\[\d{1,3}(?:;\d{1,3}){0,5}m(?!\])|\[m(?![\w\]])")
# Control characters that never carry text, and the invisible ones that reorder or hide it.
_CONTROL = Lazy("[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0D})  # never part of a character
_SURROGATE = Lazy("[\ud800-\udfff]")
_SEPARATORS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """``parts`` joined are the text, each ends with a line; it has ``\\n`` and ``\\r`` as its only
    control characters beside the tab."""

    parts: list[str]
    size: int  # bytes as given
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.parts)


def decode(data: bytes | str) -> Decoded:
    """The text of ``data``: decompressed, decoded, free of terminal escapes."""
    notes: list[str] = []
    if isinstance(data, str):
        size = sum(len(part.encode("utf-8", "surrogatepass")) for part in cut(data, "\n"))
        if len(data) > MAX_BYTES:
            data = _shortened(data.encode("utf-8", "replace"), notes).decode("utf-8", "replace")
        parts = short_of_runs(data, "\n", notes)
    else:
        size, data = len(data), bytes(data)
        for _ in range(MAX_LAYERS):
            unpacked = _unpack(data, notes)
            if unpacked is None:
                break
            data = unpacked
        if len(data) > MAX_BYTES:
            data = _shortened(data, notes)
        parts = _characters(data, notes)
    parts = _plain(parts)
    with_gaps(parts, notes)
    return Decoded(parts, size, tuple(notes))


def _shortened(data: bytes, notes: list[str]) -> bytes:
    """The beginning (the banner) and the end (the failure) of a huge text; the line ends between
    them stay, so that line numbers do."""
    end = len(data) - (MAX_BYTES - KEPT_HEAD)
    lost = data.count(b"\n", KEPT_HEAD, end)
    notes.append(f"{end - KEPT_HEAD} bytes in the middle were not read")
    return data[:KEPT_HEAD] + b"\n" * lost + data[end:]


def plain(text: str) -> str:
    """``text`` without terminal escapes, control characters and lone surrogates."""
    return _plain([text])[0]


def _plain(parts: list[str]) -> list[str]:
    """The same for a text in pieces: each is replaced in the list."""
    for at, text in enumerate(parts):
        if "\x1b" in text or "\x9b" in text:
            text = _ESCAPES.sub("", text)
        if "[" in text and _has_spelled_escape(text):
            text = _SPELLED.sub("", text)
        parts[at] = text
    bare = any("m" in text and _may_hold_bare_colour(text) for text in parts)
    for at, text in enumerate(parts):
        parts[at] = _printable(_BARE_COLOUR.sub("", text) if bare else text)
    return parts


def _printable(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    kept = raw.translate(None, _CONTROL_BYTES)
    if len(kept) != len(raw):
        text = kept.decode("utf-8", "surrogatepass")
    if text.isascii():
        return text
    if "\u2028" in text or "\u2029" in text or "\x85" in text:
        text = text.translate(_SEPARATORS)
    return "\n".join(row if row.isascii() else _visible(row) for row in text.split("\n"))


def _visible(row: str) -> str:
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", row))


def _has_spelled_escape(text: str) -> bool:
    marks = ("^[[", "#033[", "\\x1b[", "\\x1B[", "33[", "\\u001", "\\e[")
    return any(mark in text for mark in marks) or (
        not text.isascii() and any(mark in text for mark in "\u241b\u2190\ufffd")
    )


def _may_hold_bare_colour(text: str) -> bool:
    """A reset or a colour as vLLM, Ray and loguru write it, without its escape byte."""
    marks = ("[0m", "[m", "[0;0m", "[1;3", "[0;3", "[3", "[9")
    return any(mark in text for mark in marks)


def _characters(data: bytes, notes: list[str]) -> list[str]:
    encoding = encoding_of(data)
    if encoding != "utf-8":
        notes.append(f"read as {encoding}")
        return short_of_runs(data.decode(encoding, "replace"), "\n", notes)
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    short = short_of_runs(data, b"\n", notes)
    parts = [part.decode("utf-8", "surrogateescape") for part in short]
    other = False
    for at, part in enumerate(parts):
        if not part.isascii() and _SURROGATE.search(part):
            parts[at], other = part.translate(_windows()), True
    if other:
        notes.append("bytes that are not UTF-8 were read as Windows-1252")
    return parts


def _windows() -> dict[int, str]:
    """Bytes that are not UTF-8 as Windows-1252, the usual other encoding of pasted text."""
    return {0xDC00 + one: bytes([one]).decode("cp1252", "replace") for one in range(0x80, 0x100)}


def encoding_of(data: bytes) -> str:
    """The character encoding that a text's beginning shows; ``utf-8`` when it shows none."""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = data[:4096]
    if len(head) >= 8 and b"\x00" in head:
        # ASCII in UTF-16 has a zero in every second byte
        even, odd = head[0::2].count(0), head[1::2].count(0)
        half = len(head) // 2
        if odd > 0.7 * half and even < 0.1 * half:
            return "utf-16-le"
        if even > 0.7 * half and odd < 0.1 * half:
            return "utf-16-be"
    return "utf-8"


def _unpack(data: bytes, notes: list[str]) -> bytes | None:
    """One layer of compression taken off; ``None`` when there is none or it cannot be read."""
    if data.startswith(_GZIP):
        import zlib

        return _inflate(data, "gzip", lambda: zlib.decompressobj(31), notes)
    if data.startswith(_BZ2) and data[3:4] in b"123456789" and len(data) > 10:
        import bz2

        return _inflate(data, "bzip2", bz2.BZ2Decompressor, notes)
    if data.startswith(_XZ):
        import lzma

        return _inflate(data, "xz", lambda: lzma.LZMADecompressor(memlimit=MAX_BYTES), notes)
    if data.startswith(_ZSTD):
        maker = _zstd()
        if maker is None:
            notes.append("unreadable: zstd-compressed, and no zstd module is installed")
            return b""
        return _inflate(data, "zstd", maker, notes)
    return None


def _zstd() -> Callable[[], Any] | None:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module).ZstdDecompressor  # type: ignore[no-any-return]
        except (ImportError, AttributeError):
            continue
    return None


def _inflate(data: bytes, kind: str, maker: Callable[[], Any], notes: list[str]) -> bytes:
    """Every member of a compressed stream; what was read before damage is kept."""
    out: list[bytes] = []
    room = limit = min(MAX_BYTES, max(LEAST_ROOM, MAX_RATIO * len(data)))
    at, members = 0, 0
    try:
        while at < len(data) and room > 0 and members < MAX_MEMBERS:
            machine = maker()
            at, room = _member(machine, data, at, room, out)
            members += 1
            if not machine.eof and room > 0:
                notes.append(f"{kind} data ends early")
                break
    except Exception as error:  # each module has its own errors; a damaged file is no crash
        notes.append(f"{kind} data is damaged ({type(error).__name__}): read as far as possible")
    if room <= 0 or members == MAX_MEMBERS:
        notes.append(f"cut off after {limit - room} bytes of decompressed text")
    return b"".join(out)


def _member(machine: Any, data: bytes, at: int, room: int, out: list[bytes]) -> tuple[int, int]:
    """One member read into ``out``, at most ``room`` bytes: where the next one begins, and the
    room that is left."""
    while at < len(data):
        pending = data[at : at + CHUNK]
        at += len(pending)
        while True:
            piece, pending = _step(machine, pending, min(room, 64 * CHUNK))
            out.append(piece)
            room -= len(piece)
            if machine.eof:
                return at - len(machine.unused_data), room
            if room <= 0:
                return at, 0
            if not piece and not pending:
                break
    return at, room


def _step(machine: Any, data: bytes, room: int) -> tuple[bytes, bytes]:
    if hasattr(machine, "unconsumed_tail"):  # zlib hands the unread input back
        piece = machine.decompress(data, room)
        return piece, machine.unconsumed_tail
    return machine.decompress(data, room), b""  # bz2, lzma and zstd keep it
