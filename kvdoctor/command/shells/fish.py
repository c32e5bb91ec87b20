"""Completion for fish 3 and later, with the help of each option."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.command.described import Argument, Command

_FRAME = """\
# fish completion of {prog}; made by: {prog} completion fish
function __{prog}_command  # the command of the line: one that is named first, else screen
    set -l words (commandline -opc)
    if contains -- "$words[2]" {names}
        echo $words[2]
    else
        echo screen
    end
end
function __{prog}_first
    test (count (commandline -opc)) -eq 1
end
function __{prog}_in
    test (count (commandline -opc)) -gt 1; and test (__{prog}_command) = $argv[1]
end
complete -c {prog} -e
{lines}
"""


def script(program: Command) -> str:
    """The script for ``~/.config/fish/completions/kvdoctor.fish``."""
    prog = program.name
    screen = next(one for one in program.commands if one.name == "screen")
    lines: list[str] = []
    for one in program.commands:
        lines.append(f"complete -c {prog} -n __{prog}_first -a {one.name} -d {_quoted(one.told)}")
    for source in (program, screen):
        lines += [_option(prog, f"__{prog}_first", one) for one in source.options]
    for command in program.commands:
        inside = f"__{prog}_in {command.name}"
        lines += [_option(prog, inside, one) for one in command.options]
        lines += _operands(prog, command)
    return _FRAME.format(
        prog=prog,
        names=" ".join(one.name for one in program.commands),
        lines="\n".join(dict.fromkeys(lines)),
    )


def _option(prog: str, condition: str, one: Argument) -> str:
    words = [f"complete -c {prog} -n {_quoted(condition)}"]
    words += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in one.flags]
    if one.takes and not one.optional:
        words.append("-r" if one.takes == "files" else "-x")
        words += _values(prog, one)
    return " ".join([*words, f"-d {_quoted(one.told)}"])


def _operands(prog: str, command: Command) -> Iterable[str]:
    """What may stand without a flag. Where no file may, fish is told so."""
    if not any(one.takes == "files" for one in command.operands):
        yield f"complete -c {prog} -n {_quoted(f'__{prog}_in {command.name}')} -f"
    for one in command.operands:
        condition = f"__{prog}_in {command.name}"
        if one.choices:
            condition += f"; and not __fish_seen_subcommand_from {' '.join(one.choices)}"
        if values := _values(prog, one):
            yield f"complete -c {prog} -n {_quoted(condition)} {' '.join(values)}"


def _values(prog: str, one: Argument) -> list[str]:
    if one.takes == "words":
        return [f"-a {_quoted(' '.join(one.choices))}"]
    if one.takes == "folders":
        return ["-a '(__fish_complete_directories)'"]
    if one.takes == "records":
        return [f"-a '({prog} completion records 2>/dev/null)'"]
    return []


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
