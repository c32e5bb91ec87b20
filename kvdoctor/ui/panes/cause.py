"""The cause with the lines that prove it, and the fixes."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvdoctor.diagnose import Broken, Cause, NoCause
from kvdoctor.document import next_step
from kvdoctor.match import Match
from kvdoctor.pictures import picture
from kvdoctor.plain import cut, proof_words, value_source
from kvdoctor.report import OfferedFix, Report
from kvdoctor.session import State
from kvdoctor.ui.panes.base import Pane, text

PROOF_STYLE = {
    "ran": "bold $success",
    "guard": "bold $success",
    "rerun": "bold $success",
    "source": "bold $warning",
    "unproven": "bold $error",
}


class CausePane(Pane):
    """Everything on one scrolling page; the fixes are a list, so that y knows which one."""

    GUIDE = (
        "y copies the marked fix, up and down mark another one, v changes a value, "
        "n shows what would fail next, p asks the guard of your own vLLM, Y copies a note."
    )

    def compose(self) -> ComposeResult:
        yield Static("", id="cause-text")
        yield OptionList(id="fixes", markup=False)
        yield Static("", id="after-fixes")

    def show(self, shown: Report | None, state: State) -> None:
        options = self.query_one("#fixes", OptionList)
        options.clear_options()
        if shown is None:
            return
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        self.query_one("#cause-text", Static).update(_story(shown))
        for one in shown.fixes:
            options.add_option(Option(_fix(one), id=one.fix.id))
        options.display = bool(shown.fixes)
        if shown.fixes:
            options.highlighted = 0
        self.query_one("#after-fixes", Static).update(_rest(shown, ascii_only))
        self.scroll_home(animate=False)

    def marked(self) -> str:
        """The id of the marked fix, "" when there is none."""
        options = self.query_one("#fixes", OptionList)
        if options.highlighted is None or not options.display:
            return ""
        return options.get_option_at_index(options.highlighted).id or ""

    def take_focus(self) -> None:
        options = self.query_one("#fixes", OptionList)
        if options.display:
            options.focus(scroll_visible=False)
        else:
            self.focus()


def _story(shown: Report) -> Content:
    """What is wrong, before the fixes: at 80×24 both must fit on the first page."""
    finding = shown.finding
    title = shown.record.title if shown.record else (finding.title if finding else "")
    parts = [text(title, "bold $error")]
    if finding is not None:
        head = f"{finding.exception}: " if finding.exception else ""
        parts.append(text(cut(head + (finding.message or "(no message)"), 240)))
        if finding.owner not in ("vllm", ""):
            parts.append(text(f"Raised by {finding.owner}, not by vLLM.", "bold"))
        if finding.hint:
            parts.append(text(finding.hint, "bold $warning"))
    parts.append(text(""))
    parts += _why(shown)
    return Content("\n").join(parts)


def _found(one: Match) -> list[Content]:
    """Where it stands and the lines that prove it."""
    many = f", {one.count} times" if one.count > 1 else ""
    process = f", {one.process}" if one.process else ""
    where = f" at {one.place.file}:{one.place.line}" if one.place is not None else ""
    sure = "" if one.confidence >= 0.9 else f", {one.confidence:.0%} sure"
    parts = [
        text("Evidence", "bold"),
        text(f"{one.source} line {one.number}{process}{many}{where}{sure}", "dim"),
    ]
    parts += [text(f"{item.number:>6} │ {cut(item.text, 400)}", "$accent") for item in one.evidence]
    for similar in one.similar[:3]:
        parts.append(text(f"similar wording, a guess: {cut(similar, 200)}", "dim"))
    return parts


def _why(shown: Report) -> list[Content]:
    if shown.record is None:
        return [text("No record covers this error yet. Y copies a note with all that is known.")]
    outcome = shown.outcome
    if isinstance(outcome, Cause):
        parts = [text("Cause  ", "bold") + text(outcome.text.strip())]
    else:
        parts = [text("What it means  ", "bold") + text(" ".join(shown.record.summary.split()))]
    if isinstance(outcome, Broken):
        parts.append(text(f"This record is broken: {outcome.reason}", "$error"))
    if isinstance(outcome, NoCause):
        parts.append(text("None of its causes fits these values; v changes them.", "$warning"))
    if shown.asks:
        parts.append(text(f"Not decided: {', '.join(shown.asks)} (v answers)", "bold $warning"))
    step = next_step(shown)
    if step and not shown.fixes:
        parts.append(text("Next step  ", "bold") + text(step.strip()))
    return parts


def _values(shown: Report) -> list[Content]:
    if shown.facts is None or not shown.facts.known:
        return []
    rows = [text(""), text("Values", "bold")]
    for name, value in shown.facts.known.items():
        rows.append(
            Content.assemble(
                text(f"  {name:34.34} "),
                text(f"{str(value.value)[:40]:14} ", "bold"),
                text(value_source(value)[:90], "dim"),
            )
        )
    return rows


def _fix(one: OfferedFix) -> Content:
    fix = one.fix
    side = f"  [{fix.side}]" if fix.side in ("prefill", "decode", "both", "router") else ""
    parts: list[Content] = [
        text("Fix  ", "bold") + text(fix.title, "bold") + text(side),
        text("\n".join(f"    {line}" for line in fix.snippet.splitlines()), "bold $success"),
        text("  ")
        + text(fix.proof.level.upper(), PROOF_STYLE[fix.proof.level])
        + text(f"  {proof_words(fix.proof)}"),
        text(f"  costs: {' '.join(fix.changes.split())}", "dim"),
    ]
    if one.after:
        parts += [text(f"  - {one.before}", "$error"), text(f"  + {one.after}", "$success")]
    for link in one.breaks:
        parts.append(text(f"  WARNING: vLLM would then stop at {link.title}", "bold $error"))
    return Content("\n").join(parts)


def _rest(shown: Report, ascii_only: bool) -> Content:
    """Everything that can wait until after the fix."""
    parts: list[Content] = []
    if shown.next:
        parts.append(
            text(f"{len(shown.next)} more would fail next with these values: n", "bold $warning")
        )
    elif shown.dangers:
        parts.append(text("Dangerous with these values: n", "bold $warning"))
    parts += _advice(shown)
    drawn = picture(shown, ascii_only)
    if drawn:
        parts += [text(""), text(drawn)]
    if shown.finding is not None:
        parts += [text(""), *_found(shown.finding)]
    parts += _values(shown)
    return Content("\n").join(parts) if parts else Content("")


def _advice(shown: Report) -> list[Content]:
    """Fixes that are not offered and published advice that does not hold, each with the reason."""
    parts: list[Content] = []
    if shown.withheld:
        parts.append(text("Not offered", "bold"))
        parts += [text(f"  {one.title}: {one.why}", "dim") for one in shown.withheld]
    for published in shown.record.published if shown.record is not None else ():
        for says, verdict, instead in published.advice:
            if verdict != "true":
                told = f'Published advice "{says}": {instead or verdict}'
                parts.append(text(told, "$warning"))
    return parts
