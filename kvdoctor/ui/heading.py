"""The top line: where the user stands, and which vLLM release the log is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.widgets import Static

from kvdoctor.ui.glyphs import glyphs_of
from kvdoctor.ui.panes.base import text

if TYPE_CHECKING:
    from kvdoctor.report import Report
    from kvdoctor.session import State

NARROW = 60  # columns under which the whole trail does not fit
STEPS = (
    ("start", "paste"),
    ("choose", "error"),
    ("values", "values"),
    ("cause", "cause and fix"),
    ("related", "next"),
)


class Heading(Static):
    """Breadcrumb of the flow; the current step is bracketed, so that it reads without colour."""

    _small = False
    _step = "start"
    _told = Content("")

    def show(self, shown: Report | None, state: State) -> None:
        self._step = state.visit.step
        self._told = self._release(shown)
        self.update(self._trail(self._step) + self._told)

    def on_mount(self) -> None:
        self.update(self._trail("start"))

    def on_resize(self, event: events.Resize) -> None:
        """A narrow or low terminal: only the step, so that what matters has the room."""
        small = self.app.size.width < NARROW
        if small != self._small:
            self._small = small
            self.update(self._trail(self._step) + self._told)

    def _trail(self, step: str) -> Content:
        if self._small:
            return text(f"[{dict(STEPS)[step]}]", "bold reverse")
        trail = text("kvdoctor ", "bold")
        for position, (name, word) in enumerate(STEPS):
            if position:
                trail += text(f" {glyphs_of(self.app).then} ", "dim")
            trail += text(f"[{word}]", "bold reverse") if name == step else text(word, "dim")
        return trail

    def _release(self, shown: Report | None) -> Content:
        if shown is None or not shown.release.candidates:
            return Content("")
        candidates = shown.release.candidates
        name = candidates[0] if len(candidates) == 1 else f"{candidates[0]} to {candidates[-1]}"
        return text(f"  vLLM {name}{shown.release.suffix}", "bold")
