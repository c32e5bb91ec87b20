"""The user's own launch commands as a fix changes them: one, or those of both sides."""

from __future__ import annotations

from kvdoctor.report import OfferedFix, Report, rewritten_for

Sided = tuple[tuple[str, OfferedFix], ...]


def commands_of(shown: Report, one: OfferedFix) -> Sided:
    """(side, the fix with that side's command changed); both sides when the fix is for both and
    both commands are there. Empty when no command is changed."""
    if one.fix.side == "both":
        both = [(side, rewritten_for(one.fix, shown, side)) for side in ("prefill", "decode")]
        if all(each.after for _, each in both) and both[0][1].before != both[1][1].before:
            return tuple(both)
    if not one.after:
        return ()
    of = (launch.side for launch in shown.commands if launch.command.text == one.before)
    return ((next(of, "this"), one),)


def commands_text(sided: Sided) -> str:
    """What is copied: one command as it is, two each below a shell comment that names its side."""
    if len(sided) == 1:
        return sided[0][1].after
    return "\n".join(f"# {side}\n{each.after.rstrip()}\n" for side, each in sided)


def of_sides(sided: Sided) -> str:
    """Whose commands they are: " of prefill and decode", "" when nothing tells."""
    names = [side for side, _ in sided if side in ("prefill", "decode")]
    return f" of {' and '.join(names)}" if names else ""
