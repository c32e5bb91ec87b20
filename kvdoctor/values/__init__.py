"""The values stage: everything a text says about the configuration it came from.

:func:`read_values` takes a paste apart into values, each with its source and its side. Its
readers, one per place where values stand: log lines (:mod:`~kvdoctor.values.lines`), launch
commands (:mod:`~kvdoctor.values.command`), manifests (:mod:`~kvdoctor.values.manifest`), a
model's config.json (:mod:`~kvdoctor.values.model`), variables
(:mod:`~kvdoctor.values.environment`). What vLLM prints is knowledge, not code: a
:class:`~kvdoctor.values.table.Table` made of ``knowledge/values.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.data import dataclass, replace
from kvdoctor.intake.paste import Line, Paste
from kvdoctor.values.assume import infer, usual
from kvdoctor.values.blocks import blocks
from kvdoctor.values.command import PROGRAM, Command, find_commands, parse_command
from kvdoctor.values.commanded import command_server
from kvdoctor.values.environment import read_environment
from kvdoctor.values.found import CERTAIN, OTHER, Found, Server, placed
from kvdoctor.values.lines import read_lines
from kvdoctor.values.sides import side_in_name, side_of_server
from kvdoctor.values.table import Table, builtin_table, load_table
from kvdoctor.values.value import SIDES, Scalar, Spoke, Start, Value, Values

__all__ = [
    "SIDES", "Command", "Launch", "Scalar", "Table", "Value", "Values", "builtin_table",
    "find_launches", "load_table", "merge", "read_all", "read_command", "read_hf_config",
    "read_values", "read_yaml", "side_of",
]  # fmt: skip

VERSION = "vllm_version"
SIDE = "side"  # name of the entry that says whose text it is
MODEL_RANK = 55
MOST_COMMANDS = 40
MOST_CHARS = 2_000_000  # of the lines that are no log records


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch command of the text and the side it starts ("this" when nothing tells).

    ``origin``: ``pasted``, or ``log`` when it is restated from the arguments that the log lists."""

    command: Command
    side: str = "this"
    origin: str = "pasted"
    start: int = 0  # the start of vLLM within the text that was launched so
    source: str = ""


@dataclass(slots=True)
class _Reading:
    """The servers of one text by the kind of place they were read from."""

    logs: list[Server]
    launches: list[tuple[Command, Server]]
    manifests: list[Server]
    loose: Server  # variables and models that belong to no server
    spoke: tuple[Spoke, ...] = ()


def read_values(paste: Paste, *, side: str = "this", table: Table | None = None) -> Values:
    """Everything the paste states, implies, or leaves to a default; never raises.

    ``side`` says whose text it is when the user said so. Entries carry the side they speak of:
    prefill or decode where it is known, else "this" for the text's own side and "other" for its
    peer. ``table`` is the loaded knowledge; without it the installed one is read."""
    return read_all(paste, side=side, table=table)[0]


def read_all(
    paste: Paste, *, side: str = "this", table: Table | None = None
) -> tuple[Values, tuple[Launch, ...]]:
    """:func:`read_values` and :func:`find_launches` (those of the log included) in one reading."""
    table = table if table is not None else builtin_table()
    reading = _read(paste, table)
    own, why = _own_side(reading, paste, side, table)
    return _values(reading, paste, own, why, table), _launched(reading, own, table)


def _values(reading: _Reading, paste: Paste, own: str, why: str, table: Table) -> Values:
    entries = _ordered(reading, own, table, paste.name)
    if own != "this":
        entries.insert(0, Value(SIDE, own, "log", "this", 0, paste.name, "stated", why))
    release = paste.release
    if release.release and not any(entry.name == VERSION for entry in entries):
        certainty = "stated" if release.how in ("banner", "image") else "inferred"
        entries.append(Value(
            VERSION, release.release, "log", own, release.number, paste.name, certainty,
            "the release of the log",
        ))  # fmt: skip
    stated = {(entry.name, entry.side) for entry in entries}
    for value in usual(table, paste.release.candidates):
        if (value.name, own) not in stated and (value.name, "this") not in stated:
            entries.append(replace(value, side=own, source=paste.name))
    if len(reading.logs) < 2:
        return Values(tuple(entries))
    sides = _sides_of_starts(reading.logs, own, table)
    starts = tuple(
        _start(server, side, paste.name) for server, side in zip(reading.logs, sides, strict=True)
    )
    return Values(tuple(entries), starts, reading.spoke)


def read_command(text: str, table: Table | None = None) -> tuple[Values, Command | None]:
    """The first launch command of a text and what it states; bare options count as one."""
    table = table if table is not None else builtin_table()
    command = next(find_commands(text, table.flags, 1), None)
    if command is None and text.lstrip().startswith("-"):
        command = parse_command(text.strip(), table.flags, number=1)
    if command is None:
        return Values(), None
    server = command_server(command, table, 0)
    side = server.side or "this"
    return Values(tuple(_sorted(placed(server, side)))), command


