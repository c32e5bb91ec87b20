from __future__ import annotations

from dataclasses import replace

from made_up import MISSING, WIDGET, knowledge

from kvdoctor import session
from kvdoctor.decide import Asks, Cause
from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Input
from kvdoctor.report import Source
from kvdoctor.session import State

LOG = "ValueError: Widget size 3 does not divide 8 here\n"
KNOWN = knowledge()


def pasted(text: str = LOG, side: str = "this") -> State:
    return session.paste(session.start(), [Source(read(text), side)], KNOWN)


def test_one_plausible_error_leads_straight_to_its_questions() -> None:
    state = pasted()
    assert state.visit.step == "values"
    shown = session.view(state, KNOWN)
    assert shown is not None
    assert shown.record is WIDGET
    assert shown.asks == ("strict",)


BOTH = LOG + "\nKeyError: No widget of size 7 was ever found\n"


def test_a_known_consequence_is_no_second_choice() -> None:
    state = pasted(BOTH)
    assert state.read is not None
    assert [one.role for one in state.read.findings] == ["root_cause", "consequence"]
    assert state.visit.step == "values"


def test_several_errors_lead_to_the_choice() -> None:
    unrelated = Knowledge(records={WIDGET.id: replace(WIDGET, related=()), MISSING.id: MISSING})
    state = session.paste(session.start(), [Source(read(BOTH))], unrelated)
    assert state.visit.step == "choose"
    shown = session.view(session.choose(state, 1, unrelated), unrelated)
    assert shown is not None
    assert shown.record is MISSING


def test_an_answer_leads_on_to_the_cause() -> None:
    state = session.answer(pasted(), "strict", "yes", KNOWN)
    assert state.visit.step == "cause"
    shown = session.view(state, KNOWN)
    assert shown is not None
    assert isinstance(shown.outcome, Cause)
    assert [one.fix.id for one in shown.fixes][:2] == ["equal", "nearest"]


def test_a_refused_answer_changes_nothing_but_the_message() -> None:
    before = pasted()
    after = session.answer(before, "strict", "perhaps", KNOWN)
    assert after.message
    assert after.answers == before.answers
    assert after.visit == before.visit


def test_going_back_keeps_the_answers_and_forward_returns() -> None:
    state = session.answer(pasted(), "strict", "yes", KNOWN)
    state = session.go(state, "related")
    back = session.back(state)
    assert back.visit.step == "cause"
    assert back.answers == state.answers
    assert session.forward(back).visit == state.visit


def test_undo_takes_the_last_answer_back() -> None:
    state = session.undo(session.answer(pasted(), "strict", "yes", KNOWN), KNOWN)
    shown = session.view(state, KNOWN)
    assert shown is not None
    assert isinstance(shown.outcome, Asks)
    assert session.undo(state, KNOWN).message == "nothing to undo"


def test_changing_a_value_decides_anew() -> None:
    state = session.answer(pasted(), "strict", "yes", KNOWN)
    state = session.answer(state, "local_size", "4", KNOWN)
    shown = session.view(state, KNOWN)
    assert shown is not None
    assert shown.status == "no_cause"
    shown = session.view(session.forget(state, "local_size", KNOWN), KNOWN)
    assert shown is not None
    assert shown.status == "cause"


def test_answers_come_along_to_a_related_record() -> None:
    state = session.answer(pasted(), "strict", "yes", KNOWN)
    state = session.answer(state, "local_size", "200", KNOWN)
    shown = session.view(session.follow(state, MISSING.id, KNOWN), KNOWN)
    assert shown is not None
    assert shown.facts is not None
    assert shown.facts.known["size"].value == 200
    assert shown.status == "cause"


def test_what_the_message_said_comes_along_too() -> None:
    text = LOG.replace("size 3", "size 150")
    state = session.answer(pasted(text), "strict", "yes", KNOWN)
    shown = session.view(session.follow(state, MISSING.id, KNOWN), KNOWN)
    assert shown is not None
    assert shown.facts is not None
    assert shown.facts.known["size"].value == 150


def test_what_the_values_would_hit_next_comes_first() -> None:
    text = (
        'vllm serve m --kv-transfer-config \'{"kv_connector": "WidgetConnector"}\'\n'
        "ValueError: Widget size 200 does not divide 8 here\n"
    )
    state = session.answer(pasted(text), "strict", "yes", KNOWN)
    shown = session.view(state, KNOWN)
    assert shown is not None
    assert [link.record for link in shown.next] == [MISSING.id]


def test_a_fix_that_trips_another_guard_says_so() -> None:
    text = (
        'vllm serve m --kv-transfer-config \'{"kv_connector": "WidgetConnector"}\'\n'
        "ValueError: Widget size 3 does not divide 200 here\n"
    )
    shown = session.view(session.answer(pasted(text), "strict", "yes", KNOWN), KNOWN)
    assert shown is not None
    breaks = {one.fix.id: [link.record for link in one.breaks] for one in shown.fixes}
    assert breaks["equal"] == [MISSING.id]
    assert breaks["nearest"] == []
    assert shown.fixes[0].fix.id == "nearest", "the one that breaks nothing stands first"


def test_following_an_unknown_record_is_told() -> None:
    assert "no record" in session.follow(pasted(), "nonsense", KNOWN).message


def test_the_other_sides_text_joins_what_is_there() -> None:
    state = session.answer(pasted(), "strict", "yes", KNOWN)
    other = Source(read("vllm serve m --tensor-parallel-size 4"), "prefill")
    joined = session.add_source(state, other, KNOWN)
    assert joined.read is not None
    assert [source.side for source in joined.read.sources] == ["decode", "prefill"], (
        "of two texts the one whose side is not told is the other one's peer"
    )
    assert joined.answers == state.answers
    assert joined.read.values.find("tensor_parallel_size", "prefill") is not None


def test_a_state_is_a_value() -> None:
    assert session.start() == session.start()
    assert session.back(session.start()) == session.start()


def test_a_line_that_stands_there_answers_a_question() -> None:
    told = Input(
        "told", "bool", "did it?", lines={"The widget came back as {name}": True}, where="after"
    )
    check = replace(WIDGET.checks[0], when="told")
    record = replace(WIDGET, inputs={**WIDGET.inputs, "told": told}, checks=(check,))
    known = Knowledge(records={record.id: record})
    after = "INFO 01-01 10:00:00 [widget.py:1] The widget came back as new\n"
    for text, status in ((LOG + after, "cause"), (after + LOG, "asks"), (LOG, "asks")):
        shown = session.view(session.paste(session.start(), [Source(read(text))], known), known)
        assert shown is not None
        assert shown.status == status, text


def test_a_draft_names_an_error_and_proves_no_cause() -> None:
    draft = replace(
        WIDGET, status="draft", fixes={}, checks=(replace(WIDGET.checks[0], when="True", fixes=()),)
    )
    known = Knowledge(records={draft.id: draft})
    shown = session.view(session.paste(session.start(), [Source(read(LOG))], known), known)
    assert shown is not None
    assert shown.record is draft
    assert shown.status == "no_cause"
