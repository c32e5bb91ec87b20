"""Files, folders, globs and pipes as pieces of bytes, each in constant memory."""

from __future__ import annotations

import codecs
import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path, PurePath
from typing import IO, Any

from kvdoctor.data import dataclass, field
from kvdoctor.errors import InputError
from kvdoctor.intake.decode import encoding_of

PIECE = 512 << 10  # bytes read at once: small enough for the cache of a core, and reused memory
MAX_LINE = 1 << 20  # bytes of one line
KEPT_LINE = 64 << 10  # of a longer one
SHORTENED = "ended before its end: truncated while it was read"
NO_LOGS = frozenset(  # endings of what lies beside logs in a folder; read when it is named
    (".yaml", ".yml", ".toml", ".ini", ".cfg", ".md", ".rst", ".html", ".css", ".js", ".svg",
     ".png", ".jpg", ".pdf", ".py", ".pyc", ".sh", ".db", ".sqlite", ".whl", ".safetensors")
)  # fmt: skip
_MAGIC = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "lzma",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@dataclass(slots=True)
class Progress:
    """How far a file was read: bytes of the file (packed) and of its text."""

    done: int = 0
    size: int = 0
    notes: list[str] = field(default_factory=list)


def may_be_log(name: str) -> bool:
    """Whether a file of this name, found in a folder, is worth reading."""
    return PurePath(name).suffix.lower() not in NO_LOGS


def expand(paths: Sequence[str]) -> list[str]:
    """The files that ``paths`` name: folders with all that may be a log, globs, "-".

    Raises InputError for a name that names nothing."""
    found: dict[str, None] = {}
    for name in paths:
        if name == "-" or Path(name).is_file():
            found[name] = None
        elif Path(name).is_dir():
            inside = sorted(
                str(one) for one in Path(name).rglob("*") if may_be_log(one.name) and one.is_file()
            )
            found.update(dict.fromkeys(inside))
        else:
            matched = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (a whole pattern)
            files = [one for one in matched if Path(one).is_file()]
            if not files and not Path(name).exists():
                raise InputError("no such file", file=name, remedy="give a file, a folder or -")
            found.update(dict.fromkeys(files or [name]))
    return list(found)


Opener = Callable[[], "IO[bytes]"]  # opens a text that is no local file; it can seek


def open_log(
    name: str, progress: Progress, closing: ExitStack, opener: Opener | None = None
) -> IO[bytes]:
    """The text of a file or of standard input, unpacked; ``opener`` opens what is neither.
    Raises OSError or InputError."""
    if opener is not None:
        raw: IO[bytes] = closing.enter_context(opener())
        head = raw.read(8)
        raw.seek(0)
    elif name == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed", remedy="give a FILE")
        raw = sys.stdin.buffer
        head = getattr(raw, "peek", lambda _: b"")(8)[:8]
    else:
        if not Path(name).is_file():
            raise InputError("no regular file", file=name)
        raw = Path(name).open("rb")  # noqa: SIM115 (closed just below)
        closing.enter_context(raw)
        progress.size = os.fstat(raw.fileno()).st_size
        head = raw.read(8)
        raw.seek(0)
    kind = next((one for magic, one in _MAGIC.items() if head.startswith(magic)), "")
    return closing.enter_context(_unpacked(raw, kind, name)) if kind else raw


def _unpacked(raw: IO[bytes], kind: str, name: str) -> IO[bytes]:
    opener: Any
    if kind == "zstd":
        for module in ("compression.zstd", "backports.zstd"):
            try:
                opener = __import__(module, fromlist=["ZstdFile"]).ZstdFile
            except ImportError:
                continue
            return opener(raw, "rb")  # type: ignore[no-any-return]
        raise InputError("zstd is not installed", file=name, remedy='pip install "kvdoctor[zstd]"')
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
    if kind == "bz2":
        import bz2

        return bz2.BZ2File(raw, "rb")
    import lzma

    opener = lzma.LZMAFile
    return opener(raw, "rb")  # type: ignore[no-any-return]


