"""The report as plain text: standard output, and every place that has no screen.

Read at 3 a.m. in 80 columns: what it is, why, what to do; then what proves it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from kvdoctor.decide import Broken, Cause, NoCause
from kvdoctor.fix import Proof
from kvdoctor.intake.numbered import line_at
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Evidence, Match
from kvdoctor.report import OfferedFix, Report, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.show.document import next_step
from kvdoctor.terminal import clean
from kvdoctor.values.value import Value

WIDTH = 80
FEW_UNEXPLAINED = 6  # error lines shown that nothing explains
MESSAGE_LIMIT = 400  # characters of a message; the JSON has it whole
VALUE_LIMIT = 24
ALSO_LIMIT = 6
NO_RECORD = "No record covers this error yet."
FURTHER = (
    "If something is wrong all the same: the cause may stand in another process's log (every "
    "worker and the engine core, of both sides). Give that one, describe what you see (kvdoctor "
    "search WORDS), or walk the symptoms (kvdoctor diagnose --symptom)."
)
UNVERIFIED = "unverified"  # the verdict on advice of an imported draft

PROOF_WORDS = {
    "ran": "the guard of your own vLLM accepted these values",
    "guard": "vLLM's guard accepts these values",
    "rerun": "the failure was provoked, this was applied, and it went away",
    "source": "read in vLLM's source",
    "unproven": "UNPROVEN: not shown to work",
}
_STYLES = {"trouble": "1;31", "good": "1;32", "head": "1", "warn": "1;33", "quiet": "2"}


class Styled(str):
    """A line that is ours from end to end and so may carry a colour."""

    style: str

    def __new__(cls, text: str, style: str = "head") -> Styled:
        made = super().__new__(cls, text)
        made.style = style
        return made


def proof_words(proof: Proof) -> str:
    """How a fix was shown to work, in words."""
    words = PROOF_WORDS[proof.level]
    span = f" (vLLM {proof.vllm})" if proof.vllm and proof.level != "unproven" else ""
    if proof.combinations:
        span = f"{span}; our copy agreed with the real one on {proof.combinations:,} combinations"
    return f"{words}{span}" + (f": {proof.note}" if proof.note else "")


def report_text(shown: Report, knowledge: Knowledge, *, colour: bool = False) -> str:
    """The whole report, best finding first, nothing that a terminal would act on but, with
    ``colour``, our own few colours on our own headings."""
    lines: list[str] = []
    if not shown.findings and shown.record is None:
        lines += _nothing(shown)
    else:
        lines += _findings(shown)
        lines += _cause(shown)
        lines += _questions(shown)
        lines += _fixes(shown)
        lines += _evidence(shown)
        lines += _values(shown)
        lines += _withheld(shown)
        lines += _published(shown)
        lines += unrecorded_lines(shown, knowledge)
        lines += _others(shown)
        lines += _unexplained(shown)
    lines += _links(
        "NOTED, no trouble",
        ((str(one.record), f"line {one.number}: {one.title}") for one in shown.notices),
    )
    lines += _walk(shown)
    lines.append(
        Styled("kvdoctor is offline and deterministic; no language model was used.", "quiet")
    )
    return "\n".join(_drawn(line, colour) for line in lines)


def _drawn(line: str, colour: bool) -> str:
    text = clean(line).replace("\n", " ")
    if colour and isinstance(line, Styled) and text:
        return f"\x1b[{_STYLES[line.style]}m{text}\x1b[0m"
    return text


def wrapped(text: str, indent: str = "  ", first: str | None = None) -> list[str]:
    """``text`` in lines of at most :data:`WIDTH` columns; a longer word keeps its line whole."""
    head = indent if first is None else first
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        lines += textwrap.wrap(
            paragraph,
            WIDTH,
            initial_indent=head,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [head.rstrip()]
        head = indent
    return lines


def cut(text: str, limit: int = MESSAGE_LIMIT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _head(word: str, text: str, style: str) -> list[str]:
    """A heading with its text, wrapped; every line of it in one colour."""
    return [Styled(line, style) for line in wrapped(f"{word}: {text}", "  ", "")]


def _no_cause(shown: Report) -> list[str]:
    if not shown.undecided:
        return wrapped("None of its causes fits these values.")
    if len(shown.undecided) == 1:
        lines = wrapped("Without an answer it cannot be decided. All that is left is:")
    else:
        lines = wrapped("Without an answer it cannot be decided. It is one of:")
    for text in shown.undecided:
        lines += wrapped(text, "    ", "  - ")
    return lines


def _nothing(shown: Report) -> list[str]:
    lines = sum(len(source.paste.lines) for source in shown.sources)
    if not any(source.paste.size for source in shown.sources):
        return _empty(shown)
    many = f"{lines} line{'' if lines == 1 else 's'}"
    head = (
        f"NO ERROR in {many}, BUT THESE VALUES WILL FAIL: see below."
        if shown.next
        else (f"NO KNOWN TROUBLE in {many}" + (", BUT ERRORS." if shown.unexplained else "."))
    )
    found = [Styled(head)]
    notes = [note for source in shown.sources for note in source.paste.notes]
    told = [line for note in notes for line in wrapped(note, "    ", "  note: ")]
    further = [] if shown.next else [*wrapped(FURTHER), ""]
    return [*found, *_release(shown), *told, "", *_unexplained(shown), *further]


def _empty(shown: Report) -> list[str]:
    files = [one.paste.name for one in shown.sources if one.paste.name not in ("-", "paste")]
    if files:
        what = "this file is" if len(files) == 1 else "these files are"
        told = [*_head("NOTHING TO READ", f"{what} empty: {', '.join(files)}", "head")]
        told += wrapped("Did the command that wrote it fail? Its error went to the terminal.")
    else:
        told = [Styled("NOTHING TO READ: the input is empty.")]
        told += wrapped("Did the command before the pipe fail? Its error went to the terminal.")
    return [*told, ""]


def _unexplained(shown: Report) -> list[str]:
    """Error lines that the knowledge does not explain."""
    if not shown.unexplained:
        return []
    head = "ERRORS that nothing here explains (other code than vLLM's own, or a patch)"
    lines: list[str] = [Styled(head)]
    for one in shown.unexplained[:FEW_UNEXPLAINED]:
        times = f" ({one.times} times)" if one.times > 1 else ""
        said = cut(one.text, 140) if shown.findings else one.text
        lines += wrapped(f"{said}{times}", " " * 9 + "| ", f"{one.number:8d} | ")
    more = len(shown.unexplained) - FEW_UNEXPLAINED
    if more > 0:
        lines.append(f"         … and {more} more")
    return [*lines, ""]


def _release(shown: Report) -> list[str]:
    release = shown.release
    if not release.candidates:
        return []
    if len(release.candidates) == 1:
        name = release.candidates[0] + release.suffix
    else:
        name = f"{release.candidates[0]} to {release.candidates[-1]}"
    patched = ", but its lines do not fit: a patched build" if release.patched else ""
    return wrapped(f"vLLM {name} (known from its {release.how}{patched})")


_ROLE_WORDS = {"root_cause": "ROOT CAUSE", "consequence": "ONLY A CONSEQUENCE", "also": "SEEN"}


def _findings(shown: Report) -> list[str]:
    one = shown.finding or (shown.findings[0] if shown.findings else None)
    if one is None or (shown.finding is None and shown.record is not None):
        record = shown.record
        return [*_head("RECORD", f"{record.id}: {record.title}", "head"), ""] if record else []
    lines: list[str] = []
    if one.role == "consequence" and one.hint:
        lines += _head("ROOT CAUSE", "not in this text. It stands in another log:", "trouble")
        lines += [*wrapped(one.hint), ""]
    sure = "" if one.confidence >= 0.9 else f"  [confidence {one.confidence:.0%}]"
    style = "trouble" if one.role == "root_cause" else "head"
    lines += _head(_ROLE_WORDS[one.role], one.title + sure, style)
    lines += _error(one)
    lines += wrapped(_where(one), "    ", "  ")
    if one.owner not in ("vllm", ""):
        lines.append(f"  raised by {one.owner}, not by vLLM")
    if one.hint and one.role != "consequence":
        lines += wrapped(one.hint, "    ", "  → ")
    for text in one.similar[:3]:
        lines += wrapped(f"similar wording (a guess): {cut(text, 160)}", "    ", "  ")
    return [*lines, *_release(shown), ""]


def _error(one: Match) -> list[str]:
    head = f"{one.exception}: " if one.exception else ""
    lines: list[str] = []
    if one.message != one.title:
        lines += wrapped(cut(head + (one.message or "(no message)")), "    ", "  ")
    elif one.exception:
        lines.append(f"  {one.exception}")
    if one.place is not None:
        where = f"{one.place.file}:{one.place.line}" if one.place.line else one.place.file
        function = f" in {one.place.function}" if one.place.function else ""
        if len(where + function) + 5 > WIDTH:
            lines += [f"  at {where}", f"    {function}" if function else ""][: 1 + bool(function)]
        else:
            lines.append(f"  at {where}{function}")
    return lines


def _where(one: Match) -> str:
    many = f", {one.count} times" if one.count > 1 else ""
    ranks = f" ({', '.join(one.processes)})" if len(one.processes) > 1 else ""
    process = f", process {one.process}" if one.process else ""
    source = "standard input" if one.source == "-" else one.source
    return f"{source} line {one.number}{process}{many}{ranks}"


def _others(shown: Report) -> list[str]:
    first = shown.finding or (shown.findings[0] if shown.findings else None)
    others = [one for one in shown.findings if one is not first]
    if not others:
        return []
    lines: list[str] = [Styled("ALSO SEEN")]
    for other in others[:ALSO_LIMIT]:
        word = "" if other.role == "also" else f" ({other.role.replace('_', ' ')})"
        again = first is not None and other.record is not None and other.record == first.record
        name = f"with other values: {other.message}" if again else other.title
        lines += wrapped(cut(f"{name}{word}", 140), " " * 14, f"  line {other.number:<6} ")
    if len(others) > ALSO_LIMIT:
        lines.append(f"  … and {len(others) - ALSO_LIMIT} more (--json lists all)")
    return [*lines, ""]


def _cause(shown: Report) -> list[str]:
    if shown.record is None:
        only = shown.finding is not None and shown.finding.role == "consequence"
        cut_off = shown.finding is not None and not shown.finding.message
        word = "No record is sure without its message." if cut_off else NO_RECORD
        return [] if only or not shown.findings else [word, ""]
    lines: list[str] = []
    if isinstance(shown.outcome, Cause):
        lines += [Styled("CAUSE"), *wrapped(shown.outcome.text.strip())]
    else:
        lines += [Styled("WHAT IT MEANS"), *wrapped(shown.record.summary.strip())]
    if isinstance(shown.outcome, Broken):
        lines += wrapped(f"This record is broken: {shown.outcome.reason}")
    if isinstance(shown.outcome, NoCause):
        lines += _no_cause(shown)
    step = next_step(shown)
    if step and not shown.fixes:
        lines += ["", Styled("NEXT STEP"), *wrapped(step.strip())]
    return [*lines, ""]


def value_source(value: Value) -> str:
    """Where a value was read, for people."""
    if value.origin == "answer":
        return "you said so"
    place = f"line {value.number}" if value.number else ""
    if value.source and place:
        place = f"{value.source} {place}"
    word = "" if value.certainty == "stated" else f"{value.certainty}, "
    return word + (
        " ".join(filter(None, (place, f"({value.why})" if value.why else ""))) or value.origin
    )


def _values(shown: Report) -> list[str]:
    if shown.facts is None or not shown.facts.known:
        return []
    rows = [
        (
            f"{name} ({value.side})" if value.side != "this" else name,
            cut(spoken(value.value), 40),
            value_source(value),
        )
        for name, value in list(shown.facts.known.items())[:VALUE_LIMIT]
    ]
    names = min(36, max(len(name) for name, _, _ in rows))
    values = min(16, max(len(value) for _, value, _ in rows))
    lines: list[str] = [Styled("VALUES")]
    for name, value, source in rows:
        row = f"  {name:{names}}  {value:{values}}  "
        lines += (
            [row.rstrip(), *wrapped(source, "      ")]
            if len(row + source) > WIDTH
            else [row + source]
        )
    return [*lines, ""]


def _questions(shown: Report) -> list[str]:
    if not shown.asks:
        return []
    lines: list[str] = [Styled("STILL NEEDED", "warn")]
    for name in shown.asks:
        lines += _question(shown, name)
    lines += wrapped(f"Cannot tell? --set {shown.asks[0]}=? tries the next check.")
    return [*lines, ""]


def _question(shown: Report, name: str) -> list[str]:
    spec = input_spec(shown, name)
    offered = shown.facts.offered.get(name) if shown.facts else None
    usual = f" (usually {spoken(offered.value)})" if offered is not None else ""
    side = f" [{spec.side}]" if spec.side in ("prefill", "decode", "both") else ""
    choices = f" ({', '.join(spec.choices)})" if spec.choices else ""
    lines = wrapped(f"--set {name}=…   {spec.ask}{side}{choices}{usual}", "      ", "  ")
    if spec.find:
        lines += wrapped(f"find it: {spec.find}", "      ")
    for item in shown.to_look_at.get(name, ()):
        told = cut(" ".join(_bare(item, shown).split()), 200)
        lines += wrapped(f"the log has, line {item.number}: {told}", "        ", "      ")
    return lines


def _fixes(shown: Report) -> list[str]:
    return [line for position, one in enumerate(shown.fixes, 1) for line in _fix(position, one)]


def stop_words(one: OfferedFix) -> list[str]:
    """What stops vLLM with this fix, a sentence for each guard."""
    said = [f"with this fix vLLM would stop at {link.record}: {link.why}" for link in one.breaks]
    return said + [
        f"after this fix vLLM still stops at {link.record}: {link.why}" for link in one.still_fails
    ]


def _fix(position: int, one: OfferedFix) -> list[str]:
    fix = one.fix
    side = f" [{fix.side}]" if fix.side in ("prefill", "decode", "both", "router") else ""
    style = "warn" if fix.proof.level == "unproven" else "good"
    lines = _head(f"FIX {position}", f"{fix.title}{side}  ({fix.id})", style)
    lines += [f"    {line}" for line in fix.snippet.splitlines()]
    lines += wrapped(f"proof: {proof_words(fix.proof)}", "    ", "  ")
    lines += wrapped(f"costs: {fix.changes.strip()}", "    ", "  ")
    if one.after:
        origin = " (put together from the log, which prints no environment)" if one.restated else ""
        lines.append(f"  your command{origin}:")
        lines += [f"    {sign} {line}" for sign, line in one.changes]
    for warning in stop_words(one):
        warning = f"WARNING: {warning}"
        lines += [Styled(line, "warn") for line in wrapped(warning)]
    return [*lines, ""]


def _evidence(shown: Report) -> list[str]:
    finding = shown.finding
    if finding is None or not finding.evidence:
        return []
    lines: list[str] = [Styled("EVIDENCE")]
    again: dict[str, list[int]] = {}  # the same words in other lines: their numbers are enough
    for item in finding.evidence:
        again.setdefault(" ".join(_bare(item, shown).split()), []).append(item.number)
    for item in finding.evidence:
        numbers = again.pop(" ".join(_bare(item, shown).split()), [])
        if numbers:
            lines += evidence_lines(item, shown)
        if len(numbers) > 1:
            lines.append(f"         | the same in line {', '.join(map(str, numbers[1:]))}")
    return [*lines, ""]


def evidence_lines(item: Evidence, shown: Report) -> list[str]:
    """A line of the input within two rows: whole when it fits, else without its log prefix."""
    text = " ".join(item.text.split())
    if len(text) > WIDTH - 11:
        text = " ".join(_bare(item, shown).split()) or text
    rows = textwrap.wrap(text, WIDTH - 11, break_on_hyphens=False, max_lines=2, placeholder=" …")
    first, *more = rows or [""]
    return [f"  {item.number:>6} | {first}", *(f"         | {row}" for row in more)]


def _bare(item: Evidence, shown: Report) -> str:
    for source in shown.sources:
        if source.paste.name == item.source:
            line = line_at(source.paste.lines, item.number)
            return line.text if line is not None else item.text
    return item.text


def _withheld(shown: Report) -> list[str]:
    if not shown.withheld:
        return []
    lines: list[str] = [Styled("NOT OFFERED")]
    for held in shown.withheld:
        asks = f" (needs {', '.join(held.asks)})" if held.asks else ""
        lines += wrapped(f"{held.title}: {held.why}{asks}", "    ", "  ")
    if shown.fix_asks:
        lines += ["", Styled("FOR THESE FIXES, say", "warn")]
        lines += [line for name in shown.fix_asks for line in _question(shown, name)]
    return [*lines, ""]


def _published(shown: Report) -> list[str]:
    if shown.record is None:
        return []
    wrong: list[str] = []
    unchecked: list[str] = []
    for published in shown.record.published:
        for says, verdict, instead in published.advice:
            if verdict == UNVERIFIED:
                unchecked += wrapped(f'"{says}"', "    ", "  ")
            elif verdict != "true":
                wrong += wrapped(f'"{says}": {instead or verdict}', "    ", "  ")
    lines: list[str] = []
    if wrong:
        lines += [Styled("PUBLISHED ADVICE THAT DOES NOT HOLD"), *wrong, ""]
    if unchecked:
        lines += [Styled("PUBLISHED ADVICE, never verified", "warn"), *unchecked, ""]
    return lines


def unrecorded_lines(shown: Report, knowledge: Knowledge) -> list[str]:
    """For an error without a record: its site, the live source of it, and what to collect."""
    finding = shown.finding
    if finding is None or finding.record is not None or finding.role == "consequence":
        return []
    from kvdoctor.show.unrecorded import COLLECT, history, unrecorded

    about = unrecorded(shown, knowledge)
    lines: list[str] = []
    if about is not None:
        lines += wrapped(history(about))
        if about.source and about.found is not None:
            build = f"vLLM {about.found.release}" if about.found.release else "the installed vLLM"
            lines += ["", Styled(f"THE GUARD, as it stands in {build} here")]
            for one in about.source:
                lines.append(f"  {'>' if one.marked else ' '} {one.number:>5} | {one.text}")
        if about.near:
            lines += ["", Styled(f"OTHER ERRORS of {about.function}")]
            for near in about.near:
                lines += wrapped(cut(near.text, 150), " " * 14, f"  line {near.line:<6} ")
        if about.records:
            lines += ["", Styled("RECORDS of the same file or part of vLLM")]
            for record, title in about.records:
                lines += wrapped(f"{record}: {title}", "    ", "  ")
        lines.append("")
    lines.append(Styled("TO COLLECT for a report (--note issue writes its draft)"))
    lines += [line for text in COLLECT for line in wrapped(text, "    ", "  - ")]
    return [*lines, ""]


def _walk(shown: Report) -> list[str]:
    lines = _links(
        "WOULD FAIL NEXT with these values",
        ((one.record, one.why or one.title) for one in shown.next),
    )
    lines += _links(
        "DANGEROUS with these values, though nothing is logged",
        ((one.record, one.why or one.title) for one in shown.dangers),
    )
    lines += _links(
        "RELATED", ((one.record, f"{one.kind}: {one.why or one.title}") for one in shown.related)
    )
    return lines


def _links(head: str, items: Iterable[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for record, text in items:
        lines += wrapped(f"{record}: {text.strip()}", "    ", "  ")
    return [Styled(head), *lines, ""] if lines else []
