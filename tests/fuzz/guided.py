"""Fuzz one target by coverage: ``python tests/fuzz/guided.py TARGET --seconds 120``.

Needs ``pip install atheris`` (wheels for CPython 3.11 to 3.13 on Linux). Seeds are the real cases
and the hostile words; a find is written to ``--keep`` (default: tests/fuzz/corpus) as
``TARGET-….bin`` and replayed by the normal tests. libFuzzer prints the executions that really ran
and the peak of memory; ``grep -E 'stat::|FOUND|slowest'`` keeps what matters.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from zlib import crc32

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT)]
SECONDS_FOR_ANY = 1.0
SECONDS_FOR_EACH_MB = 1.0
MEGABYTES = 1500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--longest", type=int, default=600, help="bytes of one input")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=HERE / "corpus")
    options = parser.parse_args()
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["kvdoctor"]):
        targets: Any = importlib.import_module("fuzz.targets")
    run = targets.TARGETS[options.target]
    run(b"x")  # loads the knowledge: not part of any measurement
    state = _State(options.keep, options.target)

    def one(data: bytes) -> None:
        started = time.process_time()
        try:
            run(data)
        except Exception as error:
            state.found(data, error)
            return
        state.done(data, time.process_time() - started)

    with tempfile.TemporaryDirectory(prefix="kvdoctor-fuzz-") as folder:
        _seed(Path(folder), options.longest, options.seed)
        arguments = [
            sys.argv[0], folder, f"-max_total_time={options.seconds}", f"-seed={options.seed}",
            f"-max_len={options.longest}", "-timeout=20", f"-rss_limit_mb={MEGABYTES}",
            "-print_final_stats=1", "-verbosity=0",
        ]  # fmt: skip
        atheris.Setup(arguments, one)
        with contextlib.suppress(SystemExit):
            atheris.Fuzz()
    return 0


def _seed(folder: Path, longest: int, seed: int) -> None:
    from fuzz import hostile, mutate

    chance = random.Random(seed)  # noqa: S311
    every = mutate.cases()
    pieces = [one.encode("utf-8", "surrogatepass") for one in mutate.NASTY]
    pieces += [mutate.mutated(chance, every)[:longest] for _ in range(300)]
    pieces += [hostile.BASE.format(**hostile.USUAL).encode()]
    pieces += [b"a // 2 + b if a in (1, 2) else max(a, 3)", b"a={a} of {b|raw}\na=3 of 4"]
    pieces += [one.encode() for part in hostile.HARM.values() for one in part if len(one) < longest]
    for number, piece in enumerate(pieces):
        (folder / f"{number:04}").write_bytes(piece)


class _State:
    """The slowest input so far, and one file for each kind of find."""

    def __init__(self, keep: Path, target: str) -> None:
        self.keep, self.target = keep, target
        self.slowest = 0.0
        self.kinds: set[str] = set()

    def done(self, data: bytes, spent: float) -> None:
        if spent > max(0.2, 1.5 * self.slowest):
            self.slowest = spent
            print(f"{self.target}: slowest so far {spent:.2f} s for {len(data)} bytes", flush=True)
        if spent > SECONDS_FOR_ANY + SECONDS_FOR_EACH_MB * len(data) / 1e6:
            self.found(data, TimeoutError(f"{spent:.2f} s for {len(data)} bytes"))

    def found(self, data: bytes, error: Exception) -> None:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
        kind = f"{type(error).__name__} {place}"
        if kind in self.kinds:
            return
        self.kinds.add(kind)
        print(f"FOUND {self.target}: {kind}: {str(error)[:300]}", flush=True)
        self.keep.mkdir(parents=True, exist_ok=True)
        (self.keep / f"{self.target}-{crc32(kind.encode()):08x}.bin").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
