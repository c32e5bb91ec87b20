"""What fails next, what is dangerous in silence, and what is related."""

from __future__ import annotations

from dataclasses import replace

from made_up import MISSING, WIDGET, knowledge

from kvdoctor.knowledge import Knowledge
from kvdoctor.record import Guard, Record, SeenIn
from kvdoctor.values.value import Scalar, Value, Values
from kvdoctor.walk import (
    Configuration,
    after_fix,
    concerns,
    configuration,
    dangers,
    fails_after,
    fails_next,
    links,
    relations,
)

KNOWN = knowledge()
RELEASE = ("0.32.0",)


def known_with(*records: Record) -> Knowledge:
    return Knowledge(records={one.id: one for one in records})


def config(size: int, connector: str = "WidgetConnector", side: str = "decode") -> Configuration:
    values = Values(
        (Value("widget_size", size, "command", "decode"), Value("kv_connector", connector, "log"))
    )
    return configuration(None, {}, values, side, RELEASE)


def test_a_guard_that_the_values_break_fails_next() -> None:
    (link,) = fails_next(config(200), KNOWN, ())
    assert (link.record, link.kind, link.why) == (MISSING.id, "fails-next", "200 is too large.")


def test_a_guard_that_holds_or_cannot_be_judged_is_not_told() -> None:
    assert fails_next(config(7), KNOWN, ()) == ()
    unknown = configuration(None, {}, Values(), "decode", RELEASE)
    assert fails_next(unknown, KNOWN, ()) == ()


def test_what_only_some_releases_refuse_is_told_with_these_releases() -> None:
    (old,) = (replace(one, vllm="<0.20.0") for one in MISSING.guards)
    known = known_with(replace(MISSING, guards=(old,)))
    releases = ("0.19.1", "0.20.2", "0.21.0")
    (link,) = fails_next(replace(config(200), candidates=releases), known, ())
    assert link.sure and link.why.endswith("(in vLLM 0.19.1)")
    assert fails_next(replace(config(200), candidates=releases[1:]), known, ()) == ()


def test_with_an_unknown_release_only_what_every_variant_refuses_is_sure() -> None:
    (guard,) = MISSING.guards
    old, new = replace(guard, vllm="<0.20.0"), replace(guard, vllm=">=0.20.0", accepts="size > 0")
    unknown = replace(config(200), candidates=())
    (link,) = fails_next(unknown, known_with(replace(MISSING, guards=(old, new))), ())
    assert not link.sure and link.why.endswith("(in vLLM <0.20.0)")
    (link,) = fails_next(unknown, known_with(replace(MISSING, guards=(old,))), ())
    assert link.sure and link.why.endswith("(in vLLM <0.20.0)")


def test_a_record_of_another_connector_is_not_told() -> None:
    assert fails_next(config(200, "GadgetConnector"), KNOWN, ()) == ()
    assert not concerns(MISSING, config(200, "GadgetConnector"))


def test_the_record_at_hand_and_retired_ones_are_left_out() -> None:
    assert fails_next(config(200), KNOWN, {MISSING.id}) == ()
    assert fails_next(config(200), known_with(replace(MISSING, status="retired")), ()) == ()


def test_guards_come_in_the_order_in_which_they_are_reached() -> None:
    late = replace(MISSING, id="a-later-one", stage=90)
    found = fails_next(config(200), known_with(late, MISSING), ())
    assert [one.record for one in found] == [MISSING.id, "a-later-one"]


def test_a_danger_is_told_only_while_it_holds() -> None:
    silent = replace(MISSING, id="silent", guards=(), danger="size > 50", checks=())
    known = known_with(silent)
    assert [one.record for one in dangers(config(60), known)] == ["silent"]
    assert dangers(config(7), known) == ()


def test_values_of_a_record_are_carried_under_the_names_that_others_read() -> None:
    carried = configuration(
        WIDGET, {"local_size": 300, "remote_size": 8}, Values(), "this", RELEASE
    )
    assert carried.connectors == ("WidgetConnector",)
    assert [one.record for one in fails_next(carried, KNOWN, {WIDGET.id})] == [MISSING.id]


def test_a_fix_is_told_what_it_breaks_and_what_it_leaves_broken() -> None:
    values: dict[str, Scalar] = {"local_size": 200, "remote_size": 200}
    after = after_fix(WIDGET, values, config(7))
    (new,), still = fails_after(WIDGET, config(7), after, KNOWN, ())
    assert (new.record, still) == (MISSING.id, ())
    already = fails_next(config(200), KNOWN, ())
    new_ones, (left,) = fails_after(WIDGET, config(200), after, KNOWN, already)
    assert (new_ones, left.record) == ((), MISSING.id)


def test_what_a_fix_takes_away_stops_nothing_any_more() -> None:
    before = config(200)
    without = after_fix(WIDGET, {}, before, removes=("--kv-transfer-config",))
    assert without.connectors == ()
    assert fails_next(without, KNOWN, ()) == ()
    assert fails_next(after_fix(WIDGET, {}, before, removes=("--widget-size",)), KNOWN, ()) == ()
    elsewhere = after_fix(WIDGET, {}, before, side="prefill", removes=("--widget-size",))
    assert fails_next(elsewhere, KNOWN, ()) != (), "the other side's command was changed"
    other = after_fix(
        WIDGET, {}, before, applies={"kv_transfer_config.kv_connector": "GadgetConnector"}
    )
    assert other.connectors == ("GadgetConnector",)


def test_relations_are_told_from_both_ends() -> None:
    assert [(one.record, one.kind) for one in relations(WIDGET, KNOWN)] == [
        (MISSING.id, "leads-to")
    ]
    assert [(one.record, one.kind) for one in relations(MISSING, KNOWN)] == [
        (WIDGET.id, "follows-from")
    ]


def test_a_record_is_linked_once_and_by_what_matters_most() -> None:
    found = links(WIDGET, None, config(200), KNOWN)
    assert [(one.record, one.kind) for one in found] == [(MISSING.id, "fails-next")]


def test_a_guard_that_only_a_fix_must_pass_is_another_records_failure() -> None:
    seen = SeenIn(">=0.30.0", "vllm/widget.py:fit")
    own = Guard("size < 100", mirrors="vllm.widget:Widget.fit")
    further_on = Guard("size % 2 == 0", mirrors="vllm.widget:Widget.pair")
    both = replace(MISSING, seen_in=(seen,), guards=(own, further_on))
    known = known_with(both)
    assert fails_next(config(7), known, ()) == ()
    assert [one.record for one in fails_next(config(201), known, ())] == [MISSING.id]
    elsewhere = replace(both, seen_in=(SeenIn(">=0.30.0", "vllm/other.py:other"),))
    assert fails_next(config(7), known_with(elsewhere), ()) != (), "its only guards are its own"
