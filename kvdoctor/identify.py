"""Who is this? One exception or log record at a time, by record, by site, by owner of the frames.

Ownership is decided by frames and modules, never by words: a message that reads like vLLM's but was
raised in another project's file is that project's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdoctor.catalogue.sitehit import SiteHit
from kvdoctor.data import replace
from kvdoctor.identity import (
    VLLM,
    Claim,
    Identity,
    Place,
    as_wrapper,
    at_site,
    claimed,
    crashed,
    files_of,
    frame_place,
    log_identity,
    said_by,
    shown_exception,
    squeezed,
    was_seen_in,
    without_end,
    without_message,
    wrapper_alone,
)
from kvdoctor.intake.paste import CRASH, Failure, LogRecord, Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.owners import one_line, owner_of, package_of, short_name
from kvdoctor.record import Identify, Record, Wrapper
from kvdoctor.runningtext import FOUND, is_alone, is_comment, launches
from kvdoctor.text.template import Hit

PARTICULAR = 0.005  # by so much an entry that asks for more wins over a general one
SURE_LITERALS = 40  # characters of fixed text that name a site although the file is another one
STRONG_LITERALS = 20  # characters of fixed text that identify a message on their own
UNSURE = 0.6  # of what may as well be another record's
LEAST_CODE = 12  # characters of a printed line by which a part of a statement is known
ASSERT = "assert"
MOST_GUESSES = 4
_HOLE = re.compile(r"\{[^{}]*\}")
NOTED_LEVELS = frozenset({"WARNING", "ERROR", "CRITICAL", "FATAL", "PANIC"})
BAD_LEVELS = frozenset({"ERROR", "CRITICAL", "FATAL", "PANIC"})


class Identifier:
    """Identifies the failures and log records of one paste against the knowledge."""

    def __init__(self, knowledge: Knowledge, paste: Paste) -> None:
        self._knowledge = knowledge
        self._paste = paste
        self._candidates = paste.release.candidates
        self._guesses: dict[str, tuple[str, ...]] = {}
        # The same failure a thousand times (a retry loop, eight ranks) is identified once.
        self._failures: dict[object, Identity | None] = {}
        self._wrappers: dict[tuple[str, str], Wrapper | None] = {}

    def wrapper(self, message: str, exception: str = "") -> Wrapper | None:
        key = (message, exception)
        if key not in self._wrappers:
            self._wrappers[key] = self._knowledge.wrapper_of(message, exception)
        return self._wrappers[key]

    # -- exceptions ---------------------------------------------------------------------------

    def failure(self, failure: Failure) -> Identity | None:
        """Who this exception is; it depends on nothing but what the failure says."""
        key = said_by(failure)
        if key not in self._failures:
            self._failures[key] = self._identified(failure)
        return self._failures[key]

    def _crashed(self, failure: Failure) -> Identity:
        """A crash belongs to the innermost library or package that is known."""
        foreign = self._knowledge.foreign
        owners = (
            foreign.owner_of_native(one.module, one.function)
            or (package_of(one).removesuffix(".libs") if one.path != one.module else "")
            for one in reversed(failure.frames)
        )
        owner = next(filter(None, owners), "")
        return crashed(failure, owner, foreign.crash(owner))

    def _identified(self, failure: Failure) -> Identity | None:
        if failure.form == CRASH:
            return self._crashed(failure)
        site = self._site_of(failure)
        claims = self._claims_on(failure, site.code if site is not None else "")
        owner = owner_of(failure)
        in_vllm = [frame for frame in failure.frames if frame.module.startswith("vllm/")]
        vllm_frame = in_vllm[-1] if in_vllm else None
        base = Identity(
            key=("failure", short_name(failure.exception), squeezed(failure.message)[:160], owner),
            exception=shown_exception(failure),
            message=one_line(failure.message),
            kind=_kind_of(failure, owner, site),
            owner=owner or (VLLM if site else ""),
            confidence=0.5,
            tier=1,
            raised=failure.raised,
            title=one_line(failure.message) or shown_exception(failure),
            place=self._place_of(failure, site),
            vllm_place=frame_place(vllm_frame) if vllm_frame else None,
            form=failure.form,
        )
        if claims:
            if (
                not failure.frames
                and site is not None
                and not was_seen_in(claims[0].record, site.file)
            ):
                base = replace(base, place=None)  # another file that writes the same words
            return claimed(base, claims)
        if failure.level and failure.level not in BAD_LEVELS:
            return None  # caught, told at a lower level, and lived with
        if site is not None:
            made = at_site(base, site, failure)
            if failure.exception or failure.message:
                return made
            return without_message(made, site.function, self._writers_of(site, failure))
        return self._unknown(base, failure, vllm_frame is not None)

    def _claims_on(self, failure: Failure, condition: str) -> list[Claim]:
        """Records that fit; ``condition`` is the whole one of the bare assert that failed."""
        claims: list[Claim] = []
        lost: list[Claim] = []  # that ask for a frame, of which the text has none
        for record, entry, hit in self._knowledge.claims(failure.message):
            score = self._score(record, entry, hit, failure)
            if not failure.frames and entry.any_frame and not score and _class_fits(entry, failure):
                lost.append(Claim(record, entry, hit, UNSURE))
            if score > 0:
                evidence = self._before(entry)
                if evidence is not None:
                    claims.append(Claim(record, entry, hit, score, evidence))
        for record, entry in self._knowledge.frame_claims(_frame_key(failure)):
            if _class_fits(entry, failure) and _code_fits(entry, failure, condition):
                evidence = self._before(entry)
                if evidence is not None:
                    claims.append(Claim(record, entry, None, 0.95, evidence))
        # A draft has nothing verified to say: it only speaks where no other record does.
        claims.sort(key=lambda one: (one.record.status == "draft", -one.score, one.record.id))
        return self._without_frames(claims, lost) if lost else _raised_here(claims, failure)

    def _without_frames(self, claims: list[Claim], lost: list[Claim]) -> list[Claim]:
        """Two connectors write the same words, and the frames that would tell them apart are not
        there: what else the text names decides; if nothing does, neither of them is sure."""
        ids = {claim.record.id for claim in claims}
        lost = [claim for claim in lost if claim.record.id not in ids]
        if not claims or not lost:
            return claims
        ours, theirs = claims[0].record, lost[0].record
        told, otherwise = self._is_named(ours, theirs), self._is_named(theirs, ours)
        if otherwise and not told:
            return [replace(claim, score=0.9) for claim in lost]
        if told and not otherwise:
            return claims
        return [replace(one, score=min(one.score, UNSURE)) for one in (*claims, *lost)]

    def _is_named(self, record: Record, other: Record) -> bool:
        """Whether the text names a file or a connector of ``record`` that ``other`` has not."""
        files = files_of(record) - files_of(other)
        names = [one for one in record.connectors if one not in other.connectors]
        return any(
            line.log_file.rpartition("/")[2] in files or any(one in line.text for one in names)
            for line in self._paste.lines
        )

    def _score(self, record: Record, entry: Identify, hit: Hit, failure: Failure) -> float:
        """0 when the entry does not fit; else how sure the claim is."""
        if entry.level and not entry.exception:
            return 0.0
        if not _class_fits(entry, failure) or not _owner_fits(record, failure):
            return 0.0
        if entry.any_frame and not _has_frame(failure, entry.any_frame):
            return 0.0
        if entry.frame and _frame_key(failure) != entry.frame:
            return 0.0
        strong = (
            hit.literal_chars >= STRONG_LITERALS
            or entry.any_frame
            or entry.frame
            or _frame_key(failure) in {_site_key(seen.raised_in) for seen in record.seen_in}
        )
        score = 0.99 if strong else 0.6
        if not hit.complete:
            score -= 0.06
        if failure.form in ("line", "quoted") and not strong:
            score -= 0.2
        if entry.any_frame or entry.before:
            score += PARTICULAR
        if entry.before:
            score += PARTICULAR / 2  # an earlier line that names the cause beats a frame alone
        return score + min(hit.literal_chars, 400) / 1_000_000

    def _writers_of(self, site: SiteHit, failure: Failure) -> list[Record]:
        """The records of the message that a site writes, when the text does not have it: those
        with its wording, else the only one of such an exception in that function."""
        told = _literal(site.template)
        here: list[Record] = []
        same: list[Record] = []
        for record in self._knowledge.records.values():
            places = {_site_key(seen.raised_in) for seen in record.seen_in}
            entries = [one for one in record.identify if one.exception in ("", site.exception)]
            if record.status != "proven" or _frame_key(failure) not in places or not entries:
                continue
            here.append(record)
            if any(_alike(_literal(one.message), told) for one in entries):
                same.append(record)
        return same or (here if len(here) == 1 else [])

    def _before(self, entry: Identify) -> tuple[int, ...] | None:
        """Lines that the entry needs earlier in the text; None when they are missing."""
        if not entry.before:
            return ()
        for record in self._paste.records:
            if self._knowledge.fits(entry.before, record.message):
                return (record.number,)
        return None

    def _site_of(self, failure: Failure) -> SiteHit | None:
        """The site that raised. A short message that only another file could have written is a
        coincidence: the frames say where it was raised."""
        site = self._knowledge.sites.of_failure(failure, self._candidates)
        if site is None or not failure.frames or failure.form == "pydantic":
            return site
        elsewhere = site.file != failure.frames[-1].module
        return None if elsewhere and site.literal_chars < SURE_LITERALS else site

    def _place_of(self, failure: Failure, site: SiteHit | None) -> Place | None:
        if failure.frames and failure.form != "pydantic":
            deepest = failure.frames[-1]
            return frame_place(deepest, site.releases if site is not None else ())
        if site is not None:
            return Place(site.file, site.function, site.line, site.releases)
        return None

    def _unknown(self, base: Identity, failure: Failure, in_vllm: bool) -> Identity | None:
        """An exception that nothing in the knowledge names."""
        if failure.form == "cut" and not in_vllm:
            return None
        if failure.form == "cut" and not failure.exception:
            return without_end(base, failure)
        said = self._knowledge.foreign.find(failure.message, owner=owner_of(failure))
        if said is not None:
            base = replace(base, owner=said.owner, meaning=said.meaning, confidence=0.8)
            return replace(base, tier=0 if in_vllm else 1)
        if not in_vllm:
            return replace(base, confidence=0.5, tier=1)
        similar = () if _is_pythons(failure) else self._similar(failure.message)
        return replace(base, confidence=0.6, tier=0, similar=similar)

    def _similar(self, message: str) -> tuple[str, ...]:
        """Templates with similar wording. Each guess reads the whole catalogue, so only the first
        few unknown messages of a text get one."""
        if message not in self._guesses:
            if not message or len(self._guesses) >= MOST_GUESSES:
                return ()
            near = self._knowledge.sites.similar(message)
            self._guesses[message] = tuple(one.template for one in near)
        return self._guesses[message]

    # -- log records --------------------------------------------------------------------------

    def log(self, record: LogRecord) -> Identity | None:
        """A log record of note: known by a record, or an error that a site names."""
        noted = record.level in NOTED_LEVELS or bool(record.native)
        if not noted or not record.message:
            return None
        wrapper = self.wrapper(record.message)
        if wrapper is not None:
            return (
                None if wrapper.noise or record.failure is not None else as_wrapper(record, wrapper)
            )
        claim = self._log_claim(record)
        if claim is not None:
            return log_identity(record, claim, self._log_place(record, claim))
        if record.level not in BAD_LEVELS:
            return self._foreign_log(record, quiet=True) if record.native else None
        if self._says_less(record):
            return None
        site = None if record.native else self._log_site(record)
        return site or self._foreign_log(record)

    def _says_less(self, record: LogRecord) -> bool:
        """Whether the traceback that a record prints tells more than the record itself: not when
        its exception was cut off."""
        return record.failure is not None and self._paste.failures[record.failure].form != "cut"

    def _log_claim(self, record: LogRecord) -> Claim | None:
        """The record that knows this line best. Connectors share some sentences: the file of the
        log call decides between their records."""
        claims: list[Claim] = []
        for owner, entry, hit in self._knowledge.claims(record.message):
            if entry.exception or entry.frame:
                continue
            if entry.native and entry.native not in record.native:
                continue
            if record.native and not entry.native and owner.owner == VLLM:
                continue
            evidence = self._before(entry)
            if evidence is None:
                continue
            score = 0.97 if hit.literal_chars >= STRONG_LITERALS else 0.6
            score += hit.literal_chars / 1_000_000 - (0.3 if owner.status == "draft" else 0.0)
            claims.append(Claim(owner, entry, hit, score, evidence))
        here = [claim for claim in claims if _logged_in(claim.record, record.log_file)]
        return max(here or claims, key=lambda claim: claim.score, default=None)

    def _log_place(self, record: LogRecord, claim: Claim) -> Place | None:
        if record.native:
            return None
        site = self._knowledge.sites.of_log(record, self._candidates)
        if site is not None:
            return Place(site.file, "", record.log_line or site.line, site.releases)
        seen = claim.record.seen_in
        file = record.log_file
        if seen and (file or (claim.hit and claim.hit.literal_chars >= STRONG_LITERALS)):
            file = seen[-1].raised_in.partition(":")[0]
        return Place(file, "", record.log_line) if file else None

    def _log_site(self, record: LogRecord) -> Identity | None:
        site = self._knowledge.sites.of_log(record, self._candidates)
        if site is None:
            return None
        return Identity(
            key=("log", site.id),
            exception="",
            message=one_line(record.message),
            kind="log",
            owner=site.owner,
            confidence=0.7,
            tier=3,
            title=one_line(record.message)[:200],
            site=site.id,
            template=site.template,
            holes=site.holes,
            place=Place(site.file, "", record.log_line or site.line, site.releases),
        )

    def _foreign_log(self, record: LogRecord, *, quiet: bool = False) -> Identity | None:
        """An error line of a library below vLLM whose meaning is known; ``quiet``: a line that is
        logged below the level of errors."""
        said = self._knowledge.foreign.find(record.message, native=record.native)
        if said is None or said.harmless or (quiet and not said.quiet):
            return None
        message = one_line(record.message)
        return Identity(
            key=("foreign", said.owner, said.text),
            exception="",
            message=message,
            kind="external",
            owner=said.owner,
            confidence=0.7,
            tier=3,
            title=message[:200],
            template="" if said.code else said.text,
            holes=said.holes,
            meaning=said.meaning,
        )

    # -- running text -------------------------------------------------------------------------

    def prose(self, wrappers: bool = False) -> Iterator[tuple[int, Identity]]:
        """Messages of records that stand somewhere in text without any structure; with
        ``wrappers`` also lines that only say that something else failed."""
        seen: set[str] = set()
        script = launches(self._paste.lines)
        for line in self._paste.lines:
            text = line.text.strip()
            if len(text) < STRONG_LITERALS or line.native or line.level:
                continue  # too short to tell, or a log record that was judged as one
            if script and is_comment(text[:1]):
                continue  # what is to be started, and what somebody noted beside it
            for record, entry, hit in self._knowledge.claims(text, anywhere=True):
                if record.id in seen or hit.literal_chars < STRONG_LITERALS or entry.any_frame:
                    continue
                if entry.level and not entry.exception:
                    continue
                front = text[: hit.start]
                if script and is_comment(front):
                    continue
                seen.add(record.id)
                alone = is_alone(front)
                base = Identity(
                    key=("record", record.id),
                    exception=entry.exception,
                    message=one_line(text),
                    kind=record.kind,
                    owner=record.owner,
                    confidence=0.9,
                    tier=0,
                    form="prose",
                    meaning="" if alone else FOUND,
                )
                sure = 0.9 if hit.complete else 0.8
                claim = Claim(record, entry, hit, sure if alone else UNSURE)
                yield line.number, claimed(base, [claim])
            wrapper = self.wrapper(text) if wrappers else None
            if wrapper is not None and not wrapper.noise:
                yield line.number, wrapper_alone(one_line(text), one_line(text), wrapper)


def _is_pythons(failure: Failure) -> bool:
    """Whether the interpreter worded the message: the line that failed raises nothing itself."""
    code = failure.frames[-1].code.strip() if failure.frames else ""
    return bool(code) and not code.startswith(("raise", "assert"))


def _raised_here(claims: list[Claim], failure: Failure) -> list[Claim]:
    """Of records with the same message, those whose file the innermost frame names."""
    if not failure.frames or len(claims) < 2:
        return claims
    module = failure.frames[-1].module
    here = [
        claim
        for claim in claims
        if any(seen.raised_in.partition(":")[0] == module for seen in claim.record.seen_in)
    ]
    return here or claims


def _logged_in(record: Record, log_file: str) -> bool:
    """Whether the record was seen in the file that a log line names ("base_worker.py")."""
    name = log_file.rpartition("/")[2]
    return bool(name) and any(
        seen.raised_in.partition(":")[0].rpartition("/")[2] == name for seen in record.seen_in
    )


def _literal(template: str) -> str:
    """A template without its holes, whose names differ between a record and the source."""
    return squeezed(_HOLE.sub("", template))


def _alike(one: str, other: str) -> bool:
    """Whether one wording is the other, or part of it: a record may say in words what is a hole."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= LEAST_CODE and shorter in longer)


