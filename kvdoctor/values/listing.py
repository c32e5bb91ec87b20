"""The form in which the arguments of a manifest are shown and changed::

    env:
      - {name: "VLLM_NIXL_SIDE_CHANNEL_PORT", value: "5600"}
    args:
      - "--tensor-parallel-size"
      - "4"

Every word is a JSON string, which is YAML too, so that ``"4"`` stays a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from kvdoctor.values.shell import Token

_NAME, _VALUE = "  - {name: ", ", value: "


def word(text: str) -> str:
    """One word as a quoted YAML scalar; single quotes when that saves the escapes of JSON."""
    plain = json.dumps(text, ensure_ascii=False)
    if '"' in text and "\\" not in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return plain


def unword(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def write_listing(words: Sequence[str], env: Iterable[tuple[str, str]] = ()) -> str:
    lines: list[str] = []
    pairs = list(env)
    if pairs:
        lines.append("env:")
        lines += [f"{_NAME}{word(name)}{_VALUE}{word(value)}}}" for name, value in pairs]
    lines.append("args:")
    lines += [f"  - {word(one)}" for one in words]
    return "\n".join(lines)


def read_listing(text: str) -> tuple[tuple[Token, ...], tuple[tuple[str, str, int], ...]]:
    """The words of a listing, and its variables (name, value, -1 - line)."""
    tokens: list[Token] = []
    env: list[tuple[str, str, int]] = []
    place = 0
    for row, line in enumerate(text.split("\n")):
        if line.startswith(_NAME) and line.endswith("}"):
            name, _, value = line[len(_NAME) : -1].partition(_VALUE)
            env.append((unword(name), unword(value), -1 - row))
        elif line.startswith("  - "):
            tokens.append(Token(unword(line[4:]), place + 4, place + len(line)))
        place += len(line) + 1
    return tuple(tokens), tuple(env)
