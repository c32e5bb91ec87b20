"""Several starts of vLLM in one text: both sides in one file, a server that was started again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvdoctor.api import Diagnosis, diagnose
from kvdoctor.values.value import Spoke, start_of

CASES = Path(__file__).parent / "cases"
BLOCKS = "061-nixl-blocksize-d-smaller"


def log(case: str, name: str) -> str:
    folder = next(CASES.glob(f"{case}*"))
    return (folder / name).read_text("utf-8")


def pair(case: str) -> tuple[str, str]:
    return log(case, "prefill.log"), log(case, "decode.log")


def told(found: Diagnosis) -> dict[str, object]:
    facts = found.report.facts
    return {name: one.value for name, one in facts.known.items()} if facts is not None else {}


@pytest.mark.parametrize("case", ["052", "057", "059", "061", "062", "069", "070", "091"])
@pytest.mark.parametrize("turned", [False, True])
def test_both_sides_in_one_text_read_as_in_two(case: str, turned: bool) -> None:
    prefill, decode = pair(case)
    apart = diagnose(prefill=prefill, decode=decode)
    whole = diagnose(decode + prefill if turned else prefill + decode)
    assert (whole.record, whole.status, whole.cause) == (apart.record, apart.status, apart.cause)
    assert told(whole) == told(apart)
    snippets = [one.snippet for one in apart.fixes]
    assert [one.snippet for one in whole.fixes] == snippets


def test_a_failure_of_decode_takes_no_value_from_prefill() -> None:
    prefill, decode = pair("052")
    facts = diagnose(prefill + decode).report.facts
    assert facts is not None
    assert facts.known["local_engine_id"].side == "decode"


def test_the_values_of_a_failure_are_those_of_the_start_it_stands_in() -> None:
    decode = log(BLOCKS, "decode.log")
    older = decode.replace("block_size': 32", "block_size': 64").replace("size 32 is", "size 64 is")
    assert older != decode
    older = re.sub(r"pid=(\d)", r"pid=9\1", older)
    found = diagnose(older + decode)
    assert told(found)["local_block_size"] == 32, "the latest start is today's"
    both = [one for one in found.report.findings if one.record == found.record]
    assert [one.holes["local_block_size"] for one in both] == ["32", "64"]
    (command,) = {one.before for one in found.report.fixes if one.before}
    assert "--block-size 32" in command


def test_a_restart_with_the_same_process_ids_is_told_apart_too() -> None:
    decode = log(BLOCKS, "decode.log")
    older = decode.replace("block_size': 32", "block_size': 64").replace("size 32 is", "size 64 is")
    found = diagnose(older + decode)
    assert told(found)["local_block_size"] == 32
    assert found.report.findings[0].count == diagnose(decode).report.findings[0].count


def test_the_same_failure_after_a_restart_is_one_finding() -> None:
    decode = log(BLOCKS, "decode.log")
    once, twice = diagnose(decode).report.findings[0], diagnose(decode + decode).report.findings[0]
    assert twice.count == 2 * once.count


def test_a_side_that_says_no_role_is_not_taken_for_the_other_one() -> None:
    prefill = log("050", "prefill.log")
    failing = log("035", "log.txt")
    found = diagnose(prefill + failing)
    alone = diagnose(failing)
    assert (found.record, found.cause) == (alone.record, alone.cause)


def test_a_process_id_counts_until_the_ids_are_given_anew() -> None:
    spoke = [
        Spoke(1, "", 1, 1, begins=True),
        Spoke(5, "", 70, 1, begins=False),
        Spoke(90, "", 1, 2, begins=True),
    ]
    assert start_of(spoke, 6, "", 70) == 1
    assert start_of(spoke, 95, "", 70) == 2
    running_beside = [*spoke[:2], Spoke(90, "", 2, 2, begins=True)]
    assert start_of(running_beside, 95, "", 70) == 1
    assert start_of(running_beside, 95, "", 0) == 2
    assert start_of(spoke, 95, "another-pod", 1) == 0


def test_a_bare_message_states_no_release_that_it_does_not_show() -> None:
    """The text stood in another file in each of these releases."""
    message = (
        "ValueError: To serve at least one request with the model's max seq len (131072), (40.0 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (10.0 GiB). "
        "Based on the available memory, the estimated maximum model length is 32768. Try "
        "increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) "
        "or decreasing `max_model_len` when initializing the engine. See "
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
    )
    found = diagnose(message)
    facts = found.report.facts
    assert facts is not None
    assert {"0.32.0", "0.33.0"} <= set(facts.candidates)
    assert "vllm_release" not in facts.known


def test_the_latest_of_very_many_starts_is_still_the_latest() -> None:
    lines = [one for one in log(BLOCKS, "decode.log").splitlines() if "non-default args" in one]
    older = "\n".join(lines).replace("block_size': 32", "block_size': 64") + "\n"
    found = diagnose(older * 60 + log(BLOCKS, "decode.log"))
    (command,) = {one.before for one in found.report.fixes if one.before}
    assert "--block-size 32" in command
