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
HOLDS, BREAKS = "_holds_", "_breaks_"  # names for a condition's parts
_COUNTS = ("size", "num", "len", "rank", "count", "blocks", "tokens", "bytes", "port", "index")
_KINDS = {  # what a value looks like whose name has such a word in it
    "path": "/models/{name}/kv_0.bin",
    "file": "/tmp/{name} (1).json",
    "dir": "/var/lib/{name}",
    "addr": "tcp://10.0.0.7:5600",
    "host": "prefill-0.kv.svc.cluster.local",
    "url": "http://[::1]:8000/v1?x=1",
    "dtype": "torch.float8_e4m3fn",
    "device": "cuda:3",
    "shape": "torch.Size([2, 128, 16, 8, 64])",
    "config": "{{'kv_role': 'kv_both', 'extra': {{'backends': ['UCX']}}}}",
    "error": "[Errno 104] Connection reset by peer",
    "exc": "{name}: it went wrong; see above",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "list": "[1, 2, 3]",
    "set": "{{'a', 'b'}}",
    "time": "12.5",
    "ratio": "0.25",
    "id": "cmpl-0f3c{name}-0",
}


class Value(str):
    """Stands for any value: text, number, container and callable at once."""

    __slots__ = ()

    def _number(self) -> int:
        return 2 + sum(str.encode(self)) % 61

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") and name.endswith("__"):
            if name in ("__name__", "__qualname__"):
                return Value(f"{str.__str__(self)}_class")
            if name == "__members__":
                return self
            raise AttributeError(name)
        return Value(name)

    def __call__(self, *args: object, **kwargs: object) -> Value:
        return Value(f"{str.__str__(self)}_result")

    def __getitem__(self, key: object) -> Value:
        return Value(key) if isinstance(key, str) else Value(f"{str.__str__(self)}_item")

    def __iter__(self) -> Iterator[Value]:
        return iter([Value(f"{str.__str__(self)}_a"), Value(f"{str.__str__(self)}_b")])

    def __str__(self) -> str:
        name = str.lower(self)
        if any(word in name for word in _COUNTS):
            return str(self._number())
        for word, text in _KINDS.items():
            if word in name.split("_"):
                return text.format(name=str.__str__(self))
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

    def __le__(self, other: object) -> bool:
        return not str(self) > str(other)

    def __ge__(self, other: object) -> bool:
        return not str(self) < str(other)

    def __gt__(self, other: object) -> bool:
        return str(self) > str(other)

    def join(self, *parts: object) -> str:
        """Of a text, or the one of os.path."""
        if len(parts) == 1 and not isinstance(parts[0], str):
            return str(self).join(map(str, parts[0]))  # type: ignore[call-overload]
        return "/".join(map(str, parts))

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


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift",
              "rshift", "pow", "matmul"):  # fmt: skip
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
        self.update({HOLDS: 1, BREAKS: 0})
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
        if isinstance(one.node, ast.Assert):
            try:  # as it stands, where the made-up values break it
                error = self._run(one, one.node)
                if type(error) is AssertionError:
                    return error
            except RuntimeError:
                pass
            broken = ast.Assert(_broken(one.node.test, False), one.node.msg)
            return self._run(one, ast.copy_location(broken, one.node))
        if isinstance(one.node, ast.Raise):  # what it was caused by is not there
            return self._run(one, ast.copy_location(ast.Raise(one.node.exc, None), one.node))
        return self._run(one, one.node)

    def _run(self, one: Statement, node: ast.stmt) -> BaseException | None:
        names = Names(self, one.path)
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
                if one.kind == "log" or "must derive from BaseException" in str(error):
                    raise RuntimeError(f"the statement failed: {error!r}") from None
                error.__context__ = None
                return error
        if one.kind != "log":
            raise RuntimeError("nothing was raised")
        return None


def _broken(test: ast.expr, wanted: bool) -> ast.expr:
    """A condition whose outcome is ``wanted``, of the same shape: what decides it is its last
    part, so that each Python names the line that it really names."""
    if isinstance(test, ast.BoolOp):
        others = isinstance(test.op, ast.And)  # and: all others hold; or: none does
        parts = [_leaf(one, others) for one in test.values[:-1]]
        made: ast.expr = ast.BoolOp(test.op, [*parts, _broken(test.values[-1], wanted)])
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        made = ast.UnaryOp(test.op, _broken(test.operand, not wanted))
    else:
        return _leaf(test, wanted)
    return ast.copy_location(made, test)


def _leaf(test: ast.expr, holds: bool) -> ast.expr:
    return ast.copy_location(ast.Name(HOLDS if holds else BREAKS, ast.Load()), test)


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
        self._failed_at = 0  # line of EngineCore's own log call

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
        if not self._failed_at:
            self._failed_at = next(
                node.lineno
                for node in ast.walk(self.tree(CORE))
                if isinstance(node, ast.Call)
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value == "EngineCore failed to start."
            )
        record = logging.LogRecord(
            "vllm", logging.ERROR, INSTALLED + CORE, self._failed_at,
            "EngineCore failed to start.", (), (type(error), error, trace),
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
