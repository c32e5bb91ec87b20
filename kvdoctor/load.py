"""Finds the knowledge, opens its compiled form (making it anew when it is stale) and joins folders.

YAML is only read when a folder's compiled form is missing, damaged or older than its files. Broken
records are left out and told in ``Knowledge.problems``; they never take the rest down.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdoctor import __version__, compiled
from kvdoctor.compiled import Compiled
from kvdoctor.data import NamedTuple, replace
from kvdoctor.errors import KvdoctorError, RecordError
from kvdoctor.folders import cache_folder, config_folder
from kvdoctor.knowledge import Entry, Found, Knowledge
from kvdoctor.reach import Reach
from kvdoctor.record import Identify, Record
from kvdoctor.text.gramindex import PatternIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

__all__ = ["Entry", "Found", "Knowledge", "knowledge_folder", "load", "private_folder"]

VARIABLE = "KVDOCTOR_KNOWLEDGE"  # further folders, joined like PATH


def knowledge_folder() -> Path:
    """The folder of the shipped knowledge: inside the package, or beside it in a checkout.

    Raises RecordError when there is none."""
    from pathlib import Path

    return Path(shipped_folder())


def shipped_folder() -> str:
    """``knowledge_folder`` without the cost of importing paths as objects."""
    here = os.path.dirname(os.path.realpath(__file__))
    for above in (here, os.path.dirname(here)):
        folder = os.path.join(above, "knowledge")
        if os.path.isdir(os.path.join(folder, "records")) or os.path.isfile(
            os.path.join(folder, compiled.NAME)
        ):
            return folder
    raise RecordError("the knowledge is missing", file=here, remedy="install kvdoctor again")


def private_folder() -> Path:
    """The user's folder of private records."""
    from pathlib import Path

    return Path(_private_folder())


def _private_folder() -> str:
    return os.path.join(config_folder(), "knowledge")


