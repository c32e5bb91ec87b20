"""Filling text templates: ``--tensor-parallel-size {local_tp_size}``.

A hole is ``{name}``, ``{name|raw}`` (put in as it is, unless it holds a shell operator) or
``{name|json}`` (put in as a JSON value). Braces of JSON may be written as they are; ``{{name}}`` is
the literal text ``{name}``.

Values come from log text that nobody vouches for, and the result goes to a clipboard and from there
into a shell. How a value is quoted follows from where its hole stands: bare in a command, inside
quotes, inside JSON inside single quotes, or in a comment.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kvdoctor.data import NamedTuple, dataclass
from kvdoctor.errors import ExpressionError, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 20_000  # characters of one template
SMALL_GIB = 0.1  # prose says less than this in MiB

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,79})(?:\|(raw|json))?\}")
_ESCAPED = re.compile(r"\{\{|\}\}")
# Expressions that are compiled when a text has something unprintable, which is rare.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_BREAKS = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
# What may go into a shell text without quotes: words, numbers, lists of options, no operators.
_TAME = re.compile(r"[\w@%+=:,./ \-\[\]{}]*")

# Where a hole stands in a shell text.
BARE, SINGLE, DOUBLE, COMMENT = "bare", "single", "double", "comment"
JSON_TEXT, JSON_VALUE = "json-text", "json-value"  # within JSON's quotes, or in place of a value


class Hole(NamedTuple):
    name: str
    how: str  # "", raw, json
    place: str  # one of the places above
    within: str  # SINGLE when JSON stands inside single quotes, else ""


@dataclass(frozen=True, slots=True)
class Text:
    """A template taken apart: literal texts and holes in turn."""

    parts: tuple[str | Hole, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.name for part in self.parts if isinstance(part, Hole)))


def holes_of(text: str) -> tuple[str, ...]:
    """Names of the holes of a rendering template, each once, in order."""
    return _read(text).names


def check_template(text: str, names: Iterable[str]) -> None:
    """Raise ExpressionError when ``text`` has broken braces or a hole that is not in ``names``."""
    known = set(names)
    for name in holes_of(text):
        if name not in known:
            raise ExpressionError(
                f"the hole {{{name}}} names nothing that is declared",
                remedy=did_you_mean(name, sorted(known)) or "declare it under inputs",
            )


def render(text: str, values: Mapping[str, Any], quote: str = "none") -> str | None:
    """``text`` with its holes filled, or None when one cannot be filled safely.

    ``quote``: ``none`` for prose, ``shell`` for text that is pasted into a shell (JSON fragments
    are recognised), ``json`` for a JSON document or fragment. None as well when a value holds
    control characters that a terminal would act on."""
    out: list[str] = []
    unit = ""
    for part in _read(text).parts:
        if isinstance(part, str):
            out.append(part.replace(" GiB", f" {unit}", 1) if unit else part)
            unit = ""
            continue
        value = values.get(part.name)
        if not isinstance(value, (bool, int, float, str)):
            return None
        filled = _fill(part, value, quote, _is_fragment(text))
        if filled is None:
            return None
        is_small = quote == "none" and isinstance(value, float) and 0 <= value < SMALL_GIB
        if is_small and f"{{{part.name}}} GiB" in text:
            filled, unit = _small(float(value))
        out.append(filled)
    return "".join(out)


def worded(text: str, values: Mapping[str, Any]) -> str:
    """Prose with its holes filled; one without a value says in brackets what belongs there."""
    parts = _read(text).parts
    missing = {part.name for part in parts if isinstance(part, Hole)} - {
        name for name, value in values.items() if isinstance(value, (bool, int, float, str))
    }
    said = {name: f"[{name.replace('_', ' ')}]" for name in missing}
    return render(text, {**values, **said}) or ""


def _small(gib: float) -> tuple[str, str]:
    """A small size in a unit in which it does not look like nothing. What vLLM rounded to 0.00 GiB
    is less than a hundredth of one."""
    if gib == 0:
        return "less than 10", "MiB"
    if gib * 1024 < 1:
        return f"about {max(1, round(gib * 1048576))}", "KiB"
    return f"about {gib * 1024:.0f}", "MiB"


def _is_fragment(text: str) -> bool:
    """Whether the text is JSON (or a piece of it) and no command."""
    return text.lstrip()[:1] in ("{", "[", '"') and _HOLE.match(text.lstrip()) is None


def _fill(hole: Hole, value: bool | int | float | str, quote: str, fragment: bool) -> str | None:
    if quote == "none":
        if hole.how == "json":
            return json.dumps(value)
        text = shown(value)
        return text if text.isprintable() else re.sub(_CONTROL, "\ufffd", text)
    if hole.how == "raw":
        raw = shown(value)
        return raw if quote == "json" or _TAME.fullmatch(raw) else None
    if quote == "json" or fragment:
        return _as_json(value, hole.place in (JSON_TEXT, DOUBLE))
    if hole.how == "json" or hole.place in (JSON_TEXT, JSON_VALUE):
        filled = _as_json(value, hole.place in (JSON_TEXT, DOUBLE))
        if hole.within == SINGLE or hole.place == SINGLE:
            return filled.replace("'", "'\"'\"'")
        return filled.replace("\\", "\\\\") if hole.place == DOUBLE else shlex.quote(filled)
    return _for_shell(shown(value), hole.place)


def _as_json(value: bool | int | float | str, inside_quotes: bool) -> str:
    if isinstance(value, float):
        number = shown(value)
        return number if _is_number(number) else json.dumps(number)
    written = json.dumps(value if not inside_quotes or isinstance(value, str) else shown(value))
    return written[1:-1] if inside_quotes else written


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).replace("e-", "", 1).replace("e+", "", 1).isdigit()


def _for_shell(value: str, place: str) -> str | None:
    if not value.isprintable() and re.search(_BREAKS, value):
        return None
    if place == SINGLE:
        return value.replace("'", "'\"'\"'")
    if place == DOUBLE:
        if "!" in value:  # history expansion works inside double quotes and cannot be escaped there
            return None
        return re.sub(r'([\\"$`])', r"\\\1", value)
    if place == COMMENT:
        return value
    if re.match(r"-+[A-Za-z]", value):
        return None  # a value that a command would take for one of its options
    return shlex.quote(value)


def shown(value: bool | int | float | str) -> str:
    """A value as people write it: no ``.0``, no digits that only rounding left behind."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value == int(value) if abs(value) < 1e15 else False:
            return str(int(value))
        return f"{value:.6g}" if abs(value) < 1e-3 or abs(value) >= 1e15 else repr(round(value, 6))
    return str(value)


