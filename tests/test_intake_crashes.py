"""Crashes of native code in the words of each signal handler, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.intake.crashes import plain_name
from kvdoctor.intake.paste import Failure
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.scan import Partial, scan_file

PACKAGES = "/x/lib/python3.12/site-packages"
LIBRARIES = f"{PACKAGES}/nixl_cu12/../.nixl_cu12.mesonpy.libs/plugins/../../nixl_cu12.libs"
UCX = f"""[vm:25306:0:25306] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)
==== backtrace (tid:  25306) ====
 0  {LIBRARIES}/libucs-14c218c5.so.0.0.0(ucs_handle_error+0x294) [0x7f77b0b23884]
 1  {LIBRARIES}/libucs-14c218c5.so.0.0.0(+0x38a2a) [0x7f77b0b23a2a]
 2  {LIBRARIES}/libucs-14c218c5.so.0.0.0(+0x38cde) [0x7f77b0b23cde]
 3  /lib/x86_64-linux-gnu/libc.so.6(+0x3c050) [0x7f77d445a050]
 4  {LIBRARIES}/libucp-4b1c2d3e.so.0.0.0(ucp_ep_rkey_unpack_reachable+0x42) [0x7f77d4585ad8]
 5  {LIBRARIES}/libnixl-aa11bb22.so(_ZN9nixlAgent12loadRemoteMDERKNSt7__cxx1112basic_stringIcEE+0x1a4) [0x7f77d4]
21  /x/bin/python(_start+0x21) [0x55d58eb98081]
=================================
"""  # noqa: E501 (as UCX writes it)
OLD_UCX = """[host-1:44:0:1220] Caught signal 11 (Segmentation fault: invalid permissions for mapped object at address 0x7f)
==== backtrace (tid:   1220) ====
 0 0x0000000000043090 killpg()  ???:0
 1 0x000000000001b8a5 ucp_ep_rkey_unpack()  ???:0
 2 0x00000000000a1f2c nixlUcxEngine::loadRemoteConnInfo()  ucx_backend.cpp:811
=================================
"""  # noqa: E501
PYTHON = """Fatal Python error: Segmentation fault

Current thread 0x00007efe0488eb80 (most recent call first):
  File "/x/lib/python3.12/site-packages/nixl_cu12/_api.py", line 519 in add_remote_agent
  File "/x/lib/python3.12/site-packages/vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py", line 3 in add_remote_agent
  File "<string>", line 4 in <module>

Thread 0x00007efe0488eb99 (most recent call first):
  File "/x/lib/python3.12/threading.py", line 355 in wait
"""  # noqa: E501
TORCH = """SIGSEGV(11), PID: 25265, Thread 25265:
 frame #0: c10::FatalSignalHandler::stacktraceSignalHandler(bool) + 0x8f (0x7f3bef590c4f in /x/site-packages/torch/lib/libc10.so)
frame #1: c10::FatalSignalHandler::fatalSignalHandler(int, siginfo_t*) + 0x2da (0x7f3bef59127a in /x/site-packages/torch/lib/libc10.so)
frame #2: <unknown function> + 0x3c050 (0x7f3bf185a050 in /lib/x86_64-linux-gnu/libc.so.6)
frame #3: mooncake::TransferEngine::submit(int) + 0x77 (0x7f3bf1985ad8 in /x/site-packages/mooncake/engine.so)
<omitting python frames>
frame #18: <unknown function> + 0x2724a (0x7f3bf184524a in /lib/x86_64-linux-gnu/libc.so.6)

SIGSEGV(11), PID: 25265, Thread 25266:
 frame #0: c10::FatalSignalHandler::stacktraceSignalHandler(bool) + 0x8f (0x7f3bef590c4f in /x/site-packages/torch/lib/libc10.so)
frame #1: pthread_cond_wait + 0x1e8 (0x7f3bf18a65d8 in /lib/x86_64-linux-gnu/libc.so.6)
"""  # noqa: E501
TVM = """!!!!!!! Segfault encountered !!!!!!!
  File "./signal/../sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c", line 0, in 0x00007f1e8045a04f
  File "<unknown>", line 0, in ucp_ep_rkey_unpack_reachable
  File "<unknown>", line 0, in nixlUcxEp::loadRemoteKey
"""
ABSEIL = """*** SIGSEGV received at time=1713456789 on cpu 47 ***
PC: @     0x7f3bf1985ad8  (unknown)  ucp_ep_rkey_unpack
    @     0x7f3bf1985ad8       1234  nixlUcxEngine::loadRemoteConnInfo()
