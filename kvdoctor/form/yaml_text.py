"""The part of YAML that knowledge files use: mappings, lists, texts, numbers, true, false, null.

Built on the parser's events instead of its constructors, so that duplicate keys, tags and several
documents are refused, aliases cannot grow beyond a bound, ``yes``, ``on`` and ``12:30`` stay the
texts they are, and every value knows its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kvdoctor.errors import RecordError

LARGEST = 512 * 1024  # bytes of one file
DEEPEST = 24  # nested mappings and lists

Path = tuple[str | int, ...]
Lines = dict[Path, int]  # where each value stands, 1-based

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,29})")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None,
}  # fmt: skip


def read_yaml(text: str, file: str = "") -> tuple[Any, Lines]:
    """The tree in ``text`` and the line of each of its values.

    Raises RecordError, with the line, for anything outside the allowed part of YAML."""
    import yaml

    if len(text) > LARGEST:
        raise RecordError(f"file larger than {LARGEST // 1024} KiB", file=file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(file).build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise RecordError(
            f"not valid YAML: {error.problem or error.context}",
            file=file,
            line=mark.line + 1 if mark else 0,
            remedy="texts with ': ' or ' #' in them must be quoted",
        ) from None
    except yaml.YAMLError as error:
        raise RecordError(f"not valid YAML: {str(error).splitlines()[0]}", file=file) from None


class _Builder:
    """Builds one tree from the events of one document."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: Lines = {}
        self.anchors: dict[str, tuple[Any, int]] = {}  # value and what it weighs
        self.weight = 0  # characters and nodes of the tree, those that aliases repeat included

    def build(self, events: Iterator[Any]) -> tuple[Any, Lines]:
        tree: Any = None
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._refuse(event, "a second document in the same file")
                tree = self._value(next(events), events, ())
        return tree, self.lines

    def _refuse(self, event: Any, problem: str, remedy: str = "") -> RecordError:
        line = event.start_mark.line + 1
        return RecordError(problem, file=self.file, line=line, remedy=remedy)

    def _value(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        self.lines.setdefault(path, event.start_mark.line + 1)
        if type(event).__name__ == "AliasEvent":
            return self._alias(event)
        before = self.weight
        value = self._node(event, events, path)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, self.weight - before
        return value

    def _node(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        kind = type(event).__name__
        if event.tag is not None and event.tag != "!":
            raise self._refuse(event, f"the tag {event.tag} is not allowed")
        if kind == "ScalarEvent":
            self.weight += len(event.value) + 1
            return _scalar(event.value) if event.implicit[0] else event.value
        if len(path) >= DEEPEST:
            raise self._refuse(event, f"nested deeper than {DEEPEST} levels")
        self.weight += 1
        if kind == "SequenceStartEvent":
            return self._list(events, path)
        return self._mapping(events, path)

    def _alias(self, event: Any) -> Any:
        """The value that was anchored; it is complete, so nothing can hold itself."""
        if event.anchor not in self.anchors:
            raise self._refuse(event, f"nothing before here has the anchor {event.anchor!r}")
        value, weight = self.anchors[event.anchor]
        self.weight += weight
        if self.weight > 2 * LARGEST:
            raise self._refuse(event, "aliases stand for more than a file may hold")
        return value

    def _list(self, events: Iterator[Any], path: Path) -> list[Any]:
        found: list[Any] = []
        for event in events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            found.append(self._value(event, events, (*path, len(found))))
        return found

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in events:
            kind = type(event).__name__
            if kind == "MappingEndEvent":
                break
            if kind == "ScalarEvent" and event.value == "<<" and event.implicit[0]:
                raise self._refuse(event, "merging with << is not allowed", "write the keys out")
            if kind != "ScalarEvent" or event.anchor is not None:
                raise self._refuse(event, "a key must be a plain text")
            key = event.value
            if key in found:
                raise self._refuse(event, f"the key {key!r} stands here twice", "keep one of them")
            here = (*path, key)
            self.lines[here] = event.start_mark.line + 1
            found[key] = self._value(next(events), events, here)
        return found


def _scalar(text: str) -> Any:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def line_of(lines: Lines, path: Path) -> int:
    """Line of the value at ``path``, or of the nearest value around it; 0 when unknown."""
    while path not in lines:
        if not path:
            return 0
        path = path[:-1]
    return lines[path]
