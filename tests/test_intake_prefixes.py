"""Prefixes: whatever loggers, runtimes and clouds put in front of a line is cut and understood."""

from __future__ import annotations

import pytest

from kvdoctor.intake import read
from kvdoctor.intake.paste import Failure, Line

MESSAGE = "block table of layer 7 does not fit: 48 rows, 32 wanted"


def _line(text: str) -> Line:
    lines = read(text).lines
    assert len(lines) == 1
    return lines[0]


def _failure(text: str) -> Failure:
    failures = read(text).failures
    assert len(failures) == 1, failures
    return failures[0]


def test_1_a_message_needs_no_prefix_and_no_traceback() -> None:
    failure = _failure(f"ValueError: {MESSAGE}")
    assert (failure.exception, failure.message, failure.form) == ("ValueError", MESSAGE, "line")


@pytest.mark.parametrize(
    ("head", "level", "time", "file", "number"),
    [
        ("ERROR 02-07 11:28:26 engine.py:366] ", "ERROR", "02-07 11:28:26", "engine.py", 366),
        ("INFO 08-02 06:29:55.426 api.py:489] ", "INFO", "08-02 06:29:55.426", "api.py", 489),
        ("WARNING 01-02 03:04:05 [utils.py:1] ", "WARNING", "01-02 03:04:05", "utils.py", 1),
        ("DEBUG 01-02 03:04:05 [v1/a/core.py:9] ", "DEBUG", "01-02 03:04:05", "v1/a/core.py", 9),
        ("DEBUG 01-02 03:04:05 [d/.../v1/x.py:9] ", "DEBUG", "01-02 03:04:05", "d/.../v1/x.py", 9),
        (
            "ERROR 2026-05-14 05:25:28.876 [core.py:1123] ",
            "ERROR", "2026-05-14 05:25:28.876", "core.py", 1123,
        ),
        ("ERROR [core.py:1138] ", "ERROR", "", "core.py", 1138),
    ],
)  # fmt: skip
def test_2_14_15_a_record_head_is_read_in_all_its_forms(
    head: str, level: str, time: str, file: str, number: int
) -> None:
    for process in ("", "(EngineCore_DP0 pid=12) "):
        line = _line(process + head + "  text with indentation")
        assert (line.level, line.time) == (level, time)
        assert (line.log_file, line.log_line) == (file, number)
        assert line.text == "  text with indentation"
        assert line.process == ("EngineCore_DP0" if process else "")


@pytest.mark.parametrize(
    ("prefix", "process", "pid"),
    [
        ("(EngineCore_DP0 pid=1201) ", "EngineCore_DP0", 1201),
        ("(Worker_TP0_EP0 pid=1201) ", "Worker_TP0_EP0", 1201),
        ("(Worker_DP1_PP2_PCP0_TP3_DCP1_EP5 pid=7) ", "Worker_DP1_PP2_PCP0_TP3_DCP1_EP5", 7),
        ("(VllmWorker rank=1 pid=1201) ", "VllmWorker", 1201),
        ("(VllmWorker TP1 pid=1201) ", "VllmWorker TP1", 1201),
        ("(APIServer pid=32) (EngineCore_0 pid=296) (VllmWorker TP1 pid=7) ", "VllmWorker TP1", 7),
        ("(VllmWorkerProcess pid=33) ", "VllmWorkerProcess", 33),
        ("(APIServer pid=1) (EngineCore_DP6 pid=2) (Worker_DP6_EP6 pid=3) ", "Worker_DP6_EP6", 3),
        ("(Worker pid=9) (Worker_DP0_TP1_EP1 pid=9) ", "Worker_DP0_TP1_EP1", 9),
        ("(RayWorkerWrapper pid=1201, ip=10.0.0.1) ", "RayWorkerWrapper", 1201),
        ("(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=2, ip=10.0.0.1) ", "RayWorkerWrapper", 2),
        (
            "(MapWorker(MapBatches(vLLMEngineStageUDF)) pid=5, ip=10.0.0.1) ",
            "MapWorker(MapBatches(vLLMEngineStageUDF))", 5,
        ),
        ("(ServeReplica:app:LLMServer pid=6, ip=10.0.0.1) ", "ServeReplica:app:LLMServer", 6),
        ("(StageEngineCoreProc_stage0_replica0 pid=4) ", "StageEngineCoreProc_stage0_replica0", 4),
        ("(Worker pid=1201) [Stage-0] ", "Worker", 1201),
    ],
)  # fmt: skip
def test_3_to_10_and_13_the_last_process_prefix_names_the_process(
    prefix: str, process: str, pid: int
) -> None:
    line = _line(prefix + "ERROR 10-25 13:08:43 [core.py:708]   File")
    assert (line.process, line.pid, line.text) == (process, pid, "  File")
    assert line.log_line == 708


