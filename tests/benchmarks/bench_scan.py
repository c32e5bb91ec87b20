"""How fast whole logs are scanned, beside ripgrep that looks for the same literals.

    python tests/benchmarks/bench_scan.py [--size 200] [--keep FOLDER]

Makes logs out of the real ones in tests/cases: an ordinary one, and one in which half of the lines
are warnings. Prints CPU seconds and MB a second of ``kvdoctor scan`` and of
``rg -j1 -c -F -f LITERALS``, their ratio, the peak memory, the gain by two processes, and what
ten times as many templates cost. Both run on one core where ``taskset`` exists. Scan something once
before, so that the modules are compiled as in an installed program.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kvdoctor.knowledge import with_records
from kvdoctor.load import load
from kvdoctor.record import Identify
from kvdoctor.scan import scan_file

CASES = Path(__file__).parent.parent / "cases"
HOLE = re.compile(r"\{[^{}]*\}")


def literals() -> list[str]:
    """The longest literal of every template: records, sites, wrappers."""
    knowledge = load(private=False)
    templates = [entry.identify.message for entry in knowledge.entries]
    templates += [wrapper.message for wrapper in knowledge.wrappers]
    templates += [json.loads(row)[3] for row in knowledge.sites._rows]
    pieces_of = (max(HOLE.split(one), key=len).strip() for one in templates if one)
    return sorted({one.split("\n")[0] for one in pieces_of if len(one) >= 8})


def make_log(place: Path, size: int, *, warnings: bool) -> None:
    """``size`` bytes: healthy lines with other numbers each time, now and then a real failure."""
    chance = random.Random(7)  # noqa: S311 (repeatable)
    rows = (CASES / "050-nixl-healthy" / "decode.log").read_text("utf-8", "replace").splitlines()
    rows = [row for row in rows if " INFO " in row or " DEBUG " in row]
    failure = (CASES / "061-nixl-blocksize-d-smaller" / "decode.log").read_bytes()
    sentences = (
        "The request {0} waited {1} ms in the queue, longer than usual",
        "Slow step {1}: {0} took {1} ms",
        "Unusual setting number {1} is used for {0}",
    )
    with place.open("wb") as stream:
        while stream.tell() < size:
            out = []
            for _ in range(20_000):
                row = chance.choice(rows)
                number = chance.randrange(10**6)
                out.append(re.sub(r"\d\d:\d\d:\d\d", f"12:{number % 60:02}:07", row))
                if warnings:
                    text = chance.choice(sentences).format(f"cmpl-{number}", number % 997)
                    out.append(f"(EngineCore pid=7) WARNING 11-30 12:00:00 [core.py:77] {text}")
            stream.write("\n".join(out).encode() + b"\n")
            if chance.random() < 0.02:
                stream.write(failure)


def measured(command: list[str]) -> float:
    """CPU seconds of a command and its children, on one core."""
    place = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*place, *command], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak(command: list[str]) -> float:
    """Peak memory of a command, MB."""
    code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=-3);"
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss/1024)"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=False)
    return float(done.stdout)


def compare(name: str, log: Path, words: Path) -> None:
    ours = [sys.executable, "-c", "from kvdoctor.cli import main; main()", "scan", str(log)]
    size = log.stat().st_size / 1e6
    cpu = min(measured(ours) for _ in range(3))
    print(f"{name}: {size:.0f} MB; kvdoctor scan {cpu:.2f} s CPU, {size / cpu:.0f} MB/s", end="")
    if shutil.which("rg"):
        theirs = min(measured(["rg", "-j1", "-c", "-F", "-f", str(words), str(log)]) for _ in "ab")
        print(f"; rg {theirs:.2f} s, {size / theirs:.0f} MB/s; {theirs / cpu:.1f} x rg", end="")
    print(f"; peak {peak(ours):.0f} MB")


def two_processes(log: Path) -> None:
    """One file with one process and with two, and its halves by two scans that know nothing of
    each other: what two cores of this machine can gain at most. Medians of five rounds; they mean
    something only where two cores have nothing else to do."""
    base = [sys.executable, "-c", "from kvdoctor.cli import main; main()", "scan"]
    halves = _halves(log)
    gains, most = [], []
    for _ in range(5):
        alone = _wall([[*base, str(log)]])
        gains.append(alone / _wall([[*base, str(log), "--jobs", "2"]]))
        most.append(alone / _wall([[*base, str(half)] for half in halves]))
    for half in halves:
        half.unlink()
    gain, limit = statistics.median(gains), statistics.median(most)
    print(f"{log.name}: {gain:.2f} x with two processes ({min(gains):.2f} to {max(gains):.2f}); "
          f"two separate scans of its halves {limit:.2f} x")  # fmt: skip


def _halves(log: Path) -> list[Path]:
    """The log cut in two at a line, beside it."""
    made = [log.with_name(f"{log.name}.{number}") for number in (1, 2)]
    with log.open("rb") as stream, made[0].open("wb") as first, made[1].open("wb") as second:
        left = log.stat().st_size // 2
        while left > 0:
            left -= first.write(stream.read(min(left, 1 << 20)))
        first.write(stream.readline())
        shutil.copyfileobj(stream, second, 1 << 20)
    return made


def _wall(commands: list[list[str]]) -> float:
    """Seconds until commands that were started together have ended."""
    begun = time.monotonic()
    running = [subprocess.Popen(one, stdout=subprocess.DEVNULL) for one in commands]
    for one in running:
        one.wait()
    return time.monotonic() - begun


def ten_times(log: Path) -> None:
    """The same log with ten times as many templates."""
    knowledge = load(private=False)
    first = next(iter(knowledge.records.values()))
    made = []
    for number, entry in enumerate(knowledge.entries * 9):
        words = HOLE.sub("{x}", entry.identify.message)[::-1].replace("}x{", "{x}")
        if len(words) > 20:
            identify = (Identify(words, level="WARNING"),)
            made.append(replace(first, id=f"made-up-{number}", identify=identify))
    more = with_records(knowledge, made)
    seconds = []
    for one in (knowledge, more):
        assert one.index  # the shipped one comes compiled
        begun = time.process_time()
        scan_file(str(log), one)
        seconds.append(time.process_time() - begun)
    print(f"{len(knowledge.entries)} templates {seconds[0]:.2f} s, {len(more.entries)} "
          f"{seconds[1]:.2f} s; {seconds[1] / seconds[0]:.2f} x")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="MB of each log")
    parser.add_argument("--keep", help="folder of the logs (default: a temporary one)")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        words = folder / "literals.txt"
        words.write_text("\n".join(literals()) + "\n", "utf-8")
        for name in ("ordinary", "half-warnings"):
            log = folder / f"{name}.log"
            if not log.exists():
                make_log(log, options.size * 1_000_000, warnings=name != "ordinary")
            compare(name, log, words)
        for name in ("ordinary", "half-warnings"):
            two_processes(folder / f"{name}.log")
        ten_times(folder / "ordinary.log")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
