"""Reads pasted YAML (and JSON) of orchestrators: Kubernetes objects, Helm values, vLLM's own
``--config`` file, and what Dynamo, KServe, Ray Serve, llm-d and others make of them.

Three places hold vLLM's options: argument lists, scripts in one string, variables that hold
arguments. The side is told by names and labels around them. YAML nodes are walked, never
constructed, so that neither tags nor aliases of a hostile text do anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kvdoctor.data import dataclass, field, replace
from kvdoctor.intake.paste import Line
from kvdoctor.values.blocks import LONGEST
from kvdoctor.values.command import Command, find_commands, parse_command
from kvdoctor.values.commanded import command_server
from kvdoctor.values.environment import read_environment
from kvdoctor.values.flatten import flatten
from kvdoctor.values.found import Found, Server
from kvdoctor.values.listing import write_listing
from kvdoctor.values.literals import Tree, read_literal, scalar, snake
from kvdoctor.values.shell import Lexer
from kvdoctor.values.sides import side_in_name, side_of_role
from kvdoctor.values.table import Table
from kvdoctor.values.value import Scalar, Value

RANK = 46
MOST_NODES = 30_000
DEEPEST = 60
TRIES = 6  # a broken end is given up line by line

_DEEP = re.compile(r"(?:-[ \t]){40}|^[ \t]{400}|(?:\?[ \t]){40}", re.MULTILINE)
_COMMON = frozenset({"host", "port", "model", "seed", "config", "log_level"})  # of any program
_ENV = ("env", "environment")
_WORD_LISTS = ("command", "args", "vllmArgs", "extraArgs")
_SIDE_KEYS = frozenset(
    {"name", "subcomponenttype", "role", "component", "type", "disaggregation_mode"}
)


@dataclass(slots=True)
class _Scope:
    """What is known on the way down to a node."""

    side: str = ""
    path: tuple[str, ...] = ()
    depth: int = 0


@dataclass(slots=True)
class _Walk:
    table: Table
    number: int  # line of the paste where the block starts
    left: int = MOST_NODES
    servers: list[Server] = field(default_factory=list)
    commands: list[tuple[Command, Server]] = field(default_factory=list)
    plain: dict[str, Server] = field(default_factory=dict)  # per side, for values outside lists

    def server(self, side: str) -> Server:
        if side not in self.plain:
            self.plain[side] = Server(len(self.servers), side=side)
            self.servers.append(self.plain[side])
        return self.plain[side]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a YAML or JSON text describes: commands, values outside of commands, and the line of
    the paste where the readable part ends."""

    commands: tuple[tuple[Command, Server], ...] = ()
    servers: tuple[Server, ...] = ()
    last: int = 0


def read_manifest(text: str, table: Table, number: int = 0) -> Manifest:
    """The launch commands and values of a text whose first line is line ``number``."""
    walk = _Walk(table, number)
    last = 0
    for node in _documents(text):
        _visit(walk, node, _Scope())
        last = number + max(last, int(node.end_mark.line))
    return Manifest(tuple(walk.commands), tuple(walk.servers), last)


