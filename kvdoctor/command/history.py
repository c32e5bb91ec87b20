"""``kvdoctor history``: past diagnoses listed, shown, opened again, deleted."""

from __future__ import annotations

import json
import sys
from typing import Any

from kvdoctor.command.inputs import load_knowledge, tell
from kvdoctor.data import asdict
from kvdoctor.errors import InputError
from kvdoctor.show.plain import WIDTH, cut
from kvdoctor.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands
    from kvdoctor.history.entry import Entry
    from kvdoctor.history.store import Store

FOUND, NOTHING = 0, 1
WHAT = ("list", "search", "show", "open", "delete")
STATUS_WORDS = {
    "cause": "cause found",
    "asks": "answers missing",
    "no_cause": "no cause fits",
    "no_match": "nothing known",
    "broken": "record broken",
}


def add(commands: Commands) -> None:
    """The options of ``kvdoctor history``."""
    from kvdoctor.command.arguments import add_ascii

    history = commands.add_parser(
        "history",
        help="past diagnoses: list, show, open again, delete",
        epilog="The screen and the dialogue keep what they diagnose, diagnose only with --save. "
        "Secrets are replaced before anything is kept; --no-history, KVDOCTOR_HISTORY=off or "
        "history = false in the settings keep nothing.",
    )
    history.add_argument("what", nargs="?", choices=WHAT, default="list", metavar="ACTION")
    history.add_argument(
        "words", nargs="*", metavar="N|WORD", help=f"ACTION is one of: {', '.join(WHAT)}"
    )
    history.add_argument("--all", action="store_true", help="with delete: every entry")
    history.add_argument("--json", action="store_true")
    add_ascii(history)
    history.add_argument(
        "--knowledge", action="append", default=[], metavar="FOLDER", help="private records"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 done, 1 no such entry or none at all, 2 unreadable or wrong usage."""
    from kvdoctor.history.store import Store

    if options.what in ("list", "search"):
        if options.what == "list" and options.words:
            raise InputError(
                f"list takes no words: {options.words[0]}", remedy="kvdoctor history search WORDS"
            )
        return _with(Store(), lambda store: _list(options, store))
    if options.what == "delete":
        return _with(Store(), lambda store: _delete(options, store))
    if options.what == "open":
        return _open(options)
    return _with(Store(), lambda store: _show(options, store))


def _with(store: Store, work: Any) -> int:
    try:
        code: int = work(store)
    finally:
        for notice in store.notices:
            tell(notice)
        store.close()
    return code


def _numbers(options: argparse.Namespace) -> list[int]:
    try:
        numbers = [int(one) for one in options.words]
    except ValueError:
        raise InputError(
            f"history {options.what}: an entry is named by its number",
            remedy="kvdoctor history lists them",
        ) from None
    if not numbers:
        raise InputError(
            f"history {options.what}: which entry?", remedy="name its number; see kvdoctor history"
        )
    return numbers


def _list(options: argparse.Namespace, store: Store) -> int:
    words = " ".join(options.words)
    if options.what == "search" and not words:
        raise InputError("history search: no words", remedy="name words of a title, error or file")
    found = store.entries(words)
    if options.json:
        print(json.dumps({"entries": [_document(one) for one in found]}, ensure_ascii=True))
    else:
        for one in found:
            print(row(one))
        if not found:
            tell("no entry has these words" if words else _why_empty())
    return FOUND if found else NOTHING


def _why_empty() -> str:
    from kvdoctor.history import switched_off

    off = switched_off()
    return f"the history is empty ({off})" if off else "the history is empty"


def row(one: Entry) -> str:
    """One entry on two lines of 80 columns: when, how it went and from which inputs; its title."""
    names = ", ".join(one.names) or "no text"
    status = STATUS_WORDS.get(one.outcome.status, one.outcome.status)
    head = f"{one.id:>5}  {one.changed[:16]}  {status:15}  "
    names = names if len(names) < WIDTH - len(head) - 1 else f"…{names[len(head) + 4 - WIDTH :]}"
    title = cut(one.outcome.title, WIDTH - 7)
    return "\n".join(
        clean(line).replace("\n", " ") for line in (f"{head}[{names}]", f"{'':7}{title}")
    )


def _show(options: argparse.Namespace, store: Store) -> int:
    code = FOUND
    for number in _numbers(options):
        one = store.entry(number)
        if one is None:
            tell(f"no entry {number}")
            code = NOTHING
        elif options.json:
            print(json.dumps(_document(one, whole=True), ensure_ascii=True))
        else:
            print(clean(told(one)))
    return code


def told(one: Entry) -> str:
    """An entry for people: what was found, from which answers, and what was offered."""
    found = one.outcome
    status = STATUS_WORDS.get(found.status, found.status)
    lines = [
        f"{one.id}  {found.title}",
        f"  when      {one.started} to {one.changed} UTC",
        f"  outcome   {status}",
    ]
    rows = (("record", found.record), ("error", found.error), ("vLLM", found.release),
            ("cause", found.cause))  # fmt: skip
    lines += [f"  {name:8}  {text}" for name, text in rows if text]
    for record, given in one.answers.items():
        lines += [f"  answer    {name} = {value}  ({record})" for name, value in given.items()]
    for snippet in found.fixes:
        first, *rest = snippet.splitlines() or [""]
        lines += [f"  fix       {first}", *(f"            {line}" for line in rest)]
    for packed in one.inputs:
        cut = f", {packed.left_out:,} of them not kept" if packed.left_out else ""
        side = f" ({packed.side})" if packed.side != "this" else ""
        lines.append(f"  input     {packed.name}{side}: {packed.size:,} characters{cut}")
    return "\n".join([*lines, f"kvdoctor history open {one.id} goes on from there."])


def _document(one: Entry, *, whole: bool = False) -> dict[str, Any]:
    from kvdoctor.history.entry import unpack

    made: dict[str, Any] = {
        "id": one.id,
        "started": one.started,
        "changed": one.changed,
        **asdict(one.outcome),
        "answers": one.answers,
        "inputs": list(one.names),
    }
    if whole:
        made["inputs"] = [
            {
                "name": packed.name,
                "side": packed.side,
                "characters": packed.size,
                "left_out": packed.left_out,
                "text": unpack(packed),
            }
            for packed in one.inputs
        ]
    return made


def _delete(options: argparse.Namespace, store: Store) -> int:
    if options.all and not options.words:
        print(f"{store.delete_all()} entries deleted")
        return FOUND
    if options.all:
        raise InputError("history delete: --all or numbers, not both")
    code = FOUND
    for number in _numbers(options):
        if store.delete(number):
            print(f"entry {number} deleted")
        else:
            tell(f"no entry {number}")
            code = NOTHING
    return code


def _open(options: argparse.Namespace) -> int:
    """Go on with an entry: on the screen, or as a report where there is none."""
    from kvdoctor.terminal import can_show_a_screen

    numbers = _numbers(options)
    if len(numbers) != 1:
        raise InputError("history open: one entry at a time")
    if can_show_a_screen() and sys.stdin.isatty() and not options.json:
        from kvdoctor.settings import fill
        from kvdoctor.ui import run_screen

        options.files = options.prefill = options.decode = options.sets = []
        options.plain = options.no_history = False
        options.theme = None  # as the config file says
        fill(options)
        options.resume = numbers[0]
        return run_screen(options)
    return _reported(options, numbers[0])


def _reported(options: argparse.Namespace, number: int) -> int:
    from kvdoctor import session
    from kvdoctor.history.keeping import left_out, restored
    from kvdoctor.history.store import Store

    store = Store()
    one = store.entry(number)
    store.close()
    if one is None:
        tell(f"no entry {number}")
        return NOTHING
    knowledge = load_knowledge(options.knowledge)
    shown = session.view(restored(one, knowledge), knowledge)
    if left_out(one):
        tell(left_out(one))
    if shown is None:
        tell(f"entry {number} holds nothing that could be diagnosed")
        return NOTHING
    if options.json:
        from kvdoctor.show.document import document

        print(json.dumps(document(shown), ensure_ascii=True))
    else:
        from kvdoctor.show.plain import report_text

        print(report_text(shown, knowledge))
    return {"cause": 0, "asks": 3, "broken": 2}.get(shown.status, 1)
