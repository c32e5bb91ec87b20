"""Makes the text that one site of one release would write, by running its own statement.

The raise, assert or log call is compiled from the release's source with its file name and line, all
names in it stand for plausible values, and Python itself raises, formats the traceback and finds
the caller. The release's own formatter writes the log record. Nothing here knows templates.
"""

from __future__ import annotations

import ast
import builtins
import io
import linecache
import logging
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INSTALLED = "/usr/local/lib/python3.12/dist-packages/"
CORE = "vllm/v1/engine/core.py"
_COUNTS = ("size", "num", "len", "rank", "count", "blocks", "tokens", "bytes", "port", "index")


class Value(str):
    """Stands for any value: text, number, container and callable at once."""

    __slots__ = ()

    def _number(self) -> int:
        return 2 + sum(str.encode(self)) % 61

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") and name.endswith("__"):
            if name == "__name__":
                return Value(f"{self}_class")
            raise AttributeError(name)
        return Value(name)

    def __call__(self, *args: object, **kwargs: object) -> Value:
        return Value(f"{self}_result")

    def __getitem__(self, key: object) -> Value:
        return Value(key) if isinstance(key, str) else Value(f"{self}_item")

    def __iter__(self) -> Iterator[Value]:
        return iter([Value(f"{self}_a"), Value(f"{self}_b")])

    def __str__(self) -> str:
        if any(word in self.lower() for word in _COUNTS):
            return str(self._number())
        return str.__str__(self)

    def __repr__(self) -> str:
        text = str(self)
        return text if text.isdigit() else repr(text)

    def __format__(self, spec: str) -> str:
        if spec and spec[-1] in "dxXbeEfFgG%n":
            number = float(self._number()) if spec[-1] in "eEfFgG%" else self._number()
            return format(number, spec)
        return format(str(self), spec if not spec or spec[-1] == "s" else "")

    def __int__(self) -> int:
        return self._number()

    def __index__(self) -> int:
        return self._number()

    def __float__(self) -> float:
        return float(self._number())

    def __len__(self) -> int:
        return 2

    def __bool__(self) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: object) -> bool:
        return str(self) > str(other)

    def __bytes__(self) -> bytes:
        return str.encode(self)

    def __hash__(self) -> int:
        return str.__hash__(self)

    def keys(self) -> list[Value]:
        return list(self)

    def values(self) -> list[Value]:
        return list(self)

    def items(self) -> list[tuple[Value, Value]]:
        return [(one, one) for one in self]

    def get(self, key: object, default: object = None) -> Value:
        return Value(key)


def _arithmetic(name: str) -> object:
    def operate(self: Value, other: object) -> object:
        if name in ("__add__", "__radd__") and isinstance(other, str):
            return str(self) + other if name == "__add__" else other + str(self)
        return Value(f"{str.__str__(self)}_num")

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "lshift", "rshift"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Value, _form, _arithmetic(_form))
for _name in ("__neg__", "__pos__", "__abs__", "__invert__", "__enter__"):
    setattr(Value, _name, lambda self: self)


class Names(dict[str, object]):
    """The globals of a statement: builtins are themselves, exceptions of the release are made
    from its sources, everything else is a Value."""

    def __init__(self, release: Tree, path: str) -> None:
        super().__init__(__name__=path[:-3].replace("/", "."), __file__=INSTALLED + path)
        self.release = release
        self.path = path
        self["__builtins__"] = builtins
        self["logger"] = self["_logger"] = release.logger

    def __missing__(self, name: str) -> object:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        if name in ("logging", "os", "sys", "json", "time", "textwrap", "argparse"):
            return __import__(name) if name != "os" else Value("os")
        made = self.release.error_class(name)
        if made is None and name.endswith(("Error", "Exception")):
            made = type(name, (_Elsewhere,), {"__module__": "elsewhere"})
        value = made if made is not None else self.release.constant(self.path, name)
        self[name] = Value(name) if value is None else value
        return self[name]


class _Elsewhere(Exception):  # noqa: N818
    """An exception of another package, with fields by name."""

    def __init__(self, *args: object, **fields: object) -> None:
        super().__init__(*args or fields.values())


class _Logger(logging.Logger):
    """vLLM's logger: the _once forms report their caller."""

    def _once(self, level: int, message: object, *args: object) -> None:
        self.log(level, message, *args, stacklevel=3)

    def warning_once(self, message: object, *args: object, **kwargs: object) -> None:
        self._once(logging.WARNING, message, *args)

    def error_once(self, message: object, *args: object, **kwargs: object) -> None:
        self._once(logging.ERROR, message, *args)


@dataclass(frozen=True, slots=True)
class Statement:
    """One site in the source: what is run, and where it stands."""

    path: str
    function: str
    line: int
    kind: str
    node: ast.stmt
    before: tuple[ast.stmt, ...]  # assignments that the statement reads


