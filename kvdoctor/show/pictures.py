"""Small drawings of a configuration: KV heads over TP ranks, block sizes side by side.

Plain text, Unicode or ASCII, readable without colour. Each takes numbers and gives lines; nothing
is drawn for numbers too large to read.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.report import Report
from kvdoctor.show.sequence import sequence
from kvdoctor.show.timeline import timeline
from kvdoctor.values.value import Scalar
from kvdoctor.walk import Configuration, configuration

MOST_RANKS = 16
MOST_HEADS = 64
MOST_BLOCKS = 16
WIDTH = 72
MOST_SIZES = 8
SIZE_WORDS = ("block", "page")


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


def sizes_picture(sizes: Sequence[tuple[str, int]], unit: str, ascii_only: bool) -> list[str]:
    """Named sizes of one unit as bars of one scale; empty when there are not two that differ."""
    if len({size for _, size in sizes}) < 2 or min(size for _, size in sizes) <= 0:
        return []
    largest = max(size for _, size in sizes)
    name = min(34, max(len(name) for name, _ in sizes))
    number = len(f"{largest:,}")
    sign = "#" if ascii_only else "█"
    rows = [f"sizes in {unit}"]
    for title, size in sizes[:MOST_SIZES]:
        bar = sign * max(1, round(size * (WIDTH - name - number - 4) / largest))
        rows.append(f"  {title[:name]:{name}} {size:>{number},} {bar}")
    return rows


def picture(shown: Report, ascii_only: bool = False, chosen: str = "") -> str:
    """The drawings that go with the values of this report, "" when none does. ``chosen`` is the
    id of a fix: what it changes is drawn below what stands now."""
    if shown.config is None:
        return ""
    now = _drawn(shown.config, ascii_only) + _sizes(shown, ascii_only)
    fix = next((one.fix for one in shown.fixes if one.fix.id == chosen), None)
    if fix is None or shown.record is None or not fix.values:
        return "\n".join(now)
    after = configuration(
        shown.record, fix.values, shown.config.values, shown.config.side, shown.config.candidates
    )
    then = _drawn(after, ascii_only, same=True)
    if not then or then == _drawn(shown.config, ascii_only, same=True):
        return "\n".join(now)
    return "\n".join([*now, "", f"with the fix: {fix.title}"[: WIDTH + 4], *then])


def pictures(shown: Report, ascii_only: bool = False, chosen: str = "") -> str:
    """Every drawing of a report: the way of the request, the configuration, who failed first."""
    parts = [*_way(shown, ascii_only), picture(shown, ascii_only, chosen)]
    names = [(source.paste.name.rpartition("/")[2], source.paste) for source in shown.sources]
    finding = shown.finding
    cause = (finding.source.rpartition("/")[2], finding.number) if finding is not None else None
    parts.append("\n".join(timeline(names, cause, ascii_only)))
    return "\n\n".join(part for part in parts if part)


def _way(shown: Report, ascii_only: bool) -> list[str]:
    """Drawn only for an error of a side that is known to be one of two."""
    record = shown.record
    if record is None or shown.finding is None or shown.side not in ("prefill", "decode"):
        return []
    if record.severity != "error" or record.kind == "symptom":
        return []
    return ["\n".join(sequence(record.stage, shown.side, ascii_only, record.step))]


def _drawn(config: Configuration, ascii_only: bool, same: bool = False) -> list[str]:
    """Heads over ranks and borders of blocks; with ``same`` also where both sides are alike."""
    heads = _number(config, "num_key_value_heads")
    tps = (
        _number(config, "tensor_parallel_size", "prefill"),
        _number(config, "tensor_parallel_size", "decode"),
    )
    lines: list[str] = []
    if heads and tps[0] and tps[1] and (tps[0] != tps[1] or (same and tps[0] > 1)):
        lines += heads_picture(heads, tps[0], tps[1], ascii_only)
    blocks = _number(config, "block_size", "prefill"), _number(config, "block_size", "decode")
    if blocks[0] and blocks[1]:
        told = f"blocks of {blocks[0]} tokens on both sides: every border meets"
        alike = [told] if same and blocks[0] == blocks[1] else []
        lines += alike or blocks_picture(blocks[0], blocks[1], ascii_only)
    return lines


def _sizes(shown: Report, ascii_only: bool) -> list[str]:
    """Block and page sizes that the record asks for, of each side or layer group."""
    if shown.record is None or shown.facts is None:
        return []
    found: dict[str, list[tuple[str, int]]] = {}
    for name, value in shown.facts.known.items():
        spec = shown.record.inputs.get(name)
        size = value.value
        if spec is None or not isinstance(size, int) or isinstance(size, bool) or size <= 0:
            continue
        if spec.unit in ("tokens", "bytes") and any(word in name for word in SIZE_WORDS):
            side = value.side if value.side in ("prefill", "decode") else ""
            title = name.replace("_", " ") + (f" ({side})" if side else "")
            found.setdefault(spec.unit, []).append((title, size))
    return [row for unit, sizes in found.items() for row in sizes_picture(sizes, unit, ascii_only)]


def _number(config: Configuration, name: str, side: str = "") -> int:
    """A whole number of the configuration; 0 when it is not known for sure."""
    value: Scalar = None
    for entry in config.values.entries:
        if entry.name == name and entry.certainty != "usual" and (not side or entry.side == side):
            value = entry.value
            break
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
