"""What users send to the server: a prompt may quote any error, and is no log."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kvdoctor.intake.lazy import Lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOGGED = frozenset(
    {"message", "msg", "log", "level", "levelname", "severity", "time", "timestamp", "@timestamp",
     "asctime", "ts", "stream", "event", "exc_info", "error"}
)  # fmt: skip
_ASKED = ("messages", "prompt", "prompts")
_ASKED_OF_A_MODEL = ("input", "inputs", "text", "query", "documents", "content")
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})
MOST_REQUESTS = 32  # in one line
_BEGIN = Lazy(
    r"""[{,]\s{0,8}(\\{0,3}["'])(?:(?:messages|prompts?|input)\1\s{0,8}:\s{0,8}(?:\\{0,3}["']|\[)"""
    r"""|role\1\s{0,8}:\s{0,8}\1(?:user|assistant|system|developer|tool)\1)"""
)


def is_request(value: Any) -> bool:
    """Whether a JSON value is a request to the server, or one message of a chat; never when it has
    a key that loggers write."""
    if not isinstance(value, Mapping) or not _LOGGED.isdisjoint(value):
        return False
    if isinstance(value.get("role"), str) and value["role"] in _ROLES and "content" in value:
        return True
    if any(isinstance(value.get(key), (str, list)) for key in _ASKED):
        return True
    asked = any(isinstance(value.get(key), (str, list)) for key in _ASKED_OF_A_MODEL)
    return asked and isinstance(value.get("model"), str)


def without_requests(text: str) -> str:
    """``text`` with the bodies of requests left out. One that is no JSON (quoted for a shell, cut
    off) is left out to the end of the line."""
    if not any(mark in text for mark in ("messages", "prompt", "input", "role")):
        return text
    kept: list[str] = []
    at = 0
    for _ in range(MOST_REQUESTS):
        match = _BEGIN.search(text, at)
        if not match:
            break
        start = text.rfind("{", at, match.start() + 1)
        if start < 0:
            start = match.start()
        value, end = _value(text, start)
        if value is None:
            if "input" in match.group():
                break  # a validation error has such a key, too
            return "".join([*kept, text[at:start]]).rstrip()
        kept.append(text[at:start] if is_request(value) else text[at:end])
        at = end
    return "".join([*kept, text[at:]]) if kept else text


def _value(text: str, start: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
