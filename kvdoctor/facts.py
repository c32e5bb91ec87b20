"""What is known about a record's inputs when a finding of the texts is looked into: from the
failure's message, other log lines, the start of vLLM it stands in, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvdoctor.catalogue.sites import Sites
from kvdoctor.data import dataclass
from kvdoctor.decide import OTHER, Facts, gather
from kvdoctor.intake.numbered import line_at
from kvdoctor.intake.paste import Paste, Release
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match
from kvdoctor.record import Record
from kvdoctor.releases import parse_range
from kvdoctor.seen import Failed, seen_lines
from kvdoctor.values.value import Start, Values

AS_GOOD = 0.5  # of sites that fit a message, those that fit it as well as the best


@dataclass(frozen=True, slots=True)
class Source:
    """One input: a log, a traceback, a command or a YAML text, and the side it belongs to."""

    paste: Paste
    side: str = "this"  # prefill, decode, or this when neither the user nor the text says
    values: Values = Values()  # what the text says, as far as it was read


def side_of_finding(finding: Match | None, sources: Sequence[Source]) -> str:
    if finding is None:
        return sources[0].side if len(sources) == 1 else "this"
    start = start_of_finding(finding, sources)
    if start is not None and start.side in OTHER:
        return start.side
    return next((one.side for one in sources if one.paste.name == finding.source), "this")


def start_of_finding(finding: Match | None, sources: Sequence[Source]) -> Start | None:
    """The start of vLLM that the finding stands in, where its text holds several."""
    for source in sources:
        if finding is not None and source.paste.name == finding.source and source.values.starts:
            line = line_at(source.paste.lines, finding.number)
            if line is not None:
                return source.values.start_at(line.number, line.pod, line.pid)
    return None


def seen_from(finding: Match | None, sources: Sequence[Source], values: Values) -> Values:
    """What counts for a finding: of several starts of vLLM in one text, the values of its own."""
    start = start_of_finding(finding, sources)
    if finding is None or start is None:
        return values
    return values.seen_from(start, finding.source)


def facts_of(
    record: Record,
    finding: Match | None,
    sources: Sequence[Source],
    values: Values,
    answers: Mapping[str, object],
    release: Release,
    knowledge: Knowledge,
) -> Facts:
    holes = finding.holes if finding is not None and finding.record == record.id else {}
    number = finding.number if finding is not None else 0
    side = side_of_finding(finding, sources)
    candidates = release.candidates or _releases_of(record, finding, knowledge.sites)
    pastes = [(source.paste, source.side) for source in sources]
    name = finding.source if finding is not None else ""
    seen = seen_lines(record, pastes, Failed(name, number, holes), knowledge)
    return gather(record, values, holes, answers, candidates, side=side, number=number, seen=seen)


def _releases_of(record: Record, finding: Match | None, sites: Sites) -> tuple[str, ...]:
    """The releases a text without any other sign can come from: those that have the message,
    wherever it stood in them, else those in which the record was seen."""
    place = finding.place if finding is not None and finding.record == record.id else None
    if finding is not None and place is not None and place.releases:
        hits = sites.by_message(finding.message, finding.exception)
        like = {r for one in hits if one.score >= hits[0].score - AS_GOOD for r in one.releases}
        return tuple(one for one in sites.releases if one in like or one in place.releases)
    spans = [parse_range(seen.vllm) for seen in record.seen_in]
    return tuple(one for one in sites.releases if any(span.contains(one) for span in spans))
