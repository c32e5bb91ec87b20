"""Self-test of the catalogue: is every site of every release recognised from what it writes?

    python tests/benchmarks/bench_sites.py SOURCES [--every N] [--release R] [--jobs N] [--show N]
                                           [--least]

SOURCES holds folders "vllm-RELEASE". Each site's statement is run (see synthetic.py), its text goes
through the intake stage, and the catalogue names a site: right when file, function and line are
those of the statement in the release that wrote it. Prints one line per release and the totals.
``--every N`` takes each Nth site, the same ones in every run; ``--least`` fails below the shares
that are promised: 99.5 % right sites, 99 % with the release among the candidates.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import Release, Statement, releases

from kvdoctor.harvest.extent import in_sites
from kvdoctor.intake import read
from kvdoctor.intake.paste import Failure, Paste
from kvdoctor.load import load
from kvdoctor.match import match

SPAN = 12  # lines that one statement can have
LEAST_RIGHT, LEAST_RELEASE = 99.5, 99.0


class Bench:
    def __init__(self, show: int) -> None:
        self.knowledge = load(private=False)
        self.sites = self.knowledge.sites
        self.show = show
        self.told: list[str] = []

    def release(self, release: Release, every: int) -> Counter[str]:
        count: Counter[str] = Counter()
        number = 0
        paths = sorted(
            one.relative_to(release.folder).as_posix()
            for one in (release.folder / "vllm").rglob("*.py")
        )
        for path in filter(in_sites, paths):
            for statement in release.statements(path):
                number += 1
                if number % every == 0:
                    self.one(release, statement, count)
        return count

    def one(self, release: Release, statement: Statement, count: Counter[str]) -> None:
        count["sites"] += 1
        try:
            text = release.text_of(statement)
        except Exception as error:
            count["not run"] += 1
            self.tell("not run", release, statement, repr(error)[:200])
            return
        count[statement.kind] += 1
        paste = read(text, knowledge=self.knowledge.reading)
        candidates = paste.release.candidates
        if statement.kind == "log":
            # a record without traceback tells its head alone, so its file and line are given away
            records = [one for one in paste.records if one.log_line]
            hit = self.sites.of_log(records[0], candidates) if records else None
        else:
            failures = [one for one in paste.failures if one.frames]
            hit = self.sites.of_failure(failures[-1], candidates) if failures else None
            if failures and failures[-1].message:
                self.alone(release, statement, failures[-1], count)
        self.diagnosed(statement, paste, count)
        count["release"] += release.name in candidates
        count["release alone"] += candidates == (release.name,)
        if release.name not in candidates:
            self.tell("release", release, statement, f"{candidates}\n{text[-400:]}")
        place = hit and (hit.file, hit.function)
        if hit and place == (statement.path, statement.function):
            count["function"] += 1
            inside = hit.line <= statement.line <= hit.line + 3
            lines = {p.lines.get(release.name) for p in self.sites.places(hit.id)}
            if statement.line in lines or inside:
                count["right"] += 1
                return
        count["wrong" if hit else "none"] += 1
        self.tell("wrong" if hit else "none", release, statement, f"{hit}\n{text[-700:]}")

    def diagnosed(self, statement: Statement, paste: Paste, count: Counter[str]) -> None:
        """The whole chain: is the first finding that place? A warning without a record is no
        finding, the lines of a wrapper are none by intention, and of a record that prints the
        traceback of another error that error is the finding."""
        printed = any(one.failure is not None for one in paste.records)
        if statement.kind == "log" and (
            printed or all(one.level != "ERROR" for one in paste.records)
        ):
            return
        found = match(paste, self.knowledge)
        count["matched"] += 1
        if not found:
            return
        place = found[0].place
        near = place is not None and place.file == statement.path
        right = near and place is not None and 0 <= place.line - statement.line <= SPAN
        count["matched right"] += right
        note(count, "found", found[0].confidence, right)

    def alone(
        self, release: Release, statement: Statement, failure: Failure, count: Counter[str]
    ) -> None:
        """The message without its frames, as from a validator: the release is known. What is
        claimed for such a line and how often that is right."""
        count["alone"] += 1
        found = self.sites.by_message(
            failure.message, failure.exception, candidates=(release.name,)
        )
        names = [(one.file, one.function) for one in found if one.score >= found[0].score - 0.5]
        count["alone right"] += (statement.path, statement.function) in names[:1]
        count["alone among equals"] += (statement.path, statement.function) in names
        text = f"{failure.exception}: {failure.message}\n"
        said = match(read(text, knowledge=self.knowledge.reading), self.knowledge)
        if said and said[0].template and said[0].record is None and said[0].place is not None:
            place = (said[0].place.file, said[0].place.function)
            note(count, "alone", said[0].confidence, place == (statement.path, statement.function))

    def tell(self, what: str, release: Release, statement: Statement, more: str) -> None:
        if self.show > 0:
            self.show -= 1
            self.told.append(
                f"-- {what}: {release.name} {statement.path}:{statement.line} "
                f"{statement.function}\n{more}"
            )


def note(count: Counter[str], what: str, confidence: float, right: bool) -> None:
    """One finding for the table of reliability, in bins of 0.05."""
    low = int(min(confidence, 0.999) * 20 + 1e-6) * 5
    count[f"shown {what} {low:02}"] += 1
    count[f"right {what} {low:02}"] += right
    count[f"stated {what} {low:02}"] += round(confidence * 1000)


def table(total: Counter[str], what: str) -> str:
    """How often findings of each confidence are right."""
    rows = [
        f"  {low / 100:.2f} to {(low + 5) / 100:.2f}: {total[f'shown {what} {low:02}']:6} shown, "
        f"stated {total[f'stated {what} {low:02}'] / total[f'shown {what} {low:02}'] / 10:6.2f} %, "
        f"right {100 * total[f'right {what} {low:02}'] / total[f'shown {what} {low:02}']:6.2f} %"
        for low in range(0, 100, 5)
        if total[f"shown {what} {low:02}"]
    ]
    return "\n".join(rows)


def _one_release(work: tuple[Path, str, int, int]) -> tuple[str, Counter[str], list[str]]:
    sources, name, every, show = work
    bench = Bench(show)
    release = next(releases(sources, name))
    return name, bench.release(release, every), bench.told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--release", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--least", action="store_true")
    options = parser.parse_args()
    names = [options.release] if options.release else list(load(private=False).sites.releases)
    work = [(options.sources, name, options.every, options.show) for name in reversed(names)]
    total: Counter[str] = Counter()
    begun = time.perf_counter()
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for name, count, told in pool.imap(_one_release, work):
            print("\n".join([*told, _line(name, count)]), flush=True)
            total += count
    print(_line("all", total), f"{time.perf_counter() - begun:.0f} s")
    print(f"confidence of the first finding of a whole paste:\n{table(total, 'found')}")
    print(f"confidence of a place told from the message line alone:\n{table(total, 'alone')}")
    right, release = _share(total, "right"), _share(total, "release")
    if options.least and (right < LEAST_RIGHT or release < LEAST_RELEASE):
        print(f"below {LEAST_RIGHT} % right sites or {LEAST_RELEASE} % releases")
        return 1
    return 0


def _share(count: Counter[str], what: str) -> float:
    return 100 * count[what] / max(1, count["sites"] - count["not run"])


def _line(name: str, count: Counter[str]) -> str:
    ran = count["sites"] - count["not run"]
    return (
        f"{name:8} {ran:6} pastes ({count['not run']} statements could not be run): "
        f"right site {_share(count, 'right'):.2f} %, "
        f"right function {_share(count, 'function'):.2f} %, "
        f"release among candidates {_share(count, 'release'):.2f} %, wrong {count['wrong']}, "
        f"none {count['none']}; message alone: right function "
        f"{100 * count['alone right'] / max(1, count['alone']):.2f} %, among equals "
        f"{100 * count['alone among equals'] / max(1, count['alone']):.2f} % of {count['alone']}; "
        f"first finding of the diagnosis right {count['matched right']} of {count['matched']}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