def _documents(text: str) -> list[Any]:
    """The nodes of the documents; of a broken text, those of its readable beginning."""
    if not _harmless(text):
        return []
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if loader is yaml.SafeLoader:
        text = text[: LONGEST // 4]
    for _ in range(TRIES):
        nodes: list[Any] = []
        try:
            for node in yaml.compose_all(text, Loader=loader):
                nodes.append(node)
            return [node for node in nodes if node is not None]
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            lines = text.split("\n")
            kept = lines[: min(mark.line, len(lines) - 1)] if mark is not None else []
            if len(kept) < 2:
                return nodes
            text = "\n".join(kept)
        except (RecursionError, ValueError):
            return nodes
    return nodes


def _harmless(text: str) -> bool:
    """Whether nothing in the text nests deeper than the reader may go."""
    level = deepest = 0
    for char in re.findall(r"[\[\]{}]", text):
        level += 1 if char in "[{" else -1
        deepest = max(deepest, level)
        level = max(level, 0)
    return deepest < DEEPEST and not _DEEP.search(text)


# -- walking -----------------------------------------------------------------------------------


def _visit(walk: _Walk, node: Any, scope: _Scope) -> None:
    walk.left -= 1
    if walk.left < 0 or scope.depth > DEEPEST:
        return
    if node.id == "sequence":
        for child in node.value:
            _visit(walk, child, _deeper(scope, "", scope.side))
    elif node.id == "mapping":
        _mapping(walk, node, scope)


def _deeper(scope: _Scope, key: str, side: str) -> _Scope:
    path = (*scope.path, key)[-6:] if key else scope.path
    return _Scope(side, path, scope.depth + 1)


def _mapping(walk: _Walk, node: Any, scope: _Scope) -> None:
    pairs = _as_a_pod_has_it(list(_pairs(node)))
    side = _own_side(pairs) or _role_side(pairs, walk.table.roles) or scope.side
    keys = {key for key, _ in pairs}
    lists = {key: child for key, child in pairs if key in _WORD_LISTS and child.id != "mapping"}
    if lists:
        _container(walk, pairs, lists, side)
    options = _options(walk, pairs, scope)
    for key, child in pairs:
        inner = _key_side(key, keys) or side
        if key in lists or key in options or (key in _ENV and lists):
            continue
        if child.id == "scalar":
            _scalar(walk, key, child, inner, scope)
        else:
            _visit(walk, child, _deeper(scope, key, inner))


def _as_a_pod_has_it(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The keys of ``docker inspect`` under the names of a pod's container."""
    keys = dict(pairs)
    if not ("Args" in keys and "Path" in keys):
        return pairs
    inner = keys.get("Config")
    settings = _pairs(inner) if inner is not None and inner.id == "mapping" else ()
    image = next((one for key, one in settings if key == "Image"), None)
    names = {"Path": "command", "Args": "args"}
    told = [(names.get(key, key), child) for key, child in pairs]
    return told + ([("image", image)] if image is not None else [])


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values, those of merged mappings behind the own ones."""
    merged: list[Any] = []
    for key, value in node.value:
        if key.id != "scalar":
            continue
        if key.value == "<<" and value.id == "mapping":
            merged.append(value)
        else:
            yield str(key.value), value
    for one in merged[:4]:
        for key, value in one.value[:200]:
            if key.id == "scalar" and key.value != "<<":
                yield str(key.value), value


def _own_side(pairs: list[tuple[str, Any]]) -> str:
    """The side that names and labels of an object tell."""
    for key, child in pairs:
        plain = key.rpartition("/")[2].lower().replace("-", "_")
        side = ""
        if plain in _SIDE_KEYS and child.id == "scalar":
            side = side_in_name(str(child.value))
        elif key in ("metadata", "labels", "matchLabels") and child.id == "mapping":
            side = _own_side(list(_pairs(child))[:60])
        if side:
            return side
    return ""


def _role_side(pairs: list[tuple[str, Any]], roles: Mapping[str, str]) -> str:
    """The side that a kv_role among an object's settings tells (lmcacheConfig.kvRole)."""
    for key, child in pairs:
        if child.id == "mapping" and key.lower().endswith("config"):
            for inner, value in list(_pairs(child))[:60]:
                if snake(inner) == "kv_role" and value.id == "scalar":
                    return roles.get(str(value.value), "")
    return ""


def _key_side(key: str, keys: set[str]) -> str:
    """``prefill:``, ``decode_config:``, ``VllmPrefillWorker:``; where a ``template`` stands beside
    ``prefill``, what belongs to it is the decode side."""
    if "prefill" in keys and "template" in keys and key in ("template", "parallelism"):
        return "decode"
    return side_in_name(key)


def _scalar(walk: _Walk, key: str, child: Any, side: str, scope: _Scope) -> None:
    """A single value: known by its path, a script, or a variable that holds arguments."""
    text = str(child.value)
    number = _number(walk, child)
    path = ".".join(
        part.lower().replace("_", "").replace("-", "") for part in (*scope.path[-1:], key)
    )
    known = {name.replace("_", ""): target for name, target in walk.table.manifest.items()}
    if path in known:
        server = walk.server(side)
        server.found.append(_found(known[path], _typed(child), number))
    elif "vllm" in text and ("serve" in text or "entrypoints" in text):
        _script(walk, text, number + (child.style in ("|", ">")), side)
    elif key == "value" and text.lstrip().startswith("--"):
        _add_command(walk, _of_options(text, walk, number), side)


def _script(walk: _Walk, text: str, number: int, side: str) -> bool:
    found = False
    for command in find_commands(text, walk.table.flags, number):
        _add_command(walk, command, side)
        found = True
    if found:
        rows = enumerate(text.split("\n")[:500], number)
        lines = [Line(row, line, line) for row, line in rows]
        walk.server(side).found += read_environment(lines, walk.table.environment)
    return found


# -- containers --------------------------------------------------------------------------------


def _container(walk: _Walk, pairs: list[tuple[str, Any]], lists: dict[str, Any], side: str) -> None:
    """A container: its command and arguments, and the variables beside them."""
    nodes: list[Any] = []
    for key in _WORD_LISTS:
        if (child := lists.get(key)) is not None:
            nodes += child.value[:2000] if child.id == "sequence" else [child]
    nodes = [one for one in nodes if one.id == "scalar"]
    env = [pair for key, child in pairs if key in _ENV for pair in _env(walk, child)]
    script = next((one for one in nodes if _is_script(str(one.value))), None)
    if script is not None:
        line = _number(walk, script) + (script.style in ("|", ">"))
        if _script(walk, str(script.value), line, side):
            _variables(walk, env, side)
            return
    words, rows = [], []
    for one in nodes:
        own = _words(one, len(nodes))
        words += own
        rows += [_number(walk, one)] * len(own)
    listing = write_listing(words, [pair[:2] for pair in env])
    command = parse_command(listing, walk.table.flags, number=rows[0] if rows else 0, style="list")
    image = next((str(child.value) for key, child in pairs if key == "image"), "")
    if "vllm" in image or _is_vllm(command, words, walk.table):
        _add_command(walk, replace(command, rows=tuple(rows)), side)
    if env:
        _variables(walk, env, side)


def _is_script(text: str) -> bool:
    return ("\n" in text or " " in text.strip()) and "vllm" in text


def _words(node: Any, count: int) -> list[str]:
    """The words of one element; a lone plain text is a command line of its own."""
    text = str(node.value)
    if count > 1 or " " not in text:
        return [text]
    return [token.text for token in Lexer(text).simple_command()]


def _is_vllm(command: Command, words: list[str], table: Table) -> bool:
    text = " ".join(words[:6])
    if "vllm" in text:
        return True
    known = (table.flags.known | table.flags.booleans | table.flags.many) - _COMMON
    return any(one.name in known for one in command.arguments)


def _env(walk: _Walk, node: Any) -> Iterator[tuple[str, str, int]]:
    """Variables of a container (name, value, line): a list of name and value, or a mapping."""
    if node.id == "mapping":
        for key, value in _pairs(node):
            if value.id == "scalar":
                yield key, str(value.value), _number(walk, value)
        return
    if node.id != "sequence":
        return
    for item in node.value[:500]:
        if item.id == "scalar" and "=" in str(item.value):
            name, _, value = str(item.value).partition("=")
            yield name, value, _number(walk, item)
        if item.id != "mapping":
            continue
        fields = {key: value for key, value in _pairs(item) if value.id == "scalar"}
        if "name" in fields and "value" in fields:
            value = fields["value"]
            yield str(fields["name"].value), str(value.value), _number(walk, value)


def _variables(walk: _Walk, env: list[tuple[str, str, int]], side: str) -> None:
    known = [one for one in env if one[0].startswith(walk.table.environment)]
    server = walk.server(side) if known else Server()
    for name, value, number in known:
        server.found.append(_found(name, scalar(value), number))
    _argument_variables(walk, env, side)


def _argument_variables(walk: _Walk, env: list[tuple[str, str, int]], side: str) -> None:
    """Variables that hold options: VLLM_ADDITIONAL_ARGS and the like."""
    for _, value, number in env:
        if value.lstrip().startswith("--"):
            _add_command(walk, _of_options(value, walk, number), side)


def _of_options(text: str, walk: _Walk, number: int) -> Command:
    """The command whose options a variable holds."""
    return parse_command(text.strip(), walk.table.flags, number=number)


def _add_command(walk: _Walk, command: Command, side: str) -> None:
    walk.commands.append((command, command_server(command, walk.table, 0, side)))


# -- options as keys ---------------------------------------------------------------------------


def _options(walk: _Walk, pairs: list[tuple[str, Any]], scope: _Scope) -> set[str]:
    """Keys that are vLLM's options: a ``--config`` file, engine_kwargs, vllmConfig."""
    named = {key: walk.table.flags.name(snake(key)) for key, _ in pairs}
    flags = walk.table.flags
    known = (flags.known | flags.booleans | flags.many) - _COMMON
    options = {key for key, name in named.items() if name in known}
    strong = {key for key in options if named[key].count("_") >= 1}
    parent = scope.path[-1].lower() if scope.path else ""
    holds = parent.replace("_", "").replace("-", "") in (
        "enginekwargs", "vllmconfig", "engineargs", "vllm", "args", "vllmargs",
    )  # fmt: skip
    if not strong or not (holds or not scope.path or "kv_transfer_config" in named.values()):
        return set()
    side = _own_side(pairs) or scope.side
    server = walk.server(side)
    children = dict(pairs)
    if "model" in children and children["model"].id == "scalar":
        options.add("model")
    for key in sorted(options):
        child = children[key]
        number = _number(walk, child)
        for name, value in flatten({named[key]: _tree(child)}, {}):
            server.found.append(_found(name, value, number))
    server.side = server.side or side_of_role(server.found, walk.table.roles)
    return options


def _tree(node: Any, depth: int = 0) -> Tree:
    if depth > 12:
        return None
    if node.id == "mapping":
        return {key: _tree(value, depth + 1) for key, value in list(_pairs(node))[:300]}
    if node.id == "sequence":
        return [_tree(one, depth + 1) for one in node.value[:300]]
    text = str(node.value)
    if text[:1] == "{":
        reading = read_literal(text)
        if reading is not None and isinstance(reading.tree, dict):
            return reading.tree
    return _typed(node)


def _typed(node: Any) -> Scalar:
    text = str(node.value)
    return text if node.style in ("'", '"') and not text.isdigit() else scalar(text)


def _found(name: str, value: Scalar, number: int) -> Found:
    return Found(Value(name, value, "config", "this", number, why="pasted configuration"), RANK)


def _number(walk: _Walk, node: Any) -> int:
    return walk.number + node.start_mark.line if walk.number else 0