"""
SHELL = "/entry.sh: line 7:    41 Segmentation fault      (core dumped) vllm serve /models/x\n"
LOG = "worker-killed-by-signal.log"
DIED = (
    "(EngineCore pid=120) ERROR 08-02 19:43:44 [multiproc_executor.py:280] "
    "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n"
)


def told(one: Partial) -> list[object]:
    return [(row.key, row.role, row.count, row.first, row.last, row.where) for row in one.rows]


def only(text: str) -> Failure:
    (failure,) = (one for one in read(text).failures if one.form == "crash")
    return failure


def reported(text: str) -> Report:
    known = shipped()
    return report(read_sources([Source(read(text, knowledge=known.reading))], known), known)


@pytest.mark.parametrize(
    ("text", "message", "deepest"),
    [
        (UCX, "Segmentation fault: address not mapped to object", "ucp_ep_rkey_unpack_reachable"),
        (
            OLD_UCX, "Segmentation fault: invalid permissions for mapped object",
            "ucp_ep_rkey_unpack",
        ),
        (PYTHON, "Segmentation fault", "add_remote_agent"),
        (TORCH, "Segmentation fault", "mooncake::TransferEngine::submit(int)"),
        (TVM, "Segmentation fault", "ucp_ep_rkey_unpack_reachable"),
        (ABSEIL, "Segmentation fault", "ucp_ep_rkey_unpack"),
        (SHELL, "Segmentation fault", ""),
    ],
)  # fmt: skip
def test_a_crash_is_one_failure_with_the_frame_that_was_hit(
    text: str, message: str, deepest: str
) -> None:
    failure = only(text)
    assert (failure.exception, failure.message) == ("SIGSEGV", message)
    assert (failure.frames[-1].function if failure.frames else "") == deepest


def test_the_parts_of_a_mangled_name_are_read() -> None:
    assert only(UCX).frames[-2].function == "nixlAgent::loadRemoteMD"
    assert plain_name("_ZN") == "_ZN"
    assert plain_name("_ZN999999x") == "_ZN999999x"
    assert plain_name("ucp_ep_create") == "ucp_ep_create"


@pytest.mark.parametrize(
    ("text", "owner"),
    [(UCX, "ucx"), (TORCH, "mooncake"), (PYTHON, "nixl_cu12"), (SHELL, "")],
)
def test_a_crash_is_the_cause_of_what_vllm_says_of_its_worker(text: str, owner: str) -> None:
    shown = reported(text + DIED)
    assert shown.finding is not None
    assert (shown.finding.exception, shown.finding.kind) == ("SIGSEGV", "crash")
    assert (shown.finding.owner, shown.finding.role) == (owner, "root_cause")
    assert shown.finding.hint
    assert [one.role for one in shown.findings] == ["root_cause", "consequence"]


def test_a_worker_of_a_real_vllm_that_a_signal_ended_is_the_cause() -> None:
    """vLLM 0.32.0 with UCX_HANDLE_ERRORS=bt; its worker got SIGSEGV, and two handlers wrote."""
    shown = reported(Path(__file__).with_name("crashes").joinpath(LOG).read_text("utf-8"))
    assert shown.finding is not None
    assert shown.finding.error == "SIGSEGV: Segmentation fault: kill(2) or raise(3)"
    assert (shown.finding.number, shown.finding.owner, shown.finding.count) == (113, "pyzmq", 1)
    assert {one.role for one in shown.findings[1:]} == {"consequence"}
    assert [one.number for one in shown.findings[1:]] == [183, 198, 206]


def test_eight_ranks_that_crash_alike_are_one_finding() -> None:
    ranks = "".join(
        UCX.replace("25306", str(25306 + n)).replace("0x8)", f"0x{n}8)") for n in range(8)
    )
    (finding,) = reported(ranks).findings
    assert finding.count == 8


def test_the_exception_that_aborted_the_process_is_told_and_not_its_signal() -> None:
    text = (
        "terminate called after throwing an instance of 'std::runtime_error'\n"
        "  what():  no device\n"
        "[host:12:0:12] Caught signal 6 (Aborted)\n"
    )
    (failure,) = read(text).failures
    assert failure.message == "no device"


def test_frames_that_their_handler_numbered_are_not_taken_for_an_editors_numbers() -> None:
    text = f"2026-12-01 15:54:19 NIXL INFO    _api.py:405 Backend UCX was instantiated\n{UCX}"
    paste = read(text)
    assert not [note for note in paste.notes if "numbers" in note]
    assert paste.failures[0].number == 2


@pytest.mark.parametrize("text", [UCX, OLD_UCX, PYTHON, TORCH, TVM, ABSEIL, SHELL])
def test_a_scan_finds_the_crash_in_a_long_log(text: str, tmp_path: Path) -> None:
    quiet = "(EngineCore pid=9) INFO 11-30 12:00:00 [core.py:4] ready\n" * 300
    log = tmp_path / "crashed.log"
    log.write_text(quiet + text + DIED + quiet)
    fast = scan_file(str(log), shipped())
    assert told(fast) == told(scan_file(str(log), shipped(), thorough=True))
    assert [(one.exception, one.count) for one in fast.rows if one.kind == "crash"] == [
        ("SIGSEGV", 1)
    ]
