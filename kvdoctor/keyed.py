"""Large text files of which one line is wanted: searched as bytes, decoded where they are read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path


def read_bytes(path: Path) -> bytes:
    """The content with plain line ends; b"" when there is no such file."""
    data = path.read_bytes() if path.is_file() else b""
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data else data


class KeyedFile:
    """Lines of "key, tab, text"; read when the first key is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _data(self) -> bytes:
        return read_bytes(self._path)

    def get(self, key: str) -> str:
        """The text of a key; "" when there is none."""
        head = f"{key}\t".encode()
        at = 0 if self._data.startswith(head) else self._data.find(b"\n" + head) + 1
        if not key or not self._data.startswith(head, at):
            return ""
        start = at + len(head)
        end = self._data.find(b"\n", start)
        return self._data[start : end if end >= 0 else None].decode()

    def keys_with(self, part: str) -> Iterator[str]:
        """The keys whose text holds ``part``, which has no line end in it."""
        wanted = part.encode()
        at = self._data.find(wanted)
        while at >= 0:
            start = self._data.rfind(b"\n", 0, at) + 1
            yield self._data[start : self._data.find(b"\t", start)].decode()
            end = self._data.find(b"\n", at)
            at = self._data.find(wanted, end) if end >= 0 else -1
