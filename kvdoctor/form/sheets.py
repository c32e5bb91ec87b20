"""The forms of the two knowledge files beside the records: wrappers.yaml and symptoms.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvdoctor.errors import KvdoctorError, did_you_mean
from kvdoctor.form.fields import ID, RANGE, TEXT, WORD, Either, Field, Leaf, Many, Shape, Table
from kvdoctor.form.shape import Misfit
from kvdoctor.text.template import Pattern

WRAPPER = Shape(
    "wrapper",
    (
        Field("id", WORD, "name of the entry", required=True),
        Field("message", Leaf("text", means="message"), "template of the message", required=True),
        Field("exception", TEXT, "class of the exception, without its module"),
        Field("where", TEXT, "where the cause then stands, for people"),
        Field("quotes", TEXT, "name of the hole that holds the root message"),
        Field("noise", Leaf("bool"), "true: not even a consequence worth showing"),
    ),
)
WRAPPERS = Many(WRAPPER)

ANSWER = Shape(
    "answer",
    (
        Field("id", WORD, "name of the answer, as typed on the command line", required=True),
        Field("text", TEXT, "the answer, short", required=True),
        Field("next", WORD, "id of the question that follows"),
        Field("records", Many(WORD), "records that it leads to, the likeliest first"),
        Field("say", TEXT, "what this answer alone tells"),
    ),
)
QUESTION = Shape(
    "question",
    (
        Field("text", TEXT, "the question", required=True),
        Field("check", TEXT, "command that shows the answer"),
        Field("metric", TEXT, "metric that shows the answer"),
        Field("look", TEXT, "what to look for in its output"),
        Field("vllm", RANGE, "releases in which the check works"),
        Field("answers", Many(ANSWER), "at least two", required=True),
    ),
)
SYMPTOMS = Shape(
    "symptoms",
    (
        Field("first", WORD, "id of the first question", required=True),
        Field("questions", Table(QUESTION, ID), "questions by id", required=True),
    ),
)
SHEETS: dict[str, Many | Shape | Either] = {"wrappers": WRAPPERS, "symptoms": SYMPTOMS}


def wrapper_misfits(tree: Any) -> Iterator[Misfit]:
    """Contradictions in a wrappers.yaml of the right form."""
    seen: set[str] = set()
    for index, one in enumerate(tree):
        if one["id"] in seen:
            yield Misfit((index, "id"), f"a second wrapper is called {one['id']!r}")
        seen.add(one["id"])
        try:
            names = Pattern.compile(one["message"]).names
        except KvdoctorError as error:
            yield Misfit((index, "message"), error.problem, error.remedy)
            continue
        quotes = one.get("quotes", "")
        if quotes and quotes not in names:
            yield Misfit((index, "quotes"), f"the message has no hole {quotes!r}")


def symptom_misfits(tree: Any) -> Iterator[Misfit]:
    """Contradictions in a symptoms.yaml of the right form: every question can be reached, every
    answer leads somewhere, nothing goes in a circle."""
    questions = tree["questions"]
    names = tuple(questions)
    if tree["first"] not in questions:
        remedy = did_you_mean(tree["first"], names)
        yield Misfit(("first",), f"no question is called {tree['first']!r}", remedy)
        return
    for name, question in questions.items():
        path = ("questions", name, "answers")
        if len(question["answers"]) < 2:
            yield Misfit(path, "a question needs at least two answers")
        for index, answer in enumerate(question["answers"]):
            follows = answer.get("next")
            if follows and follows not in questions:
                say = f"no question is called {follows!r}"
                yield Misfit((*path, index, "next"), say, did_you_mean(follows, names))
            if not (follows or answer.get("records") or answer.get("say")):
                yield Misfit((*path, index), "the answer leads nowhere", "next, records or say")
    yield from _reach(tree)


def _reach(tree: Any) -> Iterator[Misfit]:
    questions = tree["questions"]
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> Iterator[Misfit]:
        if name in above:
            yield Misfit(
                ("questions", name), f"the question leads back to itself: {' > '.join(above)}"
            )
            return
        if name in done or name not in questions:
            return
        done.add(name)
        for answer in questions[name]["answers"]:
            if answer.get("next"):
                yield from visit(answer["next"], (*above, name))

    yield from visit(tree["first"], ())
    for name in questions:
        if name not in done:
            yield Misfit(("questions", name), "no answer leads to this question")
