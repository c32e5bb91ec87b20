"""What one failure or log record is known to be, and how that is worked out of a claim or site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvdoctor.catalogue.sitehit import SiteHit
from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake.paste import Failure, Frame, LogRecord
from kvdoctor.owners import one_line, short_name
from kvdoctor.record import Identify, Record, Wrapper
from kvdoctor.text.template import Hit

LIKE = 0.000_008  # claims closer than this (eight characters of fixed text) are equal
VLLM = "vllm"


CRASHED = (
    "A signal ended the process, not a Python error. The frames name the library: its own log "
    "lines above tell more. For a report keep the whole backtrace and that library's version."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the source: ``releases`` are those in which the site exists, oldest first."""

    file: str
    function: str
    line: int
    releases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """What one failure or log record is. ``tier`` orders findings: 0 a record or a vLLM failure,
    1 somebody else's failure, 2 a warning or danger, 3 an error log without record, 4 a guess."""

    key: tuple[str, ...]
    exception: str
    message: str
    kind: str
    owner: str
    confidence: float
    tier: int
    title: str = ""
    raised: str = ""
    record: str | None = None
    site: str = ""
    template: str = ""
    holes: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    vllm_place: Place | None = None
    form: str = ""
    wrapper: Wrapper | None = None
    alternatives: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()
    similar: tuple[str, ...] = ()
    meaning: str = ""  # of a message of a library below vLLM


@dataclass(frozen=True, slots=True)
class Claim:
    """A record's claim on a failure: how well its identify entry fits."""

    record: Record
    entry: Identify
    hit: Hit | None
    score: float
    evidence: tuple[int, ...] = ()


def files_of(record: Record) -> set[str]:
    """The names of the files in which a record was seen."""
    return {seen.raised_in.partition(":")[0].rpartition("/")[2] for seen in record.seen_in}


def was_seen_in(record: Record, file: str) -> bool:
    return any(seen.raised_in.partition(":")[0] == file for seen in record.seen_in)


def frame_place(frame: Frame, releases: tuple[str, ...] = ()) -> Place:
    return Place(frame.module or frame.path, frame.function, frame.line, releases)


def without_end(base: Identity, failure: Failure) -> Identity:
    """A traceback of which the exception is missing: it shows the way and not the reason."""
    last = failure.frames[-1]
    return replace(
        base,
        key=("cut", last.module, str(last.line)),
        title=f"A traceback that was cut off before its exception (last frame: {last.function})",
        confidence=0.3,
        tier=4,
        meaning="The lines that follow it in the log name the exception: give them too.",
    )


def crashed(failure: Failure, owner: str, meaning: str) -> Identity:
    """A crash of native code: no Python error, and what ended the process."""
    deepest = failure.frames[-1] if failure.frames else None
    place = (deepest.module, deepest.function) if deepest is not None else ("", "")
    in_vllm = [one for one in failure.frames if one.module.startswith("vllm/")]
    return Identity(
        key=("crash", failure.exception, *place),
        exception=failure.exception,
        message=one_line(failure.message),
        kind="crash",
        owner=owner,
        confidence=0.85,
        tier=0,
        title="Native code crashed and took the process with it",
        place=frame_place(deepest) if deepest is not None and any(place) else None,
        vllm_place=frame_place(in_vllm[-1]) if in_vllm else None,
        form=failure.form,
        meaning=meaning or CRASHED,
    )


def without_message(made: Identity, function: str, likely: Sequence[Record]) -> Identity:
    """A failure whose last frame is its site, in a text that ends before its message: ``likely``
    are the records of the message that the site writes."""
    named = " or ".join(f"{one.id} ({one.title})" for one in likely)
    told = (
        f"By its place it is likely {named}: --record {likely[0].id} shows it. " if likely else ""
    )
    return replace(
        made,
        title=f"{made.exception or 'An error'} in {function}, cut off before its message",
        meaning=f"The message is missing, as the text ends before it. {told}Give the lines that "
        "follow too.",
    )


def claimed(base: Identity, claims: list[Claim]) -> Identity:
    best = claims[0]
    record = best.record
    close = [claim for claim in claims[1:] if claim.score > best.score - LIKE]
    others = tuple(dict.fromkeys(c.record.id for c in close if c.record.id != record.id))
    return replace(
        base,
        key=("record", record.id),
        record=record.id,
        exception=base.exception or best.entry.exception,
        kind=record.kind if record.kind != "symptom" else base.kind,
        owner=record.owner,
        confidence=min(0.99, round(best.score, 3)),
        tier=0 if record.severity == "error" else 2,
        title=record.title,
        template=best.entry.message,
        holes=dict(best.hit.holes) if best.hit else {},
        alternatives=others,
        evidence=best.evidence,
    )


def at_site(base: Identity, site: SiteHit, failure: Failure) -> Identity:
    sure = bool(failure.frames) or failure.form == "pydantic"
    return replace(
        base,
        key=("site", site.id, squeezed(base.message)[:80]),
        site=site.id,
        exception=base.exception or site.exception,
        template=site.template,
        holes=site.holes,
        owner=site.owner,
        confidence=0.95 if sure else 0.85,
        tier=0,
    )


def log_identity(record: LogRecord, claim: Claim, place: Place | None) -> Identity:
    owner = claim.record
    return Identity(
        key=("record", owner.id),
        exception="",
        message=_whole_message(record),
        kind="log" if owner.kind == "symptom" else owner.kind,
        owner=owner.owner,
        confidence=min(0.97, round(claim.score, 3)),
        tier=0 if owner.severity == "error" else 2,
        title=owner.title,
        record=owner.id,
        template=claim.entry.message,
        holes=dict(claim.hit.holes) if claim.hit else {},
        place=place,
        evidence=claim.evidence,
    )


def as_wrapper(record: LogRecord, wrapper: Wrapper) -> Identity:
    return wrapper_alone(_whole_message(record), one_line(record.message), wrapper)


def wrapper_alone(message: str, title: str, wrapper: Wrapper) -> Identity:
    """A line that is never the cause, with or without the head of a log record."""
    return Identity(
        key=("wrapper", wrapper.id),
        exception="",
        message=message,
        kind="log",
        owner=VLLM,
        confidence=0.9,
        tier=4,
        title=title[:200],
        wrapper=wrapper,
    )


def _whole_message(record: LogRecord) -> str:
    return one_line(f"{record.native} {record.message}" if record.native else record.message)


def shown_exception(failure: Failure) -> str:
    if failure.form == "pydantic":
        return short_name(failure.exception) or "ValidationError"
    return failure.exception


def squeezed(text: str) -> str:
    return "".join(text.split())


def said_by(failure: Failure) -> object:
    """Everything of a failure but where and when it stands in the text."""
    frames = tuple((one.path, one.line, one.function, one.code) for one in failure.frames)
    head = (failure.exception, failure.raised, failure.message, failure.form, failure.header)
    return (head, frames, failure.level, failure.log_file, failure.log_line, failure.notes)
