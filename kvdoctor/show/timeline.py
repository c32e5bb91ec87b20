"""Where the errors of each process stand in a text: who was first, how many each has.

Plain text of at most 76 columns, Unicode or ASCII, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.intake.paste import Paste

SPAN = 30  # columns of the scale
MOST_PROCESSES = 10
NAME = 20
LOUD = frozenset({"ERROR", "CRITICAL"})


def errors_of(paste: Paste) -> dict[str, list[tuple[int, str]]]:
    """Process -> (line, time) of its errors, in the order of the text. A chain of exceptions is
    one error, a traceback and the record that prints it too."""
    inner = {one.cause for one in paste.failures if one.cause is not None and one.link != "group"}
    found: dict[str, dict[int, str]] = {}
    for position, failure in enumerate(paste.failures):
        if position not in inner:
            found.setdefault(failure.process, {})[failure.number] = failure.time
    for record in paste.records:
        if record.level in LOUD and record.failure is None:
            found.setdefault(record.process, {}).setdefault(record.number, record.time)
    return {process: sorted(rows.items()) for process, rows in found.items()}


def timeline(
    pastes: Sequence[tuple[str, Paste]], cause: tuple[str, int] | None, ascii_only: bool = False
) -> list[str]:
    """``pastes`` are (name to show, paste); ``cause`` is (name, line) of the root cause. Empty
    when a single process has errors: then there is nothing to compare."""
    lines: list[str] = []
    for name, paste in pastes:
        errors = errors_of(paste)
        if len(errors) < 2:
            continue
        where = f" of {name}" if len(pastes) > 1 else ""
        line = cause[1] if cause is not None and cause[0] == name else 0
        lines += [f"errors over the processes{where}, the first one on top"]
        lines += _rows(errors, line, ascii_only)
    return lines


def _rows(errors: dict[str, list[tuple[int, str]]], cause: int, ascii_only: bool) -> list[str]:
    sign, rest, here = ("x", ".", "<- cause") if ascii_only else ("✗", "·", "← cause")
    every = [number for rows in errors.values() for number, _ in rows]
    low, high = min(every), max(every)
    ordered = sorted(errors.items(), key=lambda entry: entry[1][0][0])
    lines: list[str] = []
    for process, rows in ordered[:MOST_PROCESSES]:
        scale = [rest] * SPAN
        for number, _ in rows:
            scale[(number - low) * (SPAN - 1) // max(1, high - low)] = sign
        told = f"  {_fitted(process or '(no name)')} {len(rows):>4}  {''.join(scale)}"
        mark = f" {here}" if any(number == cause for number, _ in rows) else ""
        lines.append(f"{told} {_place(rows[0])}{mark}".rstrip())
    if len(ordered) > MOST_PROCESSES:
        lines.append(f"  and {len(ordered) - MOST_PROCESSES} more processes")
    lines.append(f"  {'':{NAME}} {'':4}  line {low:<{SPAN - 14}}{f'line {high}':>9}")
    return lines


def _fitted(name: str) -> str:
    return f"{name if len(name) <= NAME else name[: NAME - 1] + '~':{NAME}}"


def _place(first: tuple[int, str]) -> str:
    """When the first error came: its time of day, else its line."""
    number, time = first
    clock = time.split(" ")[-1].split("T")[-1][:8]
    return clock if clock.count(":") == 2 else f"line {number}"
