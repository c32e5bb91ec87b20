"""The way of a request through prefill and decode, with the step at which it failed.

The stages of the records say when vLLM reaches a guard (see ``kvdoctor.record.Record.stage``), and
with it the step of most; a record whose failure belongs to another step names that one."""

from __future__ import annotations

# The word of each step, and the stage from which on a guard stands in it; -1: no stage tells.
STEPS = (
    ("start", 0),
    ("request", -1),
    ("prefill", -1),
    ("hand-over", -1),  # the router's request to decode, as decode's scheduler takes it
    ("handshake", 70),
    ("transfer", 80),
    ("decode", -1),
)
_LATER = 90  # the first transfer is over: the stage alone tells no step any more


def failed_step(stage: int, step: str = "") -> int | None:
    """The index in :data:`STEPS` of the step at which a failure stands, None when it is not known:
    ``step`` is the one that the record names, "" for what its ``stage`` tells."""
    if step:
        return next((at for at, (word, _) in enumerate(STEPS) if word == step), None)
    if stage >= _LATER:
        return None
    return max(at for at, (_, least) in enumerate(STEPS) if 0 <= least <= stage)


def sequence(stage: int, side: str, ascii_only: bool = False, step: str = "") -> list[str]:
    """``side`` is prefill or decode: whose log shows the error. Empty when the step is unknown."""
    arrow, up, sign = (" > ", "^", "x") if ascii_only else (" → ", "▲", "✗")
    failed = failed_step(stage, step)
    if failed is None:
        return []
    line = ""
    middle = 0
    for at, (word, _) in enumerate(STEPS):
        shown = f"[{word}]" if at == failed else word
        if at:
            line += arrow
        if at == failed:
            middle = len(line) + len(shown) // 2
        line += shown
    where = f"{sign} failed here, in the {side} log"
    told = " " * max(0, min(middle, 74 - len(where)))
    after = [word for word, _ in STEPS[failed + 1 :]]
    rows = ["the way of a request", f"  {line}", f"  {' ' * middle}{up}", f"  {told}{where}"]
    return [*rows, f"  not reached: {', '.join(after)}"] if after else rows
