"""The catalogue of vLLM's own error sites: which raise, assert or log call wrote this?

Made by ``kvdoctor harvest``. Loading reads two files and parses neither site nor place before it is
asked for: a row of the catalogue is decoded when it becomes a candidate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property

from kvdoctor.catalogue.fingerprints import Fingerprints
from kvdoctor.catalogue.sitehit import (
    ENOUGH,
    MANY,
    Asked,
    Place,
    SiteHit,
    code_hashes,
    enough,
    fits_head,
    frame_score,
    hit_at,
    joined,
    message_score,
    one_per_function,
    one_per_site,
    plain_name,
    tells_alone,
)
from kvdoctor.data import replace
from kvdoctor.record import Site
from kvdoctor.text.gramindex import PatternIndex
from kvdoctor.text.keyed import KeyedFile, read_bytes
from kvdoctor.text.template import Hit, Pattern, Skeleton

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HASH = 5  # characters of one hash in places.txt
KINDS = {"r": "raise", "a": "assert", "l": "log", "w": "warning"}
FAILS = frozenset({"raise", "assert"})  # kinds that stand behind an exception
REFUSED = frozenset({"SystemExit", "ArgumentTypeError", "ArgumentError"})  # of a command line
_LEVELS = frozenset({"ERROR", "WARNING", "CRITICAL", "FATAL", "INFO", "DEBUG"})


class Sites:
    """The catalogue in ``folder``; empty when there is none."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)
        data = read_bytes(os.path.join(self._folder, "sites.json"))
        begin = data.find(b'"rows":[') + len(b'"rows":[')
        head = data[: data.rfind(b"\n", 0, begin)] if data else b""
        about: dict[str, Any] = json.loads(head.rstrip().rstrip(b",") + b"}") if head else {}
        self.releases: tuple[str, ...] = tuple(about.get("releases", ()))
        self._size = int(about.get("sites", 0))
        self._paths: list[str] = list(about.get("paths", ()))
        # one row a line, each behind a line end, commas between them
        self._text = data[begin : max(begin, data.rfind(b"\n]}"))]
        self._entries = KeyedFile(os.path.join(self._folder, "places.txt"))
        self._places: dict[str, tuple[Place, ...]] = {}

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _rows(self) -> list[bytes]:
        return self._text[1:].split(b",\n") if len(self._text) > 1 else []

    # -- by message -----------------------------------------------------------------------------

    def by_message(
        self,
        message: str,
        exception: str = "",
        level: str = "",
        log_file: str = "",
        log_line: int = 0,
        candidates: Sequence[str] = (),
    ) -> tuple[SiteHit, ...]:
        """Sites whose text the message can be, best first. ``exception`` is a class name with or
        without module; ``level``, ``log_file`` and ``log_line`` those of a log record;
        ``candidates`` the releases that the paste can come from."""
        asked = Asked(plain_name(exception), level, log_file, log_line, tuple(candidates))
        text = Skeleton(message)
        found: list[SiteHit] = []
        for key in self._index.candidates(message):
            row: list[Any] = json.loads(self._rows[int(key)])
            pattern = Pattern.compile(row[3])
            hit = pattern.match(text)
            whole = hit is not None
            if hit is None and len(text.chars) > pattern.literal_chars:
                hit = pattern.search(text)
            if hit is None or not enough(hit, text):
                continue
            found += self._hits(row, hit, text, asked, whole)
        newest = {release: -index for index, release in enumerate(self.releases)}
        found.sort(key=lambda one: (-one.score, newest[one.release], -len(one.releases), one.file))
        return tuple(found)

    def _hits(
        self, row: list[Any], hit: Hit, text: Skeleton, asked: Asked, whole: bool
    ) -> list[SiteHit]:
        kind = KINDS[row[1]]
        named = row[2]
        if asked.level and not asked.exception and kind != "log" and hit.literal_chars < MANY:
            return []
        if asked.exception and kind == "log":
            return []
        differs = asked.exception and kind != "log" and named not in ("", asked.exception)
        if differs and hit.literal_chars < MANY:
            return []
        wording = [r for i, r in enumerate(self.releases) if row[4] >> i & 1]
        hits = []
        for path in (self._paths[number] for number in row[5]):
            for place in self._of_path(path):
                if place.site == row[0] and (place.exception or place.level) == named:
                    seen = [release for release in wording if release in place.lines]
                    if seen:
                        made = hit_at(place, seen, asked.candidates, hit, row[3])
                        score = message_score(hit, text, asked, made, place, bool(differs), whole)
                        hits.append(replace(made, score=score))
        return one_per_function(hits, self.releases)

    @cached_property
    def _index(self) -> PatternIndex:
        path = os.path.join(self._folder, "index.json")
        if not os.path.isfile(path):
            return PatternIndex.build(())
        return PatternIndex.from_json(json.loads(read_bytes(path)))

    # -- by frame -------------------------------------------------------------------------------

    def by_frame(
        self,
        module: str,
        line: int,
        function: str = "",
        code: str = "",
        candidates: Sequence[str] = (),
    ) -> tuple[SiteHit, ...]:
        """Sites that a frame ("vllm/…py", line, function, printed source) can stand for, best
        first: at that line with that text, then that text elsewhere in the function (a patched
        build), then that line in a candidate release whatever the text."""
        name = function.rpartition(".")[2]
        first, whole = code_hashes(code)
        found: list[SiteHit] = []
        for place in self._of_path(module):
            here = [r for r, start in place.lines.items() if 0 <= line - start < place.span]
            said = bool(first) and (first in place.hashes or whole in place.hashes)
            same = not name or name == place.function or name.startswith("<")
            score = frame_score(bool(here), said, bool(first), same)
            if not score:
                continue
            if here and candidates and not set(here) & set(candidates):
                score -= 0.2
            exact = bool(here) and (said or not first)
            seen = here or list(place.lines)
            hit = hit_at(place, seen, candidates, None, "")
            found.append(replace(hit, exact=exact, score=score, line=line if here else hit.line))
        found.sort(key=lambda one: (-one.score, abs(one.line - line), one.id))
        best = one_per_function(found, self.releases)
        return tuple(self._worded(one) for one in best)

    def _worded(self, hit: SiteHit) -> SiteHit:
        """A hit by frame with the wording of its release."""
        for row in self._rows_of(hit.id):
            index = self.releases.index(hit.release)
            if row[4] >> index & 1:
                return replace(hit, template=row[3])
        return hit

    def _rows_of(self, site: str) -> list[list[Any]]:
        start = f'\n["{site}"'.encode()
        rows: list[list[Any]] = []
        at = self._text.find(start)
        while at >= 0:
            end = self._text.find(b"\n", at + 1)
            rows.append(json.loads(self._text[at : end if end >= 0 else None].rstrip(b",")))
            at = self._text.find(start, end) if end >= 0 else -1
        return rows

    # -- by what the intake stage found ---------------------------------------------------------

    def of_failure(self, failure: Any, candidates: Sequence[str] = ()) -> SiteHit | None:
        """The site of a :class:`kvdoctor.intake.paste.Failure`; None when it is not vLLM's own.

        Frames decide over words: what another package raised is never claimed."""
        exception = failure.raised or failure.exception
        said: tuple[SiteHit, ...] = ()
        if failure.message.strip():
            said = self.by_message(failure.message, exception, candidates=candidates)
            said = tuple(one for one in said if one.kind in FAILS)
        if failure.form == "argparse":
            # printed by the parser itself; any other class says the same words by chance
            said = tuple(
                one for one in said if one.exception in REFUSED or one.literal_chars >= MANY
            )
            said = tuple(sorted(said, key=lambda one: one.exception not in REFUSED))
        if failure.frames and failure.form not in ("pydantic", "argparse"):
            return self._of_frame(failure.frames[-1], said, exception, candidates, failure.form)
        inside = failure.form == "pydantic"  # only the configuration's own checks come so
        return next((one for one in said if tells_alone(one, inside=inside)), None)

    def _of_frame(
        self,
        frame: Any,
        said: tuple[SiteHit, ...],
        exception: str,
        candidates: Sequence[str],
        form: str,
    ) -> SiteHit | None:
        if not frame.module.startswith("vllm/"):
            return None
        seen = self.by_frame(frame.module, frame.line, frame.function, frame.code, candidates)
        seen = tuple(one for one in seen if one.kind in FAILS)
        both = [(two.score, one.score, joined(one, two)) for two in seen for one in said
                if one.id == two.id]  # fmt: skip
        if both:
            return max(both, key=lambda pair: pair[:2])[2]
        here = [one for one in said if one.file == frame.module]
        inside = [one for one in here if one.function == frame.function.rpartition(".")[2]]
        for one in inside or here or said[:1]:
            if one.literal_chars >= ENOUGH:
                return one
        plain = plain_name(exception)
        for one in seen:
            if form == "cut" or not plain or one.exception in (plain, ""):
                return one
        return None

    def of_log(self, record: Any, candidates: Sequence[str] = ()) -> SiteHit | None:
        """The log call behind a :class:`kvdoctor.intake.paste.LogRecord`; None when none fits."""
        if record.native:
            return None
        found = self.by_message(
            record.message,
            level=record.level,
            log_file=record.log_file,
            log_line=record.log_line,
            candidates=candidates,
        )
        found = tuple(one for one in found if fits_head(one, record.log_file))
        return found[0] if found else self._at_head(record.log_file, record.log_line, candidates)

    def _at_head(self, file: str, line: int, candidates: Sequence[str]) -> SiteHit | None:
        """The log call at that line of a file with that name, when the release is known: for calls
        that write nothing but a value."""
        name = "/" + file.replace("\\", "/").rpartition("/")[2]
        for path in self._paths if file and line and candidates else ():
            for place in self._of_path(path) if path.endswith(name) else ():
                fits = [one for one in candidates if place.lines.get(one) == line]
                if place.kind == "log" and len(fits) == len(candidates):
                    return self._worded(hit_at(place, fits, (), None, ""))
        return None

    # -- about a site ---------------------------------------------------------------------------

    def places(self, site: str) -> tuple[Place, ...]:
        """Everywhere the site stands or stood, newest release first."""
        paths = set(self._entries.keys_with(f'["{site}"'))
        found = [
            place
            for path in self._paths
            if path in paths
            for place in self._of_path(path)
            if place.site == site
        ]
        order = {release: index for index, release in enumerate(self.releases)}
        return tuple(sorted(found, key=lambda one: -max(order[r] for r in one.lines)))

    def site(self, site: str) -> Site | None:
        """The whole history of a site in its newest wording; None when there is no such site."""
        places = self.places(site)
        if not places:
            return None
        newest = places[0]
        rows = self._rows_of(site)
        template = max(rows, key=lambda row: int(row[4]))[3] if rows else ""
        lines = [
            (release, f"{place.path}:{place.function}", line)
            for place in places
            for release, line in place.lines.items()
        ]
        order = {release: index for index, release in enumerate(self.releases)}
        return Site(
            site,
            newest.kind,
            "vllm",
            newest.exception,
            newest.level,
            template,
            newest.code,
            tuple(sorted(lines, key=lambda one: order[one[0]])),
        )

    def neighbours(self, hit: SiteHit | str) -> tuple[SiteHit, ...]:
        """The other sites of the same function, in the order of their lines."""
        if isinstance(hit, str):
            places = self.places(hit)
            if not places:
                return ()
            hit = hit_at(places[0], list(places[0].lines), (), None, "")
        found = [
            self._worded(hit_at(place, [hit.release], (), None, ""))
            for place in self._of_path(hit.file)
            if place.qualified == hit.qualified
            and place.site != hit.id
            and hit.release in place.lines
        ]
        return tuple(sorted(found, key=lambda one: one.line))

    def in_function(self, path: str, function: str) -> tuple[SiteHit, ...]:
        """The sites of a function ("Class.method" or its last part) in their newest form."""
        found = [
            self._worded(hit_at(place, list(place.lines), (), None, ""))
            for place in self._of_path(path)
            if function in (place.function, place.qualified)
        ]
        return tuple(sorted(found, key=lambda one: one.line))

    def has_function(self, path: str, function: str) -> bool:
        """Whether any release has an error in that function ("Class.method" or its last part)."""
        places = self._of_path(path)
        return any(function in (place.function, place.qualified) for place in places)

    def similar(self, message: str, limit: int = 5) -> tuple[SiteHit, ...]:
        """The sites whose words are most like the message's: a guess, never an identification."""
        from kvdoctor.text.likeness import nearest

        found = []
        for number, score in nearest(message, [json.loads(row)[3] for row in self._rows], limit):
            row = json.loads(self._rows[number])
            wording = [r for i, r in enumerate(self.releases) if row[4] >> i & 1]
            for path in (self._paths[index] for index in row[5]):
                for place in self._of_path(path):
                    seen = [release for release in wording if release in place.lines]
                    if place.site == row[0] and seen:
                        hit = hit_at(place, seen, (), None, row[3])
                        found.append(replace(hit, score=score, complete=False, exact=False))
        return tuple(one_per_site(found, self.releases)[:limit])

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """Which releases fit a frame or a head of a log record."""
        return Fingerprints(self._folder, self.releases)

    # -- reading --------------------------------------------------------------------------------

    def _of_path(self, path: str) -> tuple[Place, ...]:
        if path not in self._places:
            text = self._entries.get(path)
            rows = json.loads(text) if text else []
            self._places[path] = tuple(self._place(path, row) for row in rows)
        return self._places[path]

    def _place(self, path: str, row: list[Any]) -> Place:
        site, letter, named, code, function, hashes, span, runs, whole = row
        lines: dict[str, int] = {}
        for first, numbers in runs:
            at = 0
            for index, number in enumerate(numbers, first):
                at += number
                lines[self.releases[index]] = at
        log = named in _LEVELS and letter == "l"
        parts = tuple(hashes[i : i + HASH] for i in range(0, len(hashes), HASH))
        return Place(
            site,
            KINDS[letter],
            "" if log else named,
            named if log else "",
            code,
            path,
            function,
            parts,
            span,
            lines,
            self.releases[(whole & -whole).bit_length() - 1],
            self.releases[whole.bit_length() - 1],
        )
