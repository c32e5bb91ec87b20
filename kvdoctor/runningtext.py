"""Messages in text that is no log: comments, commit messages, chats, requests to the server."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import Line

FOUND = (
    "This was found in running text, not in a log: a sentence about the error says neither that "
    "it happened here nor when."
)
_CLASS_ONLY = Lazy(r"(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Z]\w{0,80}: ?$")
_COMMENT = Lazy(r"(?:^|\s)(?:#|//)")


def is_alone(front: str) -> bool:
    """Whether a message stands alone in its line: nothing but a class ``front`` of it."""
    front = front.strip(" \t`'\"")
    return not front or _CLASS_ONLY.match(front) is not None


def is_comment(front: str) -> bool:
    """Whether what follows ``front`` stands in a comment of a script or a YAML file."""
    return _COMMENT.search(front[:400]) is not None


def launches(lines: Iterable[Line]) -> bool:
    """Whether a command that starts vLLM stands in the text."""
    from kvdoctor.values.command import PROGRAM

    return any(
        "vllm" in line.text and not line.level and PROGRAM.search(line.text + " ") for line in lines
    )
