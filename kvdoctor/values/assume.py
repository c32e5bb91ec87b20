"""Values that nobody wrote: what follows from a complete start-up log, and what a release assumes.

``inferred`` values follow from what is written (and from what a complete text leaves out);
``usual`` ones are a release's defaults, offered to the user and never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdoctor import releases
from kvdoctor.values.found import Found, Server
from kvdoctor.values.table import Default, Follows, Table
from kvdoctor.values.value import Value

FOLLOWS_RANK = 70
SETTLED_RANK = 80


def infer(server: Server, table: Table, candidates: tuple[str, ...], source: str) -> None:
    """Adds to ``server`` what its lines imply but do not state."""
    server.found += list(_settled(server, table, candidates, source))
    server.found += list(_ranks(server, table, source))
    for rule in table.follows:
        if _holds(rule, server, candidates):
            number = server.marks.get(rule.mark, 0)
            made = Value(
                rule.name, rule.value, "inferred", "this", number, source, "inferred", rule.why
            )
            server.found.append(Found(made, FOLLOWS_RANK))


def _holds(rule: Follows, server: Server, candidates: tuple[str, ...]) -> bool:
    """The log is complete up to the mark, says nothing of the value, and fits the conditions."""
    if not server.settled or not server.complete or rule.mark not in server.marks:
        return False
    if rule.vllm and releases.covers(rule.vllm, candidates) != "all":
        return False
    if server.first(rule.name) is not None:
        return False
    for name, allowed in rule.when.items():
        value = server.first(name)
        if value is None or value.value not in allowed:
            return False
    for name, refused in rule.never.items():
        value = server.first(name)
        if value is not None and value.value in refused:
            return False
    return True


def _settled(
    server: Server, table: Table, candidates: tuple[str, ...], source: str
) -> Iterator[Found]:
    """Arguments that a complete list leaves out and that vLLM does not change later."""
    if not server.settled or not server.complete:
        return
    for default in table.defaults:
        if not default.settled or not _applies(default, candidates):
            continue
        if server.first(default.name) is None:
            made = Value(
                default.name, default.value, "inferred", "this", server.marks.get("start", 0),
                source, "inferred", "the arguments do not set it, so it is the default",
            )  # fmt: skip
            yield Found(made, SETTLED_RANK)


def _ranks(server: Server, table: Table, source: str) -> Iterator[Found]:
    """Sizes from the ranks that spoke: TP0, TP1, TP2, TP3 without a gap are taken for all."""
    for kind, seen in server.ranks.items():
        name, size = table.ranks[kind], max(seen) + 1
        low = Value(
            f"{name}_at_least", size, "inferred", "this", 0, source, "inferred",
            f"a process {kind}{size - 1} speaks",
        )  # fmt: skip
        yield Found(low, SETTLED_RANK)
        if size > 1 and len(seen) == size and server.first(name) is None:
            why = f"processes {kind}0 to {kind}{size - 1} speak"
            made = Value(name, size, "inferred", "this", 0, source, "inferred", why)
            yield Found(made, SETTLED_RANK)


def _applies(default: Default, candidates: tuple[str, ...]) -> bool:
    if not default.vllm:
        return True
    return bool(candidates) and releases.covers(default.vllm, candidates) == "all"


def usual(table: Table, candidates: tuple[str, ...]) -> tuple[Value, ...]:
    """The defaults that every candidate release shares."""
    return tuple(
        Value(
            default.name, default.value, "usual", "this", certainty="usual",
            why=f"default of vLLM {_releases(candidates)}".rstrip() if default.vllm else "default",
        )
        for default in table.defaults
        if _applies(default, candidates)
    )  # fmt: skip


def _releases(candidates: tuple[str, ...]) -> str:
    return candidates[0] if len(candidates) == 1 else ""
