"""The question page tells what the question is about; counts of questions are true."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from made_up import knowledge
from screens import LOG, SIZES, app, drawn, settled, until

from kvdoctor.intake import read
from kvdoctor.load import load
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.asking import decided_by, most_questions
from kvdoctor.show.plain import report_text
from kvdoctor.text.rendering import worded
from kvdoctor.ui.helping import HelpScreen

NO_REPLY = (
    "(Worker pid=1) ERROR 11-30 20:00:00 [base_worker.py:1] Traceback (most recent call last):\n"
    '  File "/x/vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py", line 9, '
    "in _nixl_handshake\n    handshake_bytes = sock.recv()\n"
    "zmq.error.Again: Resource temporarily unavailable\n"
)


@pytest.mark.parametrize("size", SIZES)
async def test_the_question_page_shows_the_error_and_what_it_means(size: tuple[int, int]) -> None:
    screen = app(LOG)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "values")
        page = "\n".join(drawn(screen))
        assert LOG.strip() in page
        assert "decode.log line 1" in page
        record = knowledge().records["widget-sizes-differ"]
        assert record.summary.split(".")[0][:40] in page
        assert "strict mode?" in page


async def test_the_help_of_a_question_has_sentences_and_nothing_to_filter() -> None:
    screen = app(LOG)
    async with screen.run_test(size=(80, 40)) as pilot:
        await settled(pilot, "values")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(screen.screen, HelpScreen), "the help")
        page = "\n".join(drawn(screen))
        assert "filter" not in page
        assert "It decides" not in page
        await pilot.press("enter")
        await settled(pilot, "values")
        assert len(screen.screen_stack) == 1


def shown_of(answers: dict[str, str]) -> Report:
    all_of_it = load([])
    source = Source(read(NO_REPLY, "decode.log", knowledge=all_of_it.reading), "decode")
    return report(read_sources([source], all_of_it), all_of_it, answers=answers)


def test_no_more_questions_follow_than_were_said() -> None:
    answers: dict[str, str] = {}
    said = []
    while (shown := shown_of(answers)).asks:
        said.append(most_questions(shown))
        answers[shown.asks[0]] = "?"
    assert len(said) > 2
    assert said[0] >= len(said)
    assert all(later < earlier for earlier, later in pairwise(said))


def test_what_stays_undecided_is_told_in_sentences() -> None:
    answers: dict[str, str] = {}
    while (shown := shown_of(answers)).asks:
        answers[shown.asks[0]] = "?"
    assert len(shown.undecided) > 2
    assert all(one[0].isupper() and one.rstrip().endswith(".") for one in shown.undecided)
    assert any("[" in one for one in shown.undecided), "what is not known is in brackets"
    assert all(one.endswith(".") for one in decided_by(shown, "same_host"))


def test_a_hole_without_a_value_is_told_in_words() -> None:
    assert worded("port {remote_port} of {host}", {"host": "a"}) == "port [remote port] of a"


CONV_LAYOUT = (
    "AssertionError: 3-read Mamba conv transfer requires DS conv state layout. "
    "Set VLLM_SSM_CONV_STATE_LAYOUT=DS\n"
)


async def test_an_empty_text_that_is_usual_is_shown_and_taken_by_enter() -> None:
    screen = app(CONV_LAYOUT, knowledge=load(private=False), answers={"vllm_release": "0.22.1"})
    async with screen.run_test(size=(100, 40)) as pilot:
        await settled(pilot, "values")
        await pilot.press("n", "o", "enter")
        await until(pilot, lambda: "usually ''" in "\n".join(drawn(screen)), "the usual value")
        await pilot.press("enter")
        await settled(pilot, "cause")
        assert "VLLM_SSM_CONV_STATE_LAYOUT=DS" in "\n".join(drawn(screen))
        assert screen.shown is not None and screen.shown.facts is not None
        assert screen.shown.facts.known["conv_layout"].value == ""


def test_an_empty_value_is_written_as_one() -> None:
    every = load(private=False)
    sources = read_sources([Source(read(CONV_LAYOUT, knowledge=every.reading))], every)
    asked = report_text(report(sources, every, answers={"on_cpu": "no"}), every)
    assert "(usually '')" in " ".join(asked.split())
    answers = {"on_cpu": "no", "conv_layout": "''"}
    told = report_text(report(sources, every, answers=answers), every)
    assert re.search(r"^  conv_layout +'' +you said so", told, re.MULTILINE)
