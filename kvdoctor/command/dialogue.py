"""The linear form: the same questions and answers as the screen, one line after the other.

For TERM=dumb, screen readers and ``--plain``. Without a terminal to read answers from it reports
and never prompts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from kvdoctor import session
from kvdoctor.decide import NOT_KNOWN
from kvdoctor.errors import InputError
from kvdoctor.knowledge import Knowledge
from kvdoctor.report import Report, Source, input_spec
from kvdoctor.scalars import spoken
from kvdoctor.session import State
from kvdoctor.show.plain import report_text
from kvdoctor.terminal import can_encode, clean, has_controlling_terminal, is_terminal

STATUS_CODES = {"cause": 0, "asks": 3, "no_cause": 1, "no_match": 1, "broken": 2}


def run(
    sources: Sequence[Source],
    knowledge: Knowledge,
    answers: Mapping[str, object],
    raw: Sequence[tuple[str, str, bytes | str]] = (),
    *,
    keep: bool = False,
) -> int:
    """Read, ask what is missing when somebody can answer, report. Returns the exit status.

    ``keep``: into the history, with the inputs ``raw`` (name, side, data)."""
    keyboard = _keyboard()
    if not sources:
        typed = _typed_in()
        raw = [("paste", "this", typed)]
        sources = [_read(typed, knowledge)]
    state = session.paste(session.start(), sources, knowledge)
    state = _with_answers(state, answers, knowledge)
    if keyboard is not None:
        state = _choose(state, keyboard)
        state = _ask(state, knowledge, keyboard)
    shown = session.view(state, knowledge)
    if shown is None:
        return 1
    print(report_text(shown, knowledge))
    draw(shown)
    if keep:
        from kvdoctor.command.saving import save_state

        save_state(state, shown, raw)
    if keyboard is not None:
        _offer_copy(shown, keyboard)
    return STATUS_CODES[shown.status]


def _read(text: str, knowledge: Knowledge) -> Source:
    from kvdoctor.intake import read

    return Source(read(text, "paste", knowledge=knowledge.reading))


def draw(shown: Report) -> None:
    """The drawings below the report, where the values for one are known."""
    from kvdoctor.show.pictures import pictures

    plain_signs = not can_encode("█─")
    chosen = shown.fixes[0].fix.id if shown.fixes else ""
    page = pictures(shown, plain_signs, chosen)
    if page:
        print(f"\nDRAWINGS\n{clean(page)}\n")


def _typed_in() -> str:
    """A paste read from the terminal up to a line with a single full stop, or the end of input.
    Raises InputError when nothing came."""
    print("Paste the log, then a line with a single full stop:")
    lines: list[str] = []
    for line in sys.stdin:
        if line.strip() == ".":
            break
        lines.append(line)
    text = "".join(lines)
    if not text.strip():
        raise InputError("nothing was pasted", remedy="paste a log, or give a FILE")
    return text


def _with_answers(state: State, answers: Mapping[str, object], knowledge: Knowledge) -> State:
    for name, value in answers.items():
        state = session.answer(state, name, str(value), knowledge)
        if state.message:
            print(f"{name}: {state.message}", file=sys.stderr)
    return state


def _choose(state: State, keyboard: TextIO) -> State:
    from kvdoctor.data import replace

    read = state.read
    findings = read.findings if read is not None else ()
    plausible = [i for i, one in enumerate(findings) if one.role != "consequence"]
    if len(plausible) < 2:
        return state
    print("Several errors stand in this text:")
    for number, index in enumerate(plausible, 1):
        print(clean(f"  {number}. {findings[index].title}"))
    reply = _prompt(f"Which one? [1-{len(plausible)}, enter: 1] ", keyboard)
    number = int(reply) if reply.isdecimal() and 1 <= int(reply) <= len(plausible) else 1
    visit = replace(state.visit, step="values", chosen=plausible[number - 1])
    return replace(state, visit=visit)


def _ask(state: State, knowledge: Knowledge, keyboard: TextIO) -> State:
    """Ask one question after the other until the cause is decided, then what a fix needs while
    there is none to offer; a question that the user cannot answer is passed over."""
    named = False
    while True:
        shown = session.view(state, knowledge)
        asks = () if shown is None else shown.asks or (() if shown.fixes else shown.fix_asks)
        if shown is None or not asks:
            return state
        if not named:
            print(_error(shown))
            named = True
        name = asks[0]
        reply = _prompt(_question(shown, name), keyboard)
        if not reply:
            offered = shown.facts.offered.get(name) if shown.facts else None
            reply = spoken(offered.value) if offered is not None else NOT_KNOWN
        state = session.answer(state, name, reply, knowledge)
        if state.message:
            print(f"  {state.message}")


def _error(shown: Report) -> str:
    """What was found, before anything is asked about it."""
    title = shown.record.title if shown.record is not None else ""
    finding = shown.finding
    if finding is None:
        return clean(title)
    head = f"{finding.exception}: " if finding.exception else ""
    return clean(f"{title}\n  {head}{finding.message}"[:600])


def _question(shown: Report, name: str) -> str:
    spec = input_spec(shown, name)
    for item in shown.to_look_at.get(name, ()):
        print(clean(f"  (the log has, line {item.number}: {item.text.strip()[:200]})"))
    offered = shown.facts.offered.get(name) if shown.facts else None
    choices = f" ({'/'.join(spec.choices)})" if spec.choices else ""
    default = f" [enter: {spoken(offered.value)}]" if offered is not None else " [enter: not known]"
    side = f" on {spec.side}" if spec.side in ("prefill", "decode") else ""
    if spec.find:
        return f"{spec.ask}{side}{choices}{default}\n  (find it: {spec.find}): "
    return f"{spec.ask}{side}{choices}{default}: "


def _keyboard() -> TextIO | None:
    """Where answers come from: standard input if it is a terminal. If that was a pipe (the log)
    and somebody reads the output, the terminal itself. None: nobody is there to answer."""
    if is_terminal(sys.stdin):
        return sys.stdin
    if not (is_terminal(sys.stdout) and has_controlling_terminal()):
        return None
    return open("CONIN$" if sys.platform == "win32" else "/dev/tty", encoding="utf-8")  # noqa: PTH123


def _prompt(text: str, keyboard: TextIO) -> str:
    print(text, end="", flush=True)
    line = keyboard.readline()
    if not line:  # ctrl+d: no answer
        print()
    return line.strip()


def _offer_copy(shown: Report, keyboard: TextIO) -> None:
    from kvdoctor.clipboard import copy

    if not shown.fixes:
        return
    fixes = shown.fixes
    choice = _which_fix(len(fixes), keyboard)
    if choice is None:
        return
    chosen = fixes[choice]
    why = ""
    if chosen.fix.proof.level == "unproven":
        why = "It is unproven."
    elif chosen.stops:
        why = f"With it vLLM would stop at: {chosen.stops[0].title}."
    if why and _prompt(f"{why} Copy it all the same? [y/N] ", keyboard).lower() not in ("y", "yes"):
        return
    print(copy(chosen.fix.snippet).told)


def _which_fix(many: int, keyboard: TextIO) -> int | None:
    """The index of the fix to copy, None for none; "y" is the first, which is the best."""
    shown = "1" if many == 1 else f"1-{many}"
    question = f"Copy a fix? [{shown}, y: {'it' if many == 1 else 'the first'}, enter: none] "
    for _ in range(3):
        reply = _prompt(question, keyboard).lower()
        if reply in ("", "n", "no"):
            return None
        if reply in ("y", "yes"):
            return 0
        if reply.isdecimal() and 1 <= int(reply) <= many:
            return int(reply) - 1
        print(f"  there is no fix {clean(reply[:20])!r}")
    return None
