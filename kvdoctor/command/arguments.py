"""The options of every command. ``command`` in the result names the command that was chosen."""

from __future__ import annotations

import argparse
import os
import re
from importlib import import_module

from kvdoctor import __version__
from kvdoctor.command.registry import MODULES
from kvdoctor.errors import did_you_mean
from kvdoctor.settings import THEMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from kvdoctor.command.registry import Commands


class _Formatter(argparse.HelpFormatter):
    """Asks for the terminal's width only; the standard one imports compression for that."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(1).columns or 80
    except (OSError, ValueError):
        return 80


class Parser(argparse.ArgumentParser):
    """A parser with our formatter."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, **settings)

    def error(self, message: str) -> NoReturn:
        """A wrong option is answered with the right one, as a wrong command is."""
        unknown = re.match(r"unrecognized arguments: (--?[\w-]{1,60})", message)
        near = did_you_mean(unknown[1], self._spellings()) if unknown else ""
        super().error(f"{message} ({near})" if near else message)

    def _spellings(self) -> list[str]:
        """The options of this parser and of its commands."""
        found = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for one in action.choices.values():
                    found += one._option_string_actions
        return found


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of the whole command line; of the common commands alone when one is named."""
    made: argparse.ArgumentParser = Parser(
        prog="kvdoctor",
        description="From a vLLM log to the root cause of a KV-cache failure and a proven fix. "
        "Offline and deterministic: no language model is used.",
        epilog="Without a command the screen opens: kvdoctor LOG, or kubectl logs POD | kvdoctor.",
    )
    made.add_argument("-V", "--version", action="version", version=f"kvdoctor {__version__}")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    common = {"screen": _add_screen, "diagnose": _add_diagnose}
    for name, add in common.items():
        if command not in common or command == name:
            add(commands)
    if command not in common:
        for name, module in MODULES.items():
            if command not in MODULES or command == name:
                import_module(module).add(commands)
        if command not in MODULES:
            _add_lookups(commands)
            _add_author_commands(commands)
    return made


def add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files", nargs="*", metavar="FILE", help="log, traceback, command or YAML; - is stdin"
    )
    command.add_argument(
        "--prefill",
        action="append",
        default=[],
        metavar="FILE",
        help="a log or command of the prefill side",
    )
    command.add_argument(
        "--decode",
        action="append",
        default=[],
        metavar="FILE",
        help="a log or command of the decode side",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="sets",
        help="answer a question, or state a value (prefill.block_size=64); "
        "NAME=? says that you cannot tell: the next check is tried",
    )
    add_knowledge(command)


def add_knowledge(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--knowledge",
        action="append",
        default=[],
        metavar="FOLDER",
        help="private records that extend and override the shipped ones",
    )


def add_switch(command: argparse.ArgumentParser, name: str, told: str) -> None:
    """A switch that the config file can turn on, and --no-… off again; None: not stated."""
    command.add_argument(name, action=argparse.BooleanOptionalAction, default=None, help=told)


def add_ascii(command: argparse.ArgumentParser) -> None:
    """For a command that prints; the screen draws with ASCII."""
    add_switch(command, "--ascii", "no character of ours beyond ASCII")


def _add_screen(commands: Commands) -> None:
    screen = commands.add_parser("screen", help="the full screen (the default)")
    add_inputs(screen)
    add_screen_looks(screen)


def add_screen_looks(command: argparse.ArgumentParser) -> None:
    """How the screen looks and what it keeps."""
    add_switch(command, "--plain", "a linear dialogue, no screen")
    command.add_argument(
        "--no-history", action="store_true", help="keep nothing of it (KVDOCTOR_HISTORY=off)"
    )
    add_switch(command, "--ascii", "draw with ASCII characters only")
    command.add_argument("--theme", choices=THEMES, help="colours (default: as the terminal is)")


def _add_diagnose(commands: Commands) -> None:
    diagnose = commands.add_parser(
        "diagnose",
        help="root cause, cause and fix on standard output",
        epilog="Exit status: 0 a cause was found, 1 nothing known matched, 2 usage or unreadable "
        "input, 3 identified but answers are missing.",
    )
    add_inputs(diagnose)
    diagnose.add_argument("--json", action="store_true", help="one JSON document per input")
    diagnose.add_argument(
        "--copy",
        nargs="?",
        const="",
        metavar="FIX",
        help="copy the first (or the named) fix to the clipboard",
    )
    diagnose.add_argument("--record", metavar="ID", help="diagnose for this record")
    diagnose.add_argument(
        "--symptom",
        nargs="?",
        const="",
        metavar="ANSWERS",
        help="no error message: walk the tree of symptoms",
    )
    diagnose.add_argument(
        "--note",
        choices=("markdown", "slack", "plain", "issue"),
        help="an incident note instead of the report",
    )
    add_switch(
        diagnose, "--hide-hosts", "in the note: hosts, addresses and pods replaced by tokens"
    )
    diagnose.add_argument(
        "--save",
        action="store_true",
        help="keep it in the history (diagnose keeps nothing otherwise)",
    )
    diagnose.add_argument(
        "--drawings", action="store_true", help="the drawings of the screen below the report"
    )
    add_ascii(diagnose)


def _add_lookups(commands: Commands) -> None:
    explain = commands.add_parser("explain", help="a record, by id, published id, url or message")
    explain.add_argument("what", nargs="+", metavar="ID")
    explain.add_argument("--json", action="store_true")
    add_ascii(explain)
    add_knowledge(explain)
    search = commands.add_parser("search", help="records that speak of these words")
    search.add_argument("words", nargs="+", metavar="WORD")
    search.add_argument("--json", action="store_true")
    add_ascii(search)
    add_knowledge(search)
    info = commands.add_parser("info", help="versions, counts and where everything lives")
    info.add_argument("--json", action="store_true")
    add_ascii(info)
    add_knowledge(info)


def _add_author_commands(commands: Commands) -> None:
    lint = commands.add_parser("lint", help="check records: form, reach, examples")
    lint.add_argument("paths", nargs="*", metavar="PATH")
    lint.add_argument("--json", action="store_true")
    add_knowledge(lint)
    new = commands.add_parser("new", help="print a fresh record to fill in")
    new.add_argument("id", metavar="ID")
    new.add_argument("--out", metavar="FOLDER", help="write FOLDER/ID.yaml instead")
    bring = commands.add_parser("import", help="published records (JSON or page text) to drafts")
    bring.add_argument("files", nargs="+", metavar="FILE")
    bring.add_argument(
        "--out",
        metavar="FOLDER",
        help="where the drafts go (default: your private knowledge folder)",
    )
    bring.add_argument("--json", action="store_true")
    harvest = commands.add_parser("harvest", help="vLLM source trees to the catalogue of sites")
    harvest.add_argument("sources", nargs="+", metavar="SOURCE")
    harvest.add_argument("--out", metavar="FOLDER", required=True)
