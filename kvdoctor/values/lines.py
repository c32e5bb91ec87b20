"""Reads the values that log lines state, by the templates of the table.

A line is looked at only when it holds a template's anchor word. Log calls that said nothing
useful a number of times are not looked at again, so a long log costs little more than a walk over
its records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kvdoctor import releases
from kvdoctor.data import dataclass, field
from kvdoctor.intake.numbered import index_of
from kvdoctor.intake.paste import Line, Paste
from kvdoctor.text.template import Hit
from kvdoctor.values.flatten import flatten
from kvdoctor.values.found import Found, Server
from kvdoctor.values.literals import Tree, read_literal, read_pairs, scalar
from kvdoctor.values.table import LineSpec, Reads, Table, TreeSpec
from kvdoctor.values.value import Scalar, Spoke, Value, start_of

HEAD = 2_000  # characters of a message in which an anchor is looked for
LONGEST = 200_000  # characters of one message that are read
MOST_WRAPS = 60  # lines over which one message may be wrapped
ENOUGH = 40  # fruitless (or fruitful) looks at one log call before it is left alone

_RANK = re.compile(r"_?([A-Z]{2,4})_?(\d{1,5})(?=_|$)")
_RELEASE = re.compile(r"\d{1,4}\.\d{1,4}(?:\.\d{1,4})?")
_LABEL = re.compile(r'([A-Za-z_]\w{0,80})="([^"\n]{0,400})"')


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    number: int
    placed: bool  # a log record that names its log call: the message starts the text
    pid: int
    pod: str


@dataclass(slots=True)
class Servers:
    """Tells which server of the text a line belongs to."""

    all: list[Server] = field(default_factory=list)
    current: dict[str, Server] = field(default_factory=dict)  # by pod
    owner: dict[tuple[str, int], Server] = field(default_factory=dict)  # by pod and process id
    started: set[int] = field(default_factory=set)  # orders of servers with other processes
    mixed: set[str] = field(default_factory=set)  # pods whose servers start at the same time
    spoke: list[Spoke] = field(default_factory=list)

    def of(self, pod: str, pid: int, number: int) -> Server:
        """The server that wrote line ``number``."""
        owner = self.owner.get((pod, pid)) if pid else None
        if owner is not None:
            return owner
        server = self.current.get(pod)
        if server is None or (pid and pod in self.mixed):
            server = self.add(pod)
            if pod not in self.current:
                self.current[pod] = server
        if pid:
            self.owner[pod, pid] = server
            self.started.add(server.order)
            self.spoke.append(Spoke(number, pod, pid, server.start, begins=False))
        return server

    def at(self, number: int, pod: str, pid: int) -> Server:
        """The server of a line, told when all lines were read."""
        start = start_of(self.spoke, number, pod, pid)
        return self.all[start - 1] if start else self.of(pod, pid, number)

    def add(self, pod: str) -> Server:
        self.all.append(Server(len(self.all), pod, start=len(self.all) + 1))
        return self.all[-1]

    def start(self, pod: str, pid: int, number: int) -> Server:
        """A new server begins at this line, unless it only continues the one that has begun."""
        last = self.current.get(pod)
        if last is not None and "start" not in last.marks:
            server = last  # what stood before the first start line belongs to it
        else:
            if (pod, pid) in self.owner and pid:  # the ids are given anew after a restart
                self.owner = {key: one for key, one in self.owner.items() if key[0] != pod}
            elif last is not None and last.order not in self.started and pid:
                self.mixed.add(pod)
            server = self.current[pod] = self.add(pod)
        self.spoke.append(Spoke(number, pod, pid, server.start, begins=True))
        if pid:
            self.owner[pod, pid] = server
        return server


def read_lines(paste: Paste, table: Table) -> Servers:
    """The servers of the text with the values that their log lines state."""
    servers = Servers()
    candidates = paste.release.candidates
    specs = tuple(
        spec
        for spec in table.lines
        if not spec.vllm or not candidates or releases.covers(spec.vllm, candidates) != "none"
    )
    by_anchor = _by_anchor(specs)
    shortest = min((len(word) for word, _ in by_anchor), default=0)
    looks: dict[tuple[str, int], int] = {}
    for message in _messages(paste, looks):
        if len(message.text) < shortest:
            continue
        head = message.text[:HEAD]
        found = {index for word, lines in by_anchor if word in head for index in lines}
        begun = len(servers.all)
        for index in sorted(found):
            _apply(specs[index], message, servers, paste, table)
        if len(servers.all) > begun:
            looks.clear()  # a new start says everything anew
    _processes(paste, servers, table)
    return servers


def _by_anchor(specs: tuple[LineSpec, ...]) -> list[tuple[str, list[int]]]:
    """Each anchor with the indices of the lines that it announces."""
    found: dict[str, list[int]] = {}
    for index, spec in enumerate(specs):
        if spec.anchor:
            found.setdefault(spec.anchor, []).append(index)
    return list(found.items())


def _messages(paste: Paste, looks: dict[tuple[str, int], int]) -> Iterator[_Message]:
    """The log records, and the lines that belong to none. A log call that was looked at often
    enough is passed over; ``looks`` counts."""
    lines = paste.lines
    behind = 0
    for record in paste.records:
        at = index_of(lines, record.number)
        if at > behind:  # lines joined to the record before may be foreign to it
            yield from _loose(lines[behind:at])
        behind = max(behind, at + 1)
        if record.log_line:
            site = (record.log_file, record.log_line)
            count = looks.get(site, 0)
            if count >= ENOUGH:
                continue
            looks[site] = count + 1
        yield _Message(record.message, record.number, bool(record.log_line), record.pid, record.pod)
    yield from _loose(lines[behind:])


def _loose(lines: Sequence[Line]) -> Iterator[_Message]:
    for line in lines:
        if line.text and not line.text.isspace():
            yield _Message(line.text, line.number, False, line.pid, line.pod)


def _processes(paste: Paste, servers: Servers, table: Table) -> None:
    """Which ranks spoke: a worker TP3 shows that there are at least four."""
    begins = [one.number for one in servers.spoke if one.begins]
    begun = 0
    seen: dict[tuple[str, int, str, int], int] = {}
    for line in paste.lines:
        if begun < len(begins) and line.number >= begins[begun]:
            begun += 1
        if line.process:
            seen.setdefault((line.pod, line.pid, line.process, begun), line.number)
    for (pod, pid, process, _), number in sorted(seen.items()):
        for kind, rank in _RANK.findall(process):
            if kind in table.ranks:
                server = servers.at(number, pod, pid)
                server.ranks.setdefault(kind, set()).add(int(rank))


# -- one line ----------------------------------------------------------------------------------


def _apply(spec: LineSpec, message: _Message, servers: Servers, paste: Paste, table: Table) -> None:
    text = message.text[:LONGEST]
    hit = spec.pattern.match(text)
    if hit is None and (spec.anywhere or not message.placed):
        hit = spec.pattern.search(text)
    if hit is None:
        return
    if "start" in spec.marks:
        server = servers.start(message.pod, message.pid, message.number)
    else:
        server = servers.of(message.pod, message.pid, message.number)
    for mark in spec.marks:
        server.marks.setdefault(mark, message.number)
    why = spec.id.replace("-", " ")
    for reads in spec.reads:
        raw: Tree = reads.fixed if reads.constant else hit.holes.get(reads.source)
        if raw is not None or reads.constant:
            _add(server, reads, raw, message.number, paste.name, why)
    for tree in spec.trees:
        _tree(server, tree, hit, message.number, paste, spec.id.replace("-", " "), table)


def _tree(
    server: Server, spec: TreeSpec, hit: Hit, number: int, paste: Paste, why: str, table: Table
) -> None:
    text, source = hit.holes.get(spec.hole), paste.name
    if not text:
        return
    tree, cut = _parsed(spec.form, text)
    if cut and spec.form != "labels":
        longer, still = _parsed(spec.form, text + _following(paste, number))
        if not still:
            tree, cut = longer, False
    if not isinstance(tree, dict):
        return
    if spec.settles:
        server.settled = True
        server.complete = server.complete and not cut
        server.arguments, server.number = tree, number
    if not spec.keys:
        for name, value in flatten(tree, table.rename):
            if spec.only and name.partition(".")[0] not in spec.only:
                continue
            if isinstance(value, str):
                value = value.removeprefix("torch.")  # as the option is written
            elif value is None and name in spec.empty:
                name, value = spec.empty[name], ""
            made = Value(name, value, "log", "this", number, source, "stated", spec.why or why)
            server.found.append(Found(made, spec.rank))
        return
    flat = dict(flatten(tree, {}))
    for key, wanted in spec.keys.items():
        for reads in wanted:
            if key in flat:
                raw = reads.fixed if reads.constant else flat[key]
                _add(server, reads, raw, number, source, spec.why or why)


def _following(paste: Paste, number: int) -> str:
    """The lines behind line ``number`` that can be the rest of a wrapped one. A terminal breaks
    anywhere, so nothing stands between them."""
    rest: list[str] = []
    behind = index_of(paste.lines, number) + 1
    for line in paste.lines[behind : behind + MOST_WRAPS]:
        if line.level or line.process or line.native or not line.text.strip():
            break
        rest.append(line.text)
    return "".join(rest)[:LONGEST]


def _parsed(form: str, text: str) -> tuple[Tree, bool]:
    if form == "labels":
        labels: dict[str, Tree] = {name: scalar(value) for name, value in _LABEL.findall(text)}
        return labels, False
    if form == "pairs":
        pairs = read_pairs(text)
        return pairs.tree, pairs.cut
    if form == "exact" and "..." in text:
        return None, True
    reading = read_literal(text)
    if form == "exact" and reading is not None and reading.cut:
        return None, True
    return (reading.tree, reading.cut) if reading else (None, True)


def _add(server: Server, reads: Reads, raw: Tree, number: int, source: str, why: str) -> None:
    value = convert(raw, reads.type, reads.words)
    if value is _UNREADABLE or value in reads.skip:
        return
    certainty = reads.certainty
    made = Value(
        reads.name,
        value,  # type: ignore[arg-type]
        "log",
        reads.side,
        number,
        source,
        certainty,
        reads.why or why,
    )
    doubt = reads.unless if value in reads.doubt else ""
    server.found.append(Found(made, reads.rank, doubt))


_UNREADABLE = object()


def convert(raw: Tree, kind: str, words: Mapping[str, Scalar]) -> object:
    """``raw`` as the wanted type; ``_UNREADABLE`` when it is none."""
    if isinstance(raw, dict | list):
        return _UNREADABLE
    text = str(raw).strip()
    if words:
        return words.get(text, _UNREADABLE)
    if kind == "auto":
        return scalar(text) if isinstance(raw, str) else raw
    if kind == "text":
        return text.strip("'\"") if raw is not None else _UNREADABLE
    if kind == "release":
        release = _RELEASE.match(text)
        return release[0] if release else _UNREADABLE
    if kind == "dtype":
        return text.removeprefix("torch.")
    if kind == "bool":
        known = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
        return known.get(text.lower(), _UNREADABLE)
    number = scalar(text.replace(",", ""))
    if isinstance(number, bool) or not isinstance(number, int | float):
        return _UNREADABLE
    if kind == "number":
        return number
    if isinstance(number, float):
        return _UNREADABLE
    return number + 1 if kind == "plus_one" else number
