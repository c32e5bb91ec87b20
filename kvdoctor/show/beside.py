"""The values of both sides beside each other, what differs first and marked."""

from __future__ import annotations

from kvdoctor.report import Report
from kvdoctor.scalars import spoken
from kvdoctor.values.value import Value

OF_ONE_RUN = frozenset(  # different by nature: no difference to look into
    ("engine_id", "host", "port", "kv_port", "side", "kv_role", "remote_engine_id", "request_id",
     "remote_request_id", "remote_host", "remote_port", "kv_ip", "kv_rank")
)  # fmt: skip
MOST_OF_ONE = 12


def beside(shown: Report, ascii_only: bool = False, width: int = 76) -> str:
    """Both sides' values, or what to add when only one side is known. "" without any value."""
    sides = {side: _of(shown, side) for side in ("prefill", "decode")}
    if not any(sides.values()):
        return ""
    missing = [side for side, values in sides.items() if not values]
    if missing:
        return f"Nothing is known of the {missing[0]} side: o adds its log or its command."
    left, right = sides["prefill"], sides["decode"]
    both = [name for name in left if name in right]
    differ = [name for name in both if _told(left[name]) != _told(right[name])]
    real = [name for name in differ if name not in OF_ONE_RUN]
    sign = "!=" if ascii_only else "≠"
    cell = (width - 34) // 2
    rows = [f"   {'':{26}} {'prefill':{cell}} decode"]
    for name in [*real, *(one for one in differ if one in OF_ONE_RUN)]:
        mark = sign if name in real else "  "
        rows.append(_row(mark, name, _told(left[name]), _told(right[name]), cell))
    if not real:
        rows.append("   No value that is known of both sides differs where it should not.")
    same = [name for name in both if name not in differ]
    if same:
        rows += ["", f"The same on both sides ({len(same)})"]
        rows += [_row("  ", name, _told(left[name]), "", cell) for name in same]
    return "\n".join([*rows, *_single("prefill", left, right), *_single("decode", right, left)])


def _single(side: str, own: dict[str, Value], other: dict[str, Value]) -> list[str]:
    """Values that only one side's text told."""
    names = [name for name in own if name not in other and name not in OF_ONE_RUN]
    rows = [f"   {name[:26]:26} {_told(own[name])}" for name in names[:MOST_OF_ONE]]
    if len(names) > MOST_OF_ONE:
        rows.append(f"   and {len(names) - MOST_OF_ONE} more")
    return ["", f"Known of {side} alone ({len(names)})", *rows] if names else []


def _of(shown: Report, side: str) -> dict[str, Value]:
    """The best value of every name on one side; defaults that are only usual left out."""
    values = shown.config.values if shown.config is not None else shown.values
    found: dict[str, Value] = {}
    for entry in values.entries:
        if entry.side == side and entry.certainty != "usual" and entry.value is not None:
            found.setdefault(entry.name, entry)
    return found


def _told(value: Value) -> str:
    return spoken(value.value)


def _row(mark: str, name: str, left: str, right: str, cell: int) -> str:
    cells = [one if len(one) <= cell else f"{one[: cell - 1]}~" for one in (left, right)]
    title = name if len(name) <= 26 else f"{name[:25]}~"
    return f"{mark:2} {title:26} {cells[0]:{cell}} {cells[1]}".rstrip()
