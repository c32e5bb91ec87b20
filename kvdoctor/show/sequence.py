"""The way of a request through prefill and decode, with the step at which it failed.

The steps follow the stages of the records (see ``kvdoctor.record.Record.stage``)."""

from __future__ import annotations

STEPS = (
    ("start", 0),
    ("request", 0),
    ("prefill", 0),
    ("handshake", 70),
    ("transfer", 80),
    ("decode", 90),
)
_FIRST_OF_REQUEST = 70  # earlier stages are passed when a server starts


def failed_step(stage: int) -> int:
    """The index of the step in :data:`STEPS` at which a guard of ``stage`` stands."""
    if stage < _FIRST_OF_REQUEST:
        return 0
    return max(at for at, (_, least) in enumerate(STEPS) if least <= stage and least)


def sequence(stage: int, side: str, ascii_only: bool = False) -> list[str]:
    """``side`` is prefill or decode: whose log shows the error."""
    arrow, up, sign = (" -> ", "^", "x") if ascii_only else (" → ", "▲", "✗")
    failed = failed_step(stage)
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
