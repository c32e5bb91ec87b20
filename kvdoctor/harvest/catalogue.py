"""The catalogue's files, written so that reading them is fast and two runs give equal bytes.

``sites.json``   one row per wording: id, kind, exception, level, template, releases, paths
``index.json``   the index of the wordings by rare runs of characters
``places.txt``   per source file all its sites with function, hashes and line in each release
``lines.txt``    per source file the hashes of its lines, as changes from release to release
``heads.txt``    per file name the lines of its logger calls in each release
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from kvdoctor.data import replace
from kvdoctor.harvest.extent import in_frames, in_sites
from kvdoctor.harvest.extract import ErrorClass, FileFacts, extract, message_of
from kvdoctor.harvest.history import History, Seen, merge, settled
from kvdoctor.harvest.lines import encode_lines
from kvdoctor.harvest.sources import Source
from kvdoctor.text.gramindex import PatternIndex

FORMAT = 1
_LETTERS = {"raise": "r", "assert": "a", "log": "l", "warning": "w"}


class Collector:
    """Takes the releases one after the other (oldest first) and keeps only what was found."""

    def __init__(self) -> None:
        self.releases: list[str] = []
        self._facts: dict[bytes, FileFacts] = {}
        self._files: list[dict[str, bytes]] = []

    def add(self, source: Source) -> None:
        files: dict[str, bytes] = {}
        for path, data in source.files.items():
            if in_frames(path) or in_sites(path):
                digest = hashlib.sha256(data).digest()
                if digest not in self._facts:
                    self._facts[digest] = extract(data)
                files[path] = digest
        self.releases.append(source.release)
        self._files.append(files)

    def histories(self) -> list[History]:
        return merge([self._sites(files) for files in self._files])

    def _sites(self, files: dict[str, bytes]) -> Iterable[Seen]:
        classes: dict[str, ErrorClass] = {}
        for digest in files.values():
            for one in self._facts[digest].classes:
                classes.setdefault(one.name, one)
        for path, digest in sorted(files.items()):
            if not in_sites(path):
                continue
            sites = [
                replace(site, wordings=message_of(site.made, classes)) if site.made else site
                for site in self._facts[digest].sites
            ]
            yield from settled(path, sites)

    def lines(self) -> dict[str, str]:
        """Per source file its encoded line hashes."""
        paths = sorted({path for files in self._files for path in files})
        return {path: encode_lines([self._tokens(f, path) for f in self._files]) for path in paths}

    def _tokens(self, files: dict[str, bytes], path: str) -> list[str] | None:
        digest = files.get(path)
        return None if digest is None else self._facts[digest].tokens

    def heads(self) -> dict[str, list[tuple[str, list[list[object]]]]]:
        """Per file name its logger calls: start of the message, runs of line numbers."""
        calls: dict[str, dict[tuple[str, str, int], dict[int, int]]] = defaultdict(dict)
        for index, files in enumerate(self._files):
            for path, digest in files.items():
                count: dict[str, int] = defaultdict(int)
                for head in self._facts[digest].heads:
                    key = (path, head.prefix, count[head.prefix])
                    count[head.prefix] += 1
                    calls[path.rpartition("/")[2]].setdefault(key, {})[index] = head.line
        return {
            name: [(key[1], _runs(lines)) for key, lines in sorted(found.items())]
            for name, found in sorted(calls.items())
        }


def _runs(lines: dict[int, int]) -> list[list[object]]:
    """[[index of the first release, [line, change, change…]], …] for releases without a gap."""
    runs: list[list[object]] = []
    numbers: list[int] = []
    last = -2
    for index in sorted(lines):
        if index != last + 1:
            numbers = []
            runs.append([index, numbers])
            before = 0
        numbers.append(lines[index] - before)
        before, last = lines[index], index
    return runs


def write(collector: Collector, folder: Path) -> dict[str, int]:
    """Writes the catalogue into ``folder`` and tells the size of each file in bytes."""
    histories = collector.histories()
    rows = _rows(histories)
    texts = {
        "sites.json": _sites_text(collector.releases, histories, rows),
        "index.json": _index_text(rows),
        "places.txt": _places_text(histories),
        "lines.txt": "".join(f"{path}\t{text}\n" for path, text in collector.lines().items()),
        "heads.txt": "".join(
            f"{name}\t{_compact(calls)}\n" for name, calls in collector.heads().items()
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return {name: len(text.encode()) for name, text in texts.items()}


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _paths(histories: Sequence[History]) -> list[str]:
    return sorted({one.path for history in histories for one in history.seen.values()})


def _rows(histories: Sequence[History]) -> list[list[object]]:
    """[id, kind, exception or level, template, releases, paths] for each wording."""
    number = {path: index for index, path in enumerate(_paths(histories))}
    rows: list[list[object]] = []
    for history in histories:
        wordings: dict[tuple[str, str, str], set[int]] = defaultdict(set)
        places: dict[tuple[str, str, str], set[int]] = defaultdict(set)
        for index, one in sorted(history.seen.items()):
            for wording in one.site.wordings:
                key = (_LETTERS[one.site.kind], one.site.exception or one.site.level, wording)
                wordings[key].add(index)
                places[key].add(number[one.path])
        rows += [
            [history.id, *key, _mask(seen), sorted(places[key])] for key, seen in wordings.items()
        ]
    return rows


def _sites_text(
    releases: Sequence[str], histories: Sequence[History], rows: Sequence[list[object]]
) -> str:
    """Valid JSON with one row per line, so that a change of one site is a change of one line."""
    head = f'{{"format":{FORMAT},"releases":{_compact(list(releases))},\n'
    head += f'"sites":{len(histories)},\n"paths":{_compact(_paths(histories))},\n'
    return f'{head}"rows":[\n' + ",\n".join(map(_compact, rows)) + "\n]}\n"


def _index_text(rows: Sequence[list[object]]) -> str:
    """The candidates' index; a key is the number of a row."""
    index = PatternIndex.build((str(number), str(row[3])) for number, row in enumerate(rows))
    return _compact(index.to_json()) + "\n"


def _mask(indexes: Iterable[int]) -> int:
    return sum(1 << index for index in set(indexes))


def _places_text(histories: Sequence[History]) -> str:
    """Per source file: [[id, kind, exception or level, code, function, hashes, lines, runs,
    releases of the whole history], …]."""
    files: dict[str, list[tuple[tuple[int, int, str], object]]] = defaultdict(list)
    for history in histories:
        groups: dict[tuple[object, ...], dict[int, int]] = {}
        for index, one in sorted(history.seen.items()):
            site = one.site
            code = "" if site.wordings else site.code
            key = (
                one.path,
                _LETTERS[site.kind],
                site.exception or site.level,
                code,
                site.function,
                "".join(site.hashes),
                site.lines,
            )
            groups.setdefault(key, {})[index] = site.line
        for (path, *rest), lines in groups.items():
            first = min(lines)
            order = (first, lines[first], history.id)
            files[str(path)].append((order, [history.id, *rest, _runs(lines), _mask(history.seen)]))
    return "".join(
        f"{path}\t{_compact([row for _, row in sorted(files[path], key=_first)])}\n"
        for path in sorted(files)
    )


def _first(item: tuple[tuple[int, int, str], object]) -> tuple[int, int, str]:
    return item[0]
