"""Which error it is, which of several comes first, and whose it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up import MISSING, WIDGET, knowledge

from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.match import Match, match, together
from kvdoctor.record import Identify, Record, SeenIn, Wrapper

KNOWN = knowledge()
LOG = "ValueError: Widget size 3 does not divide 8 here\n"


def known_with(*records: Record, wrappers: tuple[Wrapper, ...] = ()) -> Knowledge:
    return Knowledge(records={one.id: one for one in records}, wrappers=wrappers)


def found(text: str, known: Knowledge = KNOWN) -> tuple[Match, ...]:
    return match(read(text, "x.log", knowledge=known.reading), known)


def raised(error: str, file: str = "vllm/widget.py", prefix: str = "") -> str:
    lines = [
        "Traceback (most recent call last):",
        f'  File "/opt/lib/python3.12/site-packages/{file}", line 5, in compare',
        "    raise it",
        error,
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def test_a_healthy_log_has_no_finding() -> None:
    assert found("INFO 01-01 00:00:00 [x.py:1] all is well\nplain words\n") == ()


def test_a_message_names_its_record_and_fills_its_holes() -> None:
    (one,) = found(LOG)
    assert (one.record, one.role, one.number) == (WIDGET.id, "root_cause", 1)
    assert one.holes == {"local_size": "3", "remote_size": "8"}
    assert one.evidence[0].text == LOG.strip()


def test_the_class_of_the_exception_counts() -> None:
    assert all(one.record is None for one in found(LOG.replace("ValueError", "TypeError")))


def test_the_same_words_from_another_project_are_not_ours() -> None:
    (ours,) = found(raised(LOG.strip()))
    assert ours.record == WIDGET.id
    (theirs,) = found(raised(LOG.strip(), "gadgetlib/core.py"))
    assert theirs.record is None
    assert theirs.owner == "gadgetlib"


def test_eight_ranks_are_one_finding_with_a_count() -> None:
    text = "".join(
        raised(
            LOG.strip(), prefix=f"(Worker_TP{rank} pid={rank + 10}) ERROR 01-01 00:00:00 [a.py:1] "
        )
        for rank in range(8)
    )
    (one,) = found(text)
    assert one.count == 8
    assert len(one.processes) == 8


def test_a_wrapper_is_never_the_root_cause() -> None:
    known = known_with(
        WIDGET, wrappers=(Wrapper("dead", "The engine of widgets has died", where="see above"),)
    )
    text = "RuntimeError: The engine of widgets has died\n\n" + LOG
    first, *others = found(text, known)
    assert first.record == WIDGET.id
    assert [one.role for one in others] == ["consequence"]
    (alone,) = found("RuntimeError: The engine of widgets has died\n", known)
    assert (alone.role, alone.hint) == ("consequence", "see above")


def test_the_cause_of_a_chain_comes_first() -> None:
    text = (
        raised("KeyError: 'No widget of size 7 was ever found'")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + raised("RuntimeError: something else altogether went wrong", "vllm/other.py")
    )
    first, *others = found(text)
    assert first.record == MISSING.id
    assert all(one.role == "consequence" for one in others)


def test_a_record_that_leads_to_another_goes_first_whatever_the_order_of_lines() -> None:
    text = "KeyError: No widget of size 7 was ever found\n\n" + LOG
    assert [(one.record, one.role) for one in found(text)] == [
        (WIDGET.id, "root_cause"),
        (MISSING.id, "consequence"),
    ]


def test_a_draft_only_speaks_where_no_other_record_does() -> None:
    draft = replace(WIDGET, id="a-draft", status="draft")
    assert [one.record for one in found(LOG, known_with(draft, WIDGET))] == [WIDGET.id]
    assert [one.record for one in found(LOG, known_with(draft))] == ["a-draft"]


def test_of_two_records_with_one_message_the_earlier_line_decides() -> None:
    early = replace(
        WIDGET,
        id="told-before",
        identify=(replace(WIDGET.identify[0], before="Widgets are cold: {reason}"),),
    )
    known = known_with(early, WIDGET)
    before = "INFO 01-01 00:00:00 [x.py:1] Widgets are cold: no heating\n"
    assert found(before + LOG, known)[0].record == "told-before"
    assert found(LOG, known)[0].record == WIDGET.id


def test_a_message_in_running_text_is_found_when_nothing_else_is() -> None:
    (one,) = found("On call: it said Widget size 3 does not divide 8 here, what now?\n")
    assert one.record == WIDGET.id
    assert one.confidence <= 0.9


def test_a_warning_of_a_record_is_claimed_by_its_level() -> None:
    warned = replace(
        MISSING,
        identify=(Identify("Releasing the expired widget {size} for good", level="WARNING"),),
        severity="warning",
    )
    text = "WARNING 01-01 00:00:00 [w.py:7] Releasing the expired widget 4 for good\n"
    assert [one.record for one in found(text, known_with(warned))] == [MISSING.id]
    assert found(text.replace("WARNING", "INFO"), known_with(warned)) == ()


def test_findings_of_two_logs_have_one_root_cause_between_them() -> None:
    joined = together([found("KeyError: something nobody knows\n"), found(LOG)])
    assert [one.role for one in joined].count("root_cause") == 1
    assert joined[0].record == WIDGET.id


@pytest.mark.parametrize("cutoff", [34, 40, 46])
def test_a_message_that_was_cut_off_is_still_that_message(cutoff: int) -> None:
    (one,) = found(LOG[:cutoff] + "\n")
    assert one.record == WIDGET.id


@pytest.mark.parametrize(
    "printed",
    [
        ("assert (",),  # its first line, up to Python 3.10
        ("local_widget_count <= widget_limit * block_size",),  # the line of the condition
        ("assert (", "local_widget_count <= widget_limit * block_size", "), widget"),  # from 3.13
    ],
)
def test_an_assert_over_several_lines_is_known_by_whichever_of_them_is_printed(
    printed: tuple[str, ...],
) -> None:
    entry = Identify(
        "",
        exception="AssertionError",
        frame="vllm/widget.py:compare",
        code="assert (local_widget_count <= widget_limit * block_size)",
    )
    known = known_with(replace(WIDGET, identify=(entry,)))
    lines = [
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.12/site-packages/vllm/widget.py", line 10, in compare',
        *(f"    {one}" for one in printed),
        "AssertionError",
    ]
    assert [one.record for one in found("\n".join(lines) + "\n", known)] == [WIDGET.id]


def test_another_assert_of_the_same_function_is_not_the_record_s() -> None:
    entry = Identify(
        "",
        exception="AssertionError",
        frame="vllm/widget.py:compare",
        code="assert (local_widget_count <= widget_limit * block_size)",
    )
    known = known_with(replace(WIDGET, identify=(entry,)))
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.12/site-packages/vllm/widget.py", line 12, in compare\n'
        "    assert widget.name in known_widgets\n"
        "AssertionError\n"
    )
    assert [one.record for one in found(text, known)] == [None]


def test_a_line_that_is_only_a_wrapper_is_no_healthy_log() -> None:
    wrapper = Wrapper(
        "engine-gone", "The engine went away. Look above for the reason.", "EngineGone", "Above."
    )
    known = known_with(WIDGET, wrappers=(wrapper,))
    (one,) = found("The engine went away. Look above for the reason.\n", known)
    assert (one.role, one.hint) == ("consequence", "Above.")
    told = found(f"The engine went away. Look above for the reason.\n{LOG}", known)
    assert told[0].record == WIDGET.id


def two_connectors() -> Knowledge:
    """Two records with the same words; one of them asks for a frame of its own file."""
    gadget = replace(
        WIDGET,
        id="gadget-sizes-differ",
        connectors=("GadgetConnector",),
        seen_in=(SeenIn(">=0.30.0", "vllm/gadget_connector.py:compare"),),
        identify=(replace(WIDGET.identify[0], any_frame="gadget_connector.py:compare"),),
    )
    return known_with(WIDGET, gadget)


def test_without_frames_another_connectors_record_is_not_sure() -> None:
    (one,) = found(LOG, two_connectors())
    assert (one.record, one.alternatives) == (WIDGET.id, ("gadget-sizes-differ",))
    assert one.confidence <= 0.6


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ("INFO 01-01 00:00:00 [gadget_connector.py:9] started", "gadget-sizes-differ"),
        ("INFO 01-01 00:00:00 [factory.py:9] Creating GadgetConnector", "gadget-sizes-differ"),
        ("INFO 01-01 00:00:00 [factory.py:9] Creating WidgetConnector", WIDGET.id),
    ],
)
def test_without_frames_what_the_other_lines_name_decides(line: str, record: str) -> None:
    (one,) = found(f"{line}\n{LOG}", two_connectors())
    assert (one.record, one.alternatives) == (record, ())
    assert one.confidence >= 0.9
