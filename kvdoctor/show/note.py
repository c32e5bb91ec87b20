"""The incident note: what was found, from which values, and what fixes it, to paste elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

from kvdoctor import __version__
from kvdoctor.decide import Cause
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match
from kvdoctor.record import Record
from kvdoctor.report import Report, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.show.document import next_step
from kvdoctor.show.plain import cut, proof_words, stop_words, value_source
from kvdoctor.terminal import clean

EVIDENCE_WIDTH = 300
FORMATS = ("markdown", "slack", "plain", "issue")


def incident_note(
    shown: Report, knowledge: Knowledge, form: str = "markdown", *, hide_hosts: bool = False
) -> str:
    """The note in one of :data:`FORMATS`. Pasted text is escaped for that format.

    ``hide_hosts``: hosts, addresses and pods become tokens, the same name always the same one."""
    builder = {
        "markdown": _markdown,
        "slack": _slack,
        "plain": _plain,
        "issue": _issue,
    }[form]
    text = clean(builder(shown, knowledge)).rstrip() + "\n"
    if not hide_hosts:
        return text
    from kvdoctor.show.hiding import Hider

    pods = {line.pod for source in shown.sources for line in source.paste.lines if line.pod}
    prose = prose_of(shown.record) if shown.record is not None else []
    return Hider(pods, prose).hide(text)


def prose_of(record: Record) -> list[str]:
    """What a record says in its own words; its examples are logs."""
    checks = [text for one in record.checks for text in (one.cause, one.next_step)]
    inputs = [text for one in record.inputs.values() for text in (one.ask, one.find)]
    fixes = [
        text
        for one in record.fixes.values()
        for text in (one.title, one.snippet, one.changes, one.proof.note)
    ]
    advice = [text for known in record.published for one in known.advice for text in one]
    related = [one.why for one in record.related]
    return [record.title, record.summary, *checks, *inputs, *fixes, *advice, *related]


def _title(shown: Report) -> str:
    finding = shown.finding
    if shown.record is not None:
        return shown.record.title
    return finding.title if finding is not None else "no known trouble"


def _release(shown: Report) -> str:
    release = shown.release
    if not release.candidates:
        return "not known"
    if len(release.candidates) > 1:
        return f"{release.candidates[0]} to {release.candidates[-1]} (from its {release.how})"
    return f"{release.candidates[0]}{release.suffix} (from its {release.how})"


def _cause(shown: Report) -> str:
    if isinstance(shown.outcome, Cause):
        return shown.outcome.text.strip()
    return shown.record.summary.strip() if shown.record is not None else ""


def _site(finding: Match) -> str:
    if finding.place is None:
        return "not known"
    function = f" in {finding.place.function}" if finding.place.function else ""
    return f"{finding.place.file}:{finding.place.line}{function}"


def fenced(text: str) -> str:
    """``text`` in a code block that nothing inside can close."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def inline(text: str) -> str:
    """``text`` as inline code of Markdown, whatever it holds."""
    flat = " ".join(text.split())
    longest = run = 0
    for character in flat:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    ticks = "`" * (longest + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{space}{flat}{space}{ticks}" if flat else "(none)"


def _flat(text: str) -> str:
    return text.replace("\n", " ").rstrip()


def _evidence(finding: Match) -> str:
    return "\n".join(
        f"{item.number:>6} | {cut(_flat(item.text), EVIDENCE_WIDTH)}" for item in finding.evidence
    )


def _markdown(shown: Report, knowledge: Knowledge) -> str:
    return _rich(shown, "### ", inline, fenced, _bold_markdown)


def _bold_markdown(text: str) -> str:
    return f"**{escaped(' '.join(text.split()))}**"


_LINE_START = re.compile(r"^([ \t]*)([-+=]|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)


def escaped(text: str) -> str:
    """``text`` as Markdown prose that shows itself and starts no construct, link or HTML."""
    shown = "".join(
        f"\\{one}" if one in "\\`*_{}[]<>#|!~@" else "&amp;" if one == "&" else one for one in text
    )
    shown = shown.replace("://", "\\://").replace("www.", "www\\.")
    return _LINE_START.sub(_at_start, shown)


def _at_start(found: re.Match[str]) -> str:
    """A list, a heading's underline or an indented block begins only at the start of a line."""
    sign = found[2]
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


_SLACK_ANGLE = re.compile(r"<(?=[^\s=<])")
_QUOTE = re.compile(r"^>", re.MULTILINE)
_MENTION = re.compile(r"@(channel|here|everyone)\b", re.IGNORECASE)


def _slack(shown: Report, knowledge: Knowledge) -> str:
    def entities(text: str) -> str:
        """For pasting by hand: no entities. A pair of angles is Slack's form of a mention or a
        link when a program posts the text, so "<" becomes a look-alike where one could begin."""
        return _SLACK_ANGLE.sub("‹", text)

    def prose(text: str) -> str:
        """Slack has no escape for its signs: look-alikes that start no code, bold or mention."""
        plain = (
            _QUOTE.sub("›", entities(text)).replace("`", "'").replace("*", "∗").replace("~", "∼")
        )
        return _MENTION.sub(r"(at)\1", plain)

    def code(text: str) -> str:
        flat = entities(" ".join(text.split())).replace("`", "'")
        return f"`{flat}`" if flat else "(none)"

    def block(text: str) -> str:
        return f"```\n{entities(text).replace('```', chr(39) * 3)}\n```"

    def bold(text: str) -> str:
        return f"*{prose(' '.join(text.split()))}*"

    return _rich(shown, "", code, block, bold, prose)


def _rich(
    shown: Report,
    head: str,
    code: Callable[[str], str],
    block: Callable[[str], str],
    bold: Callable[[str], str],
    prose: Callable[[str], str] = escaped,
) -> str:
    finding = shown.finding
    lines = [f"{head}{bold(_title(shown))}", ""]
    if finding is not None:
        lines += [
            f"- error: {code(cut(finding.error, EVIDENCE_WIDTH))}",
            f"- raised at: {code(_site(finding))}",
            f"- process: {code(finding.process or 'not named')}, "
            f"{finding.count} time{'s' if finding.count != 1 else ''}",
        ]
    lines += [f"- vLLM: {prose(_release(shown))}", ""]
    cause = _cause(shown)
    if cause:
        lines += [bold("Cause"), prose(cause), ""]
    for title, rows in _open_points(shown):
        lines += [bold(title), *(f"- {prose(row)}" for row in rows), ""]
    if finding is not None and finding.evidence:
        lines += [bold("Evidence"), block(_evidence(finding)), ""]
    values = _value_lines(shown)
    if values:
        lines += [bold("Values"), block("\n".join(values)), ""]
    for one in shown.fixes:
        lines += [
            bold(f"Fix: {one.fix.title}{_of_side(one.fix.side)}"),
            block(one.fix.snippet),
            prose(f"proof: {proof_words(one.fix.proof)}"),
            prose(f"costs: {one.fix.changes.strip()}"),
            *(prose(f"warning: {warning}") for warning in stop_words(one)),
            "",
        ]
    step = next_step(shown)
    if step and not shown.fixes:
        lines += [bold("Next step"), prose(step.strip()), ""]
    if shown.next:
        lines += [bold("Would fail next")]
        lines += [f"- {code(link.record)} {prose(link.why or link.title)}" for link in shown.next]
        lines.append("")
    lines.append(prose(f"kvdoctor {__version__}: offline, deterministic, no language model."))
    return "\n".join(lines)


def _of_side(side: str) -> str:
    """Whose fix it is; nothing where only one side, the log's own, is in question."""
    return (
        f" ({side})"
        if side in ("prefill", "decode", "both", "router")
        else (" (the other side)" if side == "other" else "")
    )


def _open_points(shown: Report) -> list[tuple[str, list[str]]]:
    """What is not decided: the questions still open, and the causes that stay possible."""
    points: list[tuple[str, list[str]]] = []
    if shown.asks:
        rows = []
        for name in shown.asks:
            spec = input_spec(shown, name)
            find = f" Find it: {' '.join(spec.find.split())}" if spec.find else ""
            rows.append(f"{' '.join(spec.ask.split())} ({name}).{find}")
        points.append(("Not decided yet, open questions", rows))
    if shown.undecided:
        points.append(
            ("Not decided, it is one of", [" ".join(one.split()) for one in shown.undecided])
        )
    return points


def _value_lines(shown: Report) -> list[str]:
    if shown.facts is None:
        return []
    return [
        f"{name} = {_flat(spoken(value.value))}   {value_source(value)}"
        for name, value in shown.facts.known.items()
    ]


def _plain(shown: Report, knowledge: Knowledge) -> str:
    from kvdoctor.show.plain import report_text

    return report_text(shown, knowledge)


def _issue(shown: Report, knowledge: Knowledge) -> str:
    """A filled-in draft for the tracker of the project that owns the error."""
    finding = shown.finding
    owner = finding.owner if finding is not None and finding.owner else "vllm"
    error = finding.error if finding is not None else _title(shown)
    is_bug = _is_bug(shown)
    head = f"<!-- draft of a report to {_word(owner)} -->"
    if not is_bug:
        head = (
            "<!-- As far as it is known this is a question of configuration, and no bug: see the\n"
            "analysis below. A draft to ask with, not to report one -->"
        )
    lines = [
        head,
        f"# [{'Bug' if is_bug else 'Usage'}] {escaped(' '.join(cut(error, 120).split()))}",
        "",
        "## Environment",
        "",
        f"- vLLM: {escaped(_release(shown))}",
        f"- connector: {inline(_connector(shown))}",
        "",
    ]
    if shown.commands:
        lines += ["## Launch command", ""]
        lines += [fenced(launch.command.text) for launch in shown.commands[:2]] + [""]
    lines += ["## What happens", ""]
    if finding is not None:
        lines += [
            fenced(cut(error, 2000)),
            "",
            f"Raised at {inline(_site(finding))}, process "
            f"{inline(finding.process or 'not named')}.",
            "",
            fenced(_evidence(finding)),
            "",
        ]
    lines += _site_lines(shown, knowledge)
    values = _value_lines(shown)
    if values:
        lines += ["## Values", "", fenced("\n".join(values)), ""]
    cause = _cause(shown)
    if cause:
        lines += ["## Analysis", "", escaped(cause), ""]
    for title, rows in _open_points(shown):
        lines += [f"## {title}", "", *(f"- {escaped(row)}" for row in rows), ""]
    lines += [
        "## To add",
        "",
        "- the whole log of every process of both sides",
        "- the output of `vllm collect-env`",
        "",
    ]
    lines.append(escaped(f"Prepared with kvdoctor {__version__} (no language model)."))
    return "\n".join(lines)


_OWN_FAULT = ("upgrade", "report-bug")


def _is_bug(shown: Report) -> bool:
    """Whether the owner of the error has something to mend: no record knows it, or one that has
    another vLLM or a report among its fixes, and no change of the user's own set-up."""
    if shown.record is None or shown.record.status != "proven":
        return True
    kinds = {one.kind for one in shown.record.fixes.values()}
    if isinstance(shown.outcome, Cause):
        fixes = shown.record.fixes
        kinds = {fixes[name].kind for name in shown.outcome.check.fixes} or kinds
    return bool(kinds & set(_OWN_FAULT))


def _site_lines(shown: Report, knowledge: Knowledge) -> list[str]:
    """For an error without a record: since when it exists and what it guards."""
    from kvdoctor.show.unrecorded import history, unrecorded

    about = unrecorded(shown, knowledge)
    if about is None:
        return []
    lines = [escaped(history(about)), ""]
    if about.source and about.found is not None:
        text = "\n".join(f"{one.number:5} {one.text}" for one in about.source)
        lines += [f"The source in vLLM {inline(about.found.release or 'installed')}:", ""]
        lines += [fenced(text), ""]
    return lines


def _word(text: str) -> str:
    """``text`` for an HTML comment: letters, digits and single separators, nothing that ends it."""
    return re.sub(r"[^\w.]+", "-", text)[:60]


def _connector(shown: Report) -> str:
    if shown.config is not None and shown.config.connectors:
        return ", ".join(shown.config.connectors)
    return "not known"
