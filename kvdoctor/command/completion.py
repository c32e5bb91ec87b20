"""``kvdoctor completion SHELL``: completion for bash, zsh and fish, made from the parser."""

from __future__ import annotations

import re
import sys
from importlib import import_module

from kvdoctor.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands

SHELLS = ("bash", "zsh", "fish")
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")  # nothing else may reach a shell


def add(commands: Commands) -> None:
    """The options of ``kvdoctor completion``."""
    completion = commands.add_parser(
        "completion",
        help="completion for your shell: bash, zsh or fish",
        epilog="bash: source <(kvdoctor completion bash) in ~/.bashrc. zsh: the same with zsh in "
        "~/.zshrc, after compinit. fish: kvdoctor completion fish > "
        "~/.config/fish/completions/kvdoctor.fish. With records it prints the ids of the records.",
    )
    completion.add_argument("shell", choices=(*SHELLS, "records"))


def run(options: argparse.Namespace) -> int:
    """Print the script, or the ids with their titles for it. Returns 0."""
    if options.shell == "records":
        return _records()
    from kvdoctor.command.arguments import parser
    from kvdoctor.command.described import described

    module = import_module(f"kvdoctor.command.shells.{options.shell}")
    sys.stdout.write(module.script(described(parser())))
    return 0


def _records() -> int:
    """A line for each record: its id, a tab, its title."""
    from kvdoctor.load import load

    knowledge = load()
    for name in sorted(filter(_ID.fullmatch, knowledge.records)):
        title = clean(knowledge.records[name].title)
        print(f"{name}\t{' '.join(title.split())}")
    return 0
