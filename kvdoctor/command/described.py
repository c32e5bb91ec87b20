"""The command line as data, read off its parser, for completion and the manual page."""

from __future__ import annotations

import argparse

from kvdoctor.data import dataclass, field

_FILES = ("FILE", "PATH", "SOURCE")
_FOLDERS = ("FOLDER", "DIR")
_RECORDS = ("ID",)
_NEW_NAMES = ("new",)  # commands whose ID is not there yet


@dataclass(frozen=True, slots=True)
class Argument:
    """An option (``flags``) or an operand (none). ``takes``: "" (nothing), words (``choices``),
    files, folders, records or text. ``placeholder`` names the value, ``optional`` says that it may
    be left away, ``repeated`` that the argument may stand more than once."""

    flags: tuple[str, ...]
    told: str
    takes: str
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command with what it takes. ``usage`` is one line, ``epilog`` what is said below."""

    name: str
    told: str
    epilog: str
    arguments: tuple[Argument, ...]
    commands: tuple[Command, ...] = field(default=())

    @property
    def options(self) -> tuple[Argument, ...]:
        return tuple(one for one in self.arguments if one.flags)

    @property
    def operands(self) -> tuple[Argument, ...]:
        return tuple(one for one in self.arguments if not one.flags)


def described(parser: argparse.ArgumentParser, name: str = "", told: str = "") -> Command:
    """The parser, and those of its commands, as data."""
    arguments: list[Argument] = []
    commands: list[Command] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            commands = [
                described(child, word, helps.get(word, ""))
                for word, child in action.choices.items()
            ]
        else:
            arguments.append(_argument(action, name))
    return Command(
        name or parser.prog,
        told or parser.description or "",
        parser.epilog or "",
        tuple(arguments),
        tuple(commands),
    )


def _argument(action: argparse.Action, command: str) -> Argument:
    takes, placeholder = "", ""
    choices = tuple(str(one) for one in action.choices or ())
    if action.nargs != 0:
        placeholder = str(action.metavar or ("" if choices else action.dest.upper()))
        takes = "words" if choices else _kind(placeholder, command)
    told = " ".join((action.help or "").split()).replace("%(default)s", str(action.default))
    operand = not action.option_strings
    return Argument(
        tuple(action.option_strings),
        told.replace("%%", "%"),
        takes,
        placeholder,
        choices,
        action.nargs in ("?", "*"),
        isinstance(action, argparse._AppendAction) or (operand and action.nargs in ("*", "+")),
    )


def _kind(placeholder: str, command: str) -> str:
    if placeholder in _FILES:
        return "files"
    if placeholder in _FOLDERS:
        return "folders"
    if placeholder in _RECORDS and command not in _NEW_NAMES:
        return "records"
    return "text"
