"""Everything kvdoctor can say about one or several inputs, as one frozen value.

The screen, the command line, notes and programs all read the same report; only how it is shown
differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kvdoctor.data import dataclass, field, replace
from kvdoctor.decide import (
    NOT_KNOWN,
    OTHER,
    Asks,
    Cause,
    Facts,
    NoCause,
    Outcome,
    diagnose,
)
from kvdoctor.errors import InputError
from kvdoctor.facts import Source as Source
from kvdoctor.facts import facts_of, seen_from, side_of_finding, start_of_finding
from kvdoctor.fix import Fix, NotOffered, offers
from kvdoctor.intake.numbered import line_at
from kvdoctor.intake.paste import Release
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Evidence, Match, match, together
from kvdoctor.record import FixSpec, Input, Record
from kvdoctor.seen import Failed, shown_lines
from kvdoctor.text.rendering import render
from kvdoctor.unexplained import Unexplained, unexplained
from kvdoctor.values import Launch, merge, read_all, side_of
from kvdoctor.values.rewrite import apply, difference
from kvdoctor.values.value import Scalar, Value, Values
from kvdoctor.walk import (
    Configuration,
    Link,
    after_fix,
    configuration,
    dangers,
    fails_after,
    fails_next,
    relations,
)


@dataclass(frozen=True, slots=True)
class OfferedFix:
    """A fix, the user's own launch command before and after it, and what it would break.

    ``breaks``: guards of other records that stop vLLM with the fix only; ``still_fails``: those
    that the values break already and that the fix does not help. ``changes`` are the command's
    lines with a sign before each ("-" gone, "+" new, " " kept); ``restated``: the command was put
    together from the arguments that the log lists."""

    fix: Fix
    before: str = ""
    after: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    restated: bool = False
    breaks: tuple[Link, ...] = ()
    still_fails: tuple[Link, ...] = ()

    @property
    def stops(self) -> tuple[Link, ...]:
        """Every guard at which vLLM stops with this fix, as far as is known."""
        return self.breaks + self.still_fails


@dataclass(frozen=True, slots=True)
class Report:
    """``status``: cause, asks, no_cause, no_match, broken. ``chosen`` indexes ``findings``; it is
    None when the record was reached by another way (a link, a search) or nothing was found."""

    sources: tuple[Source, ...]
    release: Release
    findings: tuple[Match, ...]
    values: Values
    status: str
    chosen: int | None = None
    record: Record | None = None
    side: str = "this"
    facts: Facts | None = None
    outcome: Outcome | None = None
    fixes: tuple[OfferedFix, ...] = ()
    withheld: tuple[NotOffered, ...] = ()
    next: tuple[Link, ...] = ()  # what surely fails next
    may_fail: tuple[Link, ...] = ()  # and what does in some of the releases that this may be
    dangers: tuple[Link, ...] = ()
    related: tuple[Link, ...] = ()
    commands: tuple[Launch, ...] = ()
    config: Configuration | None = field(default=None)
    notices: tuple[Match, ...] = ()  # worth knowing, and no trouble: deprecations and the like
    unexplained: tuple[Unexplained, ...] = ()  # error lines that no finding explains
    to_look_at: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)  # by question

    @property
    def finding(self) -> Match | None:
        return self.findings[self.chosen] if self.chosen is not None else None

    @property
    def undecided(self) -> tuple[str, ...]:
        """The causes that were passed over because a question could not be answered, in sentences:
        each is still possible."""
        from kvdoctor.text.rendering import worded

        if self.record is None or not isinstance(self.outcome, NoCause):
            return ()
        passed = {one.check for one in self.outcome.branches if one.state == "passed"}
        titles = (
            render(check.cause, self.outcome.values) or worded(check.cause, self.outcome.values)
            for check in self.record.checks
            if check.id in passed
        )
        return tuple(dict.fromkeys(titles))

    @property
    def asks(self) -> tuple[str, ...]:
        return self.outcome.names if isinstance(self.outcome, Asks) else ()

    @property
    def fix_asks(self) -> tuple[str, ...]:
        """What the fixes that are not offered need to know, once the cause is decided: such an
        input may be one that no cause hangs on. Without those that the user cannot answer."""
        passed = self.facts.passed if self.facts is not None else ()
        names = dict.fromkeys(name for one in self.withheld for name in one.asks)
        return tuple(name for name in names if name not in passed)


@dataclass(frozen=True, slots=True)
class Read:
    """The sources after match and values: what does not change when an answer does."""

    sources: tuple[Source, ...]
    release: Release
    findings: tuple[Match, ...]
    values: Values
    commands: tuple[Launch, ...]
    notices: tuple[Match, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()


def read_sources(sources: Sequence[Source], knowledge: Knowledge) -> Read:
    """Match every source and read its values; the slow half of a report."""
    table = knowledge.value_table
    told = [read_all(one.paste, side=one.side, table=table) for one in sources]
    readings = [values for values, _ in told]
    sides = _sides(sources, readings)
    values = Values()
    commands: list[Launch] = []
    found: list[tuple[Match, ...]] = []
    sided = [
        Source(source.paste, side, _on_side(read, side))
        for source, side, read in zip(sources, sides, readings, strict=True)
    ]
    for position, (source, (_, launches)) in enumerate(zip(sided, told, strict=True)):
        paste, placed = source.paste, source.values
        values = merge(values, placed) if position else placed
        commands.extend(_of_side(launches, source))
        found.append(match(paste, knowledge, placed))
    findings = together(found) if len(found) > 1 else (found[0] if found else ())
    release = _release_of(sided, findings)
    kept = _without_denied(findings, sided, values, knowledge, release)
    notices = tuple(one for one in kept if _is_notice(one, knowledge))
    troubles = tuple(one for one in kept if one not in notices)
    left = tuple(
        one for source in sided for one in unexplained(source.paste, knowledge, bool(troubles))
    )
    return Read(tuple(sided), release, _rooted(troubles), values, tuple(commands), notices, left)


def _of_side(launches: Sequence[Launch], source: Source) -> Iterable[Launch]:
    """The launches of a text, those that speak of no side with the side of the text."""
    for launch in launches:
        own = launch.side == "this" and (launch.origin == "log" or len(launches) == 1)
        yield replace(launch, source=source.paste.name, side=source.side if own else launch.side)


def _sides(sources: Sequence[Source], readings: Sequence[Values]) -> list[str]:
    """Whose text each source is. Of two texts, one whose side is not told is the other one's
    peer."""
    sides = [
        one.side if one.side != "this" else side_of(read, one.paste)
        for one, read in zip(sources, readings, strict=True)
    ]
    if len(sides) == 2 and (sides[0] in OTHER) != (sides[1] in OTHER):
        known = sides[0] if sides[0] in OTHER else sides[1]
        sides = [side if side in OTHER else OTHER[known] for side in sides]
    return sides


def _is_notice(finding: Match, knowledge: Knowledge) -> bool:
    record = knowledge.records.get(finding.record) if finding.record else None
    return record is not None and record.severity == "notice"


def _on_side(values: Values, side: str) -> Values:
    """Entries of a text whose side is known, named by it: "this" is that side, "other" its peer."""
    if side not in OTHER:
        return values
    names = {"this": side, "other": OTHER[side]}

    def placed(entries: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(
            replace(entry, side=names[entry.side]) if entry.side in names else entry
            for entry in entries
        )

    starts = tuple(
        replace(one, side=names.get(one.side, one.side), entries=placed(one.entries))
        for one in values.starts
    )
    return Values(placed(values.entries), starts, values.spoke)


def _release_of(sources: Sequence[Source], findings: Sequence[Match]) -> Release:
    """The release of the source in which the root cause stands, else the best known one."""
    if findings:
        for source in sources:
            if source.paste.name == findings[0].source and source.paste.release.candidates:
                return source.paste.release
    known = [source.paste.release for source in sources if source.paste.release.candidates]
    return min(known, key=lambda one: len(one.candidates)) if known else Release()


def _without_denied(
    findings: Sequence[Match],
    sources: Sequence[Source],
    values: Values,
    knowledge: Knowledge,
    release: Release,
) -> tuple[Match, ...]:
    """Leave out warnings whose own record says, from the values, that they are harmless here."""
    kept: list[Match] = []
    for finding in findings:
        record = knowledge.records.get(finding.record) if finding.record else None
        if record is not None and record.severity != "error":
            seen = seen_from(finding, sources, values)
            facts = facts_of(record, finding, sources, seen, {}, release, knowledge)
            if isinstance(diagnose(record, facts), NoCause):
                continue
        kept.append(finding)
    return tuple(kept)


def _rooted(findings: tuple[Match, ...]) -> tuple[Match, ...]:
    """The first finding that is no consequence as the root cause, should it be left out."""
    if any(finding.role == "root_cause" for finding in findings):
        return findings
    first = next((i for i, one in enumerate(findings) if one.role == "also"), None)
    if first is None:
        return findings
    rest = findings[:first] + findings[first + 1 :]
    return (replace(findings[first], role="root_cause"), *rest)


def report(
    read: Read,
    knowledge: Knowledge,
    *,
    chosen: int | None = None,
    record_id: str | None = None,
    answers: Mapping[str, object] | None = None,
    walk: bool = True,
) -> Report:
    """The whole report. ``chosen`` picks a finding (default: the root cause), ``record_id`` a
    record that was reached another way; ``answers`` maps inputs to what the user said. Without
    ``walk`` no other record is asked: what would fail next, also after a fix, is left open."""
    if record_id is None and chosen is None and read.findings:
        chosen = 0
    finding = read.findings[chosen] if chosen is not None and record_id is None else None
    wanted = record_id or (finding.record if finding else None)
    record = knowledge.records.get(wanted) if wanted else None
    given = tuple(_answered(answers or {}))
    values = read.values.plus(given, first=True)
    base = Report(
        read.sources, read.release, read.findings, values, "no_match", chosen,
        commands=read.commands, notices=read.notices, unexplained=read.unexplained,
    )  # fmt: skip
    if record is None:
        return _without_record(base, knowledge, walk)
    values = seen_from(finding, read.sources, read.values).plus(given, first=True)
    facts = facts_of(record, finding, read.sources, values, answers or {}, read.release, knowledge)
    outcome = diagnose(record, facts)
    side = side_of_finding(finding, read.sources)
    config = configuration(record, outcome.values, values, side, facts.candidates)
    done = replace(
        base,
        record=record,
        facts=facts,
        outcome=outcome,
        side=side,
        config=config,
        status=_status(record, outcome),
        related=relations(record, knowledge),
    )
    done = replace(done, to_look_at=_to_look_at(done, knowledge))
    if walk:
        done = _walked(done, knowledge, {record.id})
    return _with_fixes(done, record, outcome, knowledge if walk else None)


def report_about(
    read: Read, knowledge: Knowledge, record_id: str, answers: Mapping[str, object] | None = None
) -> Report:
    """The report on one record: from its own error where that stands in the text, whose values
    then need not be asked."""
    at = next((i for i, one in enumerate(read.findings) if one.record == record_id), None)
    if at is not None:
        return report(read, knowledge, chosen=at, answers=answers)
    return report(read, knowledge, record_id=record_id, answers=answers)


def _walked(done: Report, knowledge: Knowledge, known: set[str]) -> Report:
    assert done.config is not None  # noqa: S101
    failing = fails_next(done.config, knowledge, known)
    return replace(
        done,
        next=tuple(link for link in failing if link.sure),
        may_fail=failing,
        dangers=dangers(done.config, knowledge, known),
    )


def _status(record: Record, outcome: Outcome) -> str:
    """A draft names an error and proves no cause of it."""
    if record.status == "draft" and isinstance(outcome, Cause):
        return "no_cause"
    return _STATUS[type(outcome).__name__]


_STATUS = {"Cause": "cause", "Asks": "asks", "NoCause": "no_cause", "Broken": "broken"}


def _answered(answers: Mapping[str, object]) -> list[Value]:
    """Answers given under the names of Values ("prefill.block_size=16") count for every record."""
    found: list[Value] = []
    for name, raw in answers.items():
        if raw == NOT_KNOWN:
            continue
        side, dot, rest = name.partition(".")
        if dot and side in ("prefill", "decode", "this"):
            found.append(Value(rest, raw, "answer", side, why="answered"))  # type: ignore[arg-type]
        else:
            found.append(Value(name, raw, "answer", "this", why="answered"))  # type: ignore[arg-type]
    return found


def _without_record(base: Report, knowledge: Knowledge, walk: bool) -> Report:
    side = side_of_finding(base.finding, base.sources)
    config = configuration(None, {}, base.values, side, base.release.candidates)
    done = replace(base, side=side, config=config)
    return _walked(done, knowledge, set()) if walk else done


def _with_fixes(
    done: Report, record: Record, outcome: Outcome, knowledge: Knowledge | None
) -> Report:
    """``knowledge``: to ask what a fix would run into; None asks nothing."""
    if not isinstance(outcome, Cause) or done.config is None:
        return done
    config = done.config

    def failing(
        values: Mapping[str, Scalar], side: str, applies: Mapping[str, str], removes: Sequence[str]
    ) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        if knowledge is None:
            return (), ()
        after = after_fix(record, values, config, side=side, applies=applies, removes=removes)
        return fails_after(record, config, after, knowledge, done.may_fail, side)

    def troubles(spec: FixSpec, values: Mapping[str, Scalar]) -> int:
        applies = {key: render(text, values) or "" for key, text in spec.applies.items()}
        return sum(map(len, failing(values, spec.side, applies, spec.removes)))

    offered: list[OfferedFix] = []
    withheld: list[NotOffered] = []
    for one in offers(record, outcome, troubles if knowledge else None):
        if isinstance(one, NotOffered):
            withheld.append(one)
            continue
        breaks, still = failing(one.values, one.side, one.applies, one.removes)
        offered.append(replace(_rewritten(one, done), breaks=breaks, still_fails=still))
    offered.sort(key=lambda one: (one.fix.proof.level == "unproven", bool(one.stops)))
    return replace(done, fixes=tuple(offered), withheld=tuple(withheld))


def _rewritten(fix: Fix, done: Report) -> OfferedFix:
    """The fix with the user's own launch command changed, when there is one to change."""
    offered = OfferedFix(fix)
    if not fix.applies and not fix.removes:
        return offered
    for launch in _launches_for(fix, done):
        try:
            changed = apply(launch.command, fix.applies, fix.removes)
        except InputError:
            continue
        if changed.text != launch.command.text:
            lines = difference(launch.command, changed)
            restated = launch.origin == "log"
            return OfferedFix(fix, launch.command.text, changed.text, lines, restated=restated)
    return offered


