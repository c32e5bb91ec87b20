"""Messages and status codes of the libraries below vLLM: whose they are and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvdoctor.data import dataclass, field
from kvdoctor.text.gramindex import PatternIndex
from kvdoctor.text.template import Pattern, Skeleton

LEAST = 12  # literal characters that a message must share

_CODE = re.compile(r"\b[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,20}){1,6}\b")
_FILE = re.compile(r"([\w.-]{1,100}):\d{1,7}\b")
_NUMBER = re.compile(r"\((-\d{1,4})\)\.?\s*$")


@dataclass(frozen=True, slots=True)
class Foreign:
    """One message or code: ``meaning`` in one or two sentences, ``native`` the file of the native
    record that prints it ("" when it is no native record)."""

    owner: str
    text: str  # the template, or the code
    meaning: str
    native: str = ""
    code: bool = False
    harmless: bool = False  # printed as an error by healthy servers, too
    quiet: bool = False  # trouble all the same where it is logged as a warning or below
    holes: Mapping[str, str] = field(default_factory=dict)
    literal_chars: int = 0


class ForeignMessages:
    """``tree`` is knowledge/foreign.yaml as plain lists and dictionaries."""

    def __init__(self, tree: Sequence[Mapping[str, Any]]) -> None:
        self._codes: dict[str, Foreign] = {}
        self._messages: list[Foreign] = []
        self._owners: dict[str, str] = {}
        self._prefixes: tuple[str, ...] = ()
        self._files: dict[str, str] = {}  # file of a native record → owner
        self._libraries: dict[str, str] = {}  # how a library's name begins → owner
        self._symbols: dict[str, str] = {}  # how its functions' names begin → owner
        self._crashes: dict[str, str] = {}  # owner → what a crash in its code means
        for part in tree:
            owner = str(part["owner"])
            self._prefixes += tuple(part.get("prefixes", ()))
            for name in part.get("exceptions", ()):
                self._owners[str(name)] = owner
            self._files.update((str(file), owner) for file in part.get("files", ()))
            self._libraries.update((str(one), owner) for one in part.get("libraries", ()))
            self._symbols.update((str(one), owner) for one in part.get("symbols", ()))
            if "crash" in part:
                self._crashes[owner] = _text(part["crash"])
            for code, meaning in part.get("codes", {}).items():
                self._codes[code] = Foreign(owner, code, _text(meaning), code=True)
            for one in part.get("messages", ()):
                said = Foreign(
                    owner,
                    one["message"],
                    _text(one["meaning"]),
                    one.get("native", ""),
                    harmless=bool(one.get("harmless")),
                    quiet=bool(one.get("quiet")),
                )
                self._messages.append(said)
        self._index: PatternIndex | None = None

    @property
    def quiet(self) -> tuple[str, ...]:
        """Templates of the messages that tell trouble at any level."""
        return tuple(one.text for one in self._messages if one.quiet)

    def owner_of(self, exception: str) -> str:
        """The library that an exception class belongs to, "" when it is none of these."""
        return self._owners.get(exception.rpartition(".")[2], "")

    def owner_of_file(self, native: str) -> str:
        """The library whose file the head of a native record names, "" when none is known."""
        for file in _FILE.findall(native):
            if file in self._files:
                return self._files[file]
        return ""

    def owner_of_native(self, library: str, function: str) -> str:
        """Whose a frame of native code is, "" when neither its library nor its name tells."""
        name = library.rpartition("/")[2]
        for known, said in ((self._libraries, name), (self._symbols, function)):
            for start, who in known.items():
                if said.startswith(start):
                    return who
        return ""

    def crash(self, owner: str) -> str:
        """What a crash in native code of ``owner`` means, "" when nothing is known."""
        return self._crashes.get(owner, "")

    def code(self, code: str) -> Foreign | None:
        """One status code by its name."""
        return self._codes.get(code)

    def find(self, message: str, native: str = "", owner: str = "") -> Foreign | None:
        """What ``message`` says; ``native`` is the head of the native record it stands in,
        ``owner`` the library that it is known to come from."""
        from kvdoctor.data import replace

        owner = owner or self.owner_of_file(native)
        best: Foreign | None = None
        text = Skeleton(message)
        for one in self._candidates(message):
            if one.native and native and one.native not in native:
                continue
            pattern = Pattern.compile(one.text)
            hit = pattern.match(text) or pattern.search(text)
            if hit is None or not hit.complete or hit.literal_chars < LEAST:
                continue
            if best is None or hit.literal_chars > best.literal_chars:
                best = replace(one, holes=dict(hit.holes), literal_chars=hit.literal_chars)
        if best is not None:
            return best
        return next(self.codes_in(message, owner), None)

    def codes_in(self, message: str, owner: str = "") -> Iterator[Foreign]:
        """The status codes that stand in a message, in their order. A name that others use too
        (FILE_NOT_FOUND) counts only where the message is known to be its owner's."""
        for found in _CODE.finditer(message[:4000]):
            known = self._codes.get(found[0])
            if known is not None and (known.owner == owner or found[0].startswith(self._prefixes)):
                yield known

    def number(self, number: int, owner: str = "mooncake") -> Foreign | None:
        """The code that an owner's number stands for: -900 is RPC_FAIL of the Mooncake store."""
        for one in self._codes.values():
            told = _NUMBER.search(one.meaning)
            if one.owner == owner and told and int(told[1]) == number:
                return one
        return None

    def _candidates(self, message: str) -> Iterator[Foreign]:
        if self._index is None:
            pairs = ((str(i), one.text) for i, one in enumerate(self._messages))
            self._index = PatternIndex.build(pairs)
        for key in self._index.candidates(message):
            yield self._messages[int(key)]


def _text(value: object) -> str:
    return " ".join(str(value).split())
