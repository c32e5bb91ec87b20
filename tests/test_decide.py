from __future__ import annotations

from dataclasses import replace

import pytest
from made_up import WIDGET

from kvdoctor.decide import Asks, Broken, Cause, Facts, NoCause, coerce, diagnose, gather
from kvdoctor.record import Input
from kvdoctor.values.value import Value, Values


def facts(candidates: tuple[str, ...] = ("0.32.0",), **known: object) -> Facts:
    return gather(WIDGET, Values(), {}, known, candidates)


def test_the_first_check_that_holds_is_the_cause() -> None:
    outcome = diagnose(WIDGET, facts(local_size=3, remote_size=8, strict=True))
    assert isinstance(outcome, Cause)
    assert outcome.check.id == "strict-mode"
    assert outcome.text == "8 leaves 2."
    assert [one.state for one in outcome.branches] == ["holds", "not-reached"]


def test_questions_come_only_from_the_first_undecided_check() -> None:
    outcome = diagnose(WIDGET, facts(local_size=3))
    assert isinstance(outcome, Asks)
    assert outcome.names == ("strict", "remote_size")


def test_what_is_decided_anyway_is_not_asked() -> None:
    outcome = diagnose(WIDGET, facts(local_size=3, strict=False))
    assert isinstance(outcome, NoCause), "the release rules the second check out"


def test_a_usual_value_is_offered_and_never_decides() -> None:
    known = facts(local_size=3, remote_size=8)
    assert "strict" not in known.known
    assert known.offered["strict"].value is True
    assert isinstance(diagnose(WIDGET, known), Asks)


def test_the_release_is_asked_for_only_when_a_range_decides() -> None:
    known = facts(("0.30.0", "0.32.0"), local_size=3, remote_size=8, strict=False)
    outcome = diagnose(WIDGET, known)
    assert isinstance(outcome, Asks)
    assert outcome.names == ("vllm_release",)
    sure = facts(("0.30.0", "0.32.0"), local_size=3, remote_size=8, strict=True)
    assert isinstance(diagnose(WIDGET, sure), Cause)


def test_an_answered_release_replaces_the_candidates() -> None:
    known = facts(
        ("0.30.0", "0.32.0"), local_size=3, remote_size=8, strict=False, vllm_release="0.30.0"
    )
    assert known.candidates == ("0.30.0",)
    assert isinstance(diagnose(WIDGET, known), Cause)


def test_a_broken_expression_is_told_with_its_file() -> None:
    checks = (replace(WIDGET.checks[0], when="nonsense > 1"),)
    broken = replace(WIDGET, checks=checks, file="records/widget.yaml")
    outcome = diagnose(broken, facts(local_size=3, remote_size=8))
    assert isinstance(outcome, Broken)
    assert "records/widget.yaml" in outcome.reason


def test_an_answer_beats_the_message_and_the_message_beats_the_log() -> None:
    values = Values((Value("widget_size", 5, "log", "decode", 7),))
    from_log = gather(WIDGET, values, {}, {}, ())
    from_message = gather(WIDGET, values, {"local_size": "6"}, {}, (), number=3)
    answered = gather(WIDGET, values, {"local_size": "6"}, {"local_size": 7}, ())
    got = [one.known["local_size"] for one in (from_log, from_message, answered)]
    assert [(one.value, one.origin) for one in got] == [(5, "log"), (6, "message"), (7, "answer")]
    assert got[0].number == 7


@pytest.mark.parametrize(
    ("side", "entry_side", "seen"),
    [
        ("decode", "this", "local_size"),
        ("decode", "other", "remote_size"),
        ("prefill", "this", "remote_size"),
        ("prefill", "other", "local_size"),
    ],
)
def test_this_and_other_are_named_by_the_side_of_the_log(
    side: str, entry_side: str, seen: str
) -> None:
    values = Values((Value("widget_size", 4, "log", entry_side),))
    known = gather(WIDGET, values, {}, {}, (), side=side).known
    assert [name for name in known if name != "vllm_release"] == [seen]


def test_a_value_of_an_unknown_side_answers_no_sided_question() -> None:
    values = Values((Value("widget_size", 4, "log", "this"),))
    assert gather(WIDGET, values, {}, {}, (), side="this").known == {}


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("int", " 16 ", 16),
        ("bool", "Yes", True),
        ("bool", "off", False),
        ("number", "0.9", 0.9),
        ("version", "0.32.0", "0.32.0"),
        ("text", "x; rm -rf ~", "x; rm -rf ~"),
    ],
)
def test_answers_are_read_as_people_write_them(kind: str, raw: str, value: object) -> None:
    assert coerce(Input("x", kind, ""), raw) == (value, "")


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("int", "many"),
        ("int", "1.5"),
        ("int", "9" * 400),
        ("bool", "maybe"),
        ("number", "nan"),
        ("version", "newest"),
        ("int", "600"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_a_reason(kind: str, raw: str) -> None:
    value, complaint = coerce(Input("x", kind, "", minimum=1, maximum=512), raw)
    assert value is None
    assert complaint


def test_who_cannot_tell_is_led_on_to_the_next_check() -> None:
    known = facts(("0.30.0",), local_size=3, remote_size=8, strict="?")
    outcome = diagnose(WIDGET, known)
    assert isinstance(outcome, Cause)
    assert outcome.check.id == "old-release"
    assert [one.state for one in outcome.branches] == ["passed", "holds"]
    assert "strict" not in outcome.values


def test_what_the_user_cannot_tell_is_not_asked_again() -> None:
    outcome = diagnose(WIDGET, facts(strict="?", local_size=3))
    assert isinstance(outcome, Asks)
    assert outcome.names == ("remote_size",)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("4GiB", "GiB", 4),
        ("4 gib", "GiB", 4),
        ("4096MiB", "GiB", 4),
        ("1 GiB", "bytes", 1073741824),
        ("2kB", "bytes", 2000),
        ("16 tokens", "tokens", 16),
        ("1 token", "tokens", 1),
        ("4", "GiB", 4),
    ],
)
def test_a_size_may_be_given_with_its_unit(text: str, unit: str, value: int) -> None:
    assert coerce(Input("size", "int", "size?", unit=unit), text) == (value, "")


@pytest.mark.parametrize(
    ("text", "unit"), [("4 heads", "tokens"), ("4 GB", "GiB"), ("4GiB", ""), ("1 MiB", "heads")]
)
def test_another_unit_is_refused(text: str, unit: str) -> None:
    assert coerce(Input("size", "int", "size?", unit=unit), text)[1]
