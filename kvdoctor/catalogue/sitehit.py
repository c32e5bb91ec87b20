"""One hit in the catalogue of sites, and how hits are weighed against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kvdoctor.catalogue.fingerprints import bare, short_hash
from kvdoctor.data import dataclass, field, replace
from kvdoctor.text.template import Hit, Skeleton

ENOUGH = 10  # literal characters that name a site
FEW = 4  # literal characters that do so when they are most of the message
MANY = 24  # literal characters that outweigh another exception class
TELLING = 18  # literal characters that name a site without any frame
SHORT = 12  # the same when the whole message is literal
EVERYDAY = frozenset({"AttributeError", "KeyError", "IndexError", "TypeError"})  # Python's own too


@dataclass(frozen=True, slots=True)
class Place:
    """One site in one file: ``lines`` maps a release to the line of the statement."""

    site: str
    kind: str
    exception: str
    level: str
    code: str  # asserted expression without white space; "" when the site has a message
    path: str
    qualified: str  # "Class.method"
    hashes: tuple[str, ...]
    span: int  # lines a frame of the statement can name
    lines: Mapping[str, int]
    since: str = ""  # first and last known release of the site, here or elsewhere
    until: str = ""

    @property
    def function(self) -> str:
        """As tracebacks print it."""
        return self.qualified.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class SiteHit:
    """A site that can have written a message or can stand behind a frame.

    ``file``, ``function`` and ``line`` hold for ``release``: the newest candidate that has the
    site. ``releases``: those that have it with this wording (or, by frame, at this line).
    ``exact`` is False when the line or the text of the frame differs from every release."""

    id: str
    kind: str
    owner: str
    exception: str
    level: str
    template: str
    file: str
    function: str
    line: int
    release: str
    releases: tuple[str, ...]
    qualified: str = ""
    code: str = ""
    holes: Mapping[str, str] = field(default_factory=dict)
    literal_chars: int = 0
    total_chars: int = 0
    complete: bool = True
    exact: bool = True
    since: str = ""  # first and last known release of the site in any wording and place
    until: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    exception: str
    level: str
    log_file: str
    log_line: int
    candidates: tuple[str, ...]


def plain_name(exception: str) -> str:
    return exception.rpartition(".")[2]


def enough(hit: Hit, text: Skeleton) -> bool:
    if hit.literal_chars >= ENOUGH:
        return True
    return hit.literal_chars >= FEW and 2 * hit.literal_chars >= len(text.chars) and hit.complete


def message_score(
    hit: Hit,
    text: Skeleton,
    asked: Asked,
    made: SiteHit,
    place: Place,
    differs: bool,
    whole: bool,
) -> float:
    """Literal characters covered, corrected by what stands around the message."""
    score = float(hit.literal_chars)
    rest = len("".join(text.text[hit.end :].split())) if hit.complete else 0
    if not made.template.endswith("}"):
        score -= min(rest, 20) * 0.2
    score += 0.5 * ("/kv_" in place.path)  # of equals, the one that this tool is about
    score -= 8 * (not whole) + 12 * differs + 4 * (not hit.complete)
    if asked.level:
        score += 2 if made.level == asked.level else -2
    fits = set(asked.candidates) & set(made.releases)
    if asked.candidates:
        score += 1 if fits else -3
    if asked.log_file and made.kind == "log":
        score += _head_score(asked, place, fits)
    return score


def _head_score(asked: Asked, place: Place, fits: set[str]) -> float:
    """What the "[file.py:LINE]" of a record adds: its own line outweighs any wording."""
    name = asked.log_file.replace("\\", "/").rpartition("/")[2]
    if place.path.rpartition("/")[2] != name:
        return 0
    if any(place.lines[release] == asked.log_line for release in fits):
        return 200
    return 20 if asked.log_line in place.lines.values() else 6


def tells_alone(hit: SiteHit, *, inside: bool) -> bool:
    """Whether a message without frames is enough to call it vLLM's. Python itself and half of all
    libraries say "… has no attribute …" and "… must be positive"; ``inside``: it is known to come
    from a check of vLLM's configuration."""
    if hit.literal_chars >= MANY:
        return True
    if not hit.complete:
        return False
    if inside:
        return True
    if hit.exception in EVERYDAY or hit.template.startswith("{"):
        return False
    return hit.literal_chars >= (SHORT if "{" not in hit.template else TELLING)


