"""Changing a user's own launch command: only what a fix changes, everything else as written.

Every function gives a new :class:`Command`, read again from the changed text, so that what is
shown, copied and checked is one and the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from kvdoctor.errors import InputError
from kvdoctor.values.command import Argument, Command, parse_command, spelled
from kvdoctor.values.flatten import EXTRA, OPENED
from kvdoctor.values.listing import word as listed
from kvdoctor.values.listing import write_listing
from kvdoctor.values.literals import Tree, read_literal
from kvdoctor.values.shell import quote

TRANSFER = "--kv-transfer-config"
MODEL = "model"
EVERY = "*"  # in a path: every member of a list that has no such key yet
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def apply(command: Command, changes: Mapping[str, str], removes: Iterable[str] = ()) -> Command:
    """``command`` with the keys of ``changes`` set and ``removes`` taken away.

    A key is an option (``--tensor-parallel-size``), a dotted key of the transfer configuration
    (``kv_transfer_config.kv_role``) or a variable (``VLLM_NIXL_SIDE_CHANNEL_PORT``). Raises
    InputError when the command cannot be changed that way."""
    for key in removes:
        command = remove(command, key)
    for key, value in changes.items():
        command = change(command, key, value)
    return command


def change(command: Command, key: str, value: str) -> Command:
    """One key set; see :func:`apply`."""
    head, _, path = key.partition(".")
    if head.lstrip("-").replace("-", "_") == OPENED and path:
        return set_transfer(command, path, value)
    if command.flags.name(key) == MODEL and key.startswith("--"):
        return set_model(command, value)
    if key.startswith("--"):
        return set_flag(command, key, value)
    if _VARIABLE.fullmatch(key):
        return set_env(command, key, value)
    raise InputError(f"{key} is neither an option nor a variable", field=key)


def remove(command: Command, key: str) -> Command:
    """One key taken away; nothing happens when the command does not have it."""
    head, _, path = key.partition(".")
    if head.lstrip("-").replace("-", "_") == OPENED and path:
        return remove_transfer(command, path)
    if key.startswith("-") or head == OPENED:
        return remove_flag(command, "--" + head.lstrip("-"))
    if _VARIABLE.fullmatch(key):
        return remove_env(command, key)
    raise InputError(f"{key} is neither an option nor a variable", field=key)


# -- options -----------------------------------------------------------------------------------


def set_flag(command: Command, flag: str, value: str = "") -> Command:
    """``flag`` with ``value``; an option that takes none is switched on by "" or "true" and off
    by "false"."""
    name, inverse = spelled(command.flags.name(flag), command.flags)
    present = command.argument(name)
    if name in command.flags.booleans or not value:
        on = value.strip().lower() not in ("false", "0", "no")
        return _switch(command, name, flag if on else "", on != inverse)
    if present is None or present.switch:
        cleared = command if present is None else _without(command, present)
        return _append(cleared, [flag, value])
    if present.joined:
        token = command.tokens[present.first]
        head = command.text[token.start : token.end].partition("=")[0]
        return _replace(command, present.first, present.first, value, head=f"{head}=")
    return _replace(command, present.first + 1, present.last, value)


def set_model(command: Command, value: str) -> Command:
    """Another model, in the place where the command names it: `vllm serve` takes its positional
    word and refuses --model beside it, a module takes --model alone."""
    word = command.model_word
    if word < 0:
        if command.is_module or command.argument(MODEL) is not None or command.program < 0:
            return set_flag(command, f"--{MODEL}", value)
        return _insert(command, command.program, value)
    return remove_flag(_replace(command, word, word, value), f"--{MODEL}")


def _insert(command: Command, after: int, value: str) -> Command:
    """A new word right behind the token ``after``."""
    end = command.tokens[after].end
    if command.style == "list":
        line = command.text.find("\n", end)
        place = line if line >= 0 else len(command.text)
        added = f"\n  - {listed(value)}"
        return _again(command, command.text[:place] + added + command.text[place:])
    return _again(command, f"{command.text[:end]} {quote(value)}{command.text[end:]}")


def _switch(command: Command, name: str, flag: str, wanted: bool) -> Command:
    """``name`` on or off, written as ``flag`` when that says it."""
    present = command.argument(name)
    plain = name.replace("_", "-")
    written = flag or (f"--{plain}" if wanted else f"--no-{plain}")
    if present is None:
        return _append(command, [written])
    if present.switch and present.inverse == (not wanted):
        return command
    return _replace(command, present.first, present.last, written)


def remove_flag(command: Command, flag: str) -> Command:
    """The command without any occurrence of ``flag``, dotted ones included."""
    name, _ = spelled(command.flags.name(flag.partition(".")[0]), command.flags)
    while (present := command.argument(name, None)) is not None:
        command = _without(command, present)
    return command


# -- the transfer configuration ----------------------------------------------------------------


def set_transfer(command: Command, path: str, value: str) -> Command:
    """A key of --kv-transfer-config: ``kv_role``, ``kv_connector_extra_config.read_mode``,
    ``extra.connectors.0.kv_role``, ``extra.connectors.*.kv_role`` for every member that has none.
    The value is read as JSON when it is JSON."""
    path = _full(path)
    if EVERY in path and command.argument(OPENED) is None:
        raise InputError("the members of a list are changed in one JSON text", field=path)
    dotted = command.argument(OPENED, path)
    if dotted is not None:
        return set_flag_at(command, dotted, value)
    if any(one.name == OPENED and one.path for one in command.arguments):
        return _append(command, [f"{TRANSFER}.{path}", value])
    present = command.argument(OPENED)
    if present is None:
        made: dict[str, Tree] = {}
        _put(made, path, _json(value))
        return _append(command, [TRANSFER, json.dumps(made, ensure_ascii=False)])
    return _edit_json(command, present, lambda tree: _put(tree, path, _json(value)))


def remove_transfer(command: Command, path: str) -> Command:
    """The command without one key of --kv-transfer-config."""
    path = _full(path)
    dotted = command.argument(OPENED, path) or command.argument(OPENED, path + "+")
    if dotted is not None:
        return _without(command, dotted)
    present = command.argument(OPENED)
    if present is None:
        return command
    return _edit_json(command, present, lambda tree: _drop(tree, path))


def set_flag_at(command: Command, argument: Argument, value: str) -> Command:
    """Another value for one option of the command."""
    if argument.joined:
        token = command.tokens[argument.first]
        head = command.text[token.start : token.end].partition("=")[0]
        return _replace(command, argument.first, argument.first, value, head=f"{head}=")
    if not argument.values:
        raise InputError("the option has no value to change", field=argument.name)
    return _replace(command, argument.first + 1, argument.last, value)


def _full(path: str) -> str:
    """``extra.`` is how values are named; the option wants the key's own name."""
    parts = [EXTRA if part == "extra" else part for part in path.split(".")]
    return ".".join(parts)


