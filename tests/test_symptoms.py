"""No error message at all: a tree of questions to records, by answers or one after another."""

from __future__ import annotations

import json

import pytest
from made_up import MISSING, WIDGET

from kvdoctor.cli import main
from kvdoctor.errors import InputError
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.symptoms import symptom_command, walk

TREE = {
    "first": "what",
    "questions": {
        "what": {
            "text": "What is seen?",
            "answers": [
                {"id": "hangs", "text": "It hangs", "next": "where", "records": [MISSING.id]},
                {"id": "slow", "text": "It is slow", "say": "Slow is  no failure."},
            ],
        },
        "where": {
            "text": "Where?",
            "check": "widgetctl top",
            "metric": "widget_count",
            "look": "whether it grows",
            "answers": [{"id": "here", "text": "Here", "records": [WIDGET.id, "gone"]}],
        },
    },
}
KNOWN = Knowledge(records={WIDGET.id: WIDGET, MISSING.id: MISSING}, symptoms=TREE)


def test_answers_lead_to_records_the_more_particular_first() -> None:
    standing = walk(KNOWN, ["hangs", "here"])
    assert standing.question is None
    assert standing.records == (WIDGET.id, MISSING.id), "and a record that is not there is left out"


def test_without_answers_the_first_question_stands() -> None:
    standing = walk(KNOWN, [])
    assert standing.question is not None
    assert standing.question.id == "what"
    assert walk(KNOWN, ["slow"]).told == ("Slow is no failure.",)


@pytest.mark.parametrize("given", [["nonsense"], ["hangs", "there"], ["slow", "more"]])
def test_a_wrong_answer_is_refused_with_the_right_ones(given: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        walk(KNOWN, given)
    assert given[-1] in str(caught.value)


def test_without_a_terminal_it_prints_the_question_and_how_to_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert symptom_command("hangs", KNOWN, as_json=False) == 3
    text = capsys.readouterr().out
    assert "widgetctl top" in text
    assert "--symptom hangs,ANSWER" in text
    assert symptom_command("hangs,here", KNOWN, as_json=False) == 0
    assert WIDGET.title in capsys.readouterr().out
    assert symptom_command("slow", KNOWN, as_json=False) == 1


def test_json_holds_the_question_and_the_records(capsys: pytest.CaptureFixture[str]) -> None:
    symptom_command("hangs", KNOWN, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["question"]["answers"] == [{"id": "here", "text": "Here"}]
    assert told["records"] == [{"record": MISSING.id, "title": MISSING.title}]


def test_every_way_through_the_shipped_tree_ends_somewhere() -> None:
    known = load(private=False)
    ends = 0
    open_ways: list[tuple[str, ...]] = [()]
    while open_ways:
        way = open_ways.pop()
        standing = walk(known, way)
        assert len(way) < 12, f"{way}: a circle"
        if standing.question is not None:
            open_ways += [(*way, one.id) for one in standing.question.answers]
        else:
            ends += 1
            assert standing.records or standing.told, f"{way} leads nowhere and says nothing"
    assert ends > 10


def test_no_tree_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError):
        walk(Knowledge(), [])
    assert main(["diagnose", "--symptom", "no-such-answer"]) == 2


def test_the_number_beside_an_answer_stands_for_it() -> None:
    first = walk(KNOWN, []).question
    assert first is not None
    for number, one in enumerate(first.answers, 1):
        assert walk(KNOWN, [str(number)]) == walk(KNOWN, [one.id])
    for wrong in ("0", str(len(first.answers) + 1)):
        with pytest.raises(InputError):
            walk(KNOWN, [wrong])


def test_who_stops_with_enter_is_not_asked_the_same_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kvdoctor.symptoms.is_terminal", lambda stream: True)
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    symptom_command("", KNOWN, as_json=False)
    out = capsys.readouterr().out
    first = walk(KNOWN, []).question
    assert first is not None
    assert out.count(first.text) == 1
    assert "answer with: kvdoctor diagnose --symptom ANSWER" in out
