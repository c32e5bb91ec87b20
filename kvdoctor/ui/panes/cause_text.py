"""What the cause page says, as content: the story, the fixes, the tree, the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import wrap

from textual.content import Content

from kvdoctor.decide import Asks, Branch, Broken, Cause, NoCause
from kvdoctor.fix import Proof
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Evidence, Match
from kvdoctor.report import OfferedFix, Report, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.show.commands import Sided
from kvdoctor.show.document import next_step
from kvdoctor.show.plain import Styled, cut, proof_words, unrecorded_lines, value_source
from kvdoctor.ui.changes import RESTATED, changed_parts
from kvdoctor.ui.glyphs import Glyphs
from kvdoctor.ui.panes.base import one_line, text
from kvdoctor.ui.places import line_at, source_name, telling
from kvdoctor.values.value import Value

PROOF_STYLE = {
    "ran": "bold $text-success",
    "guard": "bold $text-success",
    "rerun": "bold $text-success",
    "source": "bold $text-warning",
    "unproven": "bold $text-error",
}
WARN = "bold $text-warning"
BAD = "bold $text-error"
SNIPPET_LINES = 8  # more of a long one with enter
CHANGED_LINES = 6
FEW_UNEXPLAINED = 6  # numbers of error lines that nothing explains


def story(shown: Report, room: int, glyphs: Glyphs) -> Content:
    """What is wrong and why: at 80×24 it must leave room for the first fix."""
    finding = shown.finding
    title = shown.record.title if shown.record else (finding.title if finding else "")
    parts = [text(f"{glyphs.no} {title}", "bold $text-error")]
    if finding is not None:
        parts += error_lines(finding, room, glyphs)
        if finding.owner not in ("vllm", ""):
            parts.append(text(f"Raised by {finding.owner}, not by vLLM.", "bold"))
        if finding.hint:
            parts.append(text(finding.hint, "bold $text-warning"))
    parts.append(text(""))
    parts += _why(shown)
    return Content("\n").join(parts)


def error_lines(one: Match, room: int, glyphs: Glyphs, rows: int = 2) -> list[Content]:
    """The error as the log has it, on ``rows`` rows at most, and where it stands."""
    head = f"{one.exception}: " if one.exception else ""
    message = cut(head + (one.message or "(no message)"), 2 * rows * room)
    return [
        one_line(message, rows * room, sign=glyphs.cut),
        one_line(_where(one), room, "dim", glyphs.cut),
    ]


def meaning(shown: Report, room: int, rows: int, glyphs: Glyphs) -> list[Content]:
    """What the record says of the failure, on ``rows`` rows at most."""
    if shown.record is None:
        return []
    lines = wrap(" ".join(shown.record.summary.split()), room) or [""]
    if len(lines) > rows:
        lines = [*lines[: rows - 1], f"{lines[rows - 1][: room - 2]} {glyphs.cut}"]
    return [text(line, "dim") for line in lines]


def _where(one: Match) -> str:
    many = f", {one.count} times" if one.count > 1 else ""
    process = f", {one.process}" if one.process else ""
    sure = "" if one.confidence >= 0.9 else f", {one.confidence:.0%} sure"
    place = ""
    if one.place is not None:
        line = f":{one.place.line}" if one.place.line else ""
        place = f", raised at {one.place.file.rpartition('/')[2]}{line}"
    return f"{source_name(one.source)} line {one.number}{process}{many}{sure}{place}"


def _why(shown: Report) -> list[Content]:
    if shown.record is None:
        return [text("No record covers this error yet. Below: what is known of its place.")]
    outcome = shown.outcome
    if isinstance(outcome, Cause):
        parts = [text("Cause  ", "bold") + text(" ".join(outcome.text.split()))]
    else:
        parts = [text("What it means  ", "bold") + text(" ".join(shown.record.summary.split()))]
    if isinstance(outcome, Broken):
        parts.append(text(f"This record is broken: {outcome.reason}", "$text-error"))
    if isinstance(outcome, NoCause):
        if shown.undecided:
            parts.append(text("Without an answer it cannot be decided (v). It is one of:", "bold"))
            parts += [text(f"- {one}") for one in shown.undecided]
        else:
            told = "None of its causes fits these values; v changes them."
            parts.append(text(told, "$text-warning"))
    if shown.asks:
        asked = [text(f"- {input_spec(shown, name).ask}") for name in shown.asks]
        parts += [text("Not decided; v answers what is open:", "bold"), *asked]
    step = next_step(shown)
    if step and not shown.fixes:
        parts += [text(""), text("Next step  ", "bold") + text(" ".join(step.split()))]
    return parts


def unrecorded(shown: Report, knowledge: Knowledge) -> Content:
    """For an error without a record: since when it exists, its source, its neighbours."""
    return Content("\n").join(
        text(line.rstrip(), "bold" if isinstance(line, Styled) else "")
        for line in unrecorded_lines(shown, knowledge)
    )


def proof_line(proof: Proof, glyphs: Glyphs) -> tuple[str, str]:
    """The level as a word with a sign, and what it means, without the evidence."""
    sign = glyphs.no if proof.level == "unproven" else glyphs.yes
    return f"{sign} {proof.level.upper()}", proof_words(replace(proof, note=""))


def fix_row(
    one: OfferedFix,
    position: int,
    many: int,
    room: int,
    glyphs: Glyphs,
    sided: Sided = (),
    *,
    tall: bool = False,
) -> Content:
    """One fix: title, the text to copy, the proof, what it costs, the user's own command."""
    fix = one.fix
    side = f"  [{fix.side}]" if fix.side in ("prefill", "decode", "both", "router") else ""
    number = f" {position} of {many}" if many > 1 else ""
    level, words = proof_line(fix.proof, glyphs)
    snippet = fix.snippet.splitlines()
    parts: list[Content] = [
        text(f"Fix{number}  ", "bold $text-accent") + text(fix.title, "bold") + text(side),
        *(text(f"    {line}", "bold $text-success") for line in snippet[:SNIPPET_LINES]),
    ]
    if len(snippet) > SNIPPET_LINES:
        parts.append(text(f"    {glyphs.cut} {len(snippet) - SNIPPET_LINES} more lines", "dim"))
    first, *more = wrap(f"{level}  {words}", room - 8)
    parts += [
        text("  proof ", "dim")
        + text(level, PROOF_STYLE[fix.proof.level])
        + text(first[len(level) :]),
        *(text(f"        {line}") for line in more),
        *_costs(fix.changes, room, glyphs, 6 if tall else 2),
    ]
    for side, each in sided or (("this", one),):
        if len(sided) > 1:
            parts.append(text(f"  {side}", "dim"))
        parts += [
            text("  ") + one_line(f"{sign} {line}", room - 2, style, glyphs.cut)
            for sign, line, style in changed_parts(each, CHANGED_LINES, glyphs.arrow)
        ]
    if one.restated and len(sided) > 1:
        told = wrap(f"c copies both commands, each {RESTATED}.", room - 2)
        parts += [text(f"  {line}", "dim") for line in told]
    elif one.restated:
        told = wrap(f"c copies your command {RESTATED}.", room - 2)
        parts += [text(f"  {line}", "dim") for line in told]
    for link in one.stops:
        stops = "still stops" if link in one.still_fails else "would then stop"
        parts.append(text(f"  {glyphs.no} WARNING: vLLM {stops} at: {link.title}", BAD))
    parts.append(text(""))
    return Content("\n").join(parts)


