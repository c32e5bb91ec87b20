"""Which vLLM release a text came from: by its banner, else by frames and heads of log records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kvdoctor.data import dataclass
from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.paste import Failure, Line, LogRecord, Release
from kvdoctor.record import Wrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kvdoctor.text.template import Pattern
else:
    Protocol = object

MAX_FRAMES = 400  # distinct frames that are looked up
MAX_HEADS = 400  # distinct heads of log records


class Places(Protocol):
    """Where code stands in each release. ``None``: the file is not known at all; an empty tuple:
    the file is known, and no known release has that there."""

    releases: tuple[str, ...]

    def frame(self, module: str, line: int, code: str = "") -> tuple[str, ...] | None:
        """Releases in which a frame can stand at ``line`` of "vllm/…py" with that source text."""

    def log(self, file: str, line: int, message: str = "") -> tuple[str, ...] | None:
        """Releases in which a logger call stands at ``line`` of a file of that (base) name."""

    def path(self, module: str) -> tuple[str, ...] | None:
        """Releases that have the file."""


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """``banners``: templates of the messages in which vLLM states its version, each with a
    ``{version}`` hole. ``places``: the lookup that the harvested sources give. ``images``: names of
    container images of vLLM with the same hole, which stand anywhere in a line."""

    banners: tuple[str, ...] = ()
    places: Places | None = None
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The knowledge that reading a text needs: all data, no code."""

    wrappers: tuple[Wrapper, ...] = ()
    fingerprints: Fingerprints = Fingerprints()


_VERSION = Lazy(
    r"v?(\d{1,4}\.\d{1,5}(?:\.\d{1,5})?)((?:[.\-+]?[A-Za-z][\w.+-]{0,80}|\+[\w.+-]{1,80}|\.\d{1,6}[\w.+-]{0,80})?)"
)


def release_of(
    lines: Sequence[Line],
    failures: Sequence[Failure],
    records: Sequence[LogRecord],
    fingerprints: Fingerprints | None,
) -> Release:
    """The release of the text; ``how`` says what told it."""
    if fingerprints is None:
        return Release()
    banner = _banner(lines, fingerprints.banners)
    places = fingerprints.places
    if places is None:
        return banner or _image(lines, fingerprints.images) or Release()
    frames = _agree(_frames(failures, places), places.releases)
    heads = _agree(_heads(records, places), places.releases)
    if banner:
        return _checked(banner, frames)
    image = _image(lines, fingerprints.images)
    if image is not None and _allows(frames[0] or heads[0], image.release, places.releases):
        return _checked(image, frames)
    for how, (candidates, _) in (("frames", frames), ("log-lines", heads)):
        if not candidates:
            continue
        both = [one for one in candidates if one in heads[0]] if how == "frames" else []
        chosen = tuple(both) or candidates
        name = chosen[0] if len(chosen) == 1 else ""
        # heads name a file by its last part only: one that fits nowhere proves nothing
        return Release(name, chosen, how, patched=frames[1])
    paths, _ = _agree(_paths(failures, places), places.releases)
    if paths and len(paths) < len(places.releases):
        return Release(paths[0] if len(paths) == 1 else "", paths, "paths", patched=frames[1])
    return Release(patched=frames[1])


def _allows(candidates: Sequence[str], release: str, known: Sequence[str]) -> bool:
    """Whether what the log shows may be of the release that an image's name states."""
    return not candidates or release in candidates or release not in known


def _checked(banner: Release, frames: tuple[tuple[str, ...], bool]) -> Release:
    """The banner's release, marked as patched when the frames say otherwise."""
    candidates, contradicted = frames
    patched = contradicted or (bool(candidates) and banner.release not in candidates)
    return Release(
        banner.release, banner.candidates, banner.how, banner.suffix, banner.number, patched
    )


# ---------------------------------------------------------------- banner


