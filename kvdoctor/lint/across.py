"""Rules that need the other records and the catalogue of vLLM's sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kvdoctor.errors import did_you_mean
from kvdoctor.form.shape import Path
from kvdoctor.lint.note import Note, warning
from kvdoctor.lint.rules import identify_path
from kvdoctor.record import Identify, Record
from kvdoctor.releases import parse_range
from kvdoctor.text.phrase import read, skeleton_of

if TYPE_CHECKING:
    from kvdoctor.knowledge import Knowledge


def notes(record: Record, tree: Mapping[str, Any], knowledge: Knowledge) -> Iterator[Note]:
    """What contradicts other records or the releases that are known."""
    yield from _related(record, knowledge)
    yield from _duplicates(record, tree, knowledge)
    yield from _published(record, knowledge)
    releases = knowledge.sites.releases
    if releases:
        yield from _empty_ranges(tree, releases, ())
        yield from _places(record, tree, knowledge)


def _related(record: Record, knowledge: Knowledge) -> Iterator[Note]:
    known = tuple(knowledge.records)
    for index, one in enumerate(record.related):
        path: Path = ("related", index, "id")
        if one.id == record.id:
            yield Note("related-missing", path, "the record is related to itself", "remove it")
        elif one.id not in known:
            remedy = did_you_mean(one.id, known)
            yield Note("related-missing", path, f"no record is called {one.id!r}", remedy)
    for index, example in enumerate(record.examples):
        for key, owner in (("belongs_to", example.belongs_to), ("behind", example.behind)):
            if owner and owner != "none" and owner not in known:
                path = ("examples", index, "expect", key)
                remedy = did_you_mean(owner, known)
                yield Note("related-missing", path, f"no record is called {owner!r}", remedy)


@lru_cache(maxsize=8192)
def _bare(message: str) -> str:
    """A message whatever its holes are called and however it is spaced."""
    ways = [
        "\0".join(skeleton_of(item) if isinstance(item, str) else "" for item in one.items)
        for one in read(message)
    ]
    return "\n".join(sorted(ways))


@lru_cache(maxsize=8192)
def _identity(entry: Identify) -> tuple[str, ...]:
    return (
        _bare(entry.message),
        entry.exception.rpartition(".")[2],
        entry.frame,
        entry.any_frame,
        skeleton_of(entry.code),
        _bare(entry.before),
        entry.native,
    )


def _duplicates(record: Record, tree: Mapping[str, Any], knowledge: Knowledge) -> Iterator[Note]:
    """Entries that another record has too. A private record never makes a shipped one wrong, and
    a draft may repeat what a worked-out record knows: that one wins anyway."""
    others: dict[tuple[str, ...], str] = {}
    for entry in knowledge.entries:
        if entry.record == record.id:
            continue
        if knowledge.records[entry.record].private <= record.private:
            others.setdefault(_identity(entry.identify), entry.record)
    level = "warning" if record.status == "draft" else "error"
    seen: set[tuple[str, ...]] = set()
    for index, one in enumerate(record.identify):
        key = _identity(one)
        path = identify_path(tree, index)
        if key in others:
            say = f"{others[key]!r} has the same entry, so neither can be told from the other"
            remedy = "add any_frame or before, or join the records"
            yield Note("same-template", path, say, remedy, level)
        if key in seen:
            yield Note("same-template", path, "the entry stands here twice", "remove one")
        seen.add(key)


def _published(record: Record, knowledge: Knowledge) -> Iterator[Note]:
    names = {one.id: index for index, one in enumerate(record.published) if one.id}
    for other in knowledge.records.values():
        for one in other.published:
            if other.id != record.id and one.id in names:
                say = f"{one.id!r} is published as {other.id!r} too"
                yield warning("published-twice", ("published", names[one.id]), say)


def _empty_ranges(tree: Any, releases: tuple[str, ...], path: Path) -> Iterator[Note]:
    """Ranges in which no known release lies."""
    if isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _empty_ranges(item, releases, (*path, index))
    elif isinstance(tree, dict):
        for name, value in tree.items():
            here = (*path, name)
            if here[0] == "examples" or name == "compared":
                continue
            if name == "vllm" and isinstance(value, str):
                if value and not parse_range(value).of(releases):
                    yield warning("empty-range", here, f"no known release lies in {value!r}")
            else:
                yield from _empty_ranges(value, releases, here)


def _places(record: Record, tree: Mapping[str, Any], knowledge: Knowledge) -> Iterator[Note]:
    """Places of vLLM that the catalogue does not know."""
    if record.owner != "vllm" or record.kind not in ("raise", "assert", "log"):
        return
    for index, one in enumerate(record.seen_in):
        path, _, function = one.raised_in.partition(":")
        if path.startswith("vllm/") and not knowledge.sites.has_function(path, function):
            say = f"the catalogue has no error in {one.raised_in!r}"
            yield warning("unknown-place", ("seen_in", index, "raised_in"), say)