def _json(value: str) -> Tree:
    try:
        made: Tree = json.loads(value)
    except ValueError:
        return value
    return made


def _edit_json(
    command: Command, argument: Argument, edit: Callable[[dict[str, Tree]], None]
) -> Command:
    text = argument.values[0] if argument.values else ""
    reading = read_literal(text)
    if reading is None or reading.cut or not isinstance(reading.tree, dict):
        raise InputError(
            f"the value of {TRANSFER} is not readable as JSON", field=TRANSFER,
            remedy="paste the command with the whole JSON text",
        )  # fmt: skip
    tree = reading.tree
    edit(tree)
    return set_flag_at(command, argument, _dump(tree, text))


def _dump(tree: dict[str, Tree], before: str) -> str:
    """JSON in the manner of the text that it replaces: on several lines, close or spaced."""
    if "\n" in before.strip():
        return json.dumps(tree, indent=2, ensure_ascii=False)
    spaced = ": " in before or ", " in before
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps(tree, separators=separators, ensure_ascii=False)


def _put(tree: Tree, path: str, value: Tree) -> None:
    head, star, rest = path.partition(f".{EVERY}.")
    if star:
        for place in _members_without(tree, head, rest):
            _put(tree, f"{head}.{place}.{rest}", value)
        return
    *parents, leaf = path.split(".")
    for parent in parents:
        if isinstance(tree, list):
            tree = _member(tree, parent)
        elif isinstance(tree, dict):
            tree = tree.setdefault(parent, {})
    if isinstance(tree, dict):
        tree[leaf] = value
    elif isinstance(tree, list) and leaf.isdigit() and int(leaf) < len(tree):
        tree[int(leaf)] = value
    else:
        raise InputError(f"the transfer configuration has no place for {path}", field=path)