def load(
    extra_folders: Iterable[Path | str] = (), *, use_cache: bool = True, private: bool = True
) -> Knowledge:
    """The shipped knowledge with the user's own on top.

    Folders, each overriding by id what came before: the shipped one, the user's configuration
    folder, those of KVDOCTOR_KNOWLEDGE, ``extra_folders``. ``use_cache``: use and write the copy in
    the user's cache. ``private=False``: the shipped folder alone."""
    folders: list[str] = []
    problems: list[KvdoctorError] = []
    if private:
        named = [one for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
        named += [os.fspath(one) for one in extra_folders]
        for folder in named:
            if not os.path.isdir(folder):
                problems.append(RecordError("no such folder of records", file=folder))
        folders = [one for one in (_private_folder(), *named) if os.path.isdir(one)]
    shipped = shipped_folder()
    parts = [_open(shipped, use_cache=use_cache, private=False)]
    parts += [_open(folder, use_cache=use_cache, private=True) for folder in folders]
    found = _join(parts)
    paths = {
        "knowledge": shipped,
        "cache": cache_folder(),
        "private": _private_folder(),
    }
    return replace(
        found,
        problems=(*problems, *found.problems),
        paths=paths,
        sites_folder=os.path.join(shipped, "sites"),
    )


class _Part(NamedTuple):
    """One opened folder."""

    folder: str
    compiled: Compiled
    private: bool


def _open(folder: str, *, use_cache: bool, private: bool) -> _Part:
    sources = compiled.sources_of(folder)
    shipped = _read(os.path.join(folder, compiled.NAME))
    if shipped is not None and compiled.is_fresh(shipped, sources):
        return _Part(folder, shipped, private)
    cached = _cache_file(folder) if use_cache else None
    known = _read(cached) if cached else None
    if known is not None and compiled.is_fresh(known, sources):
        return _Part(folder, known, private)
    data = compiled.compile_folder(folder, sources, stamps=True, before=known)
    if cached:
        _write(cached, data)
    made = compiled.open_compiled(data)
    assert made is not None  # noqa: S101 - it was made a line above
    return _Part(folder, made, private)


def _cache_file(folder: str) -> str:
    from zlib import adler32, crc32

    path = os.path.abspath(folder).encode(errors="replace")
    name = f"{crc32(path):08x}{adler32(path):08x}"  # two folders of one name only cost a rebuild
    return os.path.join(cache_folder(), f"knowledge-{__version__}-{compiled.FORMAT}-{name}.kvd")


def _read(place: str) -> Compiled | None:
    try:
        with open(place, "rb") as stream:
            return compiled.open_compiled(stream.read())
    except OSError:
        return None


def _write(name: str, data: bytes) -> None:
    """Write whole or not at all; a disk that cannot be written to is no trouble."""
    from pathlib import Path

    place = Path(name)
    beside = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(place)
    except OSError:
        try:
            beside.unlink(missing_ok=True)
        except OSError:
            return


class Records(Mapping[str, Record]):
    """The records by id, each decoded when it is first asked for."""

    def __init__(self, rows: Mapping[str, tuple[_Part, str, int, int]]) -> None:
        self._rows = rows
        self._made: dict[str, Record] = {}

    def __getitem__(self, record_id: str) -> Record:
        made = self._made.get(record_id)
        if made is None:
            from kvdoctor.form.decode import record_of

            part, file, offset, length = self._rows[record_id]
            place = os.path.join(part.folder, file)
            made = record_of(part.compiled.tree(offset, length), file=place, private=part.private)
            self._made[record_id] = made
        return made

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _join(parts: Sequence[_Part]) -> Knowledge:
    """One knowledge from several folders; the later ones override by id."""
    rows: dict[str, tuple[_Part, str, int, int]] = {}
    for part in parts:
        for record_id, file, offset, length in part.compiled.header["records"]:
            rows[record_id] = (part, file, offset, length)

    def kept(part: _Part, name: str) -> list[Any]:
        """The rows of a list in a header whose record was not overridden."""
        found = part.compiled.header[name]
        if len(parts) == 1:
            return list(found)
        return [row for row in found if rows[row if isinstance(row, str) else row[0]][0] is part]

    entries = tuple(
        Entry(row[0], Identify(**row[1]), row[2]) for part in parts for row in kept(part, "entries")
    )
    only = parts[0].compiled.header if len(parts) == 1 else None  # its indexes hold as they are
    wrappers, trees = _sheets(parts)
    records = Records(rows)
    return Knowledge(
        records=records,
        wrappers=wrappers,
        symptoms=trees.get("symptoms", {}),
        problems=tuple(
            RecordError(
                say, file=os.path.join(part.folder, file), line=line, field=name, remedy=remedy
            )
            for part in parts
            for say, file, line, name, remedy in part.compiled.header["problems"]
        ),
        published=_published(parts, records),
        trees=trees,
        known_entries=entries,
        known_relations=tuple(tuple(r) for p in parts for r in kept(p, "relations")),
        known_guarded=tuple(name for part in parts for name in kept(part, "guarded")),
        known_dangerous=tuple(name for part in parts for name in kept(part, "dangerous")),
        known_reach={row[0]: _reach(*row[1:]) for part in parts for row in kept(part, "reach")},
        known_index=PatternIndex.from_json(only["index"]) if only else None,
        known_wrapper_index=PatternIndex.from_json(only["wrapper_index"]) if only else None,
    )


def _published(parts: Sequence[_Part], records: Records) -> dict[str, str]:
    """Published names; an imported draft never takes a name from a record that was worked out."""
    found: dict[str, str] = {}
    for part in parts:
        for name, record_id in part.compiled.header["published"].items():
            known = found.get(name)
            taken = known is not None and known in records and known != record_id
            if taken and part.private and records[record_id].status == "draft":
                continue
            found[name] = record_id
    return found


def _reach(connectors: list[str], guard: list[str] | None, danger: list[str] | None) -> Reach:
    return Reach(
        tuple(connectors),
        None if guard is None else frozenset(guard),
        None if danger is None else frozenset(danger),
    )


def _sheets(parts: Sequence[_Part]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Wrappers of all folders (by id) and the last folder's other files."""
    from kvdoctor.form.decode import wrapper_of

    wrappers: dict[str, Any] = {}
    trees: dict[str, Any] = {}
    for part in parts:
        for name, tree in part.compiled.header["trees"].items():
            if name == "wrappers":
                wrappers.update({one["id"]: wrapper_of(one) for one in tree})
            else:
                trees[name] = tree
    return tuple(wrappers.values()), trees
