"""Error lines that the knowledge does not explain, and tracebacks whose end is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.scan import scan
from kvdoctor.show.document import document
from kvdoctor.show.plain import report_text

HEAD = "(EngineCore_DP0 pid=5704) ERROR 01-06 06:43:02 [other_connector.py:419] "
NATIVE = "E20260106 06:43:02.966156  5793 other_transport.cpp:820] Failed to reach 10.0.0.9:25482\n"
CUT = """(Worker pid=8) ERROR 05-01 15:00:23 [other.py:12] Traceback (most recent call last):
(Worker pid=8) ERROR 05-01 15:00:23 [other.py:12]   File "/x/site-packages/vllm/v1/other.py", line 9, in run
(Worker pid=8) ERROR 05-01 15:00:23 [other.py:12]     one.more()
"""  # noqa: E501


def reported(text: str) -> Report:
    known = shipped()
    return report(read_sources([Source(read(text, knowledge=known.reading))], known), known)


def test_unknown_error_lines_are_shown_and_equal_ones_counted() -> None:
    text = f"{HEAD}Transfer of request 1 broke\n{HEAD}Transfer of request 2 broke\n{NATIVE}"
    shown = reported(text)
    assert (shown.status, len(shown.findings)) == ("no_match", 0)
    assert [(one.number, one.times) for one in shown.unexplained] == [(1, 2), (3, 1)]
    plain = report_text(shown, shipped())
    assert "BUT ERRORS" in plain
    assert "Transfer of request 1 broke (2 times)" in plain
    assert "Failed to reach" in plain
    told = document(shown)["unexplained"]
    assert isinstance(told, list)
    assert told[0]["text"] == "Transfer of request 1 broke"


def test_a_healthy_text_has_nothing_unexplained() -> None:
    shown = reported("(EngineCore pid=5) INFO 01-06 06:43:02 [core.py:4] ready\n")
    assert shown.unexplained == ()


KNOWN = (
    "(Worker pid=8) ERROR 05-01 15:00:23 [multiproc_executor.py:962] AssertionError: "
    "Local block size 32 is not divisible by remote block size 128 or vice versa.\n"
)


def test_error_lines_that_no_finding_explains_are_told_beside_it() -> None:
    house = f"{HEAD}The house store answered late\n"
    shown = reported(f"{KNOWN}{house}{KNOWN}{house}")
    assert [one.record for one in shown.findings] == ["nixl-block-size-not-multiple"]
    assert [(one.number, one.times) for one in shown.unexplained] == [(2, 2)]
    plain = report_text(shown, shipped())
    assert plain.index("The house store answered late (2 times)") > plain.index("FIX 1")


def test_what_a_finding_or_a_wrapper_explains_is_not_told_again() -> None:
    wrapper = "(EngineCore pid=8) ERROR 05-01 15:00:23 [core.py:1143] EngineCore failed to start.\n"
    assert reported(f"{KNOWN}{wrapper}{KNOWN}").unexplained == ()


def test_a_call_that_writes_a_known_line_and_another_one_is_told_for_the_other() -> None:
    place = "(Worker pid=8) ERROR 05-01 15:00:41 [multiproc_executor.py:962] "
    shown = reported(f"{KNOWN}{place}Something of the house\n")
    assert [one.text for one in shown.unexplained] == ["Something of the house"]


def test_a_traceback_without_its_exception_is_named_as_such() -> None:
    shown = reported(CUT)
    finding = shown.findings[0]
    assert "cut off before its exception" in finding.title
    assert finding.confidence < 0.5
    assert "name the exception" in report_text(shown, shipped())


def test_a_record_explains_what_the_cut_traceback_that_it_prints_does_not() -> None:
    head = "(Worker_TP0 pid=8) ERROR 05-01 15:00:23 [nixl_connector.py:1263] "
    said = "NIXL transfer failure: handshake_setup_failed | Context: {'request_id': None}"
    found = reported(f"{head}{said}\n{CUT}").findings
    assert any(said in one.message for one in found)


def test_an_error_line_of_a_library_below_is_named_with_its_meaning() -> None:
    ucx = (
        "[1749803291.555759] [pod-7:7053 :0]          tcp_ep.c:1260 UCX  ERROR "
        "tcp_ep 0x3c50 (state=CONNECTED): send(110) failed: Input/output error\n"
    )
    found = reported(ucx).findings
    assert [(one.owner, one.kind) for one in found] == [("ucx", "external")]
    assert "peer has gone" in found[0].hint


def test_a_status_code_counts_where_the_native_file_tells_its_owner() -> None:
    head = "E0905 14:46:37.882817 17930 "
    theirs = reported(f"{head}store_py.cpp:503] That did not work: RPC_FAIL\n").findings
    others = reported(f"{head}nobody_knows.cpp:503] That did not work: RPC_FAIL\n").findings
    assert [one.owner for one in theirs] == ["mooncake"]
    assert others == ()


def test_what_healthy_servers_print_as_an_error_is_no_trouble() -> None:
    shown = reported(
        "E0905 14:46:37.882817 17930 transfer_metadata.cpp:99] Local segment descriptor not found\n"
    )
    assert (shown.findings, shown.unexplained) == ((), ())


def test_a_wrapper_that_was_cut_is_still_no_root_cause() -> None:
    found = reported("RuntimeError: Worker failed with error ''UCX''\n").findings
    assert found[0].message == "'UCX'"
    assert any("Worker failed" in one.message and one.role == "consequence" for one in found)


@pytest.mark.parametrize(
    ("line", "owner", "meaning"),
    [
        (
            "W0904 10:52:53.047694 512 ucx_utils.cpp:62] Unexpected UCX error: Request canceled",
            "nixl",
            "peer's",
        ),
        (
            "I0331 02:49:30.617945 803444 transfer_engine_py.cpp:454] "
            "Sync batch data transfer timeout after 33061142969ns",
            "mooncake",
            "in time",
        ),
    ],
)
def test_trouble_that_a_library_logs_below_an_error_is_named(
    line: str, owner: str, meaning: str, tmp_path: Path
) -> None:
    (finding,) = reported(f"{line}\n{line}\n").findings
    assert (finding.owner, finding.count) == (owner, 2)
    assert meaning in finding.hint
    log = tmp_path / "native.log"
    log.write_text(f"{line}\n" * 2)
    (row,) = scan([str(log)], shipped()).rows
    assert (row.owner, row.count) == (owner, 2)


def test_what_a_library_logs_below_an_error_in_healthy_servers_is_no_trouble() -> None:
    shown = reported(
        "I0331 02:49:30.617945 803444 transfer_engine.cpp:92] Transfer Engine starting.\n"
        "W0331 02:49:30.617945 8034 transfer_metadata.cpp:15] Local segment descriptor not found\n"
    )
    assert shown.findings == ()