def _costs(changes: str, room: int, glyphs: Glyphs, rows: int) -> list[Content]:
    """What a fix costs, on ``rows`` lines at most; enter shows it whole."""
    lines = wrap(" ".join(changes.split()), room - 8) or [""]
    if len(lines) > rows:
        lines = [*lines[: rows - 1], f"{lines[rows - 1][: room - 10]} {glyphs.cut}"]
    return [
        text("        " if at else "  costs ", "dim") + text(line) for at, line in enumerate(lines)
    ]


BRANCH_WORDS = {
    "holds": "holds",
    "ruled-out": "ruled out",
    "open": "open",
    "other-release": "other release",
    "not-reached": "not reached",
}


def tree(shown: Report, before: Mapping[str, str], room: int, glyphs: Glyphs) -> Content:
    """Every check of the record as it came out; what an answer changed says what it was."""
    outcome = shown.outcome
    if shown.record is None or outcome is None or not outcome.branches:
        return Content("")
    checks = {one.id: one for one in shown.record.checks}
    parts = [text("Decision tree", "bold")]
    for branch in outcome.branches:
        check = checks.get(branch.check)
        span = f" (vLLM {check.vllm})" if check is not None and check.vllm else ""
        when = "" if check is None else " ".join(check.when.split())
        sign, style = _branch_look(branch, glyphs)
        was = before.get(branch.check, branch.state)
        changed = f"  <- was {BRANCH_WORDS.get(was, was)}" if was != branch.state else ""
        head = text(f"  {sign} {BRANCH_WORDS.get(branch.state, branch.state):13} ", style)
        row = head + text(branch.check, "bold" if branch.state == "holds" else "")
        row += text(changed, "bold $text-warning")
        left = room - row.cell_length - 4
        told = span if branch.state == "other-release" else f"{span} when {when}"
        if left > 12 and told.strip():
            row += text(" ") + one_line(told, left, "dim", glyphs.cut)
        parts.append(row)
    if isinstance(outcome, Asks):
        parts.append(text(f"  {glyphs.open} needs {', '.join(outcome.names)}: v answers", "bold"))
    return Content("\n").join(parts)


