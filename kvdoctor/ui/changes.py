"""What a fix changes in the user's own command, argument by argument, key by key."""

from __future__ import annotations

import json
import shlex

from kvdoctor.report import OfferedFix

RESTATED = (
    "put together from the arguments in the log, which does not print the environment: "
    "add your own variables"
)


def changed_parts(one: OfferedFix, most: int, arrow: str = "→") -> list[tuple[str, str, str]]:
    """The parts of the user's own command that change: sign, words, style. Of a JSON value only
    the keys that change, old and new on one row."""
    if not one.after:
        return []
    from difflib import SequenceMatcher

    old, new = _arguments(one.before), _arguments(one.after)
    rows: list[tuple[str, str, str]] = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        gone, come = old[i:j], new[k:m]
        keys = _changed_keys(gone[0], come[0], arrow) if len(gone) == len(come) == 1 else []
        if keys:
            rows += keys
            continue
        rows += [("-", word, "$text-error") for word in gone]
        rows += [("+", word, "$text-success") for word in come]
    return rows[:most]


def _changed_keys(old: str, new: str, arrow: str) -> list[tuple[str, str, str]]:
    """The keys in which two JSON values of one flag differ; empty when they are not JSON."""
    before, after = _flat(old), _flat(new)
    if before is None or after is None or before[0] != after[0]:
        return []
    rows = [("~", f"in {before[0]}", "dim")]
    for key in dict.fromkeys([*before[1], *after[1]]):
        was, now = before[1].get(key), after[1].get(key)
        if was == now:
            continue
        if now is None:
            rows.append(("-", f"{key}: {was}", "$text-error"))
        elif was is None:
            rows.append(("+", f"{key}: {now}", "$text-success"))
        else:
            rows.append(("~", f"{key}: {was} {arrow} {now}", "$text-success"))
    return rows if len(rows) > 1 else []


def _flat(argument: str) -> tuple[str, dict[str, str]] | None:
    """The flag of an argument and its JSON value as dotted keys."""
    flag, _, raw = argument.replace("=", " ", 1).partition(" ")
    if not flag.startswith("--") or "{" not in raw:
        return None
    try:
        tree = json.loads("".join(shlex.split(raw)))
    except ValueError:
        return None
    found: dict[str, str] = {}
    todo = [("", tree)]
    while todo:
        path, node = todo.pop(0)
        if isinstance(node, dict | list):
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            todo = [(f"{path}.{key}".lstrip("."), one) for key, one in pairs] + todo
        else:
            found[path] = node if isinstance(node, str) else json.dumps(node)
    return flag, found


def _arguments(command: str) -> list[str]:
    """The words of a command, each flag together with its value."""
    found: list[str] = []
    for word in command.replace("\\\n", " ").split():
        if found and not word.startswith("-") and found[-1].startswith("-"):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found
