"""What the keys do once something was read: moves through the flow, copying, screens in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App, SystemCommand
    from textual.screen import Screen

    from kvdoctor.report import OfferedFix, Report
    from kvdoctor.ui.app import KvdoctorApp

    Base = App[int]
else:
    Base = object


class Actions(Base):
    """Actions of the application. Each imports what it needs when it is first used."""

    shown: Report | None
    _adding_side: bool
    _wanted: str  # the side whose text is missing, "" when it is not known
    _confirming: str

    @property
    def _me(self) -> KvdoctorApp:
        from kvdoctor.ui.app import the_app

        return the_app(self)

    # -- through the flow -----------------------------------------------------------------------

    async def action_back(self) -> None:
        """One step back; on the tour: leave it."""
        from kvdoctor import session

        state = session.back(self._me.state)
        if self._me.adding:
            self._me.take(replace(state, future=()))
        elif self._me.touring:
            self._me.leave_tour()
        else:
            self._me.take(state)

    def action_go(self, step: str) -> None:
        from kvdoctor import session

        self._me.take(session.go(self._me.state, step))

    def action_undo(self) -> None:
        from kvdoctor import session

        self._me.take(session.undo(self._me.state, self._me.knowledge))

    def action_other_side(self) -> None:
        """The next paste or file joins what is there instead of replacing it."""
        from kvdoctor import session
        from kvdoctor.ui.places import lacking

        self._adding_side = True
        self._wanted = lacking(self.shown)
        self._me.take(replace(session.go(self._me.state, "start"), message=""))

    def change_value(self, name: str) -> None:
        """From a value on the cause page to the field that changes it."""
        from kvdoctor.ui.panes.values import ValuesPane

        self.action_go("values")
        pane = self.query_one(ValuesPane)
        if self.shown is not None and self._me.step == "values":
            pane.change(self.shown, name)

    def action_take_up(self) -> None:
        """Enter, for those who click on the word."""
        from textual.widgets import OptionList

        if isinstance(self.focused, OptionList):
            self.focused.action_select()

    async def action_answer(self) -> None:
        from textual.widgets import Input

        if isinstance(self.focused, Input):
            await self.focused.action_submit()

    async def action_cannot_tell(self) -> None:
        """A click on the word: the answer of somebody who cannot tell."""
        from textual.widgets import Input

        if isinstance(self.focused, Input):
            self.focused.value = "?"
            await self.focused.action_submit()

    # -- copying --------------------------------------------------------------------------------

    def marked_fix(self) -> OfferedFix | None:
        """The fix that the list marks."""
        from kvdoctor.ui.panes.cause import CausePane

        marked = self.query_one(CausePane).marked()
        fixes = self.shown.fixes if self.shown is not None else ()
        return next((one for one in fixes if one.fix.id == marked), None)

    def action_copy(self) -> None:
        """Copy the marked fix."""
        chosen = self.marked_fix()
        if chosen is None:
            self._me.say("no fix is marked: tab goes to the fixes")
        elif self._confirmed(chosen, "y"):
            self.copy_text(chosen.fix.snippet, "fix")

    def action_copy_command(self) -> None:
        """Copy the user's own launch command as the marked fix changes it."""
        from kvdoctor.show.commands import commands_of, commands_text, of_sides

        chosen, shown = self.marked_fix(), self.shown
        sided = commands_of(shown, chosen) if shown is not None and chosen is not None else ()
        if chosen is None or not sided:
            self._me.say("this fix changes no launch command in the text; o adds one")
        elif self._confirmed(chosen, "c"):
            log = any(each.restated for _, each in sided)
            restated = " (from the log, which does not print the environment)" if log else ""
            many = "commands" if len(sided) > 1 else "command"
            name = f"{many}{of_sides(sided)} with the fix{restated}"
            self.copy_text(commands_text(sided), name)

    def _confirmed(self, chosen: OfferedFix, key: str) -> bool:
        """An unproven fix, or one that runs into the next error, needs a second press."""
        unproven = chosen.fix.proof.level == "unproven"
        if (unproven or chosen.stops) and self._confirming != chosen.fix.id:
            self._confirming = chosen.fix.id
            why = "This fix is unproven" if unproven else "This fix runs into the next error"
            self._me.say(f"{why}. Press {key} once more to copy it all the same.", True)
            return False
        self._confirming = ""
        return True

    def copy_text(self, what: str, name: str, also: str = "") -> None:
        """Copy in a thread: a helper that hangs must not freeze the screen."""
        self._me.say("copying")
        self.run_worker(
            lambda: self._copied(what, name, also),
            thread=True,
            exclusive=True,
            group="copy",
            name="copy",
        )

    def _copied(self, what: str, name: str, also: str) -> None:
        from kvdoctor.clipboard import copy

        done = copy(
            what,
            lambda code: bool(self.call_from_thread(self._send_escape, code)),
            getattr(self._driver, "hand", None),
        )
        nowhere = not done.confirmed and not done.file
        self.call_from_thread(self._me.say, f"{name} {done.told}{also}", nowhere)
        self.call_from_thread(self._me.toured, "copied")

    def copy_to_clipboard(self, text: str) -> None:
        """What was marked with the mouse or in a field goes the same ways as a fix."""
        self._clipboard = text
        self.copy_text(text, "marked text")

    def _send_escape(self, sequence: str) -> bool:
        """Write a sequence through the driver, so that it cannot land amid a repaint."""
        if self._driver is None or self.is_headless:
            return False
        self._driver.write(sequence)
        self._driver.flush()
        return True

    def action_copy_note(self) -> None:
        from kvdoctor.show.note import incident_note

        if self.shown is not None:
            self.copy_text(incident_note(self.shown, self._me.knowledge), "incident note")

    def action_copy_menu(self) -> None:
        """Choose what to copy; a note is also written to a file of its own."""
        from kvdoctor.ui.copying import CopyScreen, Row, rows_of

        shown = self.shown
        if shown is None:
            return
        chosen = self.marked_fix() if self._me.step == "cause" else None

        def answered(row: Row | None) -> None:
            if row is None:
                return
            if row.form:
                self._copy_note_file(shown, row.form)
            elif row.key == "y":
                self.action_copy()
            elif row.key == "c":
                self.action_copy_command()
            else:
                self.copy_text(row.text, row.name)

        self.push_screen(CopyScreen(rows_of(shown, chosen)), answered)

    def _copy_note_file(self, shown: Report, form: str) -> None:
        from kvdoctor.settings import load
        from kvdoctor.show.note import incident_note
        from kvdoctor.ui.copying import write_note

        hide = form == "issue" or load().hide_hosts
        note = incident_note(shown, self._me.knowledge, form, hide_hosts=hide)
        about = shown.record.id if shown.record is not None else "unknown-error"
        ending = "txt" if form in ("plain", "slack") else "md"
        named = f"kvdoctor-{about}-{form}.{ending}"
        if self.is_web:
            self.deliver_text(StringIO(note), save_filename=named, name="note")
            self.copy_text(note, f"note (offered to the browser as {named})")
            return
        file, problem = write_note(note, named)
        also = f"; written to {file}" if file else f"; not written to a file: {problem}"
        self.copy_text(note, "note", also)

    def action_fix_detail(self) -> None:
        """The marked fix whole, with the evidence of its proof."""
        from kvdoctor.ui.fixdetail import FixScreen

        chosen = self.marked_fix()
        if chosen is None:
            return

        def answered(what: str | None) -> None:
            if what == "fix":
                self.action_copy()
            elif what == "command":
                self.action_copy_command()

        from kvdoctor.show.commands import commands_of

        sided = commands_of(self.shown, chosen) if self.shown is not None else ()
        self.push_screen(FixScreen(chosen, sided), answered)

    # -- screens in front -----------------------------------------------------------------------

    def action_log(self) -> None:
        """The text itself, at the line that belongs to what is marked."""
        from kvdoctor.ui.logscreen import LogScreen

        shown = self.shown
        if shown is None or not shown.sources:
            self._me.say("no text was given: paste a log, or o adds one")
            return
        marks: dict[str, list[int]] = {}
        finding = shown.finding
        for item in finding.evidence if finding is not None else ():
            marks.setdefault(item.source, []).append(item.number)
        self.push_screen(LogScreen(shown.sources, marks, self._me.pane.place()))
        self._me.toured("log")

    def action_keys(self) -> None:
        from kvdoctor.ui.helping import HelpScreen

        self.push_screen(HelpScreen(self.keys_text()))

    def action_explain(self) -> None:
        from kvdoctor.ui.helping import HelpScreen, question_help

        if self.shown is not None and self._me.step == "values":
            from kvdoctor.ui.panes.values import ValuesPane

            name = self.query_one(ValuesPane).in_focus()
            if name:
                page = f"{question_help(self.shown, name)}\n\n{self.keys_text()}\n\nesc closes"
                self.push_screen(HelpScreen(page, filters=False))
                return
        self.push_screen(HelpScreen(self.keys_text()))

    def keys_text(self) -> str:
        """The keys that do something now, and what the step is for."""
        rows = {word: key for word, key, _ in self._working(self.screen)}
        guide = [*self._me.pane.GUIDE.split(". ")]
        lines = [f"{one.rstrip('.')}." for one in guide if one]
        return "\n".join([*lines, "", *(f"  {key:8} {word}" for word, key in rows.items())])

    def action_search(self) -> None:
        from kvdoctor.ui.searching import SearchScreen

        self.push_screen(SearchScreen(lambda: self._me.knowledge), self.follow)

    def action_symptoms(self) -> None:
        """No error message: walk the tree of symptoms."""
        from kvdoctor.ui.symptoming import SymptomScreen

        if not self._me.knowledge.symptoms:
            self._me.say("there is no tree of symptoms here; / searches by words")
            return
        self.push_screen(SymptomScreen(self._me.knowledge), self.follow)

    def follow(self, record: str | None) -> None:
        """Open a record that was chosen in a screen in front."""
        from kvdoctor import session

        if record:
            self._me.take(session.follow(self._me.state, record, self._me.knowledge))

    def commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """The keys that do something now, as commands of the palette."""
        from textual.app import SystemCommand

        for word, key, action in self._working(screen):
            yield SystemCommand(word, f"the key {key}", self._doing(action))

    def _working(self, screen: Screen[object]) -> list[tuple[str, str, str]]:
        """What the keys that do something now do, the key, its action. In a field a letter is
        typed: there only the keys count that are none."""
        found: dict[str, tuple[str, str, str]] = {}
        for _, binding, enabled, _ in screen.active_bindings.values():
            key = self.get_key_display(binding)
            if not (enabled and binding.show and binding.description):
                continue
            if len(key) > 1 or not self._me.typing:
                found.setdefault(binding.description, (binding.description, key, binding.action))
        return list(found.values())

    def _doing(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.run_worker(self.run_action(action))

        return run

    def action_pictures(self) -> None:
        from kvdoctor.show.pictures import pictures
        from kvdoctor.ui.drawing import PageScreen

        shown, chosen = self.shown, self.marked_fix()
        if shown is None:
            return
        page = pictures(shown, self._me.ascii_only, chosen.fix.id if chosen is not None else "")
        if page:
            self.push_screen(PageScreen("Drawings", page))
        else:
            self._me.say("too little is known to draw: v shows the values, o adds the other side")

    def action_beside(self) -> None:
        from kvdoctor.show.beside import beside
        from kvdoctor.ui.drawing import PageScreen

        shown = self.shown
        page = beside(shown, self._me.ascii_only) if shown is not None else ""
        if page:
            self.push_screen(PageScreen("Both sides", page))
        else:
            self._me.say("no value is known of a side: o adds its log or command")

    def action_theme(self) -> None:
        from kvdoctor.ui.themes import following

        self._me.say(f"theme: {following(self._me)}")

    def action_prove(self) -> None:
        from kvdoctor.ui.proving import ProveScreen

        chosen = self.marked_fix()
        if self.shown is not None and chosen is not None:
            self.push_screen(ProveScreen(self.shown, chosen))
