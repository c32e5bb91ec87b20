"""A fix for both sides changes two commands; what shows a fix without a guard is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import drawn, settled, told, until

from kvdoctor.fix import Fix, Proof
from kvdoctor.proof.prove import OUTCOMES, ProofRun
from kvdoctor.proving import proof_text
from kvdoctor.ui.app import KvdoctorApp, Pending
from kvdoctor.ui.fixdetail import FixScreen

CASE = Path(__file__).parents[1] / "cases" / "070-nixl-expired-lease"


async def test_both_commands_are_copied_each_below_its_side(tmp_path: Path) -> None:
    logs = [(CASE / f"{side}.log").read_bytes() for side in ("prefill", "decode")]
    screen = KvdoctorApp(
        pending=(
            Pending("prefill.log", "prefill", logs[0]),
            Pending("decode.log", "decode", logs[1]),
        )
    )
    async with screen.run_test(size=(100, 60)) as pilot:
        await settled(pilot, "cause")
        page = "\n".join(drawn(screen))
        assert "c copies both commands" in page
        await pilot.press("c")
        await told(pilot, "commands of prefill and decode")
        file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
        await until(pilot, file.exists, "the file")
        prefill, decode = file.read_text().split("# decode\n")
        assert prefill.startswith("# prefill\n")
        assert "--port 8100" in prefill
        assert "--port 8200" in decode
        assert all('"kv_lease_duration": 60' in one for one in (prefill, decode))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.screen, FixScreen), "the fix")
        page = "\n".join(drawn(screen))
        assert "prefill's whole command" in page
        assert "decode's whole command" in page


@pytest.mark.parametrize(
    ("level", "head"),
    [
        ("rerun", "SHOWN BY A RERUN"),
        ("source", "READ IN THE SOURCE"),
        ("unproven", "NOT PROVEN"),
    ],
)
def test_without_a_guard_to_call_a_fix_stays_as_proven_as_it_was(level: str, head: str) -> None:
    fix = Fix("f", "t", "x", "c", "this", "flag", {}, {}, (), Proof(level))
    said = proof_text(ProofRun("no-caller", OUTCOMES["no-caller"]), fix)
    assert said.startswith(head)
    asked = proof_text(ProofRun("still-raised", OUTCOMES["still-raised"]), fix)
    assert asked.startswith("NOT PROVEN"), "a guard that was asked has the last word"