def pieces(
    name: str, progress: Progress, size: int = PIECE, opener: Opener | None = None
) -> Iterator[bytes]:
    """The text of ``name`` as pieces of whole lines; what cannot be read becomes a note."""
    with ExitStack() as closing:
        try:
            stream = open_log(name, progress, closing, opener)
        except (OSError, InputError, ValueError) as error:
            progress.notes.append(f"not read: {getattr(error, 'strerror', None) or error}")
            return
        yield from _whole_lines(_decoded(_blocks(stream, progress, size)), progress)
        if isinstance(stream, BufferedReader) and progress.done < progress.size:
            progress.notes.append(SHORTENED)


def pieces_between(name: str, start: int, end: int, progress: Progress) -> Iterator[bytes]:
    """The bytes of a plain file from ``start`` to ``end`` as pieces of whole lines."""
    with Path(name).open("rb") as stream:
        stream.seek(start)
        yield from _whole_lines(_limited(stream, end - start, progress), progress)


def _limited(stream: IO[bytes], left: int, progress: Progress) -> Iterator[bytes]:
    while left > 0:
        block = stream.read(min(PIECE, left))
        if not block:
            progress.notes.append(SHORTENED)
            return
        left -= len(block)
        progress.done += len(block)
        yield block


def _blocks(stream: IO[bytes], progress: Progress, size: int) -> Iterator[bytes]:
    """Blocks as they come; damage ends the text with a note, behind all that stands before it."""
    # One call may unpack much and then meet damage, which would lose all of it: small bites.
    piped = sys.stdin is not None and stream is sys.stdin.buffer
    read = getattr(stream, "read1", stream.read)
    whole = isinstance(stream, BufferedReader) and not piped
    damaged = ""
    while not damaged:
        bites: list[bytes] = []
        held = 0
        try:
            while held < size:
                bite = stream.read(size) if whole else read(size - held)
                bites.append(bite)
                held += len(bite)
                if piped or not bite:
                    break
        except _damages() as error:
            damaged = f"read up to a damaged place: {error or type(error).__name__}"
        progress.done += held
        if held:
            yield b"".join(bites)
        elif not damaged:
            return
    progress.notes.append(damaged)


def _damages() -> tuple[type[BaseException], ...]:
    """What the unpackers that are in use raise for damaged data."""
    found: list[type[BaseException]] = [OSError, EOFError, ValueError]
    for module, name in (
        ("zlib", "error"), ("lzma", "LZMAError"), ("backports.zstd", "ZstdError"),
        ("compression.zstd", "ZstdError"),
    ):  # fmt: skip
        if module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def _decoded(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """UTF-16 and UTF-32 as UTF-8; everything else as it is."""
    first = next(blocks, b"")
    encoding = encoding_of(first)
    if encoding == "utf-8":
        yield first
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")


def _whole_lines(blocks: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    """The same bytes cut behind newlines; of a huge line only its beginning."""
    rest: list[bytes] = []
    held = 0
    cut = 0
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            if held < MAX_LINE:
                rest.append(block[: MAX_LINE - held])
            held += len(block)
            continue
        if held > MAX_LINE:
            head = b"".join(rest)[:KEPT_LINE]
            first = block.find(b"\n")
            rest, cut, block = [head], cut + 1, block[first:]
            end = block.rfind(b"\n") + 1
        yield b"".join([*rest, block[:end]])
        rest, held = ([block[end:]], len(block) - end) if end < len(block) else ([], 0)
    if held:
        cut += held > MAX_LINE
        last = b"".join(rest)
        yield (last if held <= MAX_LINE else last[:KEPT_LINE]) + b"\n"
    if cut:
        progress.notes.append(f"{cut} lines of more than {MAX_LINE} bytes: their ends were skipped")


def is_packed(head: bytes) -> bool:
    """Whether a file's beginning is that of a packed one, or of UTF-16."""
    return head.startswith(tuple(_MAGIC)) or encoding_of(head) != "utf-8"


def is_binary(head: bytes) -> bool:
    """Whether a file's beginning is no text of any log."""
    sample = head[:8192]
    strange = sum(byte < 9 or 13 < byte < 27 for byte in sample)
    return bool(sample) and strange * 20 > len(sample)


__all__ = ["PIECE", "Progress", "expand", "is_binary", "open_log", "pieces", "pieces_between"]