def _frame_key(failure: Failure) -> str:
    if not failure.frames:
        return ""
    deepest = failure.frames[-1]
    return f"{deepest.module}:{deepest.function.rpartition('.')[2]}"


def _site_key(raised_in: str) -> str:
    """A record's "path:Class.function" as a traceback names it."""
    path, _, function = raised_in.partition(":")
    return f"{path}:{function.rpartition('.')[2]}"


def _class_fits(entry: Identify, failure: Failure) -> bool:
    if not entry.exception or not failure.exception:
        return True
    wanted = short_name(entry.exception)
    return wanted in (short_name(failure.exception), short_name(failure.raised))


def _code_fits(entry: Identify, failure: Failure, condition: str) -> bool:
    """Whether the innermost frame shows the entry's code. Of an assert over several lines each
    Python prints another part (its head, one line of the condition, all of the condition), so the
    ``condition`` of the site that stands at that line decides where the catalogue has one."""
    told = squeezed(failure.frames[-1].code) if failure.frames else ""
    wanted = squeezed(entry.code)
    if not wanted or not told or wanted in told:
        return True
    if len(told) >= LEAST_CODE and wanted.startswith(told):
        return True
    if not wanted.startswith(ASSERT) or short_name(failure.exception) != "AssertionError":
        return False
    asked, told = _condition(wanted), _condition(told)
    if condition:
        return asked in condition or condition in asked
    return not told or asked in told or (len(told) >= LEAST_CODE and told in asked)


