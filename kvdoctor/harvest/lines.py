"""The lines of a source file: their texts, and a hash of each line at which a frame can stand."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher

from kvdoctor.catalogue.fingerprints import bare, line_token

_CALM = (ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Set)
_LOUD = (
    *(ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.With, ast.AsyncWith, ast.For),
    *(ast.AsyncFor, ast.AugAssign, ast.ClassDef, ast.Delete),
)


class LineMap:
    """Positions of syntax nodes count bytes of UTF-8, so the file is kept as bytes."""

    def __init__(self, data: bytes, tree: ast.Module) -> None:
        self.lines = data.replace(b"\r\n", b"\n").split(b"\n")
        self.tree = tree

    def text(self, number: int) -> str:
        """Line ``number`` (from 1) without white space."""
        if not 0 < number <= len(self.lines):
            return ""
        return bare(self.lines[number - 1].decode("utf-8", "replace"))

    def segment(self, node: ast.stmt | ast.expr) -> str:
        """The source text of a node, its lines joined with newlines."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first == last:
            only = self.lines[first][node.col_offset : node.end_col_offset]
            return only.decode("utf-8", "replace")
        pieces = [
            self.lines[first][node.col_offset :],
            *self.lines[first + 1 : last],
            self.lines[last][: node.end_col_offset],
        ]
        return b"\n".join(pieces).decode("utf-8", "replace")

    def tokens(self) -> list[str]:
        """One entry per line: its token where the interpreter can stop with an exception, ""
        elsewhere."""
        found = [""] * len(self.lines)
        for node in ast.walk(self.tree):
            if isinstance(node, _LOUD) or (
                isinstance(node, ast.expr) and not isinstance(node, _CALM)
            ):
                number = node.lineno
                if not found[number - 1]:
                    found[number - 1] = line_token(self.text(number))
        while found and not found[-1]:
            found.pop()
        return found


def encode_lines(releases: Sequence[list[str] | None]) -> str:
    """The inverse of :func:`kvdoctor.catalogue.fingerprints.decode_lines`."""
    pieces: list[str] = []
    before: list[str] = []
    for tokens in releases:
        if tokens is None:
            pieces.append("x")
        else:
            pieces.append("" if tokens == before else _change(before, tokens))
            before = tokens
    return "|".join(pieces)


def _change(before: list[str], after: list[str]) -> str:
    """What turns one list of tokens into another: "=n" kept, "-n" dropped, "+…" put in."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    most = min(len(before), len(after)) - head
    while tail < most and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle_a, middle_b = before[head : len(before) - tail], after[head : len(after) - tail]
    pieces = [f"={head}"] if head else []
    matcher = SequenceMatcher(None, middle_a, middle_b)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(f"={a2 - a1}")
        elif a2 > a1:
            pieces.append(f"-{a2 - a1}")
        if kind != "equal" and b2 > b1:
            pieces.append("+" + "".join(token or "." for token in middle_b[b1:b2]))
    if tail:
        pieces.append(f"={tail}")
    return "".join(pieces) or "-0"
