from __future__ import annotations

from dataclasses import replace

import pytest
from made_up import WIDGET

from kvdoctor.decide import Cause, NoCause, diagnose, gather
from kvdoctor.fix import Fix, NotOffered, guard_verdict, offers
from kvdoctor.record import Compared, Derived, FixProof, FixSpec, Guard, Input, Record
from kvdoctor.values.value import Values


@pytest.fixture(autouse=True)
def comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up guard was compared with a made-up function."""
    found = {"widget": (Compared("0.32.0", 120, 60, 0),)}
    monkeypatch.setattr("kvdoctor.fix.compared", lambda call: found.get(call, ()))


def cause(record: Record = WIDGET, release: str = "0.32.0", **answers: object) -> Cause:
    known = {"local_size": 3, "remote_size": 8, "strict": True, **answers}
    candidates = (release,) if release else ()
    outcome = diagnose(record, gather(record, Values(), {}, known, candidates))
    assert isinstance(outcome, Cause), outcome
    return outcome


def offered(record: Record = WIDGET, **more: object) -> dict[str, Fix]:
    made = offers(record, cause(record, **more))  # type: ignore[arg-type]
    return {one.id: one for one in made if isinstance(one, Fix)}


def withheld(record: Record = WIDGET, **more: object) -> dict[str, NotOffered]:
    made = offers(record, cause(record, **more))  # type: ignore[arg-type]
    return {one.id: one for one in made if isinstance(one, NotOffered)}


def test_a_fix_carries_the_users_own_values() -> None:
    fix = offered()["equal"]
    assert fix.snippet == "--widget-size 8"
    assert fix.sets == {"local_size": 8}
    assert fix.applies == {"--widget-size": "8"}
    assert fix.proof.level == "guard"


def test_solve_finds_the_smallest_change_that_the_guard_accepts() -> None:
    assert offered()["nearest"].snippet == "--widget-size 2"
    assert offered(local_size=30, remote_size=64)["nearest"].snippet == "--widget-size 32"
    assert offered()["nearest"].changes == "from 3"


def test_advice_that_still_raises_is_not_offered_and_the_reason_is_given() -> None:
    assert withheld(local_size=4, remote_size=9)["useless"].why.startswith(
        "vLLM's guard would still raise"
    )


def test_a_fix_outside_its_releases_is_not_offered() -> None:
    assert "0.40.0" in withheld()["later"].why


def test_an_unknown_release_must_satisfy_every_variant_of_the_guard() -> None:
    stricter = replace(WIDGET, guards=(*WIDGET.guards, Guard("local_size > 100", vllm="<0.30.0")))
    assert "equal" not in {
        one.id for one in offers(stricter, cause(stricter, release="")) if isinstance(one, Fix)
    }
    assert "equal" in offered(stricter)


def test_a_guard_that_cannot_be_decided_offers_nothing() -> None:
    hidden = replace(
        WIDGET,
        guards=(Guard("strict and remote_size % local_size == depth"),),
        inputs={
            **WIDGET.inputs,
            "depth": replace(WIDGET.inputs["local_size"], name="depth", reads=()),
        },
    )
    held = withheld(hidden)["equal"]
    assert held.asks == ("depth",)


def test_outside_the_releases_of_a_claim_only_the_read_guard_is_left() -> None:
    claimed = replace(WIDGET.fixes["equal"], proof=FixProof("rerun", "==0.33.0", "ran"))
    record = replace(WIDGET, fixes={**WIDGET.fixes, "equal": claimed})
    proof = offered(record)["equal"].proof
    assert proof.level == "source"
    assert "0.33.0" in proof.note
    unread = replace(record, guards=(Guard("local_size > 0", vllm=">=0.33.0"),))
    assert offered(unread)["equal"].proof.level == "unproven"


def test_without_any_release_nothing_counts_as_proven() -> None:
    assert offered(release="")["equal"].proof.level == "unproven"


def test_a_guard_counts_only_when_it_agreed_with_the_real_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert offered()["equal"].proof.combinations == 120
    for found in ((), (Compared("0.32.0", 120, 60, 1),)):
        monkeypatch.setattr("kvdoctor.fix.compared", lambda call, found=found: found)
        assert offered()["equal"].proof.level == "source"


def test_a_guard_that_accepts_the_values_before_proves_nothing() -> None:
    record = replace(WIDGET, guards=(Guard("local_size > 0"),))
    assert offered(record)["equal"].proof.level == "unproven"


def test_unproven_fixes_stand_last() -> None:
    claimed = replace(WIDGET.fixes["equal"], proof=FixProof("unproven"))
    record = replace(WIDGET, fixes={**WIDGET.fixes, "equal": claimed})
    made = [one for one in offers(record, cause(record)) if isinstance(one, Fix)]
    assert [one.id for one in made][-1] == "equal"


def test_hostile_values_are_quoted_for_the_shell() -> None:
    fix = replace(WIDGET.fixes["equal"], snippet="--name {note}", sets={}, applies={})
    note = replace(WIDGET.inputs["strict"], name="note", type="text", usual={})
    record = replace(
        WIDGET,
        guards=(),
        inputs={**WIDGET.inputs, "note": note},
        fixes={**WIDGET.fixes, "equal": fix},
    )
    snippet = offered(record, note="$(reboot); rm -rf ~")["equal"].snippet
    assert snippet == "--name '$(reboot); rm -rf ~'"


def test_an_upgrade_is_judged_by_the_guard_of_the_new_release() -> None:
    gone = replace(
        WIDGET,
        guards=(
            Guard(
                "not strict or remote_size % local_size == 0",
                vllm=">=0.30.0,<0.33.0",
                call="widget",
            ),
        ),
    )
    upgrade = replace(gone.fixes["later"], vllm="", sets={"vllm_release": "'0.33.0'"})
    record = replace(gone, fixes={**gone.fixes, "later": upgrade})
    assert offered(record)["later"].proof.level == "guard"
    stays = replace(WIDGET, fixes={**WIDGET.fixes, "later": upgrade})
    assert "still raise" in withheld(stays)["later"].why


def test_the_verdict_names_the_release_for_which_it_fails() -> None:
    verdict = guard_verdict(
        WIDGET, {"local_size": 3, "remote_size": 8, "strict": True}, ("0.29.0", "0.31.0")
    )
    assert verdict.accepted is False
    assert verdict.failing == "0.31.0"


def test_a_fix_that_changes_nothing_is_not_offered() -> None:
    same = replace(WIDGET.fixes["equal"], sets={"local_size": "local_size + 0"})
    record = replace(WIDGET, fixes={**WIDGET.fixes, "equal": same}, guards=())
    assert "change nothing" in withheld(record)["equal"].why


def test_an_input_that_is_set_to_its_own_answer_is_a_change() -> None:
    answered = replace(WIDGET.fixes["equal"], sets={"local_size": "local_size"})
    record = replace(WIDGET, fixes={**WIDGET.fixes, "equal": answered}, guards=())
    assert "equal" in offered(record)


DEPTH = Input("depth", "int", "How deep?", minimum=1)


def with_depth(spec: Input, guard: str) -> Record:
    return replace(WIDGET, guards=(Guard(guard),), inputs={**WIDGET.inputs, "depth": spec})


def test_a_guard_is_decided_by_a_default_and_the_proof_says_so() -> None:
    usual = replace(DEPTH, usual={"": 3})
    fix = offered(with_depth(usual, "remote_size % local_size == 0 and depth > 2"))["equal"]
    assert fix.proof.note.startswith("with depth 3, vLLM's default")
    assert "depth" not in fix.sets


def test_a_default_that_would_have_let_the_failure_pass_decides_nothing() -> None:
    usual = replace(DEPTH, usual={"": 3})
    held = withheld(with_depth(usual, "remote_size % local_size == 0 or depth > 2 or strict"))
    assert "equal" not in held  # needs no default
    held = withheld(with_depth(usual, "(depth > 2 or depth == 1) and remote_size > 0"))
    assert held["equal"].asks == ("depth",)


def choosing() -> Record:
    """The widget's depth is the user's own choice, and the check asks for it."""
    check = replace(WIDGET.checks[0], when="rest != 0 and depth > 0", fixes=("deepen", "equal"))
    deepen = FixSpec(
        "deepen",
        "Deepen",
        '"depth": {bytes}, "of": {depth}',
        "{depth} deep",
        sets={"bytes": "total"},
        applies={"--depth": "{depth}"},
        proof=FixProof("guard", ">=0.30.0"),
    )
    return replace(
        WIDGET,
        checks=(check,),
        guards=(Guard("bytes != 0"),),
        derive=(*WIDGET.derive, Derived("total", "int", "depth * 1024")),
        inputs={
            **WIDGET.inputs,
            "depth": replace(DEPTH, chosen=True),
            "bytes": Input("bytes", "int", "bytes?"),
        },
        fixes={**WIDGET.fixes, "deepen": deepen},
    )


def test_a_choice_left_open_keeps_the_cause_and_leaves_a_blank_in_the_fix() -> None:
    fix = offered(choosing(), depth="?")["deepen"]
    assert fix.snippet == '"depth": "<depth * 1024>", "of": "<depth>"'
    assert fix.changes == "<depth> deep"
    assert fix.proof.level == "unproven"
    assert "--set depth=…" in fix.proof.note
    assert not fix.applies  # nothing to put into a command yet


def test_a_choice_that_is_made_fills_the_fix() -> None:
    assert offered(choosing(), depth=2)["deepen"].snippet == '"depth": 2048, "of": 2'


def test_a_fact_that_nobody_knows_still_leaves_the_cause_open() -> None:
    record = choosing()
    fact = replace(record, inputs={**record.inputs, "depth": DEPTH})
    known = {"local_size": 3, "remote_size": 8, "strict": True, "depth": "?"}
    outcome = diagnose(fact, gather(fact, Values(), {}, known, ("0.32.0",)))
    assert isinstance(outcome, NoCause)


def test_a_text_that_cannot_be_filled_names_what_it_lacks() -> None:
    record = choosing()
    spec = replace(record.fixes["equal"], snippet="--of {depth}")
    lacking = replace(
        WIDGET,
        fixes={**WIDGET.fixes, "equal": spec},
        inputs={**WIDGET.inputs, "depth": DEPTH},
    )
    assert withheld(lacking)["equal"].asks == ("depth",)
