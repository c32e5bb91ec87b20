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


@dataclass(frozen=True, slots=True)
class Values:
    """All values read, best source first for every (side, name)."""

    entries: tuple[Value, ...] = ()

    def find(self, name: str, side: str = "this") -> Value | None:
        """The best value of ``name`` on ``side``; a "this" entry answers for any side only when
        the caller asks for "this"."""
        for entry in self.entries:
            if entry.name == name and entry.side == side:
                return entry
        return None

    def all(self, name: str) -> tuple[Value, ...]:
        return tuple(entry for entry in self.entries if entry.name == name)

    def plus(self, more: Iterable[Value], *, first: bool = False) -> Values:
        """A new set with ``more`` behind (or, with ``first``, before) what is there."""
        added = tuple(more)
        return Values(added + self.entries if first else self.entries + added)
