"""Fuzz for a while: ``python tests/fuzz/drive.py --seconds 600 [--seed N] [--keep FOLDER]``.

Every find is written to the folder (default: tests/fuzz/corpus), cut down as far as it still
fails, and replayed by the normal tests from then on.
"""

from __future__ import annotations

import argparse
import atexit
import collections
import functools
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from unittest.mock import patch

RECORD_SECONDS = 8.0  # the first one compiles the shipped records as well
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fuzz import hostile, mutate, pipeline  # noqa: E402

LOG = b"ValueError: broken 3 of 4 widgets\n"


def failure_of_text(data: bytes) -> str:
    """ "" when all is well, else the kind of failure and its place."""
    try:
        pipeline.check(data)
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} {Path(last.filename).name}:{last.name}: {str(error)[:80]}"
    return ""


def failure_of_record(text: str) -> str:
    """The same for a folder of private records that holds ``text``."""
    from kvdoctor.load import load

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hostile-record.yaml").write_text(text, encoding="utf-8", errors="replace")
        started = time.process_time()
        try:
            with patch.dict(os.environ, XDG_CACHE_HOME=_cache()):
                known = load([folder])
            pipeline.check(LOG, known, limit=False)
            pipeline.written(_answered(known), known)
        except RecursionError:
            return "RecursionError"
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.name}"
            return f"{type(error).__name__} {place}: {str(error)[:80]}"
        spent = time.process_time() - started
    return f"slow record: {spent:.1f} s" if spent > RECORD_SECONDS else ""


@functools.cache
def _cache() -> str:
    """A cache of our own: it keeps the shipped records compiled and the user's cache clean."""
    folder = tempfile.mkdtemp(prefix="kvdoctor-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _answered(known: object) -> object:
    from kvdoctor.intake import read
    from kvdoctor.report import Source, read_sources, report

    found = read_sources([Source(read(LOG))], known)  # type: ignore[arg-type]
    return report(found, known, answers={"vllm_release": "0.32.0"})  # type: ignore[arg-type]


def smaller(data: bytes, kind: str, seconds: float = 20.0) -> bytes:
    """``data`` without the lines and bytes that the failure does not need."""
    end = time.monotonic() + seconds
    step = max(1, len(data) // 2)
    while step and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            less = data[:at] + data[at + step :]
            if failure_of_text(less)[:40] == kind[:40]:
                data = less
            else:
                at += step
        step //= 2
    return data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=HERE / "corpus")
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311
    every = mutate.cases()
    counts: collections.Counter[str] = collections.Counter()
    size, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        if chance.random() < 0.05:
            text = hostile.record(chance)
            counts["records"] += 1
            kind, kept, ending = failure_of_record(text), text.encode("utf-8", "replace"), "yaml"
        else:
            kept = mutate.mutated(chance, every)
            counts["texts"] += 1
            size += len(kept)
            kind, ending = failure_of_text(kept), "bin"
        if kind:
            counts[kind] += 1
            if counts[kind] == 1:
                print(f"FOUND {kind}", flush=True)
                least = smaller(kept, kind) if ending == "bin" and "s for" not in kind else kept
                options.keep.mkdir(parents=True, exist_ok=True)
                number = len(list(options.keep.iterdir()))
                (options.keep / f"find-{options.seed}-{number}.{ending}").write_bytes(least)
    print(dict(counts), f"{size / 1e6:.1f} MB")
    return 1 if len(counts) > 2 else 0


if __name__ == "__main__":
    sys.exit(main())