class Tree:
    """Runs statements of any project: its classes and constants are not known."""

    def __init__(self) -> None:
        self.logger: logging.Logger = _Logger("vllm")

    def error_class(self, name: str) -> type | None:
        return None

    def constant(self, path: str, name: str) -> object:
        return None

    def run(self, one: Statement) -> BaseException | None:
        """Runs one statement; what it raised, None for a log call. Raises RuntimeError when it
        cannot be run with made-up values."""
        names = Names(self, one.path)
        node = one.node
        if one.kind == "assert":
            assert isinstance(node, ast.Assert)
            false = ast.copy_location(ast.Constant(False), node.test)
            node = ast.copy_location(ast.Assert(false, node.msg), node)
        if isinstance(node, ast.Raise):  # what it was caused by is not there
            node = ast.copy_location(ast.Raise(node.exc, None), node)
        body: list[ast.stmt] = [*one.before, node]
        arguments = ast.arguments([], [], None, [], [], None, [])
        function = ast.FunctionDef(one.function, arguments, body, [])
        if "type_params" in ast.FunctionDef._fields:
            function.type_params = []
        function.lineno, function.col_offset = one.line, 0
        function.end_lineno, function.end_col_offset = one.line, 0
        module = ast.fix_missing_locations(ast.Module([function], []))
        exec(compile(module, INSTALLED + one.path, "exec"), names)  # noqa: S102
        run = names[one.function]
        assert isinstance(run, types.FunctionType)
        try:
            raise LookupError("the reason below")
        except LookupError:
            try:
                run()
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                node_end = one.node.end_lineno or one.line
                if not one.line <= (last.lineno or 0) <= node_end or last.name != one.function:
                    raise RuntimeError(f"stopped elsewhere: {error!r}") from None
                if one.kind == "log":
                    raise RuntimeError(f"the log call failed: {error!r}") from None
                error.__context__ = None
                return error
        if one.kind != "log":
            raise RuntimeError("nothing was raised")
        return None


class Release(Tree):
    """One unpacked source tree of vLLM."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self.folder = folder
        self.name = name
        self.trees: dict[str, ast.Module] = {}
        self.out = io.StringIO()
        handler = logging.StreamHandler(self.out)
        handler.terminator = "\n"
        handler.setFormatter(self._formatter())
        self.logger.addHandler(handler)
        version = tuple(map(int, name.split(".")))
        self.prefix_all = version < (0, 31)
        self.process = "EngineCore_DP0" if version < (0, 18) else "EngineCore"
        self._classes: dict[str, type | None] = {}
        self._where = self._find_classes()

    def _formatter(self) -> logging.Formatter:
        file = self.folder / "vllm/logging_utils/formatter.py"
        tree = ast.parse(file.read_text("utf-8"))
        tree.body = [
            one
            for one in tree.body
            if not (isinstance(one, ast.ImportFrom) and (one.module or "").startswith("vllm"))
        ]
        settings = types.SimpleNamespace(VLLM_LOGGING_LEVEL="INFO")
        module: dict[str, object] = {"envs": settings, "__file__": str(file)}
        module["__name__"] = "formatter"
        exec(compile(tree, str(file), "exec"), module)  # noqa: S102
        text = "%(levelname)s %(asctime)s [%(fileinfo)s:%(lineno)d] %(message)s"
        if "vllm_process_name" in (self.folder / "vllm/logger.py").read_text("utf-8"):
            text = "(EngineCore pid=%(process)d) " + text
        kind = module["NewLineFormatter"]
        assert isinstance(kind, type)
        made = kind(text, datefmt="%m-%d %H:%M:%S")
        assert isinstance(made, logging.Formatter)
        return made

    def tree(self, path: str) -> ast.Module:
        if path not in self.trees:
            text = (self.folder / path).read_text("utf-8")
            self.trees[path] = ast.parse(text)
            lines = text.splitlines(keepends=True)
            linecache.cache[INSTALLED + path] = (len(text), None, lines, INSTALLED + path)
        return self.trees[path]

    def _find_classes(self) -> dict[str, tuple[str, ast.ClassDef]]:
        found: dict[str, tuple[str, ast.ClassDef]] = {}
        for file in sorted((self.folder / "vllm").rglob("*.py")):
            text = file.read_text("utf-8")
            if "Error)" not in text and "Exception)" not in text:
                continue
            path = file.relative_to(self.folder).as_posix()
            for node in ast.walk(self.tree(path)):
                if isinstance(node, ast.ClassDef) and node.bases:
                    found.setdefault(node.name, (path, node))
        return found

    def error_class(self, name: str) -> type | None:
        """An exception class of the release, made from its own source."""
        if name not in self._classes:
            self._classes[name] = None
            where = self._where.get(name)
            if where is not None:
                bases = [base.id for base in where[1].bases if isinstance(base, ast.Name)]
                parents = [getattr(builtins, b, None) or self.error_class(b) for b in bases]
                if any(isinstance(p, type) and issubclass(p, BaseException) for p in parents):
                    self._classes[name] = self._make(*where)
        return self._classes[name]

    def _make(self, path: str, node: ast.ClassDef) -> type | None:
        names = Names(self, path)
        module = ast.Module([node], [])
        try:
            exec(compile(module, INSTALLED + path, "exec"), names)  # noqa: S102
        except Exception:
            return None
        made = names.get(node.name)
        return made if isinstance(made, type) else None

    def constant(self, path: str, name: str) -> object:
        """A text that the module gives to a name."""
        for node in self.tree(path).body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)):
                continue
            if any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
                return node.value.value
        return None

    def statements(self, path: str) -> Iterator[Statement]:
        """The sites of one file."""
        yield from statements_of(self.tree(path), path)

    def text_of(self, one: Statement) -> str:
        """What the site writes when it is reached; raises RuntimeError when its statement cannot
        be run with made-up values."""
        self.out.seek(0)
        self.out.truncate()
        error = self.run(one)
        if error is None:
            if not self.out.getvalue():
                raise RuntimeError("the log call wrote nothing")
            return self._prefixed(self.out.getvalue())
        trace = error.__traceback__
        while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(INSTALLED):
            trace = trace.tb_next
        self.out.seek(0)
        self.out.truncate()
        self._log_failure(error, trace)
        raw = "".join(traceback.format_exception(type(error), error, trace))
        return self._prefixed(self.out.getvalue()) + raw

    def _log_failure(self, error: BaseException, trace: types.TracebackType | None) -> None:
        """EngineCore's own line about a failure, from the place where it stands in the release."""
        line = next(
            node.lineno
            for node in ast.walk(self.tree(CORE))
            if isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value == "EngineCore failed to start."
        )
        record = logging.LogRecord(
            "vllm", logging.ERROR, INSTALLED + CORE, line, "EngineCore failed to start.", (),
            (type(error), error, trace),
        )  # fmt: skip
        self.logger.handle(record)

    def _prefixed(self, text: str) -> str:
        if not self.prefix_all:
            return text
        lines = text.split("\n")
        return "\n".join(f"({self.process} pid=4242) {line}" if line else line for line in lines)


