"""Which keys the bottom line names in each step, the most useful first: only keys that work from
where the focus is. While a field has it, a letter is typed and no key."""

from __future__ import annotations

from kvdoctor.ui.keybar import Key

QUIT = Key("q", "quit", "app.leave")
MORE = Key("?", "keys", "app.keys")
BACK = Key("esc", "back", "app.back")
VALUES = Key("v", "values", "app.go('values')")
NEXT = Key("n", "next", "app.go('related')")
LOG = Key("l", "log", "app.log")
SEARCH = Key("/", "search", "app.search")
OTHER = Key("o", "other side", "app.other_side")
PICTURES = Key("g", "drawings", "app.pictures")
BOTH = Key("b", "both sides", "app.beside")
NOTE = Key("Y", "note", "app.copy_note")
READ = Key("enter", "read what has come", "app.take_piped")
READ_FILE = Key("enter", "read the file", "app.take_offered")

STEP_KEYS: dict[str, tuple[Key, ...]] = {
    "start": (
        Key("paste", "a log", "app.keys"),
        READ,
        READ_FILE,
        Key("s", "symptoms", "app.symptoms"),
        SEARCH,
        Key("H", "history", "app.history"),
        Key("x", "tour", "app.tour"),
        BACK,
        QUIT,
        MORE,
    ),
    "adding": (
        Key("paste", "the other side", "app.keys"),
        BACK,
        Key("^q", "quit", "app.quit"),
        MORE,
    ),
    "adding, typing": (
        Key("paste", "the other side", "app.explain"),
        Key("enter", "read the file", "app.answer"),
        Key("esc", "back", "app.back"),
        Key("^q", "quit", "app.quit"),
        Key("F1", "help", "app.explain"),
    ),
    "choose": (Key("enter", "take up", "app.take_up"), LOG, SEARCH, OTHER, NEXT, BACK, QUIT, MORE),
    "values, typing": (
        Key("enter", "answer", "app.answer"),
        Key("?", "can't tell", "app.cannot_tell"),
        Key("^o", "other side", "app.other_side"),
        Key("^l", "log", "app.log"),
        Key("tab", "list", "app.focus_next"),
        BACK,
        Key("F1", "help", "app.explain"),
    ),
    "values": (
        Key("enter", "change", "app.take_up"),
        Key("tab", "question", "app.focus_next"),
        LOG,
        OTHER,
        BOTH,
        BACK,
        Key("F1", "what is this?", "app.explain"),
        MORE,
    ),
    "cause": (
        Key("y", "copy", "app.copy"),
        Key("c", "command", "app.copy_command"),
        Key("enter", "proof", "app.fix_detail"),
        VALUES,
        LOG,
        NEXT,
        Key("p", "prove", "app.prove"),
        PICTURES,
        BOTH,
        NOTE,
        OTHER,
        BACK,
        SEARCH,
        MORE,
    ),
    "related": (Key("enter", "open", "app.take_up"), BACK, LOG, SEARCH, MORE),
}
IN_FRONT = (Key("esc", "closes what is in front", "app.keys"),)


def keys_of(step: str, *, adding: bool, typing: bool) -> tuple[Key, ...]:
    """The keys of a step; ``adding``: the page waits for the other side's text; ``typing``: a
    field has the focus."""
    where = "adding" if adding and step == "start" else step
    return STEP_KEYS.get(f"{where}, typing" if typing else where) or STEP_KEYS[where]
