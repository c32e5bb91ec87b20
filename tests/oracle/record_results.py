"""Writes knowledge/proof/guards.json: what the comparison finds now.

python3 tests/oracle/record_results.py [--check]     --check only says whether the file is right
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import comparison
from grid import references

from kvdoctor.proof.results import results_file


def results() -> dict[str, object]:
    guards: dict[str, dict[str, dict[str, int]]] = {}
    for release in comparison.all_releases():
        for call in references():
            inside = release in comparison.releases_of(call)
            if inside and references()[call].accepts(release):
                guards.setdefault(call, {})[release] = comparison.numbers(call, release)
        print(f"compared vLLM {release}", file=sys.stderr)
    return {
        "what": "Closed forms of the guards compared with vLLM's own functions by tests/oracle: "
        "combinations judged, how many vLLM refused, how many never reached the guard because "
        "another one came first, and how many our expressions judged otherwise.",
        "guards": {call: guards[call] for call in sorted(guards)},
    }


def main(arguments: list[str]) -> int:
    text = json.dumps(results(), indent=1) + "\n"
    file = results_file()
    if "--check" in arguments:
        same = file.is_file() and file.read_text(encoding="utf-8") == text
        print("the recorded results are right" if same else "the recorded results are old")
        return 0 if same else 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
