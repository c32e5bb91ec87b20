"""What the readers of single places hand over: a value with the rank of its source, and the
server (one start of vLLM within the text) that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.data import dataclass, field, replace
from kvdoctor.values.literals import Tree
from kvdoctor.values.value import Value

OTHER = {"prefill": "decode", "decode": "prefill", "this": "other", "other": "this"}
CERTAIN = {"stated": 0, "inferred": 1, "usual": 2}


@dataclass(frozen=True, slots=True)
class Found:
    """One value before its side is known: ``value.side`` is this, other, prefill or decode.

    ``doubt``: the value holds only when the server's value of that name is false."""

    value: Value
    rank: int = 50
    doubt: str = ""


@dataclass(slots=True)
class Server:
    """One start of vLLM, or one pasted command, within the text. ``side`` is "" while unknown."""

    order: int = 0
    pod: str = ""
    side: str = ""
    found: list[Found] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)  # mark → line where it was seen first
    settled: bool = False  # a complete list of its arguments was read
    ranks: dict[str, set[int]] = field(default_factory=dict)  # "TP" → ranks that spoke
    complete: bool = True  # False when the list of its arguments is cut off
    arguments: dict[str, Tree] = field(default_factory=dict)  # that list, and the line it stands in
    number: int = 0
    start: int = 0  # from 1 for those that log lines tell apart, 0 for others

    def first(self, name: str) -> Value | None:
        """The best stated or inferred value of ``name`` on this server's own side."""
        best: tuple[int, int] | None = None
        chosen: Value | None = None
        for one in self.found:
            if one.value.name != name or one.value.side in ("other", OTHER.get(self.side, "")):
                continue
            key = (CERTAIN[one.value.certainty], one.rank)
            if best is None or key < best:
                best, chosen = key, one.value
        return chosen


def placed(server: Server, side: str) -> list[tuple[Found, Value]]:
    """The server's values with "this" and "other" resolved; ``side`` is the server's side."""
    result = []
    for one in resolved(server):
        value = replace(one.value, start=server.start) if server.start else one.value
        if side != "this" and value.side in ("this", "other"):
            value = replace(value, side=side if value.side == "this" else OTHER[side])
        result.append((one, value))
    return result


def resolved(server: Server) -> Iterable[Found]:
    """The values whose doubt is settled; what stays in doubt is inferred only."""
    for one in server.found:
        if not one.doubt:
            yield one
            continue
        settles = server.first(one.doubt)
        if settles is None:
            yield replace(one, value=replace(one.value, certainty="inferred"))
        elif settles.value is False:
            yield one
