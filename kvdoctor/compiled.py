"""The compiled form of a knowledge folder: one file that opens in a few milliseconds.

The first line is JSON: what the file was made from, an index of all messages, and where each record
stands. The records follow as one line of JSON each and are decoded when they are asked for. The
last line is a checksum of the rest. The content depends on the folder alone, so two builds give the
same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from kvdoctor.data import NamedTuple, asdict
from kvdoctor.errors import KvdoctorError, RecordError
from kvdoctor.reach import reach_of
from kvdoctor.record import Identify, Record
from kvdoctor.text.gramindex import PatternIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Folder = str | os.PathLike[str]

FORMAT = 6  # raise it with every change of the compiled form or of the form of records
SEAL = 9  # bytes of the checksum at the end: 8 hexadecimal digits and a newline
NAME = "compiled.kvd"  # in a wheel, beside the records


class Sources(NamedTuple):
    """The files that a folder of knowledge consists of, in a fixed order: (path from the folder,
    bytes, time of change in ns)."""

    files: tuple[tuple[str, int, int], ...]

    @property
    def sizes(self) -> list[list[Any]]:
        return [[path, size] for path, size, _ in self.files]

    @property
    def stamps(self) -> list[list[Any]]:
        return [[path, size, time] for path, size, time in self.files]


def sources_of(folder: Folder) -> Sources:
    """The YAML files of a knowledge folder: ``*.yaml`` in it and in ``records/``; a folder without
    ``records`` (a private one) may hold its records directly."""
    found: list[tuple[str, int, int]] = []

    def scan(path: str, inside: str) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            name = inside + entry.name
            if entry.is_dir() and not entry.name.startswith(".") and inside.count("/") < 4:
                if inside or entry.name == "records":
                    scan(entry.path, name + "/")
            elif entry.name.endswith((".yaml", ".yml")) and entry.is_file():
                state = entry.stat()
                found.append((name, state.st_size, state.st_mtime_ns))

    scan(str(folder), "")
    return Sources(tuple(found))


def compile_folder(
    folder: Folder, sources: Sources, *, stamps: bool, before: Compiled | None = None
) -> bytes:
    """The compiled form of ``folder``. Broken files are left out and told in its problems.

    ``stamps``: remember the times of change too, for a copy in the user's cache. ``before``: an
    older compiled form; records whose file is unchanged are taken from it."""
    trees: dict[str, Any] = {}
    records: list[tuple[Record, dict[str, Any]]] = []
    problems: list[RecordError] = []
    kept = _unchanged(before, sources) if before else {}
    seen: dict[str, str] = {}
    for path, _, _ in sources.files:
        sheet, tree, errors = (False, kept[path], []) if path in kept else _file(folder, path)
        if tree is not None and sheet:
            trees[_stem(path)] = tree
        elif tree is not None and tree["id"] in seen:
            say = f"the id {tree['id']!r} is already taken by {seen[tree['id']]}"
            errors = [RecordError(say, file=path, line=1, field="id")]
        elif tree is not None:
            seen[tree["id"]] = path
            records.append((_record_of(tree, path), tree))
        problems += errors
    header, body = _layout(records)
    header |= {
        "format": FORMAT,
        "maker": _maker() if stamps else 0,
        "sources": sources.stamps if stamps else sources.sizes,
        "stamps": stamps,
        "trees": trees,
        "wrapper_index": _wrapper_index(trees.get("wrappers", ())).to_json(),
        "problems": [[e.problem, e.file, e.line, e.field, e.remedy] for e in problems],
    }
    return _sealed(_dump(header) + b"\n" + body)


def _wrapper_index(trees: Iterable[dict[str, Any]]) -> PatternIndex:
    """The messages of the wrappers, each under its position; of one id the last counts."""
    from kvdoctor.form.decode import wrapper_of

    wrappers = {tree["id"]: wrapper_of(tree) for tree in trees}
    return PatternIndex.build((str(n), one.message) for n, one in enumerate(wrappers.values()))


def _maker() -> int:
    """When the code that reads records was changed last: in a checkout it changes without a
    release, and what it accepted before may be wrong now."""
    with os.scandir(os.path.join(os.path.dirname(__file__), "form")) as entries:
        return max((e.stat().st_mtime_ns for e in entries if e.name.endswith(".py")), default=0)


def _file(folder: Folder, path: str) -> tuple[bool, Any, list[RecordError]]:
    """One file: whether it stands beside the records, its tree or None, its problems."""
    from kvdoctor.form.read import read_record

    text, errors = _read_text(os.path.join(folder, path))
    if text is None:
        return False, None, errors
    if _is_sheet(path, text):
        return True, *read_beside(text, path)
    return False, *read_record(text, path, _stem(path))


def compiled_for_wheel(folder: Folder) -> bytes:
    """The compiled form that is shipped; it says nothing of the machine that made it.

    Raises RuntimeError with every problem: broken knowledge is not shipped."""
    data = compile_folder(folder, sources_of(folder), stamps=False)
    opened = open_compiled(data)
    problems = opened.header["problems"] if opened else [["cannot be read back", "", 0, "", ""]]
    if problems:
        rows = [f"  {file}:{line}: {field} {say}" for say, file, line, field, _ in problems]
        raise RuntimeError("\n".join(["the knowledge has errors:", *rows]))
    return data


def _unchanged(before: Compiled, sources: Sources) -> dict[str, dict[str, Any]]:
    """Trees of the records whose files are as they were."""
    if not before.header.get("stamps") or before.header.get("maker") != _maker():
        return {}
    old = {path: (size, time) for path, size, time in before.header["sources"]}
    same = {path for path, size, time in sources.files if old.get(path) == (size, time)}
    return {
        file: before.tree(offset, length)
        for _, file, offset, length in before.header["records"]
        if file in same
    }


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _is_sheet(path: str, text: str) -> bool:
    """Whether a file stands beside the records; a private folder may hold records there too."""
    return "/" not in path and not (text.startswith("id:") or "\nid:" in text)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _read_text(file: str) -> tuple[str | None, list[RecordError]]:
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read(), []
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return None, [RecordError(f"cannot be read: {why}", file=file)]


def read_beside(text: str, path: str) -> tuple[Any, list[RecordError]]:
    """The tree of a file beside the records, or None with what is wrong with it."""
    from kvdoctor.form.read import read_sheet

    tree, errors = read_sheet(text, path, _stem(path))
    if tree is not None and _stem(path) == "values":
        from kvdoctor.values.table import load_table

        try:
            load_table(tree)
        except KvdoctorError as error:
            say = f"{error.field}: {error.problem}" if error.field else error.problem
            return None, [RecordError(say, file=path, remedy=error.remedy)]
    return tree, errors


def _record_of(tree: dict[str, Any], path: str) -> Record:
    from kvdoctor.form.decode import record_of

    return record_of(tree, file=path)


def _layout(records: list[tuple[Record, dict[str, Any]]]) -> tuple[dict[str, Any], bytes]:
    """The part of the header that speaks of records, and their lines."""
    body: list[bytes] = []
    rows: list[list[Any]] = []
    offset = 0
    for record, tree in records:
        line = _dump(tree) + b"\n"
        rows.append([record.id, record.file, offset, len(line)])
        body.append(line)
        offset += len(line)
    entries: list[tuple[str, dict[str, str], dict[str, str]]] = [
        (record.id, _slim(entry), _types(record, entry))
        for record, _ in records
        for entry in record.identify
        if record.status != "retired"
    ]
    index = PatternIndex.build(
        (str(number), entry[1]["message"])
        for number, entry in enumerate(entries)
        if entry[1].get("message")
    )
    header = {
        "records": rows,
        "entries": entries,
        "index": index.to_json(),
        "relations": [
            [record.id, one.id, one.kind, one.why]
            for record, _ in records
            for one in record.related
        ],
        "guarded": [record.id for record, _ in records if record.guards],
        "dangerous": [record.id for record, _ in records if record.danger],
        "reach": [
            [record.id, *_reach_row(record)]
            for record, _ in records
            if record.guards or record.danger
        ],
        "published": _published(record for record, _ in records),
    }
    return header, b"".join(body)


def _slim(entry: Identify) -> dict[str, str]:
    return {name: value for name, value in asdict(entry).items() if value}


def _types(record: Record, entry: Identify) -> dict[str, str]:
    """Types of the numeric holes of an entry's message."""
    numeric = ("int", "number")
    return {
        name: spec.type
        for name, spec in record.inputs.items()
        if spec.type in numeric and ("{" + name + "}" in entry.message or name in entry.message)
    }


