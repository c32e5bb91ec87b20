"""Log lines that answer a record's question, and lines that must not."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kvdoctor.data import replace
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Input, Record
from kvdoctor.seen import Failed, seen_lines, shown_lines
from tests.made_up import WIDGET

HEAD = "INFO 01-01 10:00:00 [widget.py:1] "
NONE = Knowledge(records={})


@dataclass(frozen=True)
class Texts:
    """The line, the side of the text it stands in, and the failure's text and holes."""

    line: str
    side: str
    failure_side: str = "decode"
    holes: dict[str, str] = field(default_factory=dict)
    same_text: bool = False


def asks(side: str, template: str) -> Record:
    told = Input("told", "bool", "did it?", side=side, lines={template: True})
    return replace(WIDGET, inputs={"told": told})


def told(record: Record, texts: Texts) -> dict[str, object]:
    line = read(HEAD + texts.line + "\n", "with-the-line")
    failing = read(HEAD + "nothing\nValueError: it broke\n", "failing")
    pastes = [(failing, texts.failure_side), (line, texts.side)]
    failure = Failed("with-the-line" if texts.same_text else "failing", 2, texts.holes)
    if texts.same_text:
        pastes = [(line, texts.side)]
    seen = seen_lines(record, pastes, failure, NONE)
    return {name: value.value for name, value in seen.items()}


@pytest.mark.parametrize(
    ("asked", "side", "failure_side", "answers"),
    [
        ("this", "decode", "decode", True),
        ("this", "prefill", "decode", False),
        ("this", "this", "decode", False),
        ("other", "prefill", "decode", True),
        ("other", "decode", "decode", False),
        ("other", "this", "decode", True),
        ("both", "prefill", "decode", True),
        ("prefill", "prefill", "decode", True),
        ("prefill", "decode", "prefill", False),
        ("decode", "this", "prefill", True),
    ],
)
def test_a_line_speaks_only_of_the_side_whose_log_it_stands_in(
    asked: str, side: str, failure_side: str, answers: bool
) -> None:
    found = told(
        asks(asked, "The widget is ready"), Texts("The widget is ready", side, failure_side)
    )
    assert found == ({"told": True} if answers else {})


def test_a_line_of_another_request_answers_nothing_about_this_one() -> None:
    record = asks("this", "Widget {request_id} was let go")
    line = "Widget r-2 was let go"
    ours = {"request_id": "r-2", "size": "16"}
    others = {"request_id": "r-1", "size": "16"}
    assert told(record, Texts(line, "decode", holes=ours, same_text=True)) == {"told": True}
    assert told(record, Texts(line, "decode", holes=others, same_text=True)) == {}


def test_a_line_that_is_missing_tells_nothing() -> None:
    found = told(asks("this", "The widget is ready"), Texts("The widget is red", "decode"))
    assert found == {}


def test_without_a_place_of_the_failure_any_text_may_tell() -> None:
    line = read(HEAD + "The widget is ready\n", "log")
    seen = seen_lines(asks("this", "The widget is ready"), [(line, "prefill")], Failed(), NONE)
    assert seen["told"].value is True


def test_a_line_without_a_level_tells_too() -> None:
    record = asks("this", "Exception in thread widget_{name}")
    text = "Exception in thread widget_listener:\nTraceback (most recent call last):\n"
    seen = seen_lines(record, [(read(text, "log"), "this")], Failed(), NONE)
    assert seen["told"].value is True


def test_lines_that_bear_on_a_question_are_shown_and_answer_nothing() -> None:
    spec = Input("told", "bool", "did it?", shows=("The widget is {state}",), where="after")
    record = replace(WIDGET, inputs={"told": spec})
    before, after = HEAD + "The widget is red\n", HEAD + "The widget is ready\n"
    paste = read(before + HEAD + "nothing\nValueError: it broke\n" + after * 9, "log")
    failure = Failed("log", 3)
    shown = shown_lines(record, "told", [(paste, "this")], failure, NONE)
    assert [number for _, number in shown] == [4, 5, 6], "those behind the failure, a few of them"
    assert seen_lines(record, [(paste, "this")], failure, NONE) == {}
    assert shown_lines(record, "another", [(paste, "this")], failure, NONE) == ()