def _members_without(tree: Tree, head: str, leaf: str) -> list[int]:
    """Places in the list at ``head`` of the structures that have no ``leaf`` of their own."""
    for part in head.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    members = tree if isinstance(tree, list) else []
    return [
        place for place, one in enumerate(members) if isinstance(one, dict) and not one.get(leaf)
    ]


def _drop(tree: Tree, path: str) -> None:
    *parents, leaf = path.split(".")
    for parent in parents:
        if isinstance(tree, list):
            tree = _member(tree, parent)
        elif isinstance(tree, dict):
            tree = tree.get(parent, {})
    if isinstance(tree, dict):
        tree.pop(leaf, None)


def _member(tree: list[Tree], index: str) -> Tree:
    if index.isdigit() and int(index) < len(tree):
        return tree[int(index)]
    raise InputError(f"the transfer configuration has no element {index}", field=index)


# -- variables ---------------------------------------------------------------------------------


def set_env(command: Command, name: str, value: str) -> Command:
    """A variable for the command: NAME=value before it, -e for a container, env in a manifest."""
    present = next((one for one in reversed(command.env) if one.name == name), None)
    if command.style == "list":
        return _listed_env(command, name, value)
    if present is not None:
        token = command.tokens[present.token]
        raw = command.text[token.start : token.end]
        head = raw[: raw.index(name + "=") + len(name) + 1]
        return _replace(command, present.token, present.token, value, head=head)
    run = _container_run(command)
    if run >= 0:
        place = command.tokens[run].end
        return _again(command, command.text[:place] + f" -e {name}={quote(value)}"
                      + command.text[place:])  # fmt: skip
    first = command.tokens[0].start if command.tokens else 0
    return _again(command, command.text[:first] + f"{name}={quote(value)} " + command.text[first:])


def remove_env(command: Command, name: str) -> Command:
    """The command without a variable."""
    if command.style == "list":
        return _listed_env(command, name, None)
    present = next((one for one in command.env if one.name == name), None)
    if present is None:
        return command
    first = present.token
    if first and command.tokens[first - 1].text in ("-e", "--env"):
        first -= 1
    if first == 0:
        follower = command.tokens[present.token + 1].start
        return _again(command, command.text[follower:])
    return _cut(command, first, present.token)


def _container_run(command: Command) -> int:
    """The token ``run`` of docker run, -1 when no container runner starts the command."""
    words = [token.text.rpartition("/")[2] for token in command.tokens[: command.program]]
    for index, text in enumerate(words):
        if text in ("docker", "podman", "nerdctl") and "run" in words[index:]:
            return words.index("run", index)
    return -1


def _listed_env(command: Command, name: str, value: str | None) -> Command:
    pairs = [(one.name, one.value) for one in command.env]
    if value is None:
        pairs = [pair for pair in pairs if pair[0] != name]
    elif any(pair[0] == name for pair in pairs):
        pairs = [(key, value if key == name else old) for key, old in pairs]
    else:
        pairs.append((name, value))
    return _again(command, write_listing([token.text for token in command.tokens], pairs))


