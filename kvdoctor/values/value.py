"""Configuration values read from a text, each with the place it was read from.

Names are the field's own: the long flag of ``vllm serve`` with underscores
(``tensor_parallel_size``, ``block_size``, ``max_model_len``), the keys of --kv-transfer-config
(``kv_connector``, ``kv_role``, ``kv_load_failure_policy``), its extra config flattened with the
prefix ``extra.`` (``extra.read_mode``, ``extra.cpu_bytes_to_use``), HF config keys
(``num_key_value_heads``), environment variables by their own name (``VLLM_KV_CACHE_LAYOUT``).
"""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.data import dataclass

SIDES = ("prefill", "decode", "this")  # "this": the text does not say which side it is from

Scalar = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Value:
    """One value. ``origin``: message, log, command, config, answer, inferred, usual.

    ``certainty``: stated (written there), inferred (follows from what is written), usual (the
    default of that release; offered, never assumed)."""

    name: str
    value: Scalar
    origin: str
    side: str = "this"
    number: int = 0  # line of the paste, 0 when it has none
    source: str = ""  # name of the input it came from ("decode.log", "-")
    certainty: str = "stated"
    why: str = ""  # one clause shown to people: "non-default args", "no line sets another one"
    start: int = 0  # which start of vLLM within the text it belongs to, from 1; 0 for none


@dataclass(frozen=True, slots=True)
class Start:
    """One of several starts of vLLM within one text: a restart, or the other side.

    ``side``: prefill, decode, or this when nothing tells; ``entries``: its own values, best first,
    also those that another start states alike."""

    order: int  # from 1
    side: str
    entries: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Spoke:
    """A line at which a process of a start was first heard. ``begins``: the start begins there."""

    number: int
    pod: str
    pid: int
    start: int
    begins: bool


def start_of(spoke: Iterable[Spoke], number: int, pod: str, pid: int) -> int:
    """The order of the start that wrote line ``number``, 0 when none had begun.

    A process id counts until a start begins under an id that was heard before: from there on all
    ids are given anew. A line without an id belongs to the latest start."""
    latest = by_pid = 0
    heard: set[int] = set()
    for one in spoke:
        if one.number > number:
            break
        if one.pod != pod:
            continue
        if one.begins:
            latest = one.start
            if one.pid in heard:
                by_pid = 0
                heard.clear()
        heard.add(one.pid)
        if pid and one.pid == pid:
            by_pid = one.start
    return by_pid or latest


@dataclass(frozen=True, slots=True)
class Values:
    """All values read, best source first for every (side, name).

    ``starts`` and ``spoke`` are empty unless the text holds several starts of vLLM."""

    entries: tuple[Value, ...] = ()
    starts: tuple[Start, ...] = ()
    spoke: tuple[Spoke, ...] = ()

    def find(self, name: str, side: str = "this") -> Value | None:
        """The best value of ``name`` on ``side``; a "this" entry answers for any side only when
        the caller asks for "this"."""
        for entry in self.entries:
            if entry.name == name and entry.side == side:
                return entry
        return None

    def all(self, name: str) -> tuple[Value, ...]:
        return tuple(entry for entry in self.entries if entry.name == name)

    def start_at(self, number: int, pod: str, pid: int) -> Start | None:
        """The start of vLLM that wrote line ``number`` of the text; None when there is only one,
        or when it cannot be told."""
        order = start_of(self.spoke, number, pod, pid)
        return next((one for one in self.starts if one.order == order), None)

    def seen_from(self, start: Start, source: str) -> Values:
        """What counts for a failure of ``start`` of the text ``source``: its own values first;
        those of other texts and of no start; those of the text's other starts only where their
        side is known to be another one."""
        rest = [
            one
            for one in self.entries
            if not one.start
            or one.source != source
            or (one.start != start.order and start.side != "this" and one.side != start.side
                and one.side in SIDES[:2])
        ]  # fmt: skip
        order = ("stated", "inferred", "usual").index
        return Values(tuple(sorted((*start.entries, *rest), key=lambda one: order(one.certainty))))

    def plus(self, more: Iterable[Value], *, first: bool = False) -> Values:
        """A new set with ``more`` behind (or, with ``first``, before) what is there."""
        added = tuple(more)
        return Values(added + self.entries if first else self.entries + added)
