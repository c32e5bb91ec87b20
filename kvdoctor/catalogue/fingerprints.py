"""From frames and heads of log records to the releases of vLLM in which they can stand.

The data is made by ``kvdoctor harvest``: per source file one short hash for each line at which an
exception can leave a frame, as changes from release to release, and per file name the lines of all
logger calls. Both files are read when the first question comes and parsed file by file.
"""

from __future__ import annotations

import json
import os
import re
from zlib import crc32

from kvdoctor.text.keyed import KeyedFile

TOKEN = 3  # characters of one line's hash
PREFIX = 14  # characters of a message kept for its logger call

# 64 characters without those that mark changes in the encoded form
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789$~"
_OPERATION = re.compile(r"([=+-])([^=+-]*)")


def bare(text: str) -> str:
    """``text`` without white space."""
    return "".join(text.split())


def line_token(text: str) -> str:
    """The hash of a source line; ``text`` has no white space in it."""
    number = crc32(text.encode())
    return "".join(_ALPHABET[number >> shift & 63] for shift in (0, 6, 12))


def short_hash(text: str) -> str:
    """Five characters that stand for a statement; ``text`` has no white space in it."""
    return f"{crc32(text.encode()):08x}"[:5]


def decode_lines(text: str) -> list[list[str] | None]:
    """Per release the tokens of a file's lines, None where the file does not exist."""
    found: list[list[str] | None] = []
    current: list[str] = []
    for change in text.split("|"):
        if change == "x":
            found.append(None)
            continue
        if change:
            current = _changed(current, change)
        found.append(current)
    return found


def _changed(before: list[str], change: str) -> list[str]:
    after: list[str] = []
    at = 0
    for kind, rest in _OPERATION.findall(change):
        if kind == "+":
            after += _tokens(rest)
        else:
            count = int(rest)
            if kind == "=":
                after += before[at : at + count]
            at += count
    return after


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == ".":
            tokens.append("")
            at += 1
        else:
            tokens.append(text[at : at + TOKEN])
            at += TOKEN
    return tokens


class Fingerprints:
    """Answers which releases fit one frame or one head of a log record.

    ``frame`` and ``log`` give None when the file is not known at all, and an empty tuple when the
    file is known but no release has that line there: a patched or unknown build."""

    def __init__(self, folder: str, releases: tuple[str, ...]) -> None:
        self.releases = releases
        self._line_texts = KeyedFile(os.path.join(folder, "lines.txt"))
        self._head_texts = KeyedFile(os.path.join(folder, "heads.txt"))
        self._lines: dict[str, list[list[str] | None] | None] = {}
        self._heads: dict[str, list[tuple[str, dict[int, list[int]]]]] = {}

    def frame(self, module: str, line: int, code: str = "") -> tuple[str, ...] | None:
        """Releases in which a frame can stand at ``line`` of "vllm/…py"; ``code`` is the source
        text printed below it and decides when it is there."""
        arrays = self._arrays(module)
        if arrays is None:
            return None
        wanted = line_token(bare(code.strip().split("\n")[0])) if code.strip() else ""
        fits = []
        for release, tokens in zip(self.releases, arrays, strict=True):
            here = tokens[line - 1] if tokens and 0 < line <= len(tokens) else ""
            if here and (not wanted or here == wanted):
                fits.append(release)
        return tuple(fits)

    def moved(self, module: str, code: str) -> tuple[str, ...]:
        """Releases in which the file has that source text at any line."""
        wanted = line_token(bare(code.strip().split("\n")[0]))
        arrays = self._arrays(module) or []
        return tuple(
            release
            for release, tokens in zip(self.releases, arrays, strict=False)
            if tokens and wanted in tokens
        )

    def path(self, module: str) -> tuple[str, ...] | None:
        """Releases that have the file; None when no release has it."""
        arrays = self._arrays(module)
        if arrays is None:
            return None
        both = zip(self.releases, arrays, strict=True)
        return tuple(release for release, tokens in both if tokens is not None)

    def log(self, file: str, line: int, message: str = "") -> tuple[str, ...] | None:
        """Releases in which a logger call stands at ``line`` of a file with that name. The start
        of the message is compared when both are known. ``file`` can be a shortened path."""
        calls = self._calls(file.replace("\\", "/").rpartition("/")[2])
        if not calls:
            return None
        start = bare(message[:200])
        fits: set[int] = set()
        for prefix, lines in calls:
            if not start or start.startswith(prefix) or prefix.startswith(start):
                fits.update(lines.get(line, ()))
        return tuple(self.releases[index] for index in sorted(fits))

    def _arrays(self, module: str) -> list[list[str] | None] | None:
        if module not in self._lines:
            text = self._line_texts.get(module)
            self._lines[module] = decode_lines(text) if text else None
        return self._lines[module]

    def _calls(self, name: str) -> list[tuple[str, dict[int, list[int]]]]:
        if name not in self._heads:
            text = self._head_texts.get(name)
            calls: list[tuple[str, dict[int, list[int]]]] = []
            for prefix, runs in json.loads(text) if text else ():
                lines: dict[int, list[int]] = {}
                for first, numbers in runs:
                    at = 0
                    for index, number in enumerate(numbers, first):
                        at += number
                        lines.setdefault(at, []).append(index)
                calls.append((prefix, lines))
            self._heads[name] = calls
        return self._heads[name]
