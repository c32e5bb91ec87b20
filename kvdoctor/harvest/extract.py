"""From one source file to the places where it can report trouble. Nothing is imported or run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from kvdoctor.catalogue.fingerprints import PREFIX, bare, short_hash
from kvdoctor.data import dataclass, field, replace
from kvdoctor.harvest.lines import LineMap
from kvdoctor.harvest.scope import FunctionNode, Locals, Names, own_nodes
from kvdoctor.harvest.wording import (
    Hole,
    Parts,
    filled,
    hole_name,
    literal_size,
    template_of,
)

TELLING = 4  # literal characters without which a template says nothing

_LEVELS = {
    "error": "ERROR",
    "exception": "ERROR",
    "warning": "WARNING",
    "warn": "WARNING",
    "critical": "CRITICAL",
    "fatal": "CRITICAL",
    "info": "INFO",
    "debug": "DEBUG",
}
_LOGGERS = frozenset({"logger", "_logger", "log", "logging", "LOGGER", "LOG", "init_logger"})
_SITE_LEVELS = frozenset({"ERROR", "WARNING", "CRITICAL"})
_SEVERITY = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_BUILTIN = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)


@dataclass(frozen=True, slots=True)
class Made:
    """The construction of an exception: its class and what its arguments say."""

    name: str
    arguments: tuple[tuple[Parts, ...], ...]  # wordings of each positional argument
    keywords: tuple[tuple[str, tuple[Parts, ...]], ...]


@dataclass(frozen=True, slots=True)
class RawSite:
    """One site of one file as it stands in one release.

    ``lines`` are the lines a frame of it can name (the first is the statement's own),
    ``hashes`` those of their white-space-free texts and of the whole statement."""

    kind: str
    exception: str
    level: str
    wordings: tuple[str, ...]
    code: str
    function: str  # qualified: "Class.method", "outer.inner", "<module>"
    line: int
    lines: int
    hashes: tuple[str, ...]
    made: Made | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A call of a logger at any level: what stands in "[file.py:LINE]" before its message."""

    line: int
    prefix: str  # literal, white-space-free start of the message


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """What an exception class makes of its arguments."""

    name: str
    bases: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    wordings: tuple[Parts, ...] = ()
    extended: bool = False  # __str__ adds something behind the message
    own: bool = False  # it has an __init__ of its own


@dataclass(slots=True)
class FileFacts:
    sites: list[RawSite] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    classes: list[ErrorClass] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


def extract(data: bytes) -> FileFacts:
    """Every site, logger call, exception class and line hash of one file. A file that is no valid
    Python gives nothing."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return FileFacts()
    facts = FileFacts()
    lines = LineMap(data, tree)
    facts.tokens = lines.tokens()
    reader = _Reader(Names.of(tree), lines, facts)
    reader.read(tree, None, "")
    return facts


class _Reader:
    def __init__(self, names: Names, lines: LineMap, facts: FileFacts) -> None:
        self.names = names
        self.lines = lines
        self.facts = facts

    def read(self, node: ast.AST, function: FunctionNode | None, path: str) -> None:
        scope = Locals(function, self.names)
        known: set[int] = set()  # exceptions that a raise statement has dealt with
        for statement, inner in _statements(node, scope):
            self._statement(statement, inner, path or "<module>", known)
        for child in own_nodes(node):
            if isinstance(child, FunctionNode):
                self.read(child, child, f"{path}.{child.name}" if path else child.name)
            elif isinstance(child, ast.ClassDef):
                found = _error_class(child, self.names)
                if found is not None:
                    self.facts.classes.append(found)
                self.read(child, None, f"{path}.{child.name}" if path else child.name)

    def _statement(self, node: ast.AST, scope: Locals, path: str, known: set[int]) -> None:
        if isinstance(node, ast.Raise) and node.exc is not None:
            self._raise(node, node.exc, scope, path, known)
        elif isinstance(node, ast.Assert):
            self._assert(node, scope, path)
        elif isinstance(node, ast.Call) and id(node) not in known:
            self._call(node, scope, path)

    def _call(self, node: ast.Call, scope: Locals, path: str) -> None:
        name = _class_name(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and _is_logger(owner):
            self._log(node, name, scope, path)
        elif name == "warn" and (owner is None or _class_name(owner) == "warnings"):
            self._warning(node, scope, path)
        elif name == "error" and owner is not None and _is_parser(owner):
            self._refused(node, scope, path)
        elif name.endswith(("Error", "Exception")):
            self._made(node, scope, path)
        elif owner is None:
            method = _worst_method(scope.value_of(name))
            if method:
                self._log(node, method, scope, path)

    def _raise(
        self, node: ast.Raise, made: ast.expr, scope: Locals, path: str, known: set[int]
    ) -> None:
        if isinstance(made, ast.Name) and not _is_class(made.id):
            value = scope.value_of(made.id)
            if not isinstance(value, ast.Call) or not _is_class(_class_name(value.func)):
                return  # an exception that came from elsewhere is passed on
            made = value
        built = _built(made, scope)
        if built is None:
            return
        known.add(id(made))
        self._site("raise", built.name, "", (), "", path, node, node.lineno, built)

    def _made(self, node: ast.Call, scope: Locals, path: str) -> None:
        """An exception that is created here and raised, stored or sent elsewhere."""
        built = _built(node, scope)
        if built is None or not built.arguments:
            return
        if any(literal_size(one) > 7 for one in built.arguments[0]):
            self._site("raise", built.name, "", (), "", path, node, node.lineno, built)

    def _assert(self, node: ast.Assert, scope: Locals, path: str) -> None:
        found = scope.texts(node.msg) if node.msg is not None else None
        wordings = _templates(found or [])
        code = bare(self.lines.segment(node.test))
        last = node.test.end_lineno or node.lineno
        self._site("assert", "AssertionError", "", wordings, code, path, node, last, None)

    def _warning(self, node: ast.Call, scope: Locals, path: str) -> None:
        """A call of ``warnings.warn``: Python prints its file, line and category."""
        given = {one.arg: one.value for one in node.keywords if one.arg}
        message = node.args[0] if node.args else given.get("message")
        kind = node.args[1] if len(node.args) > 1 else given.get("category")
        if message is None:
            return
        if isinstance(message, ast.Call) and _is_class(_class_name(message.func)):
            kind, message = message.func, message.args[0] if message.args else message
        category = _class_name(kind) if kind is not None else ""
        wordings = _templates(scope.texts(message) or [])
        if wordings:
            category = category if category.endswith("Warning") else "UserWarning"
            self._site("warning", category, "", wordings, "", path, node, node.lineno, None)

    def _refused(self, node: ast.Call, scope: Locals, path: str) -> None:
        """``parser.error(text)``: the usage, the text, and the end of the process."""
        wordings = _templates((scope.texts(node.args[0]) if node.args else None) or [])
        if wordings:
            self._site("raise", "SystemExit", "", wordings, "", path, node, node.lineno, None)

    def _log(self, node: ast.Call, method: str, scope: Locals, path: str) -> None:
        level = _LEVELS.get(method.removesuffix("_once"), "")
        arguments = node.args or [one.value for one in node.keywords if one.arg == "msg"]
        if method == "log" and len(arguments) > 1:
            level = _worst_level(arguments[0])
            arguments = arguments[1:]
        if not level or not arguments:
            return
        found = scope.texts(arguments[0]) or []
        values = arguments[1:]
        if len(values) == 1 and isinstance(values[0], ast.Dict):
            values = []
        if values or any("%(" in part for one in found for part in one if isinstance(part, str)):
            found = [made for one in found for made in filled(one, values, scope.resolve)]
        self.facts.heads.append(Head(node.lineno, _prefix(found)))
        if level in _SITE_LEVELS:
            wordings = _templates(found)
            self._site("log", "", level, wordings, "", path, node, node.lineno, None)

    def _site(
        self,
        kind: str,
        exception: str,
        level: str,
        wordings: tuple[str, ...],
        code: str,
        path: str,
        node: ast.stmt | ast.expr,
        last: int,
        made: Made | None,
    ) -> None:
        texts = [self.lines.text(number) for number in range(node.lineno, last + 1)]
        texts.append(bare(self.lines.segment(node)))
        if isinstance(node, ast.Assert):  # from Python 3.13 on all lines of the condition
            texts.append(bare(self.lines.segment(node.test)))
        hashes = dict.fromkeys(short_hash(text) for text in texts if len(text) > 3)
        self.facts.sites.append(
            RawSite(
                kind,
                exception,
                level,
                wordings,
                code,
                path,
                node.lineno,
                last - node.lineno + 1,
                tuple(hashes),
                made,
            )
        )


def _statements(node: ast.AST, scope: Locals) -> Iterator[tuple[ast.AST, Locals]]:
    """Every node of a function's own body with the view its statement has on the locals."""
    view = scope
    body = [child for child in own_nodes(node) if not _is_signature(child, node)]
    for child in body:
        if isinstance(child, ast.stmt):
            view = scope.at(child)
        yield child, view


def _is_signature(child: ast.AST, owner: ast.AST) -> bool:
    return isinstance(owner, FunctionNode) and child is owner.args


def _is_logger(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _is_logger(node.func)
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return name in _LOGGERS or str(name).endswith("logger")


def _is_parser(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return str(name).endswith("parser")


def _worst_level(node: ast.expr) -> str:
    """The level that ``logger.log`` is given; of two possible ones the more severe."""
    if isinstance(node, ast.IfExp):
        both = (_worst_level(node.body), _worst_level(node.orelse))
        return max(both, key=lambda one: _SEVERITY.index(one) if one in _SEVERITY else -1)
    return hole_name(node).upper()


def _worst_method(value: ast.expr | None) -> str:
    """The method of a logger that a local name stands for, "" when it stands for another thing."""
    if isinstance(value, ast.IfExp):
        both = (_worst_method(value.body), _worst_method(value.orelse))
        if not all(both):
            return ""
        return max(both, key=lambda one: _SEVERITY.index(_LEVELS[one.removesuffix("_once")]))
    if isinstance(value, ast.Attribute) and _is_logger(value.value):
        return value.attr if value.attr.removesuffix("_once") in _LEVELS else ""
    return ""


def _is_class(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


def _class_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _built(node: ast.expr, scope: Locals) -> Made | None:
    """How an exception is put together; None when ``node`` is no exception we can name."""
    if not isinstance(node, ast.Call):
        name = _class_name(node)
        return Made(name, (), ()) if _is_class(name) else None
    name = _class_name(node.func)
    if name and not _is_class(name):
        helper = scope.names.functions.get(name)
        made = _from_helper(helper, scope.names) if helper is not None else None
        return made if made is not None else Made("", (), ())
    arguments = tuple(
        tuple(scope.texts(one) or [(Hole(hole_name(one)),)])
        for one in node.args
        if not isinstance(one, ast.Starred)
    )
    keywords = tuple(
        (one.arg, tuple(scope.texts(one.value) or [(Hole(hole_name(one.value)),)]))
        for one in node.keywords
        if one.arg
    )
    return Made(name, arguments, keywords)


def _from_helper(helper: FunctionNode, names: Names) -> Made | None:
    """A function that returns the exception to raise."""
    inside = Locals(helper, names)
    for node in own_nodes(helper):
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(value, ast.Call) and _is_class(_class_name(value.func)):
            return _built(value, inside.at(node))
    return None


def _templates(found: list[Parts]) -> tuple[str, ...]:
    """Templates with literal text in them, in the order in which they stand in the source."""
    return tuple(dict.fromkeys(template_of(one) for one in found if literal_size(one) >= TELLING))


def _prefix(found: list[Parts]) -> str:
    if len(found) != 1 or not found[0] or not isinstance(found[0][0], str):
        return ""
    return bare(found[0][0])[:PREFIX]


def _error_class(node: ast.ClassDef, names: Names) -> ErrorClass | None:
    bases = tuple(_class_name(base) for base in node.bases)
    if not any(base in _BUILTIN or base.endswith(("Error", "Exception")) for base in bases):
        return None
    made = ErrorClass(node.name, bases)
    for item in node.body:
        if not isinstance(item, FunctionNode):
            continue
        if item.name == "__init__":
            parameters = tuple(one.arg for one in [*item.args.posonlyargs, *item.args.args][1:])
            parameters += tuple(one.arg for one in item.args.kwonlyargs)
            made = replace(
                made,
                parameters=parameters,
                wordings=tuple(_passed_on(item, names)),
                own=True,
            )
        elif item.name == "__str__":
            made = replace(made, extended=True)
    return made


def _passed_on(init: FunctionNode, names: Names) -> list[Parts]:
    """What ``__init__`` hands to ``super().__init__`` as the message."""
    scope = Locals(init, names)
    for statement, view in _statements(init, scope):
        if not isinstance(statement, ast.Call) or not statement.args:
            continue
        function = statement.func
        if not (isinstance(function, ast.Attribute) and function.attr == "__init__"):
            continue
        first = statement.args[0]
        if isinstance(first, ast.Name) and first.id == "self" and len(statement.args) > 1:
            first = statement.args[1]
        return view.texts(first) or [(Hole(hole_name(first)),)]
    return []


def message_of(made: Made, classes: dict[str, ErrorClass]) -> tuple[str, ...]:
    """The wordings of an exception's text, following the library's own exception classes."""
    known = classes.get(made.name)
    seen = 0
    extended = False
    while known is not None and seen < 8:
        extended = extended or known.extended
        if known.own:
            break
        known = next((classes[base] for base in known.bases if base in classes), None)
        seen += 1
    found = list(made.arguments[0]) if made.arguments else []
    if known is not None and known.own and known.wordings:
        given = dict(zip(known.parameters, made.arguments, strict=False)) | dict(made.keywords)
        found = [one for parts in known.wordings for one in _substituted(parts, given)]
    elif not found:
        named = dict(made.keywords)
        found = list(named.get("detail", named.get("message", ())))
    elif known is None and not any(literal_size(one) >= TELLING for one in found):
        # HTTPException(400, "…"): another argument may be the text
        rest = [one for one in made.arguments[1:] if any(literal_size(p) >= TELLING for p in one)]
        found = list(rest[0]) if rest else found
    if made.name in {"OSError", "IOError"} and len(made.arguments) > 1:
        found = [("[Errno ", Hole("errno"), "] ", *one) for one in made.arguments[1]]
    if extended:
        told = [one for one in found if literal_size(one) >= TELLING]
        found += [(*one, " (", Hole("details"), ")") for one in told]
    return _templates(found)


def _substituted(parts: Parts, given: dict[str, tuple[Parts, ...]]) -> list[Parts]:
    """A class's own wording with the texts of one construction put in."""
    options: list[Parts] = [()]
    for part in parts:
        fills: tuple[Parts, ...] = ((part,),)
        if isinstance(part, Hole) and part.name in given:
            fills = given[part.name]
        options = [one + fill for one in options for fill in fills][:8]
    return options
