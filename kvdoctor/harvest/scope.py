"""Which texts a name stands for at one place of a module: constants, locals, small helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvdoctor.data import dataclass, field
from kvdoctor.harvest.wording import (
    DEEP,
    MOST,
    Hole,
    Parts,
    Resolver,
    hole_name,
    literal_size,
    texts,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Block = tuple[int | str, ...]  # the nested blocks of one function that enclose a statement
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(slots=True)
class Names:
    """What a module says about its own names."""

    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, FunctionNode] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module) -> Names:
        names = cls()
        bodies: list[list[ast.stmt]] = [tree.body]
        bodies += [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for body in bodies:
            for statement in body:
                if isinstance(statement, FunctionNode):
                    names.functions.setdefault(statement.name, statement)
                target, value = _assigned(statement)
                if target and value is not None:
                    names.constants.setdefault(target, value)
        return names


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Name and value of a plain assignment to one name."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return "", None
    return (target.id, statement.value) if isinstance(target, ast.Name) else ("", None)


@dataclass(frozen=True, slots=True)
class _Given:
    """One assignment: ``how`` is "=", "+=" or "item" (a text put into a list)."""

    line: int
    block: Block
    how: str
    value: ast.expr


class Locals:
    """The assignments of one function, and the resolver for the expressions inside it."""

    def __init__(self, function: FunctionNode | None, names: Names, line: int = 0) -> None:
        self.names = names
        self.line = line  # where the resolved expression stands
        self.block: Block = ()
        self.given: dict[str, list[_Given]] = {}
        self.blocks: dict[int, Block] = {}
        if function is not None:
            self._read(function.body, ())

    def at(self, statement: ast.AST) -> Locals:
        """The same function seen from one of its statements."""
        view = Locals(None, self.names, getattr(statement, "lineno", 0))
        view.given, view.blocks = self.given, self.blocks
        view.block = self.blocks.get(id(statement), ())
        return view

    def texts(self, node: ast.expr) -> list[Parts] | None:
        return texts(node, self.resolve)

    def resolve(self, node: ast.expr, depth: int) -> list[Parts] | None:
        """The wordings of a name, an attribute or a call of a helper of this module."""
        if depth > DEEP:
            return None
        if isinstance(node, ast.Name):
            found = self._local(node.id, depth)
            if found is not None or node.id in self.given:
                return found
            return self._constant(node.id, depth)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return self._constant(node.attr, depth) if node.attr.isupper() else None
        if isinstance(node, ast.Call):
            return self._helper(node, depth)
        return None

    def value_of(self, name: str) -> ast.expr | None:
        """The last expression given to a local name before this place."""
        before = [one for one in self.given.get(name, ()) if one.line < self.line]
        return before[-1].value if before and before[-1].how == "=" else None

    def _constant(self, name: str, depth: int) -> list[Parts] | None:
        value = self.names.constants.get(name)
        if value is None or isinstance(value, ast.Name):
            return None
        return texts(value, Locals(None, self.names).resolve, depth + 1)

    def _helper(self, node: ast.Call, depth: int) -> list[Parts] | None:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else ""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            name = function.attr if function.value.id in {"self", "cls"} else ""
        helper = self.names.functions.get(name)
        if helper is None:
            return None
        inside = Locals(helper, self.names)
        found: list[Parts] = []
        for statement in own_nodes(helper):
            if isinstance(statement, ast.Return) and statement.value is not None:
                view = inside.at(statement)
                texts_here = texts(statement.value, view.resolve, depth + 2)
                if texts_here is None:
                    return None
                found += texts_here
        return found[:MOST] or None

    def _local(self, name: str, depth: int) -> list[Parts] | None:
        options: list[Parts] = []
        items: list[Parts] = []
        for one in self.given.get(name, ()):
            if one.line >= self.line:
                break
            view = Locals(None, self.names, one.line)
            view.given, view.blocks, view.block = self.given, self.blocks, one.block
            values = texts(one.value, view.resolve, depth + 1)
            if one.how == "item":
                items += values or []
                continue
            if isinstance(one.value, ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp):
                items += _list_texts(one.value, view.resolve, depth)
                continue
            certain = self.block[: len(one.block)] == one.block
            unknown: list[Parts] = [(Hole(hole_name(one.value)),)]
            parts = values if values is not None else unknown
            if one.how == "=":
                options = parts if certain else [*options, *parts]
            else:
                longer = [old + new for old in options for new in parts]
                options = longer if certain else [*options, *longer]
            options = options[:MOST]
        if items:
            rest: Parts = (Hole(name),)
            return [one + rest for one in items if literal_size(one) > 3][:MOST] or None
        return options if any(literal_size(one) for one in options) else None

    def _read(self, body: list[ast.stmt], block: Block) -> None:
        for statement in body:
            self.blocks[id(statement)] = block
            if isinstance(statement, FunctionNode | ast.ClassDef):
                continue
            self._note(statement, block)
            for field_name in _BLOCKS:
                inner = getattr(statement, field_name, None)
                if not isinstance(inner, list):
                    continue
                for number, child in enumerate(inner):
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        self._read(child.body, (*block, id(statement), number))
                statements = [child for child in inner if isinstance(child, ast.stmt)]
                if isinstance(statement, ast.With | ast.AsyncWith):
                    self._read(statements, block)
                elif statements:
                    self._read(statements, (*block, id(statement), field_name))

    def _note(self, statement: ast.stmt, block: Block) -> None:
        how, target, value = "=", None, None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign):
            target, value = statement.target, statement.value
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            how, target, value = "+=", statement.target, statement.value
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args:
                how, target, value = "item", call.func.value, call.args[0]
        if isinstance(target, ast.Name) and value is not None:
            self.given.setdefault(target.id, []).append(_Given(statement.lineno, block, how, value))


def _list_texts(node: ast.expr, resolve: Resolver, depth: int) -> list[Parts]:
    if isinstance(node, ast.List | ast.Tuple):
        return [one for item in node.elts for one in texts(item, resolve, depth + 1) or []]
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return texts(node.elt, resolve, depth + 1) or []
    return []


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module without those of functions and classes inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            waiting[:0] = ast.iter_child_nodes(node)
