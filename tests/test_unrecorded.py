"""An error that vLLM raises and no record covers: what is said of it on every way out."""

from __future__ import annotations

from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.note import incident_note
from kvdoctor.show.plain import report_text
from kvdoctor.show.unrecorded import unrecorded

PATH = "vllm/distributed/kv_transfer/kv_connector/v1/base.py"
LOG = f"""(EngineCore pid=8) ERROR 09-01 10:00:00 [core.py:1143] Traceback (most recent call last):
(EngineCore pid=8) ERROR 09-01 10:00:00 [core.py:1143]   File "/x/site-packages/{PATH}", line 229, in __init__
(EngineCore pid=8) ERROR 09-01 10:00:00 [core.py:1143]     raise ValueError("kv_transfer_config must be set for KVConnectorBase_V1")
(EngineCore pid=8) ERROR 09-01 10:00:00 [core.py:1143] ValueError: kv_transfer_config must be set for KVConnectorBase_V1
"""  # noqa: E501


def reported() -> Report:
    known = shipped()
    return report(read_sources([Source(read(LOG, knowledge=known.reading))], known), known)


def test_the_document_tells_place_life_time_and_what_to_collect() -> None:
    about = document(reported(), shipped())["unrecorded"]
    assert isinstance(about, dict)
    assert (about["file"], about["function"], about["line"]) == (PATH, "__init__", 229)
    assert (about["since"], about["until"]) == ("0.11.2", None)
    assert about["collect"]
    assert document(reported())["unrecorded"] is None, "without the knowledge nothing is known"


def test_the_report_and_the_draft_for_the_tracker_tell_its_life_time() -> None:
    assert "exists since vLLM 0.11.2" in report_text(reported(), shipped())
    assert "exists since vLLM 0.11.2" in incident_note(reported(), shipped(), "issue")


SPLIT = """(EngineCore pid=7) ERROR 10-07 02:51:56 [core.py:710] Traceback (most recent call last):
(EngineCore pid=7) ERROR 10-07 02:51:56 [core.py:710]   File "/x/vllm/vllm/distributed/kv_transfer/kv_connector/v1/offloading_connector.py", line 321, in _get_reqs_to_store
(EngineCore pid=7) ERROR 10-07 02:51:56 [core.py:710]     block_id = block_ids[gpu_block_idx + i]
(EngineCore pid=7) ERROR 10-07 02:51:56 [core.py:710] IndexError: list index out of range
"""  # noqa: E501 (as logged)


def shown_of(text: str) -> Report:
    known = shipped()
    return report(read_sources([Source(read(text, knowledge=known.reading))], known), known)


def test_a_message_of_the_interpreter_gets_no_guess_from_its_words() -> None:
    shown = shown_of(SPLIT)
    assert shown.finding is not None
    assert shown.finding.similar == ()


def test_records_are_named_of_the_same_thing_and_not_of_a_folder_with_many() -> None:
    about = unrecorded(shown_of(SPLIT), shipped(), live=False)
    assert about is not None
    assert about.records
    assert all("offload" in name for name, _ in about.records)


def test_a_manifest_without_a_known_release_claims_no_guard_of_some_release_only() -> None:
    text = (
        "containers:\n  - name: vllm\n    image: house/vllm:7\n    args:\n      - /models/x\n"
        "      - --kv-transfer-config\n"
        '      - \'{"kv_connector": "MoRIIOConnector", "kv_role": "kv_both"}\'\n'
        "RuntimeError: something of the house\n"
    )
    shown = shown_of(text)
    assert "kv-connector-unknown" in [link.record for link in shown.may_fail]
    assert "kv-connector-unknown" not in [link.record for link in shown.next]
