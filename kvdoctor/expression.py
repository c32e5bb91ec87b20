"""The closed expression language of the records: ``not is_mla and local_tp_size < kv_heads``.

Text is parsed with Python's own parser into a tree of which only a short list of nodes is let
through; nothing is ever executed. Names and types are checked when the text is parsed. Evaluation
is three-valued: an operand that is not known makes the result UNKNOWN unless it is decided anyway
(``False and x``). Nothing here raises while evaluating.
"""

from __future__ import annotations

import _ast as ast
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from kvdoctor.data import dataclass, field
from kvdoctor.errors import ExpressionError, did_you_mean
from kvdoctor.releases import key as release_key
from kvdoctor.scalars import BIGGEST, TYPES, UNKNOWN, Result, Scalar, Unknown, Values, read_value
from kvdoctor.text.rendering import check_template, holes_of, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "TYPES", "UNKNOWN", "Expression", "Scalar", "Unknown", "check_template", "holes_of", "parse",
    "read_value", "render",
]  # fmt: skip

LONGEST = 1000  # characters of one expression
LONGEST_TEXT = 10_000  # characters of a text that an expression joins
DEEPEST = 40  # nested operations

_PARSE_ONLY = 0x400  # PyCF_ONLY_AST: compile() then gives the tree and runs nothing