def read_yaml(text: str, table: Table | None = None) -> Values:
    """The values of a manifest, Helm values, or a ``--config`` file."""
    table = table if table is not None else builtin_table()
    from kvdoctor.values.manifest import read_manifest

    manifest = read_manifest(text, table, 1)
    servers = [*(server for _, server in manifest.commands), *manifest.servers]
    pairs = [pair for server in servers for pair in placed(server, server.side or "this")]
    return Values(tuple(_sorted(pairs)))


def read_hf_config(text: str, table: Table | None = None) -> Values:
    """The values of the model configurations (config.json) in a text."""
    table = table if table is not None else builtin_table()
    from kvdoctor.values.model import find_configs, read_config

    values: list[Value] = []
    for tree, place in find_configs(text):
        values += read_config(tree, table, text.count("\n", 0, place) + 1)
    return Values(tuple(values))


def find_launches(
    paste: Paste, *, side: str = "this", table: Table | None = None, restate: bool = False
) -> tuple[Launch, ...]:
    """The launch commands of the paste, for the fix stage to change.

    ``restate``: when the paste has none, those that the arguments in its log stand for."""
    table = table if table is not None else builtin_table()
    plain = [line for line in paste.lines if not line.level]
    launches, manifests, _ = _configured(plain, table)
    if not launches and not restate:
        return ()
    reading = _Reading(read_lines(paste, table).all, launches, manifests, Server())
    own, _ = _own_side(reading, paste, side, table)
    return _launched(reading, own, table)


def _launched(reading: _Reading, own: str, table: Table) -> tuple[Launch, ...]:
    if not reading.launches:
        return tuple(_restated(reading.logs, own, table))
    alone = len(reading.launches) == 1
    return tuple(
        Launch(command, server.side or (own if alone else "this"))
        for command, server in reading.launches
    )


def _restated(logs: list[Server], own: str, table: Table) -> Iterable[Launch]:
    from kvdoctor.values.restate import restated

    for server in reversed(logs):
        command = restated(server, table)
        if command is not None:
            side = own if own != "this" else side_of_server(server, table.roles) or "this"
            yield Launch(replace(command, number=server.number), side, "log", server.start)


def side_of(values: Values, paste: Paste | None = None) -> str:
    """Whose text it is: "prefill", "decode", or "this" when nothing tells."""
    entry = values.find(SIDE)
    if entry is not None and str(entry.value) in SIDES:
        return str(entry.value)
    return (side_in_name(paste.name) if paste is not None else "") or "this"


def merge(primary: Values, other: Values) -> Values:
    """The values of two texts of one deployment; each side's own text speaks first for it."""
    own = side_of(primary)
    peer = side_of(other)
    if peer == "this" and own != "this":
        peer = OTHER[own]
        other = _labelled(other, peer)
    elif own == "this" and peer != "this":
        own = OTHER[peer]
        primary = _labelled(primary, own)
    rest = [entry for entry in other.entries if entry.name != SIDE]
    if own == peer:
        return primary.plus(rest)
    entries = [
        *(one for one in primary.entries if one.side != peer and one.certainty != "usual"),
        *(one for one in rest if one.side == peer and one.certainty != "usual"),
    ]
    taken = set(map(id, entries))
    entries += [one for one in (*primary.entries, *rest) if id(one) not in taken]
    return Values(tuple(sorted(entries, key=lambda one: CERTAIN.get(one.certainty, 0))))


def _labelled(values: Values, side: str) -> Values:
    """The values of a text that turns out to be ``side``'s."""
    sides = {"this": side, "other": OTHER[side]}
    return Values(tuple(replace(one, side=sides.get(one.side, one.side)) for one in values.entries))


# -- reading -----------------------------------------------------------------------------------


def _read(paste: Paste, table: Table) -> _Reading:
    servers = read_lines(paste, table)
    logs = servers.all
    for server in logs:
        infer(server, table, paste.release.candidates, paste.name)
    plain = [line for line in paste.lines if not line.level]
    loose = Server(0)
    launches, manifests, rest = _configured(plain, table)
    loose.found += read_environment(rest, table.environment)
    loose.found += _models(rest, table)
    loose.found += _scripts(rest, table)
    return _Reading(logs, launches, manifests, loose, tuple(servers.spoke))