def _banner(lines: Sequence[Line], banners: Sequence[str]) -> Release | None:
    """The version that the first banner states."""
    if not banners:
        return None
    patterns = _patterns(tuple(banners))
    for line in lines:
        text = line.text
        for pattern, mark in patterns:
            if mark not in text:
                continue
            hit = pattern.match(text)
            version = hit and hit.holes.get("version")
            found = _VERSION.match(version.strip()) if version else None
            if found:
                return Release(found[1], (found[1],), "banner", found[2], line.number)
    return None


def _image(lines: Sequence[Line], images: Sequence[str]) -> Release | None:
    """The version that the names of vLLM's images state, if they state one."""
    if not images:
        return None
    patterns = _patterns(tuple(images))
    found: dict[str, Release] = {}
    for line in lines:
        text = line.text
        for pattern, mark in patterns:
            hit = pattern.search(text) if mark in text else None
            version = hit and hit.holes.get("version")
            told = _VERSION.match(version.strip()) if version else None
            if told:
                suffix = told[2] if told[2].startswith((".", "rc", "+")) else ""
                known = Release(told[1], (told[1],), "image", suffix, line.number)
                found.setdefault(told[1], known)
    return next(iter(found.values())) if len(found) == 1 else None


@lru_cache(maxsize=4)
def _patterns(banners: tuple[str, ...]) -> tuple[tuple[Pattern, str], ...]:
    from kvdoctor.text.template import Pattern

    return tuple((Pattern.compile(banner), _mark(banner)) for banner in banners)


def _mark(template: str) -> str:
    """The longest literal word of a template: a cheap test before the match."""
    words = re.sub(r"\{\w*(?::\w+)?\}", " ", template).split()
    return max(words, key=len, default="")


# ---------------------------------------------------------------- frames and heads


def _frames(failures: Sequence[Failure], places: Places) -> list[tuple[str, ...]]:
    """For each distinct frame of vLLM the releases in which it can stand."""
    seen: set[tuple[str, int, str]] = set()
    found = []
    for failure in failures:
        for frame in failure.frames:
            key = (frame.module, frame.line, frame.code)
            if key in seen or not frame.line or not frame.module.startswith("vllm/"):
                continue
            seen.add(key)
            code = frame.code.strip().split("\n")[0]
            fits = places.frame(frame.module, frame.line, code)
            # A frame that was interrupted as it was entered stands at the head of its function,
            # where no statement is: that it fits nowhere says nothing of the release.
            entered = code.startswith(("def ", "async def ", "class ", "@"))
            if fits is not None and (fits or not entered):
                found.append(fits)
            if len(seen) >= MAX_FRAMES:
                return found
    return found


def _heads(records: Sequence[LogRecord], places: Places) -> list[tuple[str, ...]]:
    """For each distinct head of a log record the releases in which it can stand."""
    seen: set[tuple[str, int]] = set()
    found = []
    for record in records:
        key = (record.log_file, record.log_line)
        if key in seen or not record.log_file.endswith(".py") or record.native:
            continue
        seen.add(key)
        fits = places.log(record.log_file, record.log_line, record.message[:200])
        if fits:
            found.append(fits)
        if len(seen) >= MAX_HEADS:
            break
    return found


def _paths(failures: Sequence[Failure], places: Places) -> list[tuple[str, ...]]:
    modules = {
        frame.module for failure in failures for frame in failure.frames
        if frame.module.startswith("vllm/")
    }  # fmt: skip
    return [fits for module in sorted(modules)[:MAX_FRAMES] if (fits := places.path(module))]


def _agree(
    votes: Iterable[tuple[str, ...]], releases: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """The releases that fit most votes, in order, and whether some vote contradicts them."""
    counts = dict.fromkeys(releases, 0)
    total = 0
    for vote in votes:
        total += 1
        for release in vote:
            if release in counts:
                counts[release] += 1
    best = max(counts.values(), default=0)
    if not best or 2 * best < total:
        return (), total > 0
    return tuple(release for release in releases if counts[release] == best), best < total
