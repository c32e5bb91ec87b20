"""The report as plain text: standard output, and every place that has no screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from kvdoctor.diagnose import Broken, Cause, NoCause
from kvdoctor.document import next_step
from kvdoctor.fix import Proof
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match
from kvdoctor.report import OfferedFix, Report, input_spec
from kvdoctor.terminal import clean
from kvdoctor.values.value import Value

WIDTH = 88
LONGEST_LINE = 240  # of evidence and messages; the JSON has them whole
VALUE_LIMIT = 24

PROOF_WORDS = {
    "ran": "the guard of your own vLLM accepted these values",
    "guard": "vLLM's guard accepts these values",
    "rerun": "the failure was provoked, this was applied, and it went away",
    "source": "read in vLLM's source",
    "unproven": "UNPROVEN: not shown to work",
}


def proof_words(proof: Proof) -> str:
    """How a fix was shown to work, in words."""
    words = PROOF_WORDS[proof.level]
    span = f" (vLLM {proof.vllm})" if proof.vllm and proof.level != "unproven" else ""
    if proof.combinations:
        span = f"{span}; our copy agreed with the real one on {proof.combinations:,} combinations"
    return f"{words}{span}" + (f": {proof.note}" if proof.note else "")


def report_text(shown: Report, knowledge: Knowledge) -> str:
    """The whole report, best finding first, nothing that a terminal would act on."""
    parts: list[str] = []
    if not shown.findings and shown.record is None:
        parts += _nothing(shown)
    else:
        parts += _findings(shown)
        parts += _cause(shown)
        parts += _fixes(shown)
    parts += _links(
        "NOTED, no trouble",
        ((str(one.record), f"line {one.number}: {one.title}") for one in shown.notices),
    )
    parts += _walk(shown)
    parts.append("kvdoctor is offline and deterministic; no language model was used.")
    return clean("\n".join(parts))


def _wrapped(text: str, indent: str = "  ", first: str | None = None) -> list[str]:
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


def cut(text: str, limit: int = LONGEST_LINE) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _nothing(shown: Report) -> list[str]:
    lines = sum(len(source.paste.lines) for source in shown.sources)
    return [f"NO KNOWN TROUBLE in {lines} lines.", *_release(shown), ""]


def _release(shown: Report) -> list[str]:
    release = shown.release
    if not release.candidates:
        return []
    if len(release.candidates) == 1:
        name = release.candidates[0] + release.suffix
    else:
        name = f"{release.candidates[0]} to {release.candidates[-1]}"
    patched = ", but its lines do not fit: a patched build" if release.patched else ""
    return [f"  vLLM {name} (known from its {release.how}{patched})"]


def _findings(shown: Report) -> list[str]:
    if not shown.findings:
        return [f"RECORD {shown.record.id}: {shown.record.title}", ""] if shown.record else []
    first = shown.finding or shown.findings[0]
    lines = _finding(first) + _release(shown) + [""]
    others = [one for one in shown.findings if one is not first]
    if others:
        lines.append("ALSO SEEN")
        for other in others[:6]:
            word = "consequence" if other.role == "consequence" else "also"
            lines.append(f"  line {other.number:<6} {word:12} {cut(other.title, 100)}")
        if len(others) > 6:
            lines.append(f"  … and {len(others) - 6} more (--json lists all)")
        lines.append("")
    return lines


_ROLE_WORDS = {"root_cause": "ROOT CAUSE", "consequence": "ONLY A CONSEQUENCE", "also": "SEEN"}


def _finding(one: Match) -> list[str]:
    sure = "" if one.confidence >= 0.9 else f"  [confidence {one.confidence:.0%}]"
    lines = [f"{_ROLE_WORDS[one.role]}: {one.title}{sure}"]
    head = f"{one.exception}: " if one.exception else ""
    lines += _wrapped(cut(head + (one.message or "(no message)")))
    if one.place is not None:
        where = f"{one.place.file}:{one.place.line}" if one.place.line else one.place.file
        function = f" in {one.place.function}" if one.place.function else ""
        lines.append(f"  at {where}{function}")
    many = f", {one.count} times" if one.count > 1 else ""
    ranks = f" ({', '.join(one.processes)})" if len(one.processes) > 1 else ""
    process = f", process {one.process}" if one.process else ""
    lines.append(f"  {one.source} line {one.number}{process}{many}{ranks}")
    if one.owner not in ("vllm", ""):
        lines.append(f"  raised by {one.owner}, not by vLLM")
    if one.hint:
        lines += _wrapped(one.hint, first="  → ", indent="    ")
    for item in one.evidence:
        lines.append(f"  {item.number:>6} | {cut(item.text)}")
    for text in one.similar[:3]:
        lines += _wrapped(f"similar wording (a guess): {cut(text, 160)}")
    return lines


def _cause(shown: Report) -> list[str]:
    if shown.record is None:
        return ["No record covers this error yet.", ""] if shown.findings else []
    lines: list[str] = []
    if isinstance(shown.outcome, Cause):
        lines.append("CAUSE")
        lines += _wrapped(shown.outcome.text.strip())
    else:
        lines += ["WHAT IT MEANS", *_wrapped(shown.record.summary.strip())]
    if isinstance(shown.outcome, Broken):
        lines += _wrapped(f"This record is broken: {shown.outcome.reason}")
    if isinstance(shown.outcome, NoCause):
        lines += _wrapped("None of its causes fits these values.")
    lines += ["", *_values(shown), *_questions(shown)]
    step = next_step(shown)
    if step and not shown.fixes:
        lines += ["NEXT STEP", *_wrapped(step.strip()), ""]
    return lines


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
    lines = ["VALUES"]
    for name, value in list(shown.facts.known.items())[:VALUE_LIMIT]:
        side = f" ({value.side})" if value.side != "this" else ""
        lines.append(f"  {name + side:42} {cut(str(value.value), 60):24} {value_source(value)}")
    return [*lines, ""]


def _questions(shown: Report) -> list[str]:
    if not shown.asks:
        return []
    lines = ["STILL NEEDED"]
    for name in shown.asks:
        spec = input_spec(shown, name)
        offered = shown.facts.offered.get(name) if shown.facts else None
        usual = f" (usually {offered.value})" if offered is not None else ""
        side = f" [{spec.side}]" if spec.side in ("prefill", "decode", "both") else ""
        lines += _wrapped(f"--set {name}=…   {spec.ask}{side}{usual}", indent="      ", first="  ")
        if spec.find:
            lines += _wrapped(f"find it: {spec.find}", indent="      ")
    return [*lines, ""]


def _fixes(shown: Report) -> list[str]:
    lines: list[str] = []
    for position, one in enumerate(shown.fixes, 1):
        lines += _fix(position, one)
    if shown.withheld:
        lines.append("NOT OFFERED")
        for held in shown.withheld:
            asks = f" (needs {', '.join(held.asks)})" if held.asks else ""
            lines += _wrapped(f"{held.title}: {held.why}{asks}", indent="    ", first="  ")
        lines.append("")
    if shown.record is not None:
        lines += _published(shown)
    return lines


def _fix(position: int, one: OfferedFix) -> list[str]:
    fix = one.fix
    side = f" [{fix.side}]" if fix.side in ("prefill", "decode", "both", "router") else ""
    lines = [f"FIX {position}: {fix.title}{side}   ({fix.id})"]
    lines += [f"    {line}" for line in fix.snippet.splitlines()]
    lines += _wrapped(f"proof: {proof_words(fix.proof)}", indent="    ", first="  ")
    lines += _wrapped(f"costs: {fix.changes.strip()}", indent="    ", first="  ")
    if one.after:
        origin = " (put together from the log's arguments)" if one.restated else ""
        lines.append(f"  your command{origin}:")
        lines += [f"    {sign} {cut(line)}" for sign, line in one.changes]
    for link in one.breaks:
        lines += _wrapped(f"WARNING: with this fix vLLM would stop at {link.record}: {link.why}")
    return [*lines, ""]


def _published(shown: Report) -> list[str]:
    if shown.record is None:
        return []
    lines: list[str] = []
    for published in shown.record.published:
        for says, verdict, instead in published.advice:
            if verdict != "true":
                lines += _wrapped(f'"{says}": {instead or verdict}', indent="    ", first="  ")
    return ["PUBLISHED ADVICE THAT DOES NOT HOLD", *lines, ""] if lines else []


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
        lines += _wrapped(f"{record}: {text.strip()}", indent="    ", first="  ")
    return [head, *lines, ""] if lines else []