def _configured(
    plain: list[Line], table: Table
) -> tuple[list[tuple[Command, Server]], list[Server], list[Line]]:
    """The launch commands and manifests in lines that are no log records, and the lines that
    belong to no manifest."""
    launches: list[tuple[Command, Server]] = []
    manifests: list[Server] = []
    taken: list[tuple[int, int]] = []
    for text, number in blocks(plain):
        from kvdoctor.values.manifest import read_manifest

        manifest = read_manifest(text, table, number)
        launches += manifest.commands
        manifests += manifest.servers
        if manifest.commands or manifest.servers:
            taken.append((number, manifest.last))
    rest = plain
    if taken:
        rest = [
            line for line in plain if not any(low <= line.number <= high for low, high in taken)
        ]
    if any(line.text.rstrip().endswith(("Args:", "Command:")) for line in plain):
        from kvdoctor.values.described import described

        launches += described(plain, table, len(launches))
    return [*_launches(rest, table), *launches], manifests, rest


def _launches(plain: list[Line], table: Table) -> list[tuple[Command, Server]]:
    """The commands in lines that are no log records, run by run of such lines."""
    found: list[tuple[Command, Server]] = []
    for text, number in _runs(plain, "vllm"):
        if not PROGRAM.search(text):
            continue
        for command in find_commands(text, table.flags, number):
            found.append((command, command_server(command, table, len(found))))
            if len(found) >= MOST_COMMANDS:
                return found
    return found


def _runs(plain: list[Line], *words: str) -> Iterable[tuple[str, int]]:
    """Neighbouring lines as texts, only runs that hold one of ``words``."""
    run: list[Line] = []
    budget = MOST_CHARS
    for line in (*plain, None):
        if line is not None and (not run or line.number == run[-1].number + 1):
            run.append(line)
            continue
        if any(word in one.text for one in run for word in words) and budget > 0:
            text = "\n".join(one.text for one in run)[:budget]
            budget -= len(text)
            yield text, run[0].number
        run = [line] if line is not None else []


def _models(plain: list[Line], table: Table) -> Iterable[Found]:
    for text, number in _runs(plain, '"model_type"', '"num_attention_heads"'):
        from kvdoctor.values.model import find_configs, read_config

        for tree, place in find_configs(text):
            for value in read_config(tree, table, number + text.count("\n", 0, place)):
                yield Found(value, MODEL_RANK)


def _scripts(plain: list[Line], table: Table) -> Iterable[Found]:
    for text, number in _runs(plain, "LLM(", "EngineArgs("):
        from kvdoctor.values.scripts import scripted

        yield from scripted(text, number, table)


# -- sides and order ---------------------------------------------------------------------------


def _own_side(reading: _Reading, paste: Paste, asked: str, table: Table) -> tuple[str, str]:
    """The text's own side and how it is known."""
    if asked in ("prefill", "decode"):
        return asked, "said by the user"
    for servers, why in (
        (reading.logs, "kv_role or pod in the log"),
        ([server for _, server in reading.launches], "launch command"),
        (reading.manifests, "manifest"),
    ):
        told = [(server, side_of_server(server, table.roles)) for server in servers]
        sides = {side for _, side in told if side}
        others = any(server.settled and not side for server, side in told)  # said all, not a side
        if len(sides) == 1 and not others:
            return sides.pop(), why
        if sides:
            return "this", ""
    named = side_in_name(paste.name)
    return (named, "name of the input") if named else ("this", "")


def _ordered(reading: _Reading, own: str, table: Table, source: str) -> list[Value]:
    """All values with their sides, best source first, later starts of vLLM before earlier ones."""
    pairs: list[tuple[Found, Value]] = []
    sides = _sides_of_starts(reading.logs, own, table)
    for server, side in reversed([*zip(reading.logs, sides, strict=True)]):
        pairs += placed(server, side)
    alone = len(reading.launches) == 1
    for _, server in reading.launches:
        pairs += placed(server, server.side or (own if alone else "this"))
    for server in reading.manifests:
        pairs += placed(server, server.side or "this")
    pairs += placed(reading.loose, own)
    return [replace(one, source=one.source or source) for one in _sorted(pairs)]


def _sides_of_starts(logs: list[Server], own: str, table: Table) -> list[str]:
    """The side of each server of a text whose own side is ``own``."""
    told = [side_of_server(server, table.roles) for server in logs]
    if len({side for side in told if side}) > 1 or own == "this":
        return [side or "this" for side in told]
    return [own] * len(logs)


def _start(server: Server, side: str, source: str) -> Start:
    entries = _sorted(placed(server, side))
    return Start(server.start, side, tuple(replace(one, source=source) for one in entries))


def _sorted(pairs: list[tuple[Found, Value]]) -> list[Value]:
    """By certainty and rank; a value that repeats one before it is left out."""
    order = sorted(pairs, key=lambda pair: (CERTAIN.get(pair[1].certainty, 0), pair[0].rank))
    kept: dict[tuple[str, str, str], Value] = {}
    for _, value in order:
        kept.setdefault((value.name, value.side, repr(value.value)), value)
    return list(kept.values())