def fits_head(hit: SiteHit, log_file: str) -> bool:
    """Whether a record can come from the hit's file; a long message may have moved."""
    name = log_file.replace("\\", "/").rpartition("/")[2]
    same = not name or hit.file.rpartition("/")[2] == name
    return same or hit.literal_chars >= MANY


def frame_score(at_line: bool, said: bool, told: bool, same_function: bool) -> float:
    if not same_function:
        return 0.5 if at_line and said else 0.0
    if at_line and said:
        return 1.0
    if at_line and not told:
        return 0.9
    if said:
        return 0.8
    return 0.4 if at_line else 0.0


def code_hashes(code: str) -> tuple[str, str]:
    """Of the first printed line and of all of them."""
    lines = [line for line in code.split("\n") if line.strip()]
    if not lines:
        return "", ""
    return short_hash(bare(lines[0])), short_hash(bare(code))


def hit_at(
    place: Place, seen: Sequence[str], candidates: Sequence[str], hit: Hit | None, template: str
) -> SiteHit:
    """A place as a hit in the newest candidate release that has it."""
    fitting = [release for release in seen if release in candidates]
    release = (fitting or list(seen))[-1]
    return SiteHit(
        id=place.site,
        kind=place.kind,
        owner="vllm",
        exception=place.exception,
        level=place.level,
        template=template,
        file=place.path,
        function=place.function,
        line=place.lines[release],
        release=release,
        releases=tuple(seen),
        qualified=place.qualified,
        code=place.code,
        holes=dict(hit.holes) if hit else {},
        literal_chars=hit.literal_chars if hit else 0,
        total_chars=hit.total_chars if hit else 0,
        complete=hit.complete if hit else True,
        since=place.since,
        until=place.until,
    )


def joined(said: SiteHit, seen: SiteHit) -> SiteHit:
    """The message's wording and values at the frame's place."""
    both = tuple(release for release in seen.releases if release in said.releases)
    return replace(
        said,
        file=seen.file,
        function=seen.function,
        qualified=seen.qualified,
        line=seen.line,
        release=seen.release,
        releases=both or seen.releases,
        exact=seen.exact,
    )


def one_per_function(hits: Iterable[SiteHit], order: Sequence[str]) -> list[SiteHit]:
    """A site can have several entries in one function (its text changed): the better one is kept,
    the newer of two equals, with the releases of all. ``order`` lists all releases."""
    return _best_of(hits, order, lambda hit: (hit.id, hit.file, hit.qualified))


def one_per_site(hits: Iterable[SiteHit], order: Sequence[str]) -> list[SiteHit]:
    """The same for the places of a site that moved."""
    return _best_of(hits, order, lambda hit: (hit.id,))


def _best_of(
    hits: Iterable[SiteHit], order: Sequence[str], key: Callable[[SiteHit], tuple[str, ...]]
) -> list[SiteHit]:
    index = {release: number for number, release in enumerate(order)}
    kept: dict[tuple[str, ...], SiteHit] = {}
    for hit in hits:
        known = kept.get(key(hit))
        if known is not None:
            newer = (hit.score, index[hit.release]) > (known.score, index[known.release])
            both = sorted({*hit.releases, *known.releases}, key=index.__getitem__)
            kept[key(hit)] = replace(hit if newer else known, releases=tuple(both))
        else:
            kept[key(hit)] = hit
    return list(kept.values())
