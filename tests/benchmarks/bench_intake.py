"""How fast a log is taken in: lines a second, and whether the time grows with the lines alone.

    python tests/benchmarks/bench_intake.py [--lines 20000 200000]

The logs are put together from the real ones in tests/cases, with other process ids in every round.
Prints CPU time in total, per line, and as a multiple of one regular expression matched on every
line of the same text.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

from kvdoctor.intake import read
from kvdoctor.load import load

CASES = Path(__file__).parent.parent / "cases"
HEAD = re.compile(r"\((\w+) pid=(\d+)\) (\w+) (\S+ \S+) \[(\S+):(\d+)\] (.*)")


def long_log(lines: int) -> bytes:
    """So many lines of real logs, the process ids of each round its own."""
    rows = [
        row
        for path in sorted(CASES.glob("*/*.log"))
        for row in path.read_text("utf-8", "replace").splitlines()
    ]
    found: list[str] = []
    while len(found) < lines:
        # a digit before each process id makes it another one
        found += [one.replace(" pid=", f" pid={len(found) % 9 + 1}") for one in rows]
    return "\n".join(found[:lines]).encode()


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[20_000, 200_000])
    options = parser.parse_args()
    reading = load(private=False).reading
    read(long_log(500), knowledge=reading)  # late imports and late patterns
    for lines in options.lines:
        data = long_log(lines)
        plain = seconds(lambda data=data: [HEAD.match(one) for one in data.decode().split("\n")])
        ours = seconds(lambda data=data: read(data, knowledge=reading))
        print(
            f"{lines} lines, {len(data) / 1e6:.1f} MB: {ours:.2f} s, "
            f"{ours / lines * 1e6:.1f} µs a line, {len(data) / 1e6 / ours:.1f} MB/s, "
            f"{ours / plain:.1f} × one regular expression over every line"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
