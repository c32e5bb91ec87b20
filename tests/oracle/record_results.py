"""Writes knowledge/proof/guards.json: what the comparison finds now.

python3 tests/oracle/record_results.py [RELEASE …] [CALLER …]     default: everything
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import comparison
from grid import references

from kvdoctor.proof.results import results_file

WHAT = (
    "Closed forms of the guards compared with vLLM's own functions by tests/oracle: combinations "
    "judged, how many of them vLLM refused, how many more never reached the guard because another "
    "one came first, and how many our expressions judged otherwise."
)


def record(releases: list[str], calls: list[str]) -> None:
    file = Path(results_file())
    guards: dict[str, dict[str, dict[str, int]]] = {}
    if file.is_file():
        guards = json.loads(file.read_text(encoding="utf-8"))["guards"]
    for release in releases:
        mine = [call for call in calls if release in comparison.releases_of(call)]
        if not mine:
            continue
        only = () if len(calls) == len(references()) else tuple(mine)
        given = comparison.answers(release, only)
        for call in mine:
            old = guards.setdefault(call, {})
            old.pop(release, None)
            if references()[call].accepts(release):
                found = comparison.compare_reference(call, release, given)
                further = comparison.mismatches_of_records(call, release, given)
                old[release] = comparison.numbers(found, further)
        write(file, guards)
        print(f"compared vLLM {release}", file=sys.stderr, flush=True)


def write(file: Path, guards: dict[str, dict[str, dict[str, int]]]) -> None:
    """Callers by name, releases oldest first; callers and releases that are gone fall out."""
    kept = {
        call: {
            release: guards[call][release]
            for release in comparison.releases_of(call)
            if release in guards[call]
        }
        for call in sorted(guards)
        if call in references() and guards[call]
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f'  "{call}": {{\n'
        + ",\n".join(f'   "{name}": {json.dumps(one)}' for name, one in releases.items())
        + "\n  }"
        for call, releases in kept.items()
    ]
    text = f'{{\n "what": {json.dumps(WHAT)},\n "guards": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    named = sys.argv[1:]
    record(
        [name for name in named if name[0].isdigit()] or list(comparison.all_releases()),
        [name for name in named if not name[0].isdigit()] or list(references()),
    )
