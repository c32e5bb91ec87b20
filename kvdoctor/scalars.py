"""Values as records know them: typed, and possibly not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum

from kvdoctor.releases import key as release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Literal, TypeAlias

TYPES = ("int", "number", "text", "bool", "choice", "version")
BIGGEST = 2**128  # numbers beyond it are UNKNOWN: nothing in a configuration is that large
LONGEST_NUMBER = 30  # digits of a number read from text


class Unknown(Enum):
    """The third truth value; it is neither true nor false, so testing it is an error."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("UNKNOWN is neither true nor false: compare with `is`")

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN
Scalar = bool | int | float | str | None
Result: TypeAlias = "bool | int | float | str | Literal[Unknown.UNKNOWN]"
Values: TypeAlias = "Mapping[str, Any]"


def spoken(value: Scalar) -> str:
    """A value in one line, as it is shown and as :func:`read_value` takes it; '' for an empty
    text."""
    return " ".join(str(value).split()) if value != "" else "''"


def read_value(value: object, type_: str) -> Result:
    """``value`` as a value of ``type_``; UNKNOWN when it is none.

    Texts as they stand in a log are understood: "131072", "0.9", "True", "'kv_both'"."""
    if value is None or value is UNKNOWN:
        return UNKNOWN
    if isinstance(value, str):
        return _from_text(value.strip(), type_)
    if isinstance(value, bool):
        return value if type_ == "bool" else UNKNOWN
    if isinstance(value, (int, float)):
        return _from_number(value, type_)
    return UNKNOWN


def _from_number(value: int | float, type_: str) -> Result:
    if not math.isfinite(value) or abs(value) > BIGGEST:
        return UNKNOWN
    if type_ == "number":
        return value
    if type_ == "int" and value == int(value):
        return int(value)
    if type_ in ("text", "choice"):
        return str(value)
    return UNKNOWN


def _from_text(text: str, type_: str) -> Result:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        text = text[1:-1]
    if type_ == "int":
        digits = text.replace("_", "").lstrip("+-")
        fits = digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER
        return _from_number(int(text), "int") if fits and _plain_number(text) else UNKNOWN
    if type_ == "number":
        if len(text) > LONGEST_NUMBER or not _plain_number(text):
            return UNKNOWN
        return _from_number(float(text) if any(c in text for c in ".eE") else int(text), "number")
    if type_ == "bool":
        return {"true": True, "false": False, "yes": True, "no": False}.get(text.lower(), UNKNOWN)
    if type_ == "version":
        return text if release_key(text) else UNKNOWN
    return text


def _plain_number(text: str) -> bool:
    """Whether ``text`` is a decimal number and not "nan", "inf" or digits of another script."""
    return text.isascii() and any(char.isdigit() for char in text) and _is_float(text)


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
