"""Large text files of which one line is wanted: found by halving, the rest is never read."""

from __future__ import annotations

import os
from collections.abc import Iterator


def read_bytes(path: str) -> bytes:
    """The content with plain line ends; b"" when there is no such file."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as stream:
        data = stream.read()
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


class KeyedFile:
    """Lines of "key, tab, text" in the order of their keys."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    def get(self, key: str) -> str:
        """The text of a key; "" when there is none."""
        wanted = key.encode()
        if not wanted or not os.path.isfile(self._path):
            return ""
        with open(self._path, "rb") as stream:
            low, high = 0, stream.seek(0, 2)  # the wanted line begins at low or behind it
            while low < high:
                middle = (low + high) // 2
                start = low
                if middle > low:
                    stream.seek(middle - 1)
                    start = middle - 1 + len(stream.readline())
                    if start >= high:
                        high = middle  # no line begins in the second half
                        continue
                stream.seek(start)
                line = stream.readline()
                found, _, text = line.partition(b"\t")
                if found == wanted:
                    return text.rstrip(b"\r\n").decode()
                if found < wanted:
                    low = start + len(line)
                else:
                    high = middle
        return ""

    def keys_with(self, part: str) -> Iterator[str]:
        """The keys whose text holds ``part``, which has no line end in it. Reads every line."""
        wanted = part.encode()
        for line in read_bytes(self._path).split(b"\n"):
            key, _, text = line.partition(b"\t")
            if wanted in text:
                yield key.decode()