def _reach_row(record: Record) -> list[Any]:
    connectors, guard, danger = reach_of(record)
    return [connectors, *(None if names is None else sorted(names) for names in (guard, danger))]


def _published(records: Iterable[Record]) -> dict[str, str]:
    return {
        name: record.id
        for record in records
        for one in record.published
        for name in (one.id, one.slug, one.url)
        if name
    }


class Compiled(NamedTuple):
    """An opened compiled form."""

    header: dict[str, Any]
    body: bytes

    def tree(self, offset: int, length: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body[offset : offset + length])
        return found


def _sealed(data: bytes) -> bytes:
    """``data`` with its checksum behind it: a copy may be damaged where nothing else shows it."""
    from zlib import adler32

    return data + b"%08x\n" % adler32(data)


def _unsealed(data: bytes) -> bytes:
    """``data`` without its checksum; b"" when it is not the one of the rest."""
    from zlib import adler32

    rest = data[:-SEAL]
    return rest if data[-SEAL:] == b"%08x\n" % adler32(rest) else b""


def open_compiled(data: bytes) -> Compiled | None:
    """The compiled form in ``data``; None when it is damaged or of another format."""
    data = _unsealed(data)
    end = data.find(b"\n")
    try:
        header = json.loads(data[:end])
        if header["format"] != FORMAT:
            return None
        body = data[end + 1 :]
        last = header["records"][-1] if header["records"] else [0, 0, 0, 0]
        return Compiled(header, body) if last[2] + last[3] == len(body) else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def is_fresh(compiled: Compiled, sources: Sources) -> bool:
    """Whether ``compiled`` was made from these files."""
    if not compiled.header.get("stamps"):
        return bool(compiled.header.get("sources") == sources.sizes)
    same = compiled.header.get("sources") == sources.stamps
    return bool(same and compiled.header.get("maker") == _maker())