def statements_of(tree: ast.Module, path: str) -> Iterator[Statement]:
    """The raises, asserts and log calls of one file."""
    yield from _walk(tree, path, "<module>", [])


def _walk(node: ast.AST, path: str, function: str, body: list[ast.stmt]) -> Iterator[Statement]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _walk(child, path, child.name, [])
            continue
        if isinstance(child, ast.ClassDef):
            yield from _walk(child, path, function, [])
            continue
        if isinstance(child, ast.stmt):
            kind = _kind(child)
            if kind:
                yield Statement(path, function, child.lineno, kind, child, _needed(child, body))
            if isinstance(child, ast.Assign | ast.AugAssign | ast.AnnAssign):
                body.append(child)
        yield from _walk(child, path, function, body)


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.Raise):
        if isinstance(node.exc, ast.Call):
            return "raise"
        return "raise" if isinstance(node.exc, ast.Name) and node.exc.id[:1].isupper() else ""
    if isinstance(node, ast.Assert):
        return "assert"
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        method = call.func.attr.removesuffix("_once")
        if isinstance(owner, ast.Name) and owner.id in ("logger", "_logger") and call.args:
            return "log" if method in ("error", "exception", "warning", "critical") else ""
    return ""


def _needed(node: ast.stmt, body: list[ast.stmt]) -> tuple[ast.stmt, ...]:
    """The last assignments before a statement of the names in its message, oldest first."""
    wanted = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    taken: list[ast.stmt] = []
    for statement in reversed(body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if not isinstance(target, ast.Name) or target.id not in wanted:
            continue
        text = any(
            isinstance(one, ast.Constant) and isinstance(one.value, str) and len(one.value) > 3
            for one in ast.walk(statement)
        )
        if not text or statement.value is None:
            continue
        taken.append(statement)
        if not isinstance(statement, ast.AugAssign):
            wanted.discard(target.id)
    return tuple(reversed(taken))


def releases(folder: Path, only: str = "") -> Iterator[Release]:
    """Every "vllm-RELEASE" below ``folder``, oldest first."""
    from kvdoctor.releases import key

    found = sorted(
        (one for one in folder.glob("vllm-*") if (one / "vllm").is_dir()),
        key=lambda one: key(one.name[5:]) or ((0,), 0, 0, 0, 0),
    )
    logging.raiseExceptions = False
    for one in found:
        if only in ("", one.name[5:]):
            yield Release(one, one.name[5:])
