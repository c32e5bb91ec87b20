"""Reading Python reprs, JSON and ``key=value`` lists as people paste them: shortened, cut off,
with smart quotes, with objects that no literal parser knows.

Objects become dictionaries: ``KVTransferConfig(kv_role='kv_both')`` reads as ``{"kv_role":
"kv_both"}``. What is incomplete is left out, never guessed: a text that ends in the middle of
``max_model_len=51`` gives no ``max_model_len``. Time is linear in the text; nesting deeper than
``DEPTH`` is skipped.
"""

from __future__ import annotations

import re

from kvdoctor.data import dataclass, field
from kvdoctor.values.value import Scalar

DEPTH = 40

Tree = Scalar | list["Tree"] | dict[str, "Tree"]

_OPEN = {"{": "}", "[": "]", "(": ")"}
_CLOSE = frozenset("}])")
_QUOTES = {"'": "'", '"': '"', "“": "”", "”": "”", "‘": "’", "’": "’", "`": "`"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*)?\.?\d+(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_SPACE = re.compile(r"(?:\s|…|\.\.\.)*")  # people shorten with dots
_BARE = re.compile(r"[^,(){}\[\]'\"\n]*")
_PLAIN = re.compile(r"[^\\'\"“”‘’`\n]+")
_HEX = re.compile(r"[0-9A-Fa-f]{1,8}")
_WORDS: dict[str, Scalar] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None,
}  # fmt: skip


class _CutError(Exception):
    """The text ends before this value does."""


@dataclass(slots=True)
class Reading:
    """What was read: ``tree``, the offset behind it, and whether the text was cut off."""

    tree: Tree
    end: int
    cut: bool


@dataclass(slots=True)
class _Parser:
    text: str
    at: int = 0
    cut: bool = False
    depth: int = 0
    final: int = field(default=-1)  # a bare value that ends here ends for good

    # -- small steps ---------------------------------------------------------------------------

    def skip(self) -> str:
        found = _SPACE.match(self.text, self.at)
        if found:
            self.at = found.end()
        return self.text[self.at] if self.at < len(self.text) else ""

    def value(self, stops: str = "") -> Tree:
        """The value at the cursor; raises :class:`_CutError` when the text ends inside it."""
        char = self.skip()
        if not char:
            raise _CutError
        if char in _OPEN:
            return self.group(char)
        if char in _QUOTES:
            return self.strings(char)
        if char == "<":
            return self.angle()
        return self.word(stops)

    def group(self, opener: str) -> Tree:
        """A bracketed group; its incomplete last element is left out."""
        self.at += 1
        if self.depth >= DEPTH:
            self.over(opener)
            return None
        self.depth += 1
        try:
            return self.mapping() if opener == "{" else self.sequence(_OPEN[opener])
        finally:
            self.depth -= 1

    def over(self, opener: str) -> None:
        """Skip a group that is nested too deeply."""
        level = 1
        while level and self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            level += char in _OPEN
            level -= char in _CLOSE
        self.cut = self.cut or bool(level)

    # -- groups --------------------------------------------------------------------------------

    def mapping(self) -> Tree:
        fields: dict[str, Tree] = {}
        members: list[Tree] = []  # of a set
        try:
            while True:
                char = self.skip()
                if not char:
                    raise _CutError
                if char in _CLOSE:
                    self.at += 1
                    break
                if char in ",:":
                    self.at += 1
                    continue
                self.entry(fields, members)
        except _CutError:
            self.cut = True
        return fields if fields or not members else members

    def entry(self, fields: dict[str, Tree], members: list[Tree]) -> None:
        before = self.at
        name_of = _NAME.match(self.text, self.at)
        key = self.value(":")
        if self.skip() == ":":
            self.at += 1
            fields[_key(key)] = self.value()
        elif isinstance(key, dict) and name_of:
            # A shortened repr names no key: {… KVTransferConfig(…)}
            fields.setdefault(snake(name_of.group()), key)
        else:
            members.append(key)
        if self.at == before:
            self.at += 1

    def sequence(self, closer: str) -> Tree:
        fields: dict[str, Tree] = {}
        members: list[Tree] = []
        try:
            while True:
                char = self.skip()
                if not char:
                    raise _CutError
                if char in _CLOSE:
                    self.at += 1
                    break
                if char == ",":
                    self.at += 1
                    continue
                before = self.at
                self.argument(fields, members)
                if self.at == before:
                    self.at += 1
        except _CutError:
            self.cut = True
        if fields:
            return fields
        return members

    def argument(self, fields: dict[str, Tree], members: list[Tree]) -> None:
        named = _NAME.match(self.text, self.at)
        if named:
            behind = _SPACE.match(self.text, named.end())
            place = behind.end() if behind else named.end()
            if self.text[place : place + 1] == "=" and self.text[place + 1 : place + 2] != "=":
                self.at = place + 1
                fields[named.group()] = self.value()
                return
        members.append(self.value())

    # -- scalars -------------------------------------------------------------------------------

    def strings(self, quote: str) -> Tree:
        """One string; neighbours that Python would join are joined."""
        parts = [self.string(quote)]
        while (char := self.skip()) in ("'", '"'):
            if not char:
                break
            parts.append(self.string(char))
        return "".join(parts)

    def string(self, quote: str) -> str:
        ends = {_QUOTES[quote], quote}
        if quote in "“”‘’":
            ends |= {"“", "”"} if quote in "“”" else {"‘", "’"}
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            char = self.text[self.at]
            self.at += 1
            if char in ends:
                return "".join(parts)
            if char == "\\":
                parts.append(self.escape())
            elif char != "\n":  # a line break inside a repr is a wrapped terminal line
                parts.append(char)
        raise _CutError

    def escape(self) -> str:
        if self.at >= len(self.text):
            raise _CutError
        char = self.text[self.at]
        self.at += 1
        width = {"x": 2, "u": 4, "U": 8}.get(char)
        if width:
            digits = _HEX.match(self.text[self.at : self.at + width])
            if digits and len(digits.group()) == width and int(digits.group(), 16) < 0x110000:
                self.at += width
                return chr(int(digits.group(), 16))
        return _ESCAPES.get(char, "" if char == "\n" else char)

    def angle(self) -> Tree:
        """``<Mode.FULL: 2>`` is FULL, ``<Role.X: 'x'>`` is x, any other object its own text."""
        close = self.text.find(">", self.at)
        if close < 0:
            raise _CutError
        inner = self.text[self.at + 1 : close]
        self.at = close + 1
        head, colon, tail = inner.partition(": ")
        if not colon:
            return inner
        tail = tail.strip()
        if len(tail) > 1 and tail[0] in "'\"" and tail[-1] == tail[0]:
            return tail[1:-1]
        return head.rpartition(".")[2] or tail

    def word(self, stops: str) -> Tree:
        named = _NAME.match(self.text, self.at)
        if named and self.text[named.end() : named.end() + 1] == "(":
            self.at = named.end()
            return _unwrapped(self.value())
        prefix = named and named.group().lower() in ("r", "b", "u", "f", "rb", "br")
        if named and prefix and self.text[named.end() : named.end() + 1] in ("'", '"'):
            self.at = named.end()
            return self.strings(self.text[self.at])
        start = self.at
        bare = _BARE.match(self.text, self.at)
        end = bare.end() if bare else start
        for stop in stops:
            found = self.text.find(stop, start, end)
            end = found if found >= 0 else end
        while self.text[end : end + 1] == "'" and self.text[end - 1 : end].isalnum():
            more = _BARE.match(self.text, end + 1)  # an apostrophe
            end = more.end() if more else end + 1
        self.at = max(end, start)
        if self.at >= len(self.text) and self.at != self.final:
            raise _CutError
        return scalar(self.text[start : self.at].strip())


