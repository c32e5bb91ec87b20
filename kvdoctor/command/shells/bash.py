"""Completion for bash 3.2 and later; needs no bash-completion package."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from kvdoctor.command.described import Argument, Command

_FRAME = """\
# bash completion of {prog}; made by: {prog} completion bash
_{prog}_add() {{  # each line of standard input is one completion
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done
}}
_{prog}_take() {{  # $1: what is wanted, $2: the words to choose from
    local cur=${{COMP_WORDS[COMP_CWORD]}}
    case $1 in
        files) compopt -o filenames 2>/dev/null; _{prog}_add < <(compgen -f -- "$cur") ;;
        folders) compopt -o filenames 2>/dev/null; _{prog}_add < <(compgen -d -- "$cur") ;;
        words) _{prog}_add < <(compgen -W "$2" -- "$cur") ;;
        records) _{prog}_add < <(compgen -W "$("${{COMP_WORDS[0]/#\\~/$HOME}}" completion records \\
            2>/dev/null | cut -f1)" -- "$cur") ;;
    esac
}}
_{prog}() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} place=1 at=2
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        case $cur in
            -*) _{prog}_take words {first} ;;
            *) _{prog}_take words {commands}; _{prog}_take files ;;
        esac
        return
    fi
    case $command in
        {names}) ;;
        *) command=screen at=1 ;;
    esac
    case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    esac
    case "$command $cur" in
{options}
    esac
    while [ "$at" -lt "$COMP_CWORD" ]; do  # which operand is this?
        case "$command ${{COMP_WORDS[at]}}" in
            {valued}) at=$((at + 1)) ;;
            *' -'*) ;;
            *) place=$((place + 1)) ;;
        esac
        at=$((at + 1))
    done
    case "$command $place" in
{operands}
    esac
}}
complete -F _{prog} {prog}
"""


def script(program: Command) -> str:
    """The script that ``source <(kvdoctor completion bash)`` reads."""
    commands = program.commands
    names = [one.name for one in commands]
    screen = next(one for one in commands if one.name == "screen")
    valued = [
        (one, option)
        for one in commands
        for option in one.options
        if option.takes and not option.optional
    ]
    first = dict.fromkeys([*_flags(program.options), *_flags(screen.options)])
    return _FRAME.format(
        prog=program.name,
        first=shlex.quote(" ".join(first)),
        commands=shlex.quote(" ".join(names)),
        names="|".join(names),
        values="\n".join(_value(program, *one) for one in valued),
        valued="|".join(
            f"'{one.name} {flag}'" for one, option in valued for flag in option.flags
        ),
        options="\n".join(
            _line(f"'{one.name} -'*", "words", program, _flags(one.options)) for one in commands
        ),
        operands="\n".join(line for one in commands for line in _operands(program, one)),
    )  # fmt: skip


def _flags(options: Iterable[Argument]) -> list[str]:
    return [flag for one in options for flag in one.flags]


def _value(program: Command, command: Command, option: Argument) -> str:
    pattern = "|".join(f"'{command.name} {flag}'" for flag in option.flags)
    return _line(pattern, option.takes, program, option.choices)


def _operands(program: Command, command: Command) -> Iterable[str]:
    """A line for each place of an operand; the last one stands for all that follow it."""
    for place, one in enumerate(command.operands, 1):
        pattern = f"'{command.name} '*" if one.repeated else f"'{command.name} {place}'"
        yield _line(pattern, one.takes, program, one.choices)


def _line(pattern: str, takes: str, program: Command, words: Iterable[str]) -> str:
    if takes == "text":
        return f"        {pattern}) return ;;"
    given = f" {shlex.quote(' '.join(words))}" if takes == "words" else ""
    return f"        {pattern}) _{program.name}_take {takes}{given}; return ;;"
