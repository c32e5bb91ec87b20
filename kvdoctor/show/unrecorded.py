"""An error that no record covers still has a site: since when it exists, what it guards, what
stands around it, which records speak of the same file, and what to collect for a report."""

from __future__ import annotations

from collections.abc import Collection

from kvdoctor.catalogue.livesource import Installed, SourceLine, excerpt, installed_anywhere
from kvdoctor.catalogue.sitehit import SiteHit
from kvdoctor.data import dataclass
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match
from kvdoctor.report import Report

NEAR_LIMIT = 6
COLLECT = (
    "the whole log of every process of both sides, from start to failure",
    "both launch commands, with the environment variables that start with VLLM_",
    "the output of `vllm collect-env`",
)


@dataclass(frozen=True, slots=True)
class Nearby:
    """Another error of the same function: what it says and where it stands."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """``since`` and ``until``: first and last known release with this site, "" when no release
    that we know has it; ``until`` is "" too when the newest one still has it. ``source`` is the
    live text around the guard from the vLLM found in ``found``."""

    file: str
    function: str
    line: int
    since: str
    until: str
    newest: str
    near: tuple[Nearby, ...] = ()
    records: tuple[tuple[str, str], ...] = ()  # (id, title) of records of the same file
    found: Installed | None = None
    source: tuple[SourceLine, ...] = ()
    collect: tuple[str, ...] = COLLECT


def unrecorded(shown: Report, knowledge: Knowledge, *, live: bool = True) -> Unrecorded | None:
    """What can be said of the finding at hand; None when it has a record or no place in vLLM.

    ``live``: look for an installed vLLM and read the guard's source there."""
    finding = shown.finding
    if finding is None or finding.record is not None:
        return None
    place = finding.vllm_place or finding.place
    if place is None or not place.file.startswith("vllm/"):
        return None
    function = place.function.rpartition(".")[2]
    sites = knowledge.sites.in_function(place.file, function) if function else ()
    since, until = _span(finding, sites)
    newest = knowledge.sites.releases[-1] if knowledge.sites.releases else ""
    found = installed_anywhere() if live else None
    code = _code(shown, finding, place.file, place.line)
    return Unrecorded(
        place.file,
        function,
        place.line,
        since,
        "" if until == newest else until,
        newest,
        tuple(
            Nearby(one.template or one.code, one.line)
            for one in sites
            if one.template != finding.template and (one.template or one.code)
        )[:NEAR_LIMIT],
        _records_of(place.file, knowledge),
        found,
        excerpt(found, place.file, place.line, code) if found is not None else (),
    )


def _span(finding: Match, sites: tuple[SiteHit, ...]) -> tuple[str, str]:
    """First and last release of the site, in any wording where the catalogue knows its history."""
    for site in sites:
        if finding.template and site.template == finding.template and site.since:
            return site.since, site.until
    releases = finding.place.releases if finding.place is not None else ()
    return (releases[0], releases[-1]) if releases else ("", "")


def _code(shown: Report, finding: Match, file: str, line: int) -> str:
    """The source line that the traceback prints for this place, "" when it prints none."""
    for source in shown.sources:
        if source.paste.name != finding.source:
            continue
        for failure in source.paste.failures:
            if failure.number != finding.number:
                continue
            for frame in reversed(failure.frames):
                if frame.module == file and frame.line == line:
                    return frame.code
    return ""


def _records_of(file: str, knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    """Records whose errors are raised in the same file, else in its kin."""
    places = {
        (record.id, record.title): [seen.raised_in.partition(":")[0] for seen in record.seen_in]
        for record in knowledge.records.values()
        if record.status != "retired"
    }
    same = [about for about, files in places.items() if file in files]
    if not same:
        kin = _kin_of(file, {one for files in places.values() for one in files})
        same = [about for about, files in places.items() if not kin.isdisjoint(files)]
    return tuple(same)[:NEAR_LIMIT]


def _kin_of(file: str, files: Collection[str]) -> set[str]:
    """Files that belong to the same thing: those of the same folder, or, where that is one of many
    things, those whose name begins with the same word (``a_b.py``, ``a/c.py``)."""
    folder = file.rpartition("/")[0] + "/"
    below = {one for one in files if one.startswith(folder) and folder.count("/") > 3}
    if all("/" not in one.removeprefix(folder) for one in below):
        return below
    word = _first_word(file.removeprefix(folder))
    return {one for one in below if _first_word(one.removeprefix(folder)) == word}


def _first_word(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py").partition("_")[0]


def history(about: Unrecorded) -> str:
    """Since when and until when the error exists, as a sentence."""
    if not about.since:
        return "No release known here has this error at this place: a patched or other build."
    if about.until:
        return (
            f"This error exists in vLLM {about.since} to {about.until}; later releases do not "
            "have it."
        )
    return f"This error exists since vLLM {about.since}, and still in {about.newest}."


def as_values(about: Unrecorded) -> dict[str, object]:
    """The same as plain JSON values; ``source`` holds lines of the vLLM installed here."""
    return {
        "file": about.file,
        "function": about.function or None,
        "line": about.line,
        "since": about.since or None,
        "until": about.until or None,
        "nearby": [{"line": one.line, "text": one.text} for one in about.near],
        "records": [{"record": record, "title": title} for record, title in about.records],
        "installed": {"release": about.found.release or None} if about.found else None,
        "source": [
            {"line": one.number, "text": one.text, "marked": one.marked} for one in about.source
        ],
        "collect": list(about.collect),
    }
