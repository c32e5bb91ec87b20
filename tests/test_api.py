"""The diagnosis as a typed call for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kvdoctor
from kvdoctor import diagnose, explain, prove
from kvdoctor.errors import InputError

CASES = Path(__file__).with_name("cases")
LOG = CASES / "061-nixl-blocksize-d-smaller" / "decode.log"


def test_a_path_a_text_and_bytes_give_the_same_diagnosis() -> None:
    by_path, by_bytes = diagnose(LOG), diagnose(LOG.read_bytes())
    by_text = diagnose(LOG.read_text("utf-8"))
    for one in (by_path, by_bytes, by_text):
        assert (one.status, one.record) == ("cause", "nixl-block-size-not-multiple")
        assert one.fixes[0].snippet == "--block-size 128"
        assert one.fixes[0].proof == "guard"
        assert one.release == "0.32.0"
        assert "not divisible" in one.error
        assert one.evidence[0].line > 0


def test_both_sides_can_be_given() -> None:
    folder = CASES / "061-nixl-blocksize-d-smaller"
    found = diagnose(prefill=folder / "prefill.log", decode=folder / "decode.log")
    assert found.status == "cause"


def test_questions_are_answered_one_after_another() -> None:
    found = diagnose(prefill=CASES / "082-mooncake-rdma-missing" / "prefill.log")
    assert found.status == "asks"
    assert found.questions[0].name == "rdma_expected"
    assert found.questions[0].ask
    answered = found.answer(rdma_expected="yes")
    assert answered.answers == {"rdma_expected": "yes"}
    assert answered.status == "cause"
    assert found.status == "asks", "a diagnosis never changes"


def test_an_answer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError):
        diagnose(record="moriio-heterogeneous-tp-kv-heads", answers={"local_tp_size": "many"})


def test_json_is_that_of_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvdoctor", "diagnose", "--json", str(LOG)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(json.dumps(diagnose(LOG).to_json()))


def test_the_other_forms_are_at_hand() -> None:
    found = diagnose(LOG)
    assert found.text().startswith("ROOT CAUSE")
    assert "--block-size 128" in found.note("slack")


def test_what_cannot_be_read_or_is_unknown_is_an_error_with_a_remedy() -> None:
    for wrong in (
        lambda: diagnose(Path("no-such-file.log")),
        lambda: diagnose(),
        lambda: diagnose(record="no-such-record"),
        lambda: explain("no-such-record-at-all-anywhere"),
    ):
        with pytest.raises(InputError):
            wrong()


def test_a_record_is_explained() -> None:
    assert explain("805e537459597a3f")["record"] == "moriio-heterogeneous-tp-kv-heads"


def test_threads_do_not_disturb_each_other() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(diagnose, [LOG] * 8))
    assert len({one.fixes[0].snippet for one in found}) == 1


def test_importing_the_package_costs_nothing() -> None:
    code = "import sys, kvdoctor; print([m for m in sys.modules if m.startswith('kvdoctor')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['kvdoctor']"
    with pytest.raises(AttributeError):
        kvdoctor.no_such_name  # noqa: B018


def test_a_named_record_takes_its_values_from_its_own_error_in_the_text() -> None:
    found = diagnose(LOG, record="nixl-block-size-not-multiple")
    assert (found.status, found.fixes[0].snippet) == ("cause", "--block-size 128")


def test_an_answer_goes_to_the_record_that_was_named() -> None:
    found = diagnose(record="moriio-heterogeneous-tp-kv-heads")
    assert found.status == "asks"
    assert found.answer(is_mla=False).record == "moriio-heterogeneous-tp-kv-heads"


def test_a_proof_tells_that_no_vllm_is_there(tmp_path: Path) -> None:
    run = prove(diagnose(LOG), python=tmp_path / "none")
    assert (run.outcome, run.proven) == ("no-vllm", False)


def test_only_an_offered_fix_of_a_trusted_record_is_proven(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no fix 'other'"):
        prove(diagnose(LOG), "other")
    with pytest.raises(InputError, match="no fix to prove"):
        prove(diagnose("nothing known"))
    shipped = CASES.parents[1] / "knowledge" / "records"
    file = next(shipped.rglob("nixl-block-size-not-multiple.yaml"))
    (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    found = diagnose(LOG, knowledge=[tmp_path])
    with pytest.raises(InputError, match="private record"):
        prove(found)
    assert prove(found, python=tmp_path / "none", trust=True).outcome == "no-vllm"
