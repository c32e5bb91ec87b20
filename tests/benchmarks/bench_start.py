"""What starting costs: whole processes side by side, CPU time, ratios pair by pair.

    python tests/benchmarks/bench_start.py [--runs N]

Prints, for the version and for the diagnosis of a traceback of 60 lines, the median CPU time of
both commands and the median of their ratios. The compiled knowledge and the bytecode are made
before the first counted run. Needs a system that accounts for finished children (not Windows).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

TRACEBACK = Path(__file__).with_name("traceback-60.txt")
# what the installed command runs
KVDOCTOR = [sys.executable, "-c", "import sys; from kvdoctor.cli import main; sys.exit(main())"]


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run; its output is thrown away."""
    before = os.times()
    subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False, timeout=120,
    )  # fmt: skip
    after = os.times()
    used = after.children_user - before.children_user
    return used + after.children_system - before.children_system


def compare(title: str, ours: list[str], yardstick: list[str], runs: int, few: int = 5) -> None:
    """Run both in turn and print medians. Processes are counted in hundredths of a second by the
    clock of ``os.times``, so each figure is the sum of ``few`` runs."""
    cpu_seconds(ours), cpu_seconds(yardstick)
    pairs = []
    for _ in range(runs):
        one = sum(cpu_seconds(ours) for _ in range(few)) / few
        two = sum(cpu_seconds(yardstick) for _ in range(few)) / few
        pairs.append((one, two))
    ours_ms = statistics.median(one for one, _ in pairs) * 1000
    their_ms = statistics.median(two for _, two in pairs) * 1000
    ratio = statistics.median(one / two for one, two in pairs)
    more = statistics.median(one - two for one, two in pairs) * 1000
    print(
        f"{title}\n  kvdoctor {ours_ms:.0f} ms, yardstick {their_ms:.0f} ms, "
        f"ratio {ratio:.2f}, difference {more:.0f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    bare = [sys.executable, "-c", "pass"]
    usual = [sys.executable, "-c", "import yaml, json, re"]
    compare("kvdoctor --version : python -c pass", [*KVDOCTOR, "--version"], bare, options.runs)
    compare(
        "kvdoctor diagnose traceback-60.txt : python -c 'import yaml, json, re'",
        [*KVDOCTOR, "diagnose", str(TRACEBACK)],
        usual,
        options.runs,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
