"""Splitting pasted shell text into words, with the place of each.

Understands quotes (also the typographic ones that documents make of them), backslashes, line
continuations, comments, ``$(…)`` and the signs that end a simple command. Nothing is expanded.
"""

from __future__ import annotations

import shlex

from kvdoctor.data import dataclass

MOST_CHARS = 100_000
ENDS = frozenset(";|&()<>\n")

_SINGLE = frozenset("'‘’")
_DOUBLE = frozenset('"“”')
_CLOSING = {"'": "'", "‘": "‘’", "’": "‘’", '"': '"', "“": "“”", "”": "“”"}
_ESCAPED_IN_DOUBLE = frozenset('\\"$`\n')


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its ``text`` without quotes, and where it stands."""

    text: str
    start: int
    end: int


class Lexer:
    """Reads words from ``at`` on; ``closed`` is False when a quote stays open."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text[: at + MOST_CHARS]
        self.at = at
        self.closed = True

    def simple_command(self) -> list[Token]:
        """The words up to the end of the simple command; the cursor stands on what ends it."""
        tokens: list[Token] = []
        while True:
            self._blanks()
            if self.at >= len(self.text):
                return tokens
            char = self.text[self.at]
            if char in ENDS:
                if char in "<>" and tokens and tokens[-1].end == self.at and _is_stream(tokens[-1]):
                    tokens.pop()  # the 2 of 2>&1
                return tokens
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
                continue
            tokens.append(self._word())

    def skip_end(self) -> None:
        """Step over the signs that ended a simple command, and over a redirection's target."""
        redirected = False
        while self.at < len(self.text) and self.text[self.at] in ENDS:
            redirected = redirected or self.text[self.at] in "<>"
            self.at += 1
        if redirected:
            self._blanks()
            if self.at < len(self.text) and self.text[self.at] not in ENDS:
                self._word()

    def _blanks(self) -> None:
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in " \t\r\u00a0\u200b\ufeff":
                self.at += 1
            elif char == "\\" and (end := self._continued(self.at)):
                self.at = end
            else:
                return

    def _continued(self, at: int) -> int:
        """Where the next line goes on when a continuation stands at ``at``, else 0.

        Blanks between backslash and line break are let pass, and so is a ``> `` prompt."""
        end = at + 1
        while end < len(self.text) and end - at < 200 and self.text[end] in " \t\r":
            end += 1
        if end < len(self.text) and self.text[end] == "\n":
            end += 1
            return end + 2 if self.text.startswith("> ", end) else end
        return 0

    def _word(self) -> Token:
        start, parts = self.at, list[str]()
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in " \t\r\u00a0" or char in ENDS:
                if self.at > start:
                    break
                self.at += 1  # never stand still
            elif char in _SINGLE or char in _DOUBLE:
                parts.append(self._quoted(char))
            elif char == "\\":
                if self._continued(self.at):
                    break
                parts.append(text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$" and text[self.at + 1 : self.at + 2] in ("(", "{"):
                parts.append(self._expansion())
            else:
                parts.append(char)
                self.at += 1
        return Token("".join(parts), start, min(self.at, len(text)))

    def _quoted(self, quote: str) -> str:
        closing, parts = _CLOSING[quote], list[str]()
        text = self.text
        self.at += 1
        while self.at < len(text):
            char = text[self.at]
            self.at += 1
            if char in closing:
                return "".join(parts)
            if char == "\\" and quote in _DOUBLE and text[self.at : self.at + 1]:
                follower = text[self.at]
                self.at += 1
                if follower != "\n":
                    parts.append(follower if follower in _ESCAPED_IN_DOUBLE else char + follower)
            else:
                parts.append(char)
        self.closed = False
        return "".join(parts)

    def _expansion(self) -> str:
        """``$(…)`` or ``${…}`` as written."""
        opener = self.text[self.at + 1]
        closer, start, level = {"(": ")", "{": "}"}[opener], self.at, 0
        while self.at < len(self.text) and self.text[self.at] != "\n":
            char = self.text[self.at]
            level += (char == opener) - (char == closer)
            self.at += 1
            if level == 0 and char == closer:
                break
        return self.text[start : self.at]


def _is_stream(token: Token) -> bool:
    return len(token.text) == 1 and token.text.isdigit()


def quote(value: str, raw: str = "") -> str:
    """``value`` as one shell word; in double quotes when ``raw``, the word that it replaces, let
    the shell expand something."""
    if "$" in value and expands(raw):
        kept = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{kept}"'
    return shlex.quote(value)


def expands(raw: str) -> bool:
    """Whether the shell would expand something in the word ``raw``."""
    inside = False
    skip = False
    for char in raw:
        if skip:
            skip = False
        elif char == "\\" and not inside:
            skip = True
        elif char == "'":
            inside = not inside
        elif char in "$`" and not inside:
            return True
    return False
