"""Completion for zsh, with the help of each option."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.command.described import Argument, Command

_FRAME = """\
#compdef {prog}
# zsh completion of {prog}; made by: {prog} completion zsh
_{prog}_records() {{
    local -a records
    records=(${{(f)"$({prog} completion records 2>/dev/null)"}})
    records=("${{(@)records//:/\\\\:}}")
    records=("${{(@)records/$'\\t'/:}}")
    _describe -t records record records
}}
_{prog}() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        if [[ $words[2] == -* ]]; then
            _arguments {first}
        else
            _describe -t commands command commands
            _files
        fi
        return
    fi
    local command=screen
    if (( ${{commands[(I)${{(b)words[2]}}:*]}} )); then
        command=$words[2]
        shift words
        (( CURRENT-- ))
    fi
    case $command in
{cases}
    esac
}}
if [ "$funcstack[1]" = "_{prog}" ]; then
    _{prog} "$@"
else
    compdef _{prog} {prog}
fi
"""


def script(program: Command) -> str:
    """The script that ``source <(kvdoctor completion zsh)`` reads; also a file of fpath."""
    screen = next(one for one in program.commands if one.name == "screen")
    first = [spec for one in (program, screen) for spec in _options(program, one)]
    return _FRAME.format(
        prog=program.name,
        first=" ".join(dict.fromkeys(first)),
        commands="\n".join(
            f"        {_quoted(f'{_plain(one.name)}:{one.told}')}" for one in program.commands
        ),
        cases="\n".join(_case(program, one) for one in program.commands),
    )


def _case(program: Command, command: Command) -> str:
    specs = [*_options(program, command), *_operands(program, command)]
    lines = " \\\n                ".join(specs)
    return f"        {command.name})\n            _arguments \\\n                {lines} ;;"


def _options(program: Command, command: Command) -> Iterable[str]:
    for one in command.options:
        for flag in one.flags:
            others = "" if one.repeated else f"({' '.join(one.flags)})"
            repeated = "*" if one.repeated else ""
            value = ""
            if one.takes and not one.optional:
                value = f":{_plain(one.placeholder or 'value')}:{_action(program, one)}"
            yield _quoted(f"{others}{repeated}{flag}[{_plain(one.told)}]{value}")


def _operands(program: Command, command: Command) -> Iterable[str]:
    for place, one in enumerate(command.operands, 1):
        number = "*" if one.repeated else str(place)
        optional = ":" if one.optional and not one.repeated else ""
        name = _plain(one.placeholder or "value")
        yield _quoted(f"{number}:{optional}{name}:{_action(program, one)}")


def _action(program: Command, one: Argument) -> str:
    return {
        "files": "_files",
        "folders": "_files -/",
        "records": f"_{program.name}_records",
        "words": f"({' '.join(one.choices)})",
    }.get(one.takes, " ")


def _plain(text: str) -> str:
    """Text with what ``_arguments`` would act on taken out of effect."""
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