def test_4_a_raw_traceback_with_the_process_prefix_alone_is_read() -> None:
    failure = _failure(
        "(EngineCore_DP0 pid=5) Process EngineCore_DP0:\n"
        "(EngineCore_DP0 pid=5) Traceback (most recent call last):\n"
        '(EngineCore_DP0 pid=5)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/a.py", '
        "line 3, in start\n"
        "(EngineCore_DP0 pid=5)     raise ValueError(\n"
        f"(EngineCore_DP0 pid=5) ValueError: {MESSAGE}\n"
    )
    assert (failure.process, failure.message) == ("EngineCore_DP0", MESSAGE)
    assert failure.frames[0].module == "vllm/v1/a.py"
    assert failure.frames[0].code.strip() == "raise ValueError("


def test_11_rays_repetition_suffix_is_cut() -> None:
    text = (
        "(RayWorker pid=3, ip=10.0.0.9) ERROR 01-02 03:04:05 [w.py:5] Traceback (most recent call "
        "last): [repeated 6x across cluster]\n"
        '(RayWorker pid=3, ip=10.0.0.9) ERROR 01-02 03:04:05 [w.py:5]   File "/a/b.py", line 2, in '
        "go [repeated 6x across cluster]\n"
        f"(RayWorker pid=3, ip=10.0.0.9) ERROR 01-02 03:04:05 [w.py:5] ValueError: {MESSAGE} "
        "[repeated 6x across cluster] (Ray deduplicates logs by default. Set X=0 to disable)\n"
    )
    failure = _failure(text)
    assert failure.message == MESSAGE
    assert failure.frames[0].function == "go"


def test_12_the_rank_of_torch_is_cut() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '[rank0]:   File "/app/run.py", line 2, in <module>\n'
        "[rank0]:     main()\n"
        "[rank0]: RuntimeError: NCCL error: unhandled system error\n"
    )
    failure = read(text).failures[0]
    assert (failure.message, failure.process) == ("NCCL error: unhandled system error", "rank0")


TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3/dist-packages/vllm/v1/core/pool.py", line 41, in take\n'
    "    raise ValueError(\n"
    f"ValueError: {MESSAGE}"
)
RECORD = "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:1349] "

SHIPPERS = {
    "16 compose": "vllm-1  | ",
    "16 compose by name": "vllm  | ",
    "17 buildkite": "  | [2026-02-24T20:21:58Z] ",
    "18 actions": "2025-10-09T04:13:06.6371779Z ",
    "19 kubectl timestamps": "2026-06-12T11:02:50.020540539Z ",
    "20 cri": "2026-09-13T12:00:00.223456789Z stderr F ",
    "21 kubectl prefix": "[pod/prefill-7cfd7bf68f-nk5kr/vllm] ",
    "22 stern": "ms-pd-decode-6458459f69-qxv6j vllm ",
    "23 journald": "Aug 19 18:34:27 gpu01 vllm[8727]: ",
    "23 journald iso": "2026-08-19T18:34:27+0200 gpu01 vllm[8727]: ",
    "25 google cloud": "INFO 2025-11-19T20:16:36.096638074Z [resource.labels.containerName: vllm] ",
    "27 torchserve": "2024-12-10T13:37:00,743 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - ",
    "27 pipes": "2024-04-27 10:13:05 | ERROR | stderr | ",
    "27 arrows": "2025-07-17 15:46:16.607675  >> ",
    "27 kserve": "2024-07-01 07:28:04.488 1 kserve ERROR [__main__.py:<module>():254] ",
    "27 a shipper nobody knows": "<<tail>> node-07/gpu3 (id 0a1b) :: ",
    "mpirun": "[1,0]<stderr>:",
}


@pytest.mark.parametrize("prefix", SHIPPERS.values(), ids=SHIPPERS.keys())
def test_16_to_27_a_traceback_behind_a_shippers_prefix_is_read(prefix: str) -> None:
    for head in ("", RECORD):
        text = "\n".join(prefix + head + line for line in TRACE.split("\n"))
        failure = _failure(text)
        assert (failure.exception, failure.message) == ("ValueError", MESSAGE)
        assert failure.frames[0].module == "vllm/v1/core/pool.py"
        assert failure.frames[0].code == "    raise ValueError("
        assert failure.process == ("EngineCore" if head else "")
        assert (failure.first, failure.number) == (1, 4)


@pytest.mark.parametrize(
    ("prefix", "pod"),
    [
        ("[pod/prefill-7cfd7bf68f-nk5kr/vllm] ", "prefill-7cfd7bf68f-nk5kr"),
        ("ms-pd-decode-6458459f69-qxv6j vllm ", "ms-pd-decode-6458459f69-qxv6j"),
        ("vllm-decode-1  | ", "vllm-decode-1"),
        ("Aug 19 18:34:27 gpu01 vllm[8727]: ", "gpu01"),
    ],
)
def test_21_22_the_pod_is_kept_to_tell_prefill_from_decode(prefix: str, pod: str) -> None:
    assert _line(prefix + RECORD + "text").pod == pod


def test_17_a_group_separator_of_buildkite_is_no_text() -> None:
    assert read("--\n" + RECORD + "x").lines[0].text == ""


