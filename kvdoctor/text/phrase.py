"""Reads the two ways in which a record writes a message: with ``{holes}`` or as a small regex.

Both become alternatives, each a sequence of literal texts and holes. Of regular expressions only
what can be matched in linear time by looking for literals is taken: escapes, ``x?``, ``(?:…)?``,
``(?:a|b)``, ``\\s+``, ``.*?`` and named groups over one character class. The rest is refused.
"""

from __future__ import annotations

import re

from kvdoctor.data import NamedTuple
from kvdoctor.errors import RecordError

LONGEST = 4000  # characters of one template
MOST_ALTERNATIVES = 16

_MARK = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]{0,79})?\}|\u2026")
_REGEX_SIGNS = re.compile(r"\(\?P<|\(\?:|\\[dwsSWD()\[\].+*?|^$]|\.[*+]\??(?=[^.]|$)")
_QUANTIFIERS = ("*?", "+?", "*", "+", "?")
_NUMERIC = {r"\d": "int", "[0-9]": "int", r"[\d.]": "number", r"[0-9.]": "number"}
_CLASS = re.compile(r"\\[dwsSWD]|\[\^?\]?(?:\\.|[^\]\\]){0,60}\]|\.")
_REMEDY = "say it as a template with {name} holes, or as several entries"

_SKIP = re.compile(r"(?:\\[nrt](?![A-Za-z])|[\s'\"`\\\u00b4\u2018\u2019\u201c\u201d\u200b\ufeff])+")


def skeleton_of(text: str) -> str:
    """``text`` without white space, quotes and escaped line breaks."""
    return _SKIP.sub("", text)


class Hole(NamedTuple):
    """A place that holds a value. ``type``: int, number or "" (any text)."""

    name: str = ""
    type: str = ""


Item = str | Hole


class Phrase(NamedTuple):
    """One alternative; ``floating`` when it may start anywhere in the message."""

    items: tuple[Item, ...]
    floating: bool = False


def is_regex(text: str) -> bool:
    """Whether ``text`` is written as a regular expression."""
    return _REGEX_SIGNS.search(text) is not None


def read(text: str) -> tuple[Phrase, ...]:
    """The alternatives that ``text`` stands for, the longest first.

    Raises RecordError for a regular expression outside the small subset."""
    if len(text) > LONGEST:
        raise RecordError(f"message longer than {LONGEST:,} characters")
    if is_regex(text):
        return _Regex(text).phrases()
    return (Phrase(_template(text)),)


def _template(text: str) -> tuple[Item, ...]:
    items: list[Item] = []
    at = 0
    for mark in _MARK.finditer(text):
        escaped = mark[0] in ("{{", "}}")
        literal = text[at : mark.start()] + (mark[0][0] if escaped else "")
        if literal:
            _literal(items, literal)
        if not escaped:
            items.append(Hole(mark[1] or ""))
        at = mark.end()
    if at < len(text):
        _literal(items, text[at:])
    return tuple(items)


def _literal(items: list[Item], text: str) -> None:
    if items and isinstance(items[-1], str):
        items[-1] += text
    else:
        items.append(text)


