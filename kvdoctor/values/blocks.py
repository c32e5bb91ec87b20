"""Finds the parts of a text that can be YAML, without reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvdoctor.intake.paste import Line

LONGEST = 200_000  # characters of one block that are read
MOST_BLOCKS = 12

_KEY = (  # compiled when a text may hold YAML
    r"[ \t]{0,120}(?:-[ \t]{1,8}){0,6}[\"']?[A-Za-z_][\w./-]{0,100}[\"']?[ \t]?:(?:[ \t]|$)"
)
_HINTS = (
    "apiVersion:", "args:", "command:", "kv_transfer_config", "kv-transfer-config", "engine_kwargs",
    "tensor-parallel-size:", "tensor_parallel_size:", "vllmConfig", "parallelism:", '"apiVersion"',
    '"Args"',
)  # fmt: skip


def blocks(lines: Sequence[Line]) -> Iterator[tuple[str, int]]:
    """Runs of lines that can be YAML: (text, line number), neither log records nor too long."""
    run: list[Line] = []
    count = 0
    for line in (*lines, None):
        if line is not None and not line.level and not line.process and not line.native:
            run.append(line)
            continue
        if len(run) > 1 and count < MOST_BLOCKS:
            for text, number in _trimmed(run):
                count += 1
                yield text, number
        run = []


def _trimmed(run: list[Line]) -> Iterator[tuple[str, int]]:
    """From the first line that looks like a key on, when the run holds a hint at all."""
    text = "\n".join(line.text for line in run)
    if len(text) > 40 * LONGEST or not any(hint in text for hint in _HINTS):
        return
    start = next((i for i, line in enumerate(run) if _opens(line.text)), None)
    if start is not None:
        yield "\n".join(line.text for line in run[start:])[:LONGEST], run[start].number


def _opens(text: str) -> bool:
    listed = text.startswith("[{") or text.rstrip() == "["
    return listed or text.startswith(("---", "{")) or bool(re.match(_KEY, text[:300]))