def rewritten_for(fix: Fix, shown: Report, side: str) -> OfferedFix:
    """The fix with the command of one side changed: a fix for both sides changes two commands."""
    return _rewritten(replace(fix, side=side), shown)


def _launches_for(fix: Fix, done: Report) -> list[Launch]:
    """The commands that the fix may change, the likeliest first: of the fix's side, and of several
    starts of vLLM in one text that of the failure. A command whose side nothing tells is nobody's
    but the failure's own."""
    wanted = OTHER.get(done.side, "") if fix.side == "other" else fix.side
    start = start_of_finding(done.finding, done.sources)
    if wanted in ("this", "both"):
        wanted = done.side
    fitting = [one for one in done.commands if one.side == wanted]
    if fix.side in ("this", "both") or wanted == done.side:
        fitting += [one for one in done.commands if one.side == "this" != wanted]

    def elsewhere(one: Launch) -> bool:
        return start is not None and one.start not in (0, start.order)

    return sorted(fitting, key=elsewhere)


def _to_look_at(done: Report, knowledge: Knowledge) -> dict[str, tuple[Evidence, ...]]:
    """Open question -> lines of the texts that bear on it without settling it."""
    finding = done.finding
    if done.record is None or finding is None:
        return {}
    failure = Failed(finding.source, finding.number, finding.holes)
    pastes = [(source.paste, source.side) for source in done.sources]
    found = {}
    for name in done.asks:
        found[name] = tuple(
            Evidence(number, line.shown, paste.name)
            for paste, number in shown_lines(done.record, name, pastes, failure, knowledge)
            if (line := line_at(paste.lines, number)) is not None
        )
    return {name: lines for name, lines in found.items() if lines}


def input_spec(shown: Report, name: str) -> Input:
    """The declaration of an input, also for the release, which every record may ask for."""
    if shown.record is not None and name in shown.record.inputs:
        return shown.record.inputs[name]
    return Input(
        name, "version", "Which vLLM release is this?", find="vllm --version", example="0.32.0"
    )