def _branch_look(branch: Branch, glyphs: Glyphs) -> tuple[str, str]:
    return {
        "holds": (glyphs.yes, "bold $text-success"),
        "ruled-out": (glyphs.no, "dim"),
        "open": (glyphs.open, "bold $text-warning"),
        "other-release": (glyphs.other, "dim"),
    }.get(branch.state, (glyphs.unreached, "dim"))


def advice(shown: Report) -> Content:
    """Fixes that are not offered and published advice that does not hold, each with the reason."""
    parts: list[Content] = []
    if shown.next:
        parts.append(text(f"{len(shown.next)} more would fail next with these values: n", WARN))
    elif shown.dangers:
        parts.append(text("Dangerous with these values: n", WARN))
    if shown.unexplained:
        many = len(shown.unexplained)
        rows = ", ".join(str(one.number) for one in shown.unexplained[:FEW_UNEXPLAINED])
        more = ", …" if many > FEW_UNEXPLAINED else ""
        kinds = "kind of error line" if many == 1 else "kinds of error lines"
        parts.append(text(f"{many} {kinds} that nothing here explains: {rows}{more} (l)", WARN))
    if shown.withheld:
        parts.append(text("Not offered", "bold"))
        parts += [text(f"  {one.title}: {one.why}") for one in shown.withheld]
    told: list[str] = []
    for published in shown.record.published if shown.record is not None else ():
        for says, verdict, instead in published.advice:
            if verdict != "true":
                told.append(f'  "{says}": {instead or verdict}')
    if told:
        parts.append(text("Published advice that does not hold", "bold $text-warning"))
        parts += [text(line) for line in dict.fromkeys(told)]
    return Content("\n").join(parts) if parts else Content("")


def evidence_row(shown: Report, item: Evidence, room: int, glyphs: Glyphs) -> Content:
    """One line of evidence on one row: its number, its process, what it says."""
    line = line_at(shown.sources, item.source, item.number)
    process = f"{line.process} " if line is not None and line.process else ""
    message = shown.finding.message if shown.finding is not None else ""
    left = room - 9 - len(process)
    said = telling(line, item.text, left, message.splitlines()[0] if message else "")
    return (
        text(f"{item.number:>6} {glyphs.bar} ", "dim")
        + text(process, "dim")
        + one_line(said, left, "", glyphs.cut)
    )


def value_row(name: str, value: Value | None, room: int, glyphs: Glyphs) -> Content:
    """An input, its value and where that was read; for an open one, that it is not known."""
    names, numbers = (40, 80) if room >= 170 else (40, 24) if room >= 110 else (26, 14)
    side = f" ({value.side})" if value is not None and value.side in ("prefill", "decode") else ""
    shown = "?" if value is None else spoken(value.value)
    if shown.startswith(("/", "./")) and len(shown) > numbers:  # a path is told by its end
        shown = glyphs.cut + shown[len(glyphs.cut) - numbers :]
    if len(name + side) > names:
        name = name[: names - len(side) - len(glyphs.cut)] + glyphs.cut
    left = room - names - numbers - 2
    cells = (
        (name + side, names, ""),
        (shown, numbers, "bold"),
        ("not known" if value is None else source_words(value, left, glyphs), left, "dim"),
    )
    return _columns(cells, glyphs)


def source_words(value: Value, width: int, glyphs: Glyphs) -> str:
    """Where a value was read within ``width`` cells: of a path its end, and always the line."""
    whole = value_source(value)
    if len(whole) <= width or not value.source or not value.number:
        return whole
    line = f":{value.number}"
    path = value.source.replace("\\", "/")
    if len(path + line) > width:
        path = path.rpartition("/")[2]
    if len(path + line) > width:
        path = glyphs.cut + path[len(path) - max(1, width - len(line) - len(glyphs.cut)) :]
    return path + line


def _columns(cells: Iterable[tuple[str, int, str]], glyphs: Glyphs) -> Content:
    """Cells beside each other, each cut or filled to its width."""
    row = Content("")
    for value, width, style in cells:
        cell = one_line(value, width, style, glyphs.cut)
        row += cell + text(" " * (width - cell.cell_length + 1))
    return row