def _key(key: Tree) -> str:
    return key if isinstance(key, str) else str(key)


def _unwrapped(tree: Tree) -> Tree:
    """``PosixPath('/x')`` and ``frozenset({…})`` stand for their only member."""
    if isinstance(tree, list) and len(tree) == 1:
        return tree[0]
    return tree if tree != [] else {}


def snake(name: str) -> str:
    """``KVTransferConfig`` → ``kv_transfer_config``, ``tensorParallelSize`` → snake case too."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    text = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    return text.replace("-", "_").lower()


def scalar(text: str) -> Scalar:
    """The value of one bare word: number, boolean, none, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) < 40 and _NUMBER.fullmatch(text):
        try:
            return int(text.replace("_", ""))
        except ValueError:
            number = float(text.replace("_", ""))
            return number if abs(number) < 1e300 else text
    return text


def read_literal(text: str, at: int = 0) -> Reading | None:
    """The repr or JSON value that starts at ``at``; None when there is none."""
    parser = _Parser(text, at)
    try:
        tree = parser.value()
    except _CutError:
        return None
    return Reading(tree, parser.at, parser.cut)


def read_pairs(text: str, *, whole: bool = False) -> Reading:
    """A list ``key=value, key=value`` without brackets around it.

    The last value counts only when something stands behind it, or when ``whole`` says that the
    text is complete."""
    parser = _Parser(text, final=len(text) if whole else -1)
    fields: dict[str, Tree] = {}
    members: list[Tree] = []
    while parser.skip():
        before = parser.at
        char = text[parser.at]
        if char in "," or char in _CLOSE:
            parser.at += 1
            continue
        try:
            parser.argument(fields, members)
        except _CutError:
            parser.cut = True
            break
        if parser.at == before:
            parser.at += 1
    return Reading(fields, parser.at, parser.cut)
