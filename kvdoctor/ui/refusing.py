"""A key that does nothing here says why, in one line: silence looks like a hang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvdoctor.decide import Cause

if TYPE_CHECKING:
    from kvdoctor.ui.app import KvdoctorApp

OF_A_FIX = ("copy", "copy_command", "prove", "fix_detail")
ELSEWHERE = {
    "back": "this is the first step: q leaves",
    "earlier": "there is no earlier step",
    "later": "there is no later step",
    "undo": "no answer was given yet that could be taken back",
    "history": "the history is switched off",
    "symptoms": "the symptoms begin on the first page: esc leads there",
    "tour": "the tour begins on the first page: esc leads there",
    "log": "no text was read: paste a log, or o adds one",
    "pictures": "the drawings belong to a cause: esc or enter leads there",
}


def why_not(app: KvdoctorApp, action: str, parameters: tuple[object, ...]) -> str:
    """Why the action of a key is not to be had where the user stands."""
    if app.adding:
        return "this page takes only the other side's text; esc leads back, nothing is lost"
    if action in OF_A_FIX:
        return _no_fix(app)
    if action == "go":
        step = str(parameters[0])
        if step == app.step:
            return "that is what is shown now"
        if app.shown is None:
            return "nothing was read yet: paste a log first"
        return {
            "choose": "no error was found in this text",
            "values": "there are no values to change: no record covers this error",
        }.get(step, "nothing is known of what comes next")
    if app.shown is None and action not in ELSEWHERE:
        return "nothing was read yet: paste a log first"
    return ELSEWHERE.get(action, "")


def _no_fix(app: KvdoctorApp) -> str:
    """Why there is no fix to copy or to ask about."""
    shown = app.shown
    if shown is None:
        return "nothing was read yet: paste a log first"
    if app.step == "choose":
        if not shown.findings:
            return "no error was found, so there is no fix to copy"
        return "no error is taken up yet: enter takes up the marked one, then y copies its fix"
    if app.step == "values":
        return "no fix yet: the cause is not decided. Answer the question, ? if you cannot tell"
    if app.step == "related":
        return "the fixes stand with the cause: esc goes back to it"
    if shown.record is None:
        return "no record covers this error, so there is no fix; C copies a note for a report"
    if shown.fixes:
        return "this fix changes no launch command in the text; o adds one"
    if isinstance(shown.outcome, Cause):
        return "no fix is known for this cause; the page says what to do next. C copies a note"
    return "no fix is offered while the cause is not decided: v answers what is open"
