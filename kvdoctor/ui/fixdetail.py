"""One fix whole: every line, the evidence of its proof, the user's command before and after."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvdoctor.report import OfferedFix
from kvdoctor.show.commands import Sided
from kvdoctor.show.plain import proof_words
from kvdoctor.ui.changes import RESTATED, changed_parts
from kvdoctor.ui.glyphs import glyphs_of
from kvdoctor.ui.panes.base import FRONT, text
from kvdoctor.ui.panes.cause_text import PROOF_STYLE, proof_line


class FixScreen(ModalScreen[str]):
    """Answers with what to copy: "fix", "command", or "" for nothing."""

    CSS_PATH = FRONT

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "leave('')", "close"),
        Binding("y", "leave('fix')", "copy fix"),
        Binding("c", "leave('command')", "copy command"),
    ]

    def __init__(self, one: OfferedFix, sided: Sided = ()) -> None:
        super().__init__()
        self._one = one
        self._sided = sided

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._page())

    def _page(self) -> Content:
        fix = self._one.fix
        level, _ = proof_line(fix.proof, glyphs_of(self.app))
        parts = [
            text(fix.title, "bold"),
            *(text(f"    {line}", "bold $text-success") for line in fix.snippet.splitlines()),
            text(""),
            text("proof  ", "dim") + text(level, PROOF_STYLE[fix.proof.level]),
            text(proof_words(fix.proof)),
            text(""),
            text("costs  ", "dim") + text(" ".join(fix.changes.split())),
        ]
        for side, each in self._sided:
            whose = f"{side}'s" if side in ("prefill", "decode") else "your"
            restated = f" ({RESTATED})" if each.restated else ""
            parts += [text(""), text(f"what changes in {whose} command", "dim")]
            parts += [
                text(f"  {sign} {line}", style)
                for sign, line, style in changed_parts(each, 40, glyphs_of(self.app).arrow)
            ]
            parts += [text(""), text(f"{whose} whole command after it{restated}", "dim")]
            parts.append(text(each.after))
        for link in self._one.stops:
            stops = "still stops" if link in self._one.still_fails else "would then stop"
            parts.append(text(f"WARNING: vLLM {stops} at {link.title}", "bold $text-error"))
            parts.append(text(f"  {link.why}"))
        commands = "commands" if len(self._sided) > 1 else "command"
        keys = "y copies the fix" + (f", c the {commands}" if self._sided else "")
        return Content("\n").join([*parts, text(""), text(f"{keys}, esc closes", "dim")])

    def action_leave(self, what: str) -> None:
        self.dismiss(what if what != "command" or self._sided else "")
