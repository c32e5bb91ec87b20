"""From the structure of a printed or pasted configuration to flat value names.

``kv_transfer_config`` opens up: its keys keep their own names, ``kv_connector_extra_config``
becomes ``extra``: ``extra.read_mode``, ``extra.connectors.0.kv_connector``. Other structures are
joined with dots: ``speculative_config.method``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvdoctor.values.literals import Tree
from kvdoctor.values.value import Scalar

MOST_LEAVES = 500
DEEPEST = 12
LONGEST_TEXT = 2000

OPENED = "kv_transfer_config"
EXTRA = "kv_connector_extra_config"


def flatten(tree: Mapping[str, Tree], rename: Mapping[str, str]) -> Iterator[tuple[str, Scalar]]:
    """Pairs (name, value) of the leaves, at most ``MOST_LEAVES``."""
    left = MOST_LEAVES
    for key, value in tree.items():
        plain = key.strip().replace("-", "_")
        name = rename.get(plain, plain)
        for pair in _leaves(_transfer(value) if name == OPENED else {name: value}, "", 0):
            if left == 0:
                return
            left -= 1
            yield pair


def _transfer(value: Tree) -> Mapping[str, Tree]:
    if isinstance(value, dict):
        return value
    return {} if value is None else {OPENED: value}


def _leaves(tree: Mapping[str, Tree], prefix: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    if depth > DEEPEST:
        return
    for key, value in tree.items():
        name = prefix + ("extra" if key == EXTRA else key.strip())
        if isinstance(value, dict):
            yield from _leaves(value, name + ".", depth + 1)
        elif isinstance(value, list):
            yield from _members(value, name, depth)
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            continue
        else:
            yield name, value


def _members(values: list[Tree], name: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    """A list of plain values is one text with commas, a list of structures is numbered."""
    if any(isinstance(one, dict | list) for one in values):
        numbered: dict[str, Tree] = {str(index): one for index, one in enumerate(values)}
        yield from _leaves(numbered, name + ".", depth + 1)
    elif len(values) == 1:
        yield name, values[0]  # type: ignore[misc]  # no dict or list is left
    elif len(values) <= 64:
        yield name, ",".join(str(one) for one in values)