# --- nodes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression: ``run`` evaluates it, ``parts`` are its operands."""

    type: str
    run: Callable[[Values], Result]
    parts: tuple[Node, ...] = ()
    name: str = ""  # of a name
    kind: str = ""  # "and", "or", "if", "known" or ""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. ``type`` is the type of its result, ``names`` the names it reads in the
    order in which they stand."""

    text: str
    type: str
    names: tuple[str, ...]
    node: Node = field(repr=False, compare=False)
    literals: tuple[tuple[str, str], ...] = ()  # (name, text that it is compared with)

    def evaluate(self, values: Values) -> Result:
        """The result; UNKNOWN when a value that is needed is missing or of another type."""
        return self.node.run(values)

    def open_names(self, values: Values) -> tuple[str, ...]:
        """Names without a value on which the result still depends, in the order in which they
        stand; empty when the expression is decided."""
        if self.evaluate(values) is not UNKNOWN:
            return ()
        return tuple(dict.fromkeys(_open(self.node, values)))


def _open(node: Node, values: Values) -> Iterable[str]:
    if node.run(values) is not UNKNOWN:
        return
    if node.name:
        yield node.name
        return
    if node.kind == "if":
        condition, then, other = node.parts
        chosen = condition.run(values)
        if chosen is not UNKNOWN:
            yield from _open(then if chosen else other, values)
            return
    for part in node.parts:
        yield from _open(part, values)


@lru_cache(maxsize=2048)
def _parse(text: str, names: tuple[tuple[str, str], ...]) -> Expression:
    return _Parser(text, dict(names)).expression()


def parse(text: str, names: Mapping[str, str]) -> Expression:
    """Check ``text`` against the declared ``names`` (name -> type) and make it ready to evaluate.

    Raises ExpressionError, with the column, for anything outside the language."""
    return _parse(text, tuple(sorted(names.items())))


_COMPARE: dict[type, tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_ARITHMETIC: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}
_NUMBERS = ("int", "number")
_TEXTS = ("text", "choice")
_FUNCTIONS = (
    "min", "max", "abs", "ceil", "floor", "round", "startswith", "endswith", "contains", "known",
)  # fmt: skip


def _bounded(result: Any) -> Result:
    if isinstance(result, float) and not math.isfinite(result):
        return UNKNOWN
    if abs(result) > BIGGEST:
        return UNKNOWN
    return result  # type: ignore[no-any-return]


class _Parser:
    """Turns one text into nodes. Every method gives the node for one kind of tree."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.types = names
        self.used: list[str] = []
        self.compared: list[tuple[str, str]] = []

    def expression(self) -> Expression:
        if len(self.text) > LONGEST:
            raise ExpressionError(f"expression longer than {LONGEST:,} characters")
        if "\\" in self.text:
            raise ExpressionError("a backslash is not allowed in an expression")
        tree = self._tree()
        node = self._node(tree.body, 1)
        names = tuple(dict.fromkeys(self.used))
        return Expression(self.text, node.type, names, node, tuple(self.compared))

    def _tree(self) -> ast.Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # Line breaks come from folded YAML and mean nothing, as inside parentheses.
                tree = compile(" ".join(self.text.split("\n")).strip(), "", "eval", _PARSE_ONLY)
        except SyntaxError as error:
            column = error.offset or 1
            raise ExpressionError(
                f"column {column}: cannot be read: {error.msg}: {self.text!r}"
            ) from None
        except (ValueError, MemoryError, RecursionError, OverflowError):
            raise ExpressionError("expression is nested too deeply or holds a null byte") from None
        assert isinstance(tree, ast.Expression)  # noqa: S101 - what "eval" gives
        return tree

    def _fail(self, tree: ast.expr, problem: str, remedy: str = "") -> ExpressionError:
        head = self.text.strip().encode()[: tree.col_offset].decode(errors="ignore")
        return ExpressionError(f"column {len(head) + 1}: {problem}: {self.text!r}", remedy=remedy)

    def _node(self, tree: ast.expr, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._fail(tree, f"nested deeper than {DEEPEST} operations")
        handler = _HANDLERS.get(type(tree))
        if handler is None:
            what = type(tree).__name__
            raise self._fail(tree, f"{what} is not part of the expression language")
        return handler(self, tree, depth + 1)

    def _constant(self, tree: ast.Constant, _depth: int) -> Node:
        value = tree.value
        if isinstance(value, bool):
            kind = "bool"
        elif isinstance(value, int):
            kind = "int"
        elif isinstance(value, float):
            kind = "number"
        elif isinstance(value, str):
            kind = "text"
        else:
            raise self._fail(
                tree,
                f"{value!r} is not a value of the language",
                "use known(name) for missing ones",
            )
        if kind in _NUMBERS and _bounded(value) is UNKNOWN:
            raise self._fail(tree, "number is too large")
        return Node(kind, lambda values: value, kind="constant")

    def _name(self, tree: ast.Name, _depth: int) -> Node:
        name = tree.id
        type_ = self.types.get(name)
        if type_ is None and name in ("true", "false"):  # as YAML writes them
            constant = name == "true"
            return Node("bool", lambda values: constant, kind="constant")
        if type_ is None:
            raise self._fail(tree, f"unknown name {name!r}", did_you_mean(name, self.types))
        self.used.append(name)

        def run(values: Values) -> Result:
            return read_value(values.get(name, UNKNOWN), type_)

        return Node(type_, run, name=name)

    def _need(self, tree: ast.expr, node: Node, allowed: tuple[str, ...], what: str) -> Node:
        if node.type not in allowed:
            raise self._fail(tree, f"{what} needs {' or '.join(allowed)}, this is {node.type}")
        return node

    def _bool(self, tree: ast.BoolOp, depth: int) -> Node:
        conjunction = isinstance(tree.op, ast.And)
        word = "and" if conjunction else "or"
        parts = tuple(
            self._need(part, self._node(part, depth), ("bool",), word) for part in tree.values
        )
        decisive = not conjunction

        def run(values: Values) -> Result:
            result: Result = conjunction
            for part in parts:
                value = part.run(values)
                if value is decisive:
                    return decisive
                if value is UNKNOWN:
                    result = UNKNOWN
            return result

        return Node("bool", run, parts, kind=word)

    def _unary(self, tree: ast.UnaryOp, depth: int) -> Node:
        part = self._node(tree.operand, depth)
        if isinstance(tree.op, ast.Not):
            self._need(tree.operand, part, ("bool",), "not")
            return Node("bool", lambda values: _lift(operator.not_, part.run(values)), (part,))
        if isinstance(tree.op, (ast.USub, ast.UAdd)):
            self._need(tree.operand, part, _NUMBERS, "a sign")
            change = operator.neg if isinstance(tree.op, ast.USub) else operator.pos
            return Node(part.type, lambda values: _lift(change, part.run(values)), (part,))
        raise self._fail(tree, "~ is not part of the expression language")

    def _binary(self, tree: ast.BinOp, depth: int) -> Node:
        known = _ARITHMETIC.get(type(tree.op))
        if known is None:
            raise self._fail(tree, f"{type(tree.op).__name__} is not part of the language")
        sign, work = known
        left, right = self._node(tree.left, depth), self._node(tree.right, depth)
        if sign == "+" and left.type in _TEXTS and right.type in _TEXTS:
            return _strict(_glued, left, right, type_="text")
        self._need(tree.left, left, _NUMBERS, sign)
        self._need(tree.right, right, _NUMBERS, sign)
        whole = left.type == right.type == "int" and sign != "/"

        def run(values: Values) -> Result:
            one, two = left.run(values), right.run(values)
            if one is UNKNOWN or two is UNKNOWN:
                return UNKNOWN
            try:
                return _bounded(work(one, two))
            except (ZeroDivisionError, OverflowError):
                return UNKNOWN

        return Node("int" if whole else "number", run, (left, right))

    def _compare(self, tree: ast.Compare, depth: int) -> Node:
        links: list[Node] = []
        left_tree, left = tree.left, self._node(tree.left, depth)
        for op, right_tree in zip(tree.ops, tree.comparators, strict=True):
            if isinstance(op, (ast.In, ast.NotIn)):
                if len(tree.ops) > 1:
                    raise self._fail(tree, "in cannot be chained")
                return self._membership(left_tree, left, right_tree, depth, isinstance(op, ast.In))
            known = _COMPARE.get(type(op))
            if known is None:
                raise self._fail(tree, "is cannot be used", "compare with == or !=")
            right = self._node(right_tree, depth)
            links.append(self._pair(tree, (left, left_tree), (right, right_tree), known))
            left_tree, left = right_tree, right
        if len(links) == 1:
            return links[0]

        def run(values: Values) -> Result:
            result: Result = True
            for link in links:
                value = link.run(values)
                if value is False:
                    return False
                if value is UNKNOWN:
                    result = UNKNOWN
            return result

        return Node("bool", run, tuple(links), kind="and")

    def _pair(
        self,
        tree: ast.expr,
        one: tuple[Node, ast.expr],
        two: tuple[Node, ast.expr],
        comparison: tuple[str, Callable[[Any, Any], bool]],
    ) -> Node:
        sign, work = comparison
        left, right = one[0], two[0]
        types = {left.type, right.type}
        if "version" in types:
            return self._versions(tree, one, two, work)
        same = types <= set(_NUMBERS) or types <= set(_TEXTS) or types == {"bool"}
        if not same:
            raise self._fail(tree, f"{left.type} {sign} {right.type} can never be meant")
        if not types <= set(_NUMBERS) and sign not in ("==", "!="):
            raise self._fail(tree, f"{left.type} values have no order", "compare with == or !=")
        for name, literal in ((left.name, two[1]), (right.name, one[1])):
            if name and isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                self.compared.append((name, literal.value))
        return _strict(work, left, right)

    def _versions(
        self,
        tree: ast.expr,
        one: tuple[Node, ast.expr],
        two: tuple[Node, ast.expr],
        work: Callable[[Any, Any], bool],
    ) -> Node:
        for node, part in (one, two):
            literal = part.value if isinstance(part, ast.Constant) else None
            if node.type != "version" and not isinstance(literal, str):
                raise self._fail(tree, f"a version cannot be compared with {node.type}")
            if isinstance(literal, str) and release_key(literal) is None:
                raise self._fail(part, f"{literal!r} is not a version")

        def compare(left: str, right: str) -> bool:
            return work(release_key(left), release_key(right))

        return _strict(compare, one[0], two[0])

    def _membership(
        self, left_tree: ast.expr, left: Node, right: ast.expr, depth: int, wanted: bool
    ) -> Node:
        if not isinstance(right, (ast.Tuple, ast.List)):
            raise self._fail(
                right, "in needs a list of values", "write x in (1, 2), or contains(text, part)"
            )
        links = tuple(
            self._pair(
                element,
                (left, left_tree),
                (self._node(element, depth), element),
                ("==", operator.eq),
            )
            for element in right.elts
        )

        def run(values: Values) -> Result:
            result: Result = not wanted
            for link in links:
                value = link.run(values)
                if value is True:
                    return wanted
                if value is UNKNOWN:
                    result = UNKNOWN
            return result

        return Node("bool", run, links, kind="or")

    def _choice(self, tree: ast.IfExp, depth: int) -> Node:
        condition = self._need(tree.test, self._node(tree.test, depth), ("bool",), "if")
        then, other = self._node(tree.body, depth), self._node(tree.orelse, depth)
        type_ = _joined(then.type, other.type)
        if not type_:
            raise self._fail(tree, f"the branches are {then.type} and {other.type}")

        def run(values: Values) -> Result:
            chosen = condition.run(values)
            if chosen is not UNKNOWN:
                return then.run(values) if chosen else other.run(values)
            one, two = then.run(values), other.run(values)
            return one if one is not UNKNOWN and one == two else UNKNOWN

        return Node(type_, run, (condition, then, other), kind="if")

    def _call(self, tree: ast.Call, depth: int) -> Node:
        name = tree.func.id if isinstance(tree.func, ast.Name) else ""
        if name not in _FUNCTIONS or tree.keywords:
            raise self._fail(
                tree,
                f"{name or 'this'} is not a function of the language",
                did_you_mean(name, _FUNCTIONS) or "functions: " + " ".join(_FUNCTIONS),
            )
        if name == "known":
            return self._known(tree, depth)
        parts = tuple(self._node(argument, depth) for argument in tree.args)
        if name in ("startswith", "endswith", "contains"):
            self._arguments(tree, name, parts, 2, 2, (*_TEXTS, "version"))
            return _strict(_TEXT_FUNCTIONS[name], *parts)
        if name in ("min", "max"):
            self._arguments(tree, name, parts, 2, 20, _NUMBERS)
            whole = all(part.type == "int" for part in parts)
            return _strict(
                min if name == "min" else max, *parts, type_="int" if whole else "number"
            )
        if name == "round":
            self._arguments(tree, name, parts, 1, 2, _NUMBERS)
            return _strict(_round, *parts, type_="int" if len(parts) == 1 else "number")
        self._arguments(tree, name, parts, 1, 1, _NUMBERS)
        if name == "abs":
            return _strict(abs, *parts, type_=parts[0].type)
        return _strict(math.ceil if name == "ceil" else math.floor, *parts, type_="int")

    def _known(self, tree: ast.Call, depth: int) -> Node:
        if len(tree.args) != 1 or not isinstance(tree.args[0], ast.Name):
            raise self._fail(tree, "known() takes one name")
        part = self._node(tree.args[0], depth)
        return Node("bool", lambda values: part.run(values) is not UNKNOWN, (part,), kind="known")

    def _arguments(
        self,
        tree: ast.Call,
        name: str,
        parts: tuple[Node, ...],
        least: int,
        most: int,
        types: tuple[str, ...],
    ) -> None:
        if not least <= len(parts) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            raise self._fail(tree, f"{name}() takes {count} arguments, not {len(parts)}")
        for argument, part in zip(tree.args, parts, strict=True):
            self._need(argument, part, types, f"{name}()")


_HANDLERS: dict[type, Callable[[_Parser, Any, int], Node]] = {
    ast.Constant: _Parser._constant,
    ast.Name: _Parser._name,
    ast.BoolOp: _Parser._bool,
    ast.UnaryOp: _Parser._unary,
    ast.BinOp: _Parser._binary,
    ast.Compare: _Parser._compare,
    ast.IfExp: _Parser._choice,
    ast.Call: _Parser._call,
}
_TEXT_FUNCTIONS: dict[str, Callable[[Any, Any], bool]] = {
    "startswith": lambda text, part: text.startswith(part),
    "endswith": lambda text, part: text.endswith(part),
    "contains": lambda text, part: part in text,
}


def _glued(one: str, two: str) -> Result:
    return one + two if len(one) + len(two) <= LONGEST_TEXT else UNKNOWN


def _round(number: float, digits: int = 0) -> float | int:
    if not -12 <= digits <= 12:
        return number
    rounded = round(number, int(digits))
    return rounded if digits else int(rounded)


def _lift(work: Callable[[Any], Any], value: Result) -> Result:
    return UNKNOWN if value is UNKNOWN else work(value)


def _strict(work: Callable[..., Any], *parts: Node, type_: str = "bool") -> Node:
    """A node that is unknown as soon as one operand is."""

    def run(values: Values) -> Result:
        operands = []
        for part in parts:
            value = part.run(values)
            if value is UNKNOWN:
                return UNKNOWN
            operands.append(value)
        result: Result = work(*operands)
        return result

    return Node(type_, run, parts)


def _joined(one: str, two: str) -> str:
    """The type that holds values of both, "" when none does."""
    if one == two:
        return one
    if {one, two} <= set(_NUMBERS):
        return "number"
    if {one, two} <= {*_TEXTS, "version"}:
        return "text"
    return ""
