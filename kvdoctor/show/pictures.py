"""Small drawings of a configuration: KV heads over TP ranks, block sizes side by side.

Plain text, Unicode or ASCII, readable without colour. Each takes numbers and gives lines; nothing
is drawn for numbers too large to read.
"""

from __future__ import annotations

from kvdoctor.report import Report
from kvdoctor.values.value import Scalar

MOST_RANKS = 16
MOST_HEADS = 64
MOST_BLOCKS = 16
WIDTH = 72


def heads_of_rank(kv_heads: int, tp_size: int, rank: int) -> tuple[int, ...]:
    """KV heads that a rank holds: a share of them, or one that several ranks hold alike.

    Empty when the heads cannot be shared out evenly."""
    if tp_size <= 0 or kv_heads <= 0:
        return ()
    if tp_size <= kv_heads:
        if kv_heads % tp_size:
            return ()
        share = kv_heads // tp_size
        return tuple(range(rank * share, (rank + 1) * share))
    if tp_size % kv_heads:
        return ()
    return (rank // (tp_size // kv_heads),)


def head_rows(name: str, kv_heads: int, tp_size: int, ascii_only: bool) -> list[str]:
    """The ranks of one side with the KV heads on each."""
    left, right = ("[", "]") if ascii_only else ("▕", "▏")
    cells = []
    for rank in range(tp_size):
        held = heads_of_rank(kv_heads, tp_size, rank)
        if not held:
            return [f"{name} TP {tp_size}: {kv_heads} KV heads cannot be shared out evenly"]
        text = str(held[0]) if len(held) == 1 else f"{held[0]}-{held[-1]}"
        cells.append(f"{left}{text}{right}")
    if tp_size > kv_heads:
        how = f"each KV head on {tp_size // kv_heads} ranks"
    else:
        share = kv_heads // tp_size
        how = f"{share} KV head{'s' if share > 1 else ''} per rank"
    rows = [f"{name} TP {tp_size} ({how})"]
    line = "  "
    for cell in cells:
        if len(line) + len(cell) + 1 > WIDTH:
            rows.append(line)
            line = "  "
        line += cell + " "
    return [*rows, line.rstrip()]


def heads_picture(
    kv_heads: int, prefill_tp: int, decode_tp: int, ascii_only: bool = False
) -> list[str]:
    """Both sides' ranks; empty when there are too many to read."""
    if not (
        0 < kv_heads <= MOST_HEADS and 0 < prefill_tp <= MOST_RANKS and 0 < decode_tp <= MOST_RANKS
    ):
        return []
    return [
        f"{kv_heads} KV heads over the ranks",
        *head_rows("prefill", kv_heads, prefill_tp, ascii_only),
        *head_rows("decode ", kv_heads, decode_tp, ascii_only),
    ]


def blocks_picture(prefill_block: int, decode_block: int, ascii_only: bool = False) -> list[str]:
    """Block borders of both sides over the same tokens; empty when it would not fit."""
    if prefill_block <= 0 or decode_block <= 0:
        return []
    large, small = max(prefill_block, decode_block), min(prefill_block, decode_block)
    if large // small > MOST_BLOCKS or large == small:
        return []
    span = large * 2 if large // small <= 4 else large
    scale = 64 / span
    bar, border = ("-", "|") if ascii_only else ("─", "┼")

    def row(name: str, block: int) -> str:
        line = [bar] * 65
        for start in range(0, span + 1, block):
            line[min(64, round(start * scale))] = border
        return f"{name} {''.join(line)}"

    return [
        f"blocks over the first {span} tokens: prefill {prefill_block}, decode {decode_block}",
        row("prefill", prefill_block),
        row("decode ", decode_block),
    ]


def picture(shown: Report, ascii_only: bool = False) -> str:
    """The drawing that goes with the values of this report, "" when none does."""
    if shown.config is None:
        return ""
    heads = _number(shown, "num_key_value_heads")
    tps = (
        _number(shown, "tensor_parallel_size", "prefill"),
        _number(shown, "tensor_parallel_size", "decode"),
    )
    lines: list[str] = []
    if heads and tps[0] and tps[1] and tps[0] != tps[1]:
        lines += heads_picture(heads, tps[0], tps[1], ascii_only)
    blocks = _number(shown, "block_size", "prefill"), _number(shown, "block_size", "decode")
    if blocks[0] and blocks[1]:
        lines += blocks_picture(blocks[0], blocks[1], ascii_only)
    return "\n".join(lines)


def _number(shown: Report, name: str, side: str = "") -> int:
    """A whole number of the configuration; 0 when it is not known for sure."""
    assert shown.config is not None  # noqa: S101 (asked only with a configuration)
    value: Scalar = None
    for entry in shown.config.values.entries:
        if entry.name == name and entry.certainty != "usual" and (not side or entry.side == side):
            value = entry.value
            break
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
