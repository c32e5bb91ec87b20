"""The launch command that a log's list of arguments stands for, when no command was pasted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from kvdoctor.values.command import Command, parse_command
from kvdoctor.values.flatten import EXTRA, OPENED
from kvdoctor.values.found import Server
from kvdoctor.values.literals import Tree
from kvdoctor.values.table import Table

HIDDEN = "***"  # what vLLM prints for a secret


def restated(server: Server, table: Table) -> Command | None:
    """``vllm serve …`` with the arguments that the server printed; None when it printed none or
    the list is cut off. Secrets that the log hides are left out."""
    if not server.arguments or not server.complete:
        return None
    tree = server.arguments
    model = tree.get("model") or tree.get("model_tag")
    words = ["vllm", "serve"]
    if isinstance(model, str):
        words.append(shlex.quote(model))
    lines = [" ".join(words)]
    for key, value in tree.items():
        if key in ("model", "model_tag") or not key.isidentifier():
            continue
        lines += [" ".join(map(shlex.quote, line)) for line in _option(key, value, table)]
    return parse_command(" \\\n  ".join(lines), table.flags, number=0)


def _option(key: str, value: Tree, table: Table) -> Iterator[list[str]]:
    flag = "--" + key.replace("_", "-")
    if value is None or value == HIDDEN:
        return
    if key == OPENED and isinstance(value, dict):
        value = {name: one for name, one in value.items() if not _unsaid(name, one, table)}
    if isinstance(value, bool):
        yield [flag if value else f"--no-{flag[2:]}"]
    elif isinstance(value, list) and key in table.flags.many:
        yield [flag, *(_word(one) for one in value)]
    elif isinstance(value, dict | list):
        yield [flag, json.dumps(value, ensure_ascii=False)]
    else:
        yield [flag, _word(value)]


def _word(value: Tree) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _unsaid(name: str, value: Tree, table: Table) -> bool:
    """Whether vLLM prints this key of the transfer configuration without having been told."""
    if name == EXTRA:
        return not value
    if name not in table.unsaid or isinstance(value, dict | list):
        return False
    usual = table.unsaid[name]
    return not usual or value in usual
