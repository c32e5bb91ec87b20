"""The table of callers: guard id -> function that builds the objects and calls the real guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Caller = Callable[..., Any]
CALLERS: dict[str, Caller] = {}
F = TypeVar("F", bound=Caller)


def guard(*ids: str) -> Callable[[F], F]:
    """Register a caller under one or more guard ids (several messages of one function)."""

    def register(function: F) -> F:
        for id_ in ids:
            if id_ in CALLERS:
                raise ValueError(f"caller {id_} is registered twice")
            CALLERS[id_] = function
        return function

    return register
