"""``kvdoctor man``: the manual page, made from the parser, so that it never tells anything else."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable

from kvdoctor import __version__
from kvdoctor.command.described import Argument, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands

VARIABLES = (
    ("KVDOCTOR_CONFIG", "The config file, instead of the one in the configuration folder."),
    (
        "KVDOCTOR_HISTORY",
        "off keeps no past diagnoses; on keeps them whatever the config file says.",
    ),
    ("KVDOCTOR_KNOWLEDGE", "Folders of private records, joined as in PATH."),
    ("NO_COLOR", "When set, no colour is used on standard output."),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "Where the folders below stand."),
)
SETTINGS = (
    ("knowledge", "A folder, or a list of folders, of private records; relative to the file."),
    ("ascii, plain, hide-hosts", "true or false, as the option of that name."),
    ("theme", '"dark", "light" or "high-contrast".'),
    ("history", "false keeps no past diagnoses."),
)
STATUSES = (
    ("0", "A cause was found, or the command did what it was told."),
    ("1", "Nothing known matched, or there is no such thing."),
    ("2", "Wrong usage, or an input that cannot be read."),
    ("3", "The error is known, but answers are missing."),
)
EXAMPLES = (
    ("kubectl logs decode-0 | kvdoctor", "The screen on a pod's log."),
    ("kvdoctor --prefill prefill.log --decode decode.log", "Both sides: fewer questions."),
    ("kvdoctor diagnose decode.log --json", "One JSON document for a program."),
    ("kvdoctor scan logs/ --since 14:05:00", "What occurs in whole logs."),
)


def add(commands: Commands) -> None:
    """The options of ``kvdoctor man``."""
    man = commands.add_parser(
        "man",
        help="the manual page (roff) with every option",
        epilog="kvdoctor man | man -l - shows it; kvdoctor man > "
        "~/.local/share/man/man1/kvdoctor.1 installs it.",
    )
    man.add_argument("--plain", action="store_true", dest="as_text", help="as plain text instead")


def run(options: argparse.Namespace) -> int:
    """Print the manual page. Returns 0."""
    from kvdoctor.command.arguments import parser
    from kvdoctor.command.described import described
    from kvdoctor.kubectl.arguments import parser as plugin

    program, beside = described(parser()), described(plugin())
    pages = _sections(program, beside)
    sys.stdout.write(_text(pages) if options.as_text else _roff(pages))
    return 0


# A page is a list of parts: ("head", text), ("sub", text), ("say", text), ("item", name, text) and
# ("code", text, told). Both forms below are written from it.
Part = tuple[str, ...]


def _sections(program: Command, plugin: Command) -> list[Part]:
    parts: list[Part] = [("head", "NAME"), ("say", f"{program.name} - {_short(program)}")]
    parts += [("head", "SYNOPSIS"), ("code", f"{program.name} [OPTION ...] [FILE ...]", "")]
    parts += [("code", f"{program.name} COMMAND [ARGUMENT ...]", "")]
    parts += [("head", "DESCRIPTION"), ("say", program.told), ("say", program.epilog)]
    parts += _items(program.options)
    parts += [("head", "COMMANDS")]
    for one in program.commands:
        parts += _command(one, f"{program.name} {one.name}")
    parts += [("head", "KUBECTL PLUGIN"), *_command(plugin, "kubectl kvdoctor")]
    parts += [("head", "CONFIG FILE")]
    parts += [("say", "TOML, under the names of the options, which go before it:")]
    parts += [("item", name, told) for name, told in SETTINGS]
    parts += [("head", "ENVIRONMENT"), *(("item", *one) for one in VARIABLES)]
    parts += [("head", "FILES"), ("say", f"{program.name} info names every file and folder.")]
    parts += [("head", "EXIT STATUS"), *(("item", *one) for one in STATUSES)]
    parts += [("head", "EXAMPLES"), *(("code", *one) for one in EXAMPLES)]
    return [part for part in parts if part[0] != "say" or part[1]]


def _short(program: Command) -> str:
    first = program.told.split(".")[0]
    return first[:1].lower() + first[1:]


def _command(one: Command, name: str) -> list[Part]:
    usage = " ".join([name, "[OPTION ...]", *map(_operand, one.operands)])
    told = one.told[:1].upper() + one.told[1:]
    parts: list[Part] = [("sub", name), ("code", usage, "")]
    parts += [("say", told if told.endswith(".") else f"{told}."), *_items(one.arguments)]
    return [*parts, ("say", one.epilog)]


def _operand(one: Argument) -> str:
    shown = _value(one) + (" ..." if one.repeated else "")
    return f"[{shown}]" if one.optional else shown


def _value(one: Argument) -> str:
    return one.placeholder or "{" + ",".join(one.choices) + "}"


def _items(arguments: Iterable[Argument]) -> list[Part]:
    parts: list[Part] = []
    for one in arguments:
        if "--help" in one.flags:
            continue
        value = _value(one) if one.takes else ""
        shown = f"[{value}]" if one.optional and one.flags and value else value
        told = one.told[:1].upper() + one.told[1:]
        if one.choices and one.placeholder:
            told = f"{told.rstrip('.')}: {', '.join(one.choices)}" if told else ""
        if one.repeated and one.flags:
            told += "; may be given several times"
        name = ", ".join(one.flags) + (f" {shown}" if shown and one.flags else "")
        parts.append(("item", name or value, f"{told}." if told else ""))
    return parts


# -- forms --------------------------------------------------------------------------------------


def _roff(parts: Iterable[Part]) -> str:
    lines = [f'.TH KVDOCTOR 1 "" "kvdoctor {__version__}" "User Commands"']
    fresh = True  # no paragraph needed right behind a heading
    for kind, *texts in parts:
        text, told = texts[0], texts[1] if len(texts) > 1 else ""
        if kind in ("head", "sub"):
            lines.append(f'.S{"H" if kind == "head" else "S"} "{_safe(text)}"')
        elif kind == "say":
            lines += [*([] if fresh else [".PP"]), _line(text)]
        elif kind == "item":
            lines += [".TP", rf"\fB{_safe(text)}\fR", _line(told) if told else r"\&"]
        elif told:
            lines += [".TP", rf"\fB{_safe(text)}\fR", _line(told)]
        else:
            lines += [*([] if fresh else [".PP"]), rf"\fB{_safe(text)}\fR"]
        fresh = kind in ("head", "sub")
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    r"""Text in which roff acts on nothing: backslashes, quotes, and real minus signs for flags."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    text = text.replace("'", r"\(aq").replace("~", r"\(ti").replace("^", r"\(ha")
    text = text.replace("`", r"\(ga").replace("…", "...")
    return "".join(one if ord(one) < 128 else rf"\[u{ord(one):04X}]" for one in text)


def _line(text: str) -> str:
    r"""A line of text; one that begins like a request is kept from being one."""
    made = _safe(" ".join(text.split()))
    return rf"\&{made}" if made.startswith((".", "'")) else made


def _text(parts: Iterable[Part], width: int = 78) -> str:
    lines: list[str] = []
    for kind, *texts in parts:
        text, told = texts[0], texts[1] if len(texts) > 1 else ""
        if kind == "head":
            lines += ["", text]
        elif kind == "sub":
            lines += ["", f"  {text}"]
        elif kind == "item" or told:
            lines += [f"    {text}", *_wrapped(told, width, 8)]
        else:
            lines += _wrapped(text, width, 4)
    return "\n".join(lines).lstrip("\n") + "\n"


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    before = " " * indent
    return textwrap.wrap(
        text, width, initial_indent=before, subsequent_indent=before, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
