"""Engines that a Python script makes: ``LLM(model="…", tensor_parallel_size=8, …)``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdoctor.values.found import Found
from kvdoctor.values.literals import Tree
from kvdoctor.values.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from kvdoctor.values.table import Table

RANK = 46
MOST_CALLS = 10
LONGEST = 20_000  # characters of one call
DEEPEST = 6
_CALL = re.compile(r"(?<![\w.])(?:LLM|AsyncLLM|(?:Async)?EngineArgs)\(")


def scripted(text: str, number: int, table: Table) -> Iterator[Found]:
    """What the calls in a text whose first line is line ``number`` state in plain literals: a name
    of the script says nothing."""
    from kvdoctor.values.flatten import flatten

    for count, found in enumerate(_CALL.finditer(text)):
        if count >= MOST_CALLS:
            return
        call = _call(text[found.start() : found.start() + LONGEST])
        tree = _tree(call, 0) if call is not None else None
        if not isinstance(tree, dict):
            continue
        line = number + text.count("\n", 0, found.start())
        for name, value in flatten(tree, table.rename):
            made = Value(name, value, "config", "this", line, why="Python call")
            yield Found(made, RANK)


def _call(text: str) -> ast.Call | None:
    """The call that ``text`` begins with."""
    import ast
    import warnings

    depth = 0
    for end in re.finditer(r"[()]", text):
        depth += 1 if end[0] == "(" else -1
        if depth:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the escapes in somebody else's strings
            try:
                made = ast.parse(text[: end.end()], mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        return made if isinstance(made, ast.Call) else None
    return None


_NOTHING = object()


def _tree(node: ast.AST, depth: int) -> Tree | object:
    """A literal, or the keywords of a call; :data:`_NOTHING` for all that would have to be run."""
    import ast

    if depth > DEEPEST:
        return _NOTHING
    if isinstance(node, ast.Constant):
        plain = node.value is None or isinstance(node.value, str | int | float)
        return node.value if plain else _NOTHING
    if isinstance(node, ast.Call):
        pairs = [(one.arg, one.value) for one in node.keywords if one.arg]
        if node.args and depth == 0:
            pairs.insert(0, ("model", node.args[0]))
    elif isinstance(node, ast.Dict):
        pairs = [
            (key.value, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    elif isinstance(node, ast.List | ast.Tuple):
        items = [_tree(one, depth + 1) for one in node.elts]
        return items if all(one is not _NOTHING for one in items) else _NOTHING
    else:
        return _NOTHING
    known = {name: _tree(value, depth + 1) for name, value in pairs}
    return {name: value for name, value in known.items() if value is not _NOTHING}