def _condition(code: str) -> str:
    """The condition of an assert without the keyword, the parentheses around it and its message;
    ``code`` has no white space."""
    inner = code.removeprefix(ASSERT)
    if inner.startswith("(") and (inner.endswith(")") or ")" not in inner):
        inner = inner[1:].removesuffix(")")
    return inner


def _has_frame(failure: Failure, wanted: str) -> bool:
    """Whether "path-part:function" stands in the traceback; a path part alone may also be the
    file of the log call that printed it, which is all that is left of a cut one."""
    path, _, function = wanted.partition(":")
    if not function and path in failure.log_file:
        return True
    return any(
        path in (frame.module or frame.path)
        and (not function or frame.function.rpartition(".")[2] == function)
        for frame in failure.frames
    )


def _owner_fits(record: Record, failure: Failure) -> bool:
    """A record of vLLM's own error only claims what vLLM's files raised, as far as frames tell."""
    if record.owner != VLLM or not failure.frames:
        return True
    return owner_of(failure) in (VLLM, "")


def _kind_of(failure: Failure, owner: str, site: SiteHit | None) -> str:
    name = short_name(failure.raised or failure.exception)
    if site is not None:
        return site.kind
    if owner not in (VLLM, "") and failure.form != "pydantic":
        return "external"
    if name == "AssertionError":
        return "assert"
    deepest = package_of(failure.frames[-1]) if failure.frames else VLLM
    return "raise" if deepest == VLLM or failure.form == "pydantic" else "external"
