"""No error message at all: from what is seen to the records, one checked question after another."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kvdoctor.data import dataclass
from kvdoctor.errors import InputError
from kvdoctor.knowledge import Knowledge
from kvdoctor.terminal import clean, is_terminal


@dataclass(frozen=True, slots=True)
class Answer:
    id: str
    text: str
    next: str = ""
    records: tuple[str, ...] = ()
    say: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """``check`` is a command and ``metric`` a metric that shows the answer; ``look`` says what to
    look for in it."""

    id: str
    text: str
    check: str
    metric: str
    look: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where some answers lead: ``question`` still to answer (None at an end), ``records`` that the
    answers named so far, likeliest first, and what they told (``told``)."""

    given: tuple[str, ...]
    question: Question | None
    records: tuple[str, ...]
    told: tuple[str, ...]


def question_of(tree: Mapping[str, Any], name: str) -> Question:
    raw = tree["questions"][name]
    answers = tuple(
        Answer(
            one["id"],
            one["text"],
            one.get("next", ""),
            tuple(one.get("records", ())),
            one.get("say", ""),
        )
        for one in raw["answers"]
    )
    return Question(
        name, raw["text"], raw.get("check", ""), raw.get("metric", ""), raw.get("look", ""), answers
    )


def walk(knowledge: Knowledge, given: Sequence[str]) -> Standing:
    """Follow ``given`` answers (ids, or the numbers shown beside them) from the first question.
    Raises InputError for an unknown one."""
    tree = knowledge.symptoms
    if not tree:
        raise InputError("there is no tree of symptoms", remedy="install kvdoctor again")
    question: Question | None = question_of(tree, tree["first"])
    records: list[str] = []
    told: list[str] = []
    taken: list[str] = []
    for reply in given:
        if question is None:
            raise InputError(f"{reply!r}: the questions have ended before it")
        chosen = next((one for one in question.answers if one.id == reply), None)
        if chosen is None and reply.isdecimal() and 0 < int(reply) <= len(question.answers):
            chosen = question.answers[int(reply) - 1]  # by the number that is shown beside it
        if chosen is None:
            known = ", ".join(one.id for one in question.answers)
            raise InputError(f"{reply!r} is no answer to {question.id}", remedy=f"one of: {known}")
        # The later answer is the more particular one, so its records go first.
        records = [*chosen.records, *(one for one in records if one not in chosen.records)]
        if chosen.say:
            told.append(" ".join(chosen.say.split()))
        taken.append(chosen.id)
        question = question_of(tree, chosen.next) if chosen.next else None
    shown = tuple(one for one in records if one in knowledge.records)
    return Standing(tuple(taken), question, shown, tuple(told))


def symptom_command(answers: str, knowledge: Knowledge, *, as_json: bool) -> int:
    """``diagnose --symptom [A,B,…]``: the next question, or the records that the answers lead to.

    On a terminal it asks on; elsewhere it never prompts. Returns the exit status."""
    given = [one.strip() for one in answers.split(",") if one.strip()]
    standing = walk(knowledge, given)
    if as_json:
        print(json.dumps(_document(standing, knowledge), ensure_ascii=False))
    else:
        asked = False
        while standing.question is not None and is_terminal(sys.stdin) and is_terminal(sys.stdout):
            print(_question_text(standing.question))
            asked = True
            reply = _ask(standing.question)
            if not reply:
                break
            standing = walk(knowledge, (*standing.given, reply))
        print(clean(_text(standing, knowledge, asked=asked)))
    return 3 if standing.question is not None else (0 if standing.records else 1)


def _ask(question: Question) -> str:
    """One answer by number or id; "" when the user stops here."""
    while True:
        try:
            reply = input(f"[1-{len(question.answers)}, enter: stop here] ").strip()
        except EOFError:
            return ""
        if reply.isdecimal() and 1 <= int(reply) <= len(question.answers):
            return question.answers[int(reply) - 1].id
        if not reply or any(one.id == reply for one in question.answers):
            return reply
        if reply.lower() in ("q", "quit", "exit"):
            return ""
        print(f"  there is no answer {clean(reply[:20])!r}; q or enter stops here")


def _question_text(question: Question) -> str:
    lines = [question.text]
    lines += [f"  check:  {question.check}"] if question.check else []
    lines += [f"  metric: {question.metric}"] if question.metric else []
    lines += [f"  look:   {question.look}"] if question.look else []
    lines += [
        f"  {number}. {one.text}  ({one.id})" for number, one in enumerate(question.answers, 1)
    ]
    return clean("\n".join(lines))


def _text(standing: Standing, knowledge: Knowledge, *, asked: bool = False) -> str:
    """Where the answers lead; a question that was just ``asked`` is not put once more."""
    lines = list(standing.told)
    if standing.question is not None:
        given = ",".join((*standing.given, "ANSWER"))
        lines += [] if asked else [_question_text(standing.question)]
        lines.append(f"answer with: kvdoctor diagnose --symptom {given}")
    for record in standing.records:
        lines.append(f"{record}: {knowledge.records[record].title}")
    if standing.records:
        lines.append("kvdoctor explain ID tells more; kvdoctor diagnose --record ID asks on.")
    return "\n".join(lines) or "These answers lead to no record."


def _document(standing: Standing, knowledge: Knowledge) -> dict[str, Any]:
    question = standing.question
    return {
        "answers": list(standing.given),
        "told": list(standing.told),
        "question": None
        if question is None
        else {
            "id": question.id,
            "text": question.text,
            "check": question.check or None,
            "metric": question.metric or None,
            "look": question.look or None,
            "answers": [{"id": one.id, "text": one.text} for one in question.answers],
        },
        "records": [
            {"record": one, "title": knowledge.records[one].title} for one in standing.records
        ],
    }