class _Regex:
    """Translates one regular expression of the subset."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def phrases(self) -> tuple[Phrase, ...]:
        floating = not self.text.startswith("^")
        self.at = 0 if floating else 1
        found = self._alternatives(top=True)
        if self.at < len(self.text):
            raise self._refuse("unbalanced parenthesis")
        phrases = [Phrase(_joined(items), floating) for items in found]
        return tuple(dict.fromkeys(phrases))

    def _refuse(self, why: str) -> RecordError:
        near = self.text[max(0, self.at - 10) : self.at + 15]
        return RecordError(f"{why} near {near!r} in the regular expression", remedy=_REMEDY)

    def _alternatives(self, *, top: bool = False) -> list[tuple[Item, ...]]:
        """What stands up to the closing parenthesis (or the end), split at ``|``."""
        found: list[tuple[Item, ...]] = []
        while True:
            found += self._sequence()
            if len(found) > MOST_ALTERNATIVES:
                raise self._refuse(f"more than {MOST_ALTERNATIVES} alternatives")
            if self.text[self.at : self.at + 1] != "|":
                return found
            if top:
                raise self._refuse("| outside a group")
            self.at += 1

    def _sequence(self) -> list[tuple[Item, ...]]:
        ways: list[tuple[Item, ...]] = [()]
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.text[self.at] == "$" and self.at + 1 == len(self.text):
                self.at += 1
                continue
            choices = self._piece()
            ways = [way + choice for way in ways for choice in choices]
            if len(ways) > MOST_ALTERNATIVES:
                raise self._refuse(f"more than {MOST_ALTERNATIVES} alternatives")
        return ways

    def _piece(self) -> list[tuple[Item, ...]]:
        """One element with its quantifier, as the list of what it can be."""
        if self.text.startswith("(?P<", self.at):
            return [(self._named(),)]
        if self.text.startswith("(?:", self.at):
            self.at += 3
            inside = self._alternatives()
            self._close()
            return self._optional(inside)
        if self.text[self.at] == "(":
            raise self._refuse("a group that is neither (?P<name>…) nor (?:…)")
        found = _CLASS.match(self.text, self.at)
        if found:
            return [(self._class(found),)]
        return self._optional([(self._char(),)])

    def _close(self) -> None:
        if self.text[self.at : self.at + 1] != ")":
            raise self._refuse("a group that is not closed")
        self.at += 1

    def _optional(self, choices: list[tuple[Item, ...]]) -> list[tuple[Item, ...]]:
        sign = self._quantifier()
        if sign == "":
            return choices
        if sign == "?":
            return [*choices, ()]
        raise self._refuse(f"{sign} on something other than a character class")

    def _quantifier(self) -> str:
        for sign in _QUANTIFIERS:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return sign
        if self.text.startswith("{", self.at):
            raise self._refuse("a counted repetition")
        return ""

    def _char(self) -> str:
        char = self.text[self.at]
        self.at += 1
        if char == "\\":
            char = self.text[self.at : self.at + 1]
            self.at += 1
            if not char or char.isalnum():
                raise self._refuse(f"the escape \\{char}")
        elif char in "*+?{}^$":
            raise self._refuse(f"{char} here")
        return char

    def _class(self, found: re.Match[str]) -> Item:
        """A character class outside a named group: white space, or a value nobody needs."""
        self.at = found.end()
        sign = self._quantifier()
        if found[0] == r"\s":
            return " "
        if sign in ("", "?") and found[0] != ".":
            raise self._refuse("a single character of a class")
        return Hole("", _NUMERIC.get(found[0], "") if sign.startswith("+") else "")

    def _named(self) -> Hole:
        head = re.compile(r"\(\?P<([A-Za-z_]\w{0,79})>").match(self.text, self.at)
        if not head:
            raise self._refuse("a group name that cannot be read")
        self.at = head.end()
        found = _CLASS.match(self.text, self.at)
        if not found:
            raise self._refuse("a named group over more than one character class")
        self.at = found.end()
        sign = self._quantifier()
        if sign not in ("+", "+?", "*", "*?"):
            raise self._refuse("a named group without + or *")
        kind = _NUMERIC.get(found[0], "")
        if self.text.startswith(r"(?:\.\d+)?", self.at) and kind == "int":
            self.at += len(r"(?:\.\d+)?")
            kind = "number"
        self._close()
        if self._quantifier():
            raise self._refuse("a quantifier on a named group")
        return Hole(head[1], kind)


def _joined(items: tuple[Item, ...]) -> tuple[Item, ...]:
    joined: list[Item] = []
    for item in items:
        if isinstance(item, str):
            _literal(joined, item)
        else:
            joined.append(item)
    return tuple(joined)


def with_types(phrase: Phrase, types: dict[str, str]) -> Phrase:
    """The phrase with the declared types of its holes; only numbers narrow what a hole takes."""
    items = tuple(
        item._replace(type=types[item.name])
        if isinstance(item, Hole) and types.get(item.name) in ("int", "number")
        else item
        for item in phrase.items
    )
    return phrase._replace(items=items)