@lru_cache(maxsize=1024)
def _read(text: str) -> Text:
    if len(text) > LONGEST:
        raise ExpressionError(f"template longer than {LONGEST:,} characters")
    # No JSON document has "{{" in it (a key must follow a brace), so the pair can only be meant as
    # an escape; a text without the pair may be JSON and end in "}}".
    escaped = "{{" in text
    parts: list[str | Hole] = []
    place = _Place(text)
    at = 0
    while at < len(text):
        found = _HOLE.match(text, at)
        if escaped and (pair := _ESCAPED.match(text, at)):
            place.through(text[at])
            _add(parts, text[at])
            at = pair.end()
        elif found:
            where, within = place.now()
            parts.append(Hole(found[1], found[2] or "", where, within))
            place.through("x")  # whatever is put in is one harmless word
            at = found.end()
        else:
            _refuse_stray_brace(text, at, escaped)
            place.through(text[at])
            _add(parts, text[at])
            at += 1
    return Text(tuple(parts))


def _add(parts: list[str | Hole], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)


def _refuse_stray_brace(text: str, at: int, escaped: bool) -> None:
    if text[at] not in "{}":
        return
    around = text[at : at + 30]
    if escaped:
        raise ExpressionError(
            f"single brace at {around!r} in a template that doubles its literal braces",
            remedy="double every literal brace, or none",
        )
    if text[at] == "{" and re.match(r"\{\s*[A-Za-z_]", around):
        raise ExpressionError(
            f"{around!r} is not a hole",
            remedy="write {name}, {name|raw} or {name|json}; {{name}} for a literal brace",
        )


class _Place:
    """Follows a shell text character by character and knows how it is quoted there."""

    def __init__(self, text: str) -> None:
        self.state = BARE
        self.skip = False  # the character before was a backslash
        self.word_start = True
        self.json = False  # the single-quoted text is JSON
        self.in_json_text = False
        self.fresh = False  # a quote was just opened

    def now(self) -> tuple[str, str]:
        if self.state == SINGLE and self.json:
            return (JSON_TEXT if self.in_json_text else JSON_VALUE), SINGLE
        return self.state, ""

    def through(self, char: str) -> None:
        if self.skip:
            self.skip = False
        elif self.state == BARE:
            self._bare(char)
        elif self.state == COMMENT:
            if char == "\n":
                self.state, self.word_start = BARE, True
        elif self.state == DOUBLE:
            if char == "\\":
                self.skip = True
            elif char == '"':
                self.state, self.word_start = BARE, False
        else:
            self._single(char)

    def _bare(self, char: str) -> None:
        if char == "#" and self.word_start:
            self.state = COMMENT
        elif char == "'":
            self.state, self.json, self.in_json_text, self.fresh = SINGLE, False, False, True
        elif char == '"':
            self.state = DOUBLE
        elif char == "\\":
            self.skip = True
        self.word_start = char.isspace() or char in ";&|("

    def _single(self, char: str) -> None:
        if char == "'":
            self.state, self.word_start = BARE, False
            return
        if self.fresh and not char.isspace():
            self.fresh = False
            self.json = char in "{["
        if self.json:
            if char == "\\":
                self.skip = True
            elif char == '"':
                self.in_json_text = not self.in_json_text
