"""Helpers that several test files share."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence

from kvdoctor.decide import Cause, Facts, types_of, with_derived
from kvdoctor.expression import parse
from kvdoctor.fix import Fix, offers
from kvdoctor.record import Check, Input, Record
from kvdoctor.releases import parse_range
from kvdoctor.values.value import Scalar, Value


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of ``work`` alone: in a long test run a search for garbage looks through everything
    that other tests left alive, and may take longer than what is measured."""
    gc.disable()
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        gc.enable()


NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 1024, 4096)
TRIES = 120  # value combinations for each record and check


def spread(spec: Input) -> tuple[Scalar, ...]:
    """Values of an input's type within its limits, wide enough to reach both outcomes."""
    if spec.type == "bool":
        return (True, False)
    if spec.choices:
        return spec.choices
    if spec.type in ("int", "number"):
        low = spec.minimum if spec.minimum is not None else 0
        high = spec.maximum if spec.maximum is not None else 10**9
        return tuple(one for one in NUMBERS if low <= one <= high) or (int(low),)
    if spec.type == "version":
        return ("0.32.0",)
    return ("", "auto", "NixlConnector", "kv_both", "align", "none", "x; rm -rf ~", "tcp")


def forced_offers(record: Record, releases: Sequence[str]) -> Iterator[bool]:
    """For every fix that the engine offers, whatever the values: does each guard hold?"""
    if not record.guards:
        return
    chance = random.Random(record.id)  # noqa: S311 (repeatable, no secret)
    types = types_of(record)
    check = Check("forced", "True", "", tuple(record.fixes))
    for _ in range(TRIES):
        release = chance.choice(list(releases))
        scalars = {name: chance.choice(spread(spec)) for name, spec in record.inputs.items()}
        known = {name: Value(name, value, "answer") for name, value in scalars.items()}
        facts = Facts(known, {}, (release,))
        cause = Cause(check, "", facts, with_derived(record, scalars), ())
        for one in offers(record, cause):
            if not isinstance(one, Fix):
                continue
            stated = one.values.get("vllm_release", release)
            after = {**one.values, "vllm_release": stated}
            for guard in record.guards:
                if guard.vllm and not parse_range(guard.vllm).contains(str(stated)):
                    continue
                yield parse(guard.accepts, types).evaluate(after) is True
