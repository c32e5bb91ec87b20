"""Compares the tree of a knowledge file with its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kvdoctor.data import dataclass
from kvdoctor.errors import did_you_mean
from kvdoctor.form.fields import Either, Kind, Leaf, Many, Shape, Table

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place where a tree breaks its form."""

    path: Path
    problem: str
    remedy: str = ""


def field_name(path: Path) -> str:
    """A path as people read it: ``checks[0].when``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def misfits(tree: Any, kind: Kind, path: Path = ()) -> Iterator[Misfit]:
    """Every place where ``tree`` is not what ``kind`` says."""
    if isinstance(kind, Leaf):
        yield from _leaf(tree, kind, path)
    elif isinstance(kind, Many):
        if not isinstance(tree, list) and kind.single:
            yield from misfits(tree, kind.of, path)
        elif not isinstance(tree, list):
            yield Misfit(path, f"a list is expected, not {_what(tree)}")
        else:
            for index, item in enumerate(tree):
                yield from misfits(item, kind.of, (*path, index))
    elif isinstance(kind, Table):
        yield from _table(tree, kind, path)
    elif isinstance(kind, Shape):
        yield from _shape(tree, kind, path)
    else:
        yield from misfits(tree, chosen(tree, kind), path)


def chosen(tree: Any, kind: Either) -> Kind:
    """The option of ``kind`` that is meant by a value of this form."""
    wanted = Many if isinstance(tree, list) else Shape if isinstance(tree, dict) else Leaf
    return next((one for one in kind.options if isinstance(one, wanted)), kind.options[0])


def _what(tree: Any) -> str:
    if tree is None:
        return "nothing"
    if isinstance(tree, bool):
        return f"{str(tree).lower()}"
    if isinstance(tree, (int, float)):
        return f"the number {tree}"
    return (
        "a mapping" if isinstance(tree, dict) else "a list" if isinstance(tree, list) else "a text"
    )


def _leaf(tree: Any, kind: Leaf, path: Path) -> Iterator[Misfit]:
    if kind.kind == "any":
        if isinstance(tree, (dict, list)):
            yield Misfit(path, f"a single value is expected, not {_what(tree)}")
        return
    if kind.kind in ("bool", "int", "number"):
        fits = isinstance(tree, bool) if kind.kind == "bool" else _is_number(tree, kind.kind)
        if not fits:
            yield Misfit(path, f"{kind.kind} is expected, not {_what(tree)}")
        return
    if kind.kind == "expression" and isinstance(tree, (bool, int, float)):
        return
    if not isinstance(tree, str):
        quote = isinstance(tree, (bool, int, float))
        remedy = "put it in quotes" if quote else "leave the key out or give it a text"
        yield Misfit(path, f"a text is expected, not {_what(tree)}", remedy)
    elif kind.choices and tree not in kind.choices:
        yield Misfit(
            path,
            f"{tree!r} is not one of {', '.join(kind.choices)}",
            did_you_mean(tree, kind.choices),
        )
    elif kind.pattern and not re.fullmatch(kind.pattern, tree):
        say = "lower-case words joined by hyphens" if kind.means == "id" else kind.pattern
        yield Misfit(path, f"{tree!r} does not have the form: {say}")


def _is_number(tree: Any, kind: str) -> bool:
    if isinstance(tree, bool):
        return False
    return isinstance(tree, int) or (kind == "number" and isinstance(tree, float))


def _table(tree: Any, kind: Table, path: Path) -> Iterator[Misfit]:
    if not isinstance(tree, dict):
        yield Misfit(path, f"a mapping is expected, not {_what(tree)}")
        return
    for key, value in tree.items():
        if kind.pattern and not re.fullmatch(kind.pattern, key):
            yield Misfit((*path, key), f"the name {key!r} does not have the form {kind.pattern}")
        yield from misfits(value, kind.of, (*path, key))


def _shape(tree: Any, kind: Shape, path: Path) -> Iterator[Misfit]:
    if not isinstance(tree, dict):
        yield Misfit(path, f"a mapping is expected, not {_what(tree)}")
        return
    names = tuple(field.name for field in kind.fields)
    for field in kind.fields:
        if field.required and field.name not in tree:
            yield Misfit(path, f"{field.name!r} is missing", field.doc)
    for key, value in tree.items():
        field_ = kind.field(key)
        if field_ is None:
            remedy = did_you_mean(key, names) or f"known keys: {', '.join(names)}"
            yield Misfit((*path, key), f"{kind.name} has no key {key!r}", remedy)
        else:
            yield from misfits(value, field_.kind, (*path, key))
