"""An error that vLLM raises and no record covers: what is said of it on every way out."""

from __future__ import annotations

from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.note import incident_note
from kvdoctor.show.plain import report_text

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
