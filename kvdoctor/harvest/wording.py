"""From the syntax of a message to its wordings: literal text with named holes.

One expression can have several wordings (branches, conditional expressions), so everything here
works on lists of alternatives, each a tuple of literal strings and holes. The lists are short by
construction (``MOST``).
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Iterable, Sequence

from kvdoctor.data import dataclass

MOST = 8  # alternatives kept for one message
LITTLE = 6  # literal characters without which a text says what is put into it
DEEP = 5  # names and helper functions followed


@dataclass(frozen=True, slots=True)
class Hole:
    """A value that is only known when the program runs."""

    name: str


Parts = tuple[str | Hole, ...]
Resolver = Callable[[ast.expr, int], "list[Parts] | None"]

_PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([a-zA-Z%])")
_REGEX_SIGN = re.compile(r"(?<=\.)[*+]|\(\?")
_SAME_TEXT = frozenset({"strip", "rstrip", "lstrip", "lower", "upper", "capitalize", "replace"})
_TRANSPARENT = frozenset(
    {"str", "repr", "int", "float", "sorted", "list", "tuple", "set", "bool", "dict", "join"}
    | {"cast", "pformat", "format", "dumps", "min", "max", "sum", "abs", "round", "next", "iter"}
    | {"get_args"}
)
_VAGUE = frozenset({"name", "value", "shape", "dtype", "__name__", "__class__", "id", "size"})


def hole_name(node: ast.AST) -> str:
    """A readable name for the value of an expression: ``self.block_size`` gives block_size."""
    name = re.sub(r"\W+", "_", _name(node)).strip("_")
    return name if name and not name[0].isdigit() else "value"


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        if node.attr in _VAGUE:
            owner = _name(node.value)
            if isinstance(node.value, ast.Call) and _name(node.value.func) == "type":
                owner = _name(node.value.args[0]) if node.value.args else ""
                return f"{owner}_type"
            return f"{owner}_{node.attr.strip('_')}" if owner not in {"", "self"} else node.attr
        return node.attr
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value
        return _name(node.value)
    if isinstance(node, ast.Call):
        return _call_name(node)
    for field in ("value", "left", "operand", "body", "elt", "values", "elts"):
        inner = getattr(node, field, None)
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, ast.AST) and not isinstance(one, ast.Constant) and _name(one):
                return _name(one)
    right = getattr(node, "right", None)
    return _name(right) if isinstance(right, ast.AST) else ""


def _call_name(node: ast.Call) -> str:
    called = _name(node.func)
    first = node.args[0] if node.args else None
    if called == "get" and isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    if called == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
        return str(node.args[1].value)
    if called == "len" and first is not None:
        return f"num_{_name(first)}"
    if called == "type" and first is not None:
        return f"{_name(first)}_type"
    see_through = called in _TRANSPARENT or called.lstrip("_").startswith("format")
    if see_through and first is not None:
        return _name(first) or called
    return called


def texts(node: ast.expr, resolve: Resolver, depth: int = 0) -> list[Parts] | None:
    """The wordings of an expression, or None when it is no text that can be told beforehand.

    ``resolve`` is asked about names, attributes and calls of helper functions."""
    if depth > DEEP:
        return None
    if isinstance(node, ast.Constant):
        return [(node.value,)] if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return _joined_texts(node, resolve, depth)
    if isinstance(node, ast.BinOp):
        return _binary(node, resolve, depth)
    if isinstance(node, ast.IfExp):
        both = [texts(branch, resolve, depth + 1) for branch in (node.body, node.orelse)]
        if both == [None, None]:
            return None
        return [
            one
            for found, branch in zip(both, (node.body, node.orelse), strict=True)
            for one in (found if found is not None else [(Hole(hole_name(branch)),)])
        ][:MOST]
    if isinstance(node, ast.BoolOp):
        return texts(node.values[-1], resolve, depth + 1)
    if isinstance(node, ast.Call):
        found = _call(node, resolve, depth)
        if found is not None:
            return found
    return resolve(node, depth + 1)


def _joined_texts(node: ast.JoinedStr, resolve: Resolver, depth: int) -> list[Parts]:
    """An f-string; one that is put together of other texts only says what these say."""
    plain = _joined(node)
    if literal_size(plain) >= LITTLE:
        return [plain]
    pieces = [
        one.value if isinstance(one, ast.FormattedValue) and one.conversion < 0 else one
        for one in node.values
    ]
    return _in_row(pieces, resolve, depth)


def _in_row(pieces: Sequence[ast.expr], resolve: Resolver, depth: int) -> list[Parts]:
    """The wordings of several expressions one behind the other."""
    whole: list[Parts] = [()]
    for piece in pieces:
        found = None if isinstance(piece, ast.FormattedValue) else texts(piece, resolve, depth + 1)
        options = found if found is not None else [(Hole(hole_name(piece)),)]
        whole = [one + two for one in whole for two in options][:MOST]
    return whole


def filled(parts: Parts, arguments: Sequence[ast.expr], resolve: Resolver) -> list[Parts]:
    """The arguments of a logger call put into its text, each by name; where the text itself says
    nothing ("%s %s"), with what the arguments say."""
    if literal_size(parts) >= LITTLE or not all(isinstance(part, str) for part in parts):
        return [fill_percent(parts, arguments)]
    signs = [one for one in _PERCENT.finditer("".join(map(str, parts))) if one[2] != "%"]
    if len(signs) != len(arguments) or any(sign[0] not in ("%s", "%r") for sign in signs):
        return [fill_percent(parts, arguments)]
    row: list[ast.expr] = []
    at, text = 0, "".join(map(str, parts))
    for sign, argument in zip(signs, arguments, strict=True):
        row += [ast.Constant(text[at : sign.start()]), argument]
        at = sign.end()
    return _in_row([*row, ast.Constant(text[at:])], resolve, 0)


def _joined(node: ast.JoinedStr) -> Parts:
    parts: list[str | Hole] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        elif isinstance(value, ast.FormattedValue):
            inner = value.value
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                parts.append(inner.value)
            else:
                parts.append(Hole(hole_name(inner)))
    return tuple(parts)


def _binary(node: ast.BinOp, resolve: Resolver, depth: int) -> list[Parts] | None:
    left = texts(node.left, resolve, depth + 1)
    if isinstance(node.op, ast.Mod):
        return None if left is None else [_percent(one, node.right) for one in left]
    if not isinstance(node.op, ast.Add):
        return None
    right = texts(node.right, resolve, depth + 1)
    if left is None and right is None:
        return None
    before = left if left is not None else [(Hole(hole_name(node.left)),)]
    after = right if right is not None else [(Hole(hole_name(node.right)),)]
    return [one + two for one in before for two in after][:MOST]


def _percent(parts: Parts, values: ast.expr | None) -> Parts:
    arguments: list[ast.expr] = []
    if isinstance(values, ast.Tuple):
        arguments = values.elts
    elif values is not None:
        arguments = [values]
    return fill_percent(parts, arguments)


def fill_percent(parts: Parts, arguments: Sequence[ast.expr]) -> Parts:
    """Replaces the ``%`` directives of a text by holes named after ``arguments``."""
    waiting = list(arguments)
    filled: list[str | Hole] = []
    for part in parts:
        if isinstance(part, Hole):
            filled.append(part)
            continue
        at = 0
        for found in _PERCENT.finditer(part):
            filled.append(part[at : found.start()])
            at = found.end()
            if found[2] == "%":
                filled.append("%")
            elif found[1]:
                filled.append(Hole(found[1]))
            else:
                filled.append(Hole(hole_name(waiting.pop(0)) if waiting else "value"))
        filled.append(part[at:])
    return tuple(part for part in filled if part != "")


def _call(node: ast.Call, resolve: Resolver, depth: int) -> list[Parts] | None:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr == "join" and len(node.args) == 1:
            return _join(function.value, node.args[0], resolve, depth)
        if function.attr == "format":
            base = texts(function.value, resolve, depth + 1)
            return None if base is None else [_format(one, node) for one in base]
        if function.attr in _SAME_TEXT:
            return texts(function.value, resolve, depth + 1)
        if function.attr == "dedent" and node.args:
            return texts(node.args[0], resolve, depth + 1)
    elif isinstance(function, ast.Name) and function.id in {"str", "dedent"} and node.args:
        return texts(node.args[0], resolve, depth + 1)
    return None


def _join(
    separator: ast.expr, pieces: ast.expr, resolve: Resolver, depth: int
) -> list[Parts] | None:
    if not (isinstance(separator, ast.Constant) and isinstance(separator.value, str)):
        return None
    if not isinstance(pieces, ast.List | ast.Tuple):
        # a list that was filled elsewhere: the resolver knows the texts put into it
        found = resolve(pieces, depth + 1)
        return found if found is not None else [(Hole(hole_name(pieces)),)]
    whole: list[Parts] = [()]
    for number, piece in enumerate(pieces.elts):
        found = texts(piece, resolve, depth + 1)
        options = found if found is not None else [(Hole(hole_name(piece)),)]
        glue: Parts = (separator.value,) if number else ()
        whole = [one + glue + two for one in whole for two in options][:MOST]
    return whole


def _format(parts: Parts, node: ast.Call) -> Parts:
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    filled: list[str | Hole] = []
    position = 0
    for part in parts:
        if isinstance(part, Hole):
            filled.append(part)
            continue
        try:
            fields = list(string.Formatter().parse(part))
        except ValueError:
            filled.append(part)
            continue
        for literal, field, _, _ in fields:
            filled.append(literal)
            if field is None:
                continue
            head = re.split(r"[.\[]", field)[0]
            if head.isdigit() or not head:
                index = int(head) if head else position
                position += 1
                value = node.args[index] if index < len(node.args) else None
                filled.append(Hole(hole_name(value) if value is not None else "value"))
            else:
                value = named.get(head)
                filled.append(Hole(hole_name(value) if value is not None else head))
    return tuple(part for part in filled if part != "")


def literal_size(parts: Parts) -> int:
    """Characters that are no white space in the literal text."""
    return sum(len("".join(part.split())) for part in parts if isinstance(part, str))


def template_of(parts: Parts) -> str:
    """The template text: neighbouring holes become one, names are made unique."""
    pieces: list[str] = []
    used: dict[str, int] = {}
    after_hole = False
    for part in _merged(parts):
        if isinstance(part, str):
            pieces.append(escape(part))
            after_hole = False
        elif not after_hole:
            used[part.name] = used.get(part.name, 0) + 1
            count = used[part.name]
            pieces.append("{" + (part.name if count == 1 else f"{part.name}_{count}") + "}")
            after_hole = True
    return "".join(pieces)


def _merged(parts: Iterable[str | Hole]) -> list[str | Hole]:
    merged: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return merged


def escape(text: str) -> str:
    """Literal braces as templates write them. Backslashes do not count when texts are compared;
    what would make a template look like a regular expression becomes a hole."""
    plain = text.replace("\\", "").replace("{", "{{").replace("}", "}}")
    return _REGEX_SIGN.sub("{}", plain) if _REGEX_SIGN.search(plain) else plain
