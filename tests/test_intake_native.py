"""Records of native libraries, and records inside JSON."""

from __future__ import annotations

import json

import pytest

from kvdoctor.intake import read
from kvdoctor.intake.paste import Failure, LogRecord

MESSAGE = "block table of layer 7 does not fit: 48 rows, 32 wanted"
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3/dist-packages/vllm/v1/core/pool.py", line 41, in take\n'
    "    raise ValueError(\n"
    f"ValueError: {MESSAGE}\n"
)


def _only(text: str) -> Failure:
    failures = read(text).failures
    assert len(failures) == 1, failures
    return failures[0]


def _record(text: str) -> LogRecord:
    records = read(text).records
    assert len(records) == 1, records
    return records[0]


# ------------------------------------------------------------------ native libraries


@pytest.mark.parametrize(
    ("head", "level", "file", "line"),
    [
        ("I0331 02:49:30.617945 803444 transfer_py.cpp:454]", "INFO", "transfer_py.cpp", 454),
        ("E0417 19:46:42.567027   481 master_client.cpp:192]", "ERROR", "master_client.cpp", 192),
        ("W1130 20:07:37.783033 29727 topology.cpp:201]", "WARNING", "topology.cpp", 201),
        (
            "2025-04-17 19:46:42.566927 ERROR    [975] [coro_rpc_client.hpp:978]",
            "ERROR", "coro_rpc_client.hpp", 978,
        ),
        ("E0410 07:52:47.507000 255947 torch/_in/s.py:2134]", "ERROR", "torch/_in/s.py", 2134),
        ("[W1224 08:50:36.247935068 GroupNCCL.cpp:1524]", "WARNING", "GroupNCCL.cpp", 1524),
        (
            "[1745700389.902821] [host-1:6274 :0]     ib_mlx5_log.c:179  UCX  ERROR",
            "ERROR", "ib_mlx5_log.c", 179,
        ),
        ("host:581:581 [0] NCCL INFO", "INFO", "", 0),
    ],
)  # fmt: skip
def test_67_to_71_native_records_keep_their_head(
    head: str, level: str, file: str, line: int
) -> None:
    for prefix in ("", "(RayWorkerWrapper pid=5, ip=10.0.0.1) ", "[rank0]:"):
        record = _record(f"{prefix}{head} something happened")
        assert (record.native, record.level) == (head, level)
        assert (record.log_file, record.log_line) == (file, line)
        assert record.message == "something happened"


def test_72_prints_of_libraries_stay_as_lines() -> None:
    text = "Loaded plugin UCX\nfree(): invalid pointer\nAborted (core dumped)\n"
    paste = read(text)
    assert [line.text for line in paste.lines] == text.splitlines()
    (failure,) = paste.failures
    assert (failure.exception, failure.message) == ("SIGABRT", "free(): invalid pointer")
    assert read("Loaded plugin UCX\nfree(): invalid pointer\n").failures == ()


def test_72_an_uncaught_cpp_exception_is_a_failure() -> None:
    text = "terminate called after throwing an instance of 'c10::Error'\n  what():  no device\n"
    failure = _only(text)
    assert (failure.exception, failure.message) == ("c10::Error", "no device")


# ------------------------------------------------------------------ JSON


def _entry(**more: object) -> dict[str, object]:
    return {
        "asctime": "2026-01-15 10:00:00,940", "levelname": "ERROR", "name": "vllm.v1.engine.core",
        "processName": "EngineCore", "process": 1201, "message": "It did not start.",
        **more,
    }  # fmt: skip


def test_73_the_json_formatter_is_unwrapped() -> None:
    text = json.dumps(_entry(exc_info=TRACE.rstrip("\n"))) + "\nraw print\n"
    paste = read(text)
    failure = paste.failures[0]
    assert (failure.message, failure.process, failure.pid) == (MESSAGE, "EngineCore", 1201)
    assert [(r.message, r.failure, r.level) for r in paste.records] == [
        ("It did not start.", 0, "ERROR")
    ]
    assert paste.lines[-1].text == "raw print"
    assert paste.lines[-1].number == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_74_exc_info_may_be_a_list_over_many_lines(indent: int | None) -> None:
    text = json.dumps(_entry(exc_info=TRACE.splitlines()), indent=indent)
    failure = read("before\n" + text + "\nafter").failures[0]
    assert (failure.message, failure.frames[0].line) == (MESSAGE, 41)


@pytest.mark.parametrize(
    "key", ["message", "msg", "log", "text", "event", "exception", "stack_trace"]
)
def test_75_unknown_loggers_keys_are_tried(key: str) -> None:
    assert read(json.dumps({key: TRACE})).failures[0].message == MESSAGE


def test_76_docker_json_is_unwrapped_and_its_parts_joined() -> None:
    rows = ["(EngineCore pid=5) ERROR 01-02 03:04:05 [core.py:9] " + r for r in TRACE.splitlines()]
    pieces = [row + "\n" for row in rows]
    pieces[-1:] = [pieces[-1][:70], pieces[-1][70:]]
    text = "\n".join(
        json.dumps({"log": piece, "stream": "stderr", "time": "2026-06-12T11:02:50Z"})
        for piece in pieces
    )
    failure = read(text).failures[0]
    assert (failure.message, failure.process) == (MESSAGE, "EngineCore")


def test_76_json_in_json_is_unwrapped() -> None:
    inner = json.dumps(_entry(exc_info=TRACE))
    outer = json.dumps({"kubernetes": {"pod_name": "decode-0"}, "log": inner + "\n"})
    for text in (outer, "2026-06-12T11:02:50.020540539Z stderr F " + outer):
        failure = read(text).failures[0]
        assert (failure.message, failure.process, failure.pod) == (
            MESSAGE,
            "EngineCore",
            "decode-0",
        )


def test_77_a_python_repr_of_an_api_error_is_kept_as_it_is() -> None:
    text = "{'error': {'message': 'En...am': None, 'code': 500}}"
    assert read(text).lines[0].text == text


def test_78_cloud_exports_are_unwrapped() -> None:
    rows = [{"timestamp": f"2026-01-01T00:00:0{n}Z", "textPayload": row, "severity": "ERROR",
             "resource": {"labels": {"pod_name": "decode-1"}}}
            for n, row in enumerate(TRACE.splitlines())]  # fmt: skip
    for text in (json.dumps(rows, indent=1), "\n".join(json.dumps(row) for row in rows)):
        failure = read(text).failures[0]
        assert (failure.message, failure.pod) == (MESSAGE, "decode-1")


def test_a_configuration_is_no_log_record() -> None:
    text = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
    assert read(text).lines[0].text == text
