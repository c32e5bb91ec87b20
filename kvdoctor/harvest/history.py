"""One history per site over all releases: through moves, renames and changes of wording."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from kvdoctor.data import dataclass, field, replace
from kvdoctor.harvest.extract import RawSite

ALIKE = 0.6  # share of equal words from which two texts in one function are the same site
NEARLY = 0.8  # the same between two functions
TELLING = 12  # characters from which equal texts are no coincidence


@dataclass(frozen=True, slots=True)
class Seen:
    """A site as one release has it."""

    path: str
    site: RawSite

    @property
    def name(self) -> str:
        """The function's own name, as tracebacks print it."""
        return self.site.function.rpartition(".")[2]


@dataclass(slots=True)
class History:
    """One site; ``seen`` maps the index of a release to what stands there."""

    id: str = ""
    seen: dict[int, Seen] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return max(self.seen)

    def latest(self) -> Seen:
        return self.seen[self.last]


def merge(releases: Sequence[Iterable[Seen]]) -> list[History]:
    """Links the sites of successive releases (oldest first) into histories, in a fixed order."""
    histories: list[History] = []
    for index, found in enumerate(releases):
        waiting = list(found)
        alive = [one for one in histories if one.last == index - 1]
        gone = [one for one in histories if one.last < index - 1]
        alive, waiting = _pair(alive, waiting, index, _same)
        gone, waiting = _pair(gone, waiting, index, _same)
        alive, waiting = _alike(alive, waiting, index)
        alive, waiting = _pair(alive, waiting, index, _moved)
        alive, waiting = _pair(alive, waiting, index, _text)
        alive, waiting = _elsewhere(alive, waiting, index)
        histories += [History(seen={index: one}) for one in waiting]
    _name(histories)
    histories.sort(key=lambda one: (one.latest().path, one.latest().site.line, one.id))
    return histories


Key = Callable[[Seen], "tuple[object, ...] | None"]


def _said(one: Seen) -> tuple[object, ...]:
    site = one.site
    return (site.kind, site.exception, site.level, site.wordings, site.code)


def _same(one: Seen) -> tuple[object, ...] | None:
    return (one.path, one.site.function, *_said(one))


def _moved(one: Seen) -> tuple[object, ...] | None:
    """Equal text in an equally named function of another file or class."""
    if one.site.wordings or len(one.site.code) >= TELLING:
        return (one.name, *_said(one))
    return None


def _text(one: Seen) -> tuple[object, ...] | None:
    """Equal, telling text anywhere."""
    site = one.site
    if sum(map(len, site.wordings)) < TELLING * 2:
        return None
    return (site.kind, site.level, site.wordings)


def _pair(
    olds: list[History], news: list[Seen], index: int, key: Key
) -> tuple[list[History], list[Seen]]:
    """Continues histories whose latest form has the key of a new site; k-th with k-th."""
    by_key: dict[tuple[object, ...], list[History]] = defaultdict(list)
    for old in olds:
        told = key(old.latest())
        if told is not None:
            by_key[told].append(old)
    for group in by_key.values():
        group.sort(key=lambda one: (one.latest().path, one.latest().site.line), reverse=True)
    rest: list[Seen] = []
    taken: set[int] = set()
    for new in news:
        told = key(new)
        group = by_key.get(told, []) if told is not None else []
        if group:
            old = group.pop()
            old.seen[index] = new
            taken.add(id(old))
        else:
            rest.append(new)
    return [old for old in olds if id(old) not in taken], rest


def _alike(olds: list[History], news: list[Seen], index: int) -> tuple[list[History], list[Seen]]:
    """Sites of one function whose wording or condition changed a little."""
    return _nearest(olds, news, index, lambda one: (one.path, one.site.function), ALIKE)


def _elsewhere(
    olds: list[History], news: list[Seen], index: int
) -> tuple[list[History], list[Seen]]:
    """Sites that changed their wording and their file together; the function kept its name."""
    return _nearest(olds, news, index, lambda one: (one.name,), NEARLY)


def _nearest(
    olds: list[History],
    news: list[Seen],
    index: int,
    place: Callable[[Seen], tuple[str, ...]],
    least: float,
) -> tuple[list[History], list[Seen]]:
    by_place: dict[tuple[str, ...], list[History]] = defaultdict(list)
    for old in olds:
        where = (*place(old.latest()), old.latest().site.kind)
        by_place[where].append(old)
    scored: list[tuple[float, int, int]] = []
    number = {id(old): position for position, old in enumerate(olds)}
    for position, new in enumerate(news):
        for old in by_place.get((*place(new), new.site.kind), ()):
            score = likeness(old.latest().site, new.site)
            if score >= least:
                scored.append((-score, number[id(old)], position))
    used_old: set[int] = set()
    used_new: set[int] = set()
    for _, old_at, new_at in sorted(scored):
        if old_at not in used_old and new_at not in used_new:
            olds[old_at].seen[index] = news[new_at]
            used_old.add(old_at)
            used_new.add(new_at)
    return (
        [old for position, old in enumerate(olds) if position not in used_old],
        [new for position, new in enumerate(news) if position not in used_new],
    )


def likeness(one: RawSite, two: RawSite) -> float:
    """0 to 1: how much of two sites' texts (or conditions) is the same."""
    if bool(one.wordings) != bool(two.wordings):
        return 0.9 if one.code and one.code == two.code else 0.0
    if not one.wordings:
        if not one.code or not two.code:
            return 0.7 if one.exception == two.exception and one.code == two.code else 0.0
        return SequenceMatcher(None, one.code, two.code, autojunk=False).ratio()
    return max(
        SequenceMatcher(None, first.split(), second.split(), autojunk=False).ratio()
        for first in one.wordings
        for second in two.wordings
    )


def _name(histories: list[History]) -> None:
    """Ids that stay the same when later releases are added: from the first form of each site."""
    used: set[str] = set()
    for one in histories:
        first = one.seen[min(one.seen)]
        told = "\0".join([first.path, first.site.function, *map(str, _said(first))])
        salt = 0
        while True:
            digest = hashlib.sha256(f"{told}\0{salt}".encode()).hexdigest()[:8]
            if digest not in used:
                break
            salt += 1
        used.add(digest)
        one.id = digest


def settled(path: str, sites: Iterable[RawSite]) -> list[Seen]:
    """Sites of one file, ordered, without doubles at one line."""
    kept: dict[tuple[int, str, str, str], RawSite] = {}
    for site in sites:
        key = (site.line, site.kind, site.exception, site.level)
        known = kept.get(key)
        if known is None or (not known.wordings and site.wordings):
            kept[key] = replace(site, made=None)
    return [Seen(path, kept[key]) for key in sorted(kept)]
