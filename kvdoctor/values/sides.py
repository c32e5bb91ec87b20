"""Which side of a disaggregated deployment a text, a server or a command belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kvdoctor.values.found import Found, Server

_WORD = re.compile(r"(?<![a-z])(prefill|decode)(?:er|r)?s?(?![a-z])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def side_in_name(name: str) -> str:
    """ "prefill" or "decode" when exactly one of the words stands in a name, else ""."""
    plain = _CAMEL.sub("-", name[-300:]).lower()
    found = set(_WORD.findall(plain))
    return found.pop() if len(found) == 1 else ""


def side_of_role(found: Iterable[Found], roles: Mapping[str, str]) -> str:
    """The side that a stated kv_role names, "" when none does or several disagree.

    The best source wins: a log that says which role it runs in beats a pasted command."""
    best: tuple[int, str] | None = None
    for one in found:
        value = one.value
        if value.name != "kv_role" or value.side != "this":
            continue
        side = roles.get(str(value.value), "")
        if best is None or one.rank < best[0]:
            best = (one.rank, side)
    return best[1] if best else ""


def side_of_server(server: Server, roles: Mapping[str, str]) -> str:
    """prefill, decode, or "" when nothing tells."""
    return server.side or side_of_role(server.found, roles) or side_in_name(server.pod)