def test_20_partial_lines_of_a_container_runtime_are_joined_without_a_blank() -> None:
    text = (
        "2026-09-13T12:00:00.2Z stderr P ValueError: block table of la\n"
        "2026-09-13T12:00:00.2Z stderr P yer 7 does not fit: 48 rows, \n"
        "2026-09-13T12:00:00.2Z stderr F 32 wanted\n"
    )
    assert _failure(text).message == MESSAGE


def test_20_a_partial_line_without_an_end_is_kept() -> None:
    assert _failure("2026-09-13T12:00:00.2Z stderr P ValueError: block").message == "block"


def test_24_a_csv_export_is_unquoted() -> None:
    rows = TRACE.replace('"', '""').split("\n")
    head = "#033[1;36m(EngineCore_0 pid=75)#033[0;0m ERROR 08-25 10:46:52 [core.py:700] "
    for header in ("", "timestamp,message\n"):
        text = header + "\n".join(f'1756144012376,"{head}{row}#015"' for row in rows)
        failure = _failure(text)
        assert (failure.message, failure.process) == (MESSAGE, "EngineCore_0")
        assert failure.frames[0].path.endswith("pool.py")


def test_25_the_severity_of_the_cloud_is_not_the_level_of_the_record() -> None:
    line = _line(
        "INFO 2025-11-19T20:16:36.096638074Z [resource.labels.containerName: vllm] "
        "(EngineCore_DP0 pid=270) ERROR 11-19 12:16:36 [v1/engine/core.py:842] torn"
    )
    assert (line.level, line.pod, line.text) == ("ERROR", "vllm", "torn")


def test_26_the_newest_line_first_is_turned_round() -> None:
    text = "\n".join(f"abc123[info]{line}\\n" for line in reversed(TRACE.split("\n")))
    paste = read(text)
    assert [f.message for f in paste.failures] == [MESSAGE]
    assert paste.failures[0].frames[0].line == 41
    assert paste.failures[0].first == 4
    assert any("newest" in note for note in paste.notes)


def test_26_78_falling_times_alone_turn_a_text_round() -> None:
    rows = [f"2026-01-01T00:00:{second:02d}.123Z text {second}" for second in range(30)]
    paste = read("\n".join(reversed(rows)))
    assert paste.lines[0].text == "text 0"
    assert paste.lines[0].number == 30
    assert read("\n".join(rows)).lines[0].number == 1


def test_28_dynamo_names_level_and_module() -> None:
    line = _line("2025-11-05T01:56:54.290150Z  INFO kv_events.__init__: Starting publisher   ")
    assert (line.level, line.text.rstrip()) == ("INFO", "Starting publisher")
    rust = _line("2025-11-05T01:56:54.290150Z ERROR dynamo_llm::http::service: no instance")
    assert (rust.level, rust.text) == ("ERROR", "no instance")


def test_29_lmcache_puts_its_place_at_the_end() -> None:
    line = _line(
        "(EngineCore_0 pid=612) [2025-09-09 20:06:12,053] LMCache INFO: hit tokens: 0 "
        "(vllm_v1_adapter.py:802:lmcache.integration.vllm.vllm_v1_adapter)"
    )
    assert (line.process, line.level, line.text) == ("EngineCore_0", "INFO", "hit tokens: 0")
    assert (line.log_file, line.log_line) == ("vllm_v1_adapter.py", 802)


def test_uvicorns_level_is_read() -> None:
    line = _line('INFO:     127.0.0.1:45516 - "POST /v1/completions HTTP/1.1" 200 OK')
    assert line.level == "INFO"
    assert line.text.startswith("127.0.0.1:45516")


def test_a_python_loggers_usual_forms_are_read() -> None:
    for text in (
        "2024-01-01 12:00:00,123 - my.module - ERROR - no space",
        "2024-01-01 12:00:00,123 ERROR my.module: no space",
        "2024-01-01 12:00:00.123 | ERROR    | my.module:run:12 - no space",
        "ERROR:my.module:no space",
    ):
        line = _line(text)
        assert (line.level, line.text) == ("ERROR", "no space"), text


def test_a_pid_in_a_message_is_no_prefix() -> None:
    line = _line("WARNING 01-02 03:04:05 [utils.py:653] [shutdown] killing EngineCore pid 18812")
    assert line.text == "[shutdown] killing EngineCore pid 18812"
    sentence = "ERROR 01-02 03:04:05 [a.py:1] the process (EngineCore pid=3) did not answer"
    assert _line(sentence).text == "the process (EngineCore pid=3) did not answer"


@pytest.mark.parametrize(
    "prefix",
    [
        '2026-01-01 10:00:00.123\t{app="vllm", pod="decode-0"}\t',
        "Nov 30, 2026 10:00:00.123 gpu-01 vllm ",
        "[2026-01-01 10:00:00,123] {{scheduler.py:42}} INFO - ",
        "node-3: ",
    ],
)
def test_27_78_a_copy_from_a_log_viewer_is_read(prefix: str) -> None:
    for head in ("", RECORD):
        failure = _failure("\n".join(prefix + head + line for line in TRACE.split("\n")))
        assert (failure.message, failure.frames[0].line) == (MESSAGE, 41)
