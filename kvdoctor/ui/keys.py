"""Which keys the bottom line names in each step, the most useful first."""

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

STEP_KEYS: dict[str, tuple[Key, ...]] = {
    "start": (
        Key("paste", "a log", "app.keys"),
        Key("enter", "read what has come", "app.take_piped"),
        Key("s", "symptoms", "app.symptoms"),
        SEARCH,
        Key("H", "history", "app.history"),
        Key("x", "tour", "app.tour"),
        BACK,
        QUIT,
        MORE,
    ),
    "choose": (Key("enter", "take up", "app.take_up"), LOG, SEARCH, OTHER, NEXT, BACK, QUIT, MORE),
    "values": (
        Key("enter", "answer", "app.answer"),
        Key("F1", "what is this?", "app.explain"),
        Key("tab", "list", "app.focus_next"),
        BACK,
        OTHER,
        BOTH,
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