# -- text --------------------------------------------------------------------------------------


def _again(command: Command, text: str) -> Command:
    return parse_command(text, command.flags, number=command.number, style=command.style)


def _replace(command: Command, first: int, last: int, value: str, *, head: str = "") -> Command:
    """The tokens from ``first`` to ``last`` replaced by one word."""
    start, end = command.tokens[first].start, command.tokens[last].end
    if command.style == "list":
        return _again(command, command.text[:start] + listed(head + value) + command.text[end:])
    raw = command.text[start:end]
    return _again(command, command.text[:start] + head + quote(value, raw) + command.text[end:])


def _without(command: Command, argument: Argument) -> Command:
    return _cut(command, argument.first, argument.last)


def _cut(command: Command, first: int, last: int) -> Command:
    """The tokens taken away with the white space (and the continuation) before them."""
    start = command.tokens[first - 1].end if first else 0
    end = command.tokens[last].end
    follower = command.tokens[last + 1].start if last + 1 < len(command.tokens) else end
    if command.style == "list":
        start = command.text.rfind("\n", 0, command.tokens[first].start)
    elif "\n" in command.text[start : command.tokens[first].start] and (
        "\n" not in command.text[end:follower]
    ):
        start, end = command.tokens[first].start, follower  # others share its line
    return _again(command, command.text[:start] + command.text[end:])


def _append(command: Command, words: list[str]) -> Command:
    """New words at the end, laid out as the command is: on a line of their own or behind it."""
    text = command.text
    if command.style == "list":
        added = "".join(f"\n  - {listed(one)}" for one in words)
        return _again(command, text.rstrip("\n") + added)
    end = command.tokens[-1].end if command.tokens else len(text)
    added = " ".join([words[0], *(quote(one) for one in words[1:])])
    return _again(command, text[:end] + _joint(text) + added + text[end:])


def _joint(text: str) -> str:
    """What stands between two arguments: a blank, or a continuation with the usual indent."""
    found = re.findall(r"[ \t]*\\[ \t\r]*\n([ \t]*)", text)
    return f" \\\n{found[-1]}" if found else " "


# -- showing -----------------------------------------------------------------------------------


def lines_of(command: Command) -> tuple[str, ...]:
    """The command with one argument per line, for showing and comparing."""
    if command.style == "list":
        return tuple(command.text.split("\n"))
    lines: list[str] = []
    first = command.arguments[0].first if command.arguments else len(command.tokens)
    head = set(range(first))
    for one in command.env:
        words = [one.token]
        if one.token and command.tokens[one.token - 1].text in ("-e", "--env"):
            words.insert(0, one.token - 1)
        head -= set(words)
        lines.append(" ".join(_raw(command, index) for index in words))
    lines.append(" ".join(_raw(command, index) for index in sorted(head)))
    taken = set(range(first))
    for argument in command.arguments:
        spread = range(argument.first, argument.last + 1)
        lines.append(" ".join(_raw(command, index) for index in spread))
        taken |= set(spread)
    lines += [_raw(command, i) for i in range(len(command.tokens)) if i not in taken]
    return tuple(line for line in lines if line)


def _raw(command: Command, index: int) -> str:
    token = command.tokens[index]
    return command.text[token.start : token.end]


def difference(before: Command, after: Command) -> tuple[tuple[str, str], ...]:
    """Lines with a sign before each: "-" gone, "+" new, " " unchanged."""
    from difflib import SequenceMatcher

    old, new = lines_of(before), lines_of(after)
    result: list[tuple[str, str]] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "equal":
            result += [(" ", line) for line in old[old_from:old_to]]
            continue
        result += [("-", line) for line in old[old_from:old_to]]
        result += [("+", line) for line in new[new_from:new_to]]
    return tuple(result)
