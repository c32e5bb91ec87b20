"""Failures in all the dialects in which they are printed."""

from __future__ import annotations

import pytest

from kvdoctor.intake import read
from kvdoctor.intake.paste import Failure, LogRecord
from kvdoctor.record import Wrapper

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


def test_52_markers_are_no_source_lines() -> None:
    text = TRACE.replace("raise ValueError(\n", "raise ValueError(\n          ~~~~~^^^^^^^^^\n")
    assert _only(text).frames[0].code == "    raise ValueError("


def test_53_a_statement_of_many_lines_is_code_not_message() -> None:
    text = TRACE.replace(
        "raise ValueError(\n",
        'raise ValueError(\n    ...<6 lines>...\n        f"table {x} does not fit")\n',
    )
    failure = _only(text)
    assert failure.message == MESSAGE
    assert failure.frames[0].code.count("\n") == 1


def test_54_the_colours_of_python_3_13_are_cut() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File \x1b[35m"/x/col.py"\x1b[0m, line \x1b[35m7\x1b[0m, in \x1b[35m<module>\x1b[0m\n'
        "    \x1b[31mmain\x1b[0m\x1b[1;31m()\x1b[0m\n"
        f"\x1b[1;35mValueError\x1b[0m: \x1b[35m{MESSAGE}\x1b[0m\n"
    )
    failure = _only(text)
    assert (failure.message, failure.frames[0].line) == (MESSAGE, 7)
    assert failure.frames[0].function == "<module>"


@pytest.mark.parametrize("head", ["", "(EngineCore pid=3) ERROR 01-02 03:04:05 [core.py:9] "])
@pytest.mark.parametrize(
    ("line", "link"),
    [
        ("The above exception was the direct cause of the following exception:", "direct"),
        ("During handling of the above exception, another exception occurred:", "context"),
    ],
)
def test_55_chains_point_at_their_cause(head: str, line: str, link: str) -> None:
    second = TRACE.replace("ValueError: " + MESSAGE, "RuntimeError: gave up")
    text = "\n".join(head + row for row in f"{TRACE}\n{line}\n\n{second}".splitlines())
    first, last = read(text).failures
    assert (first.message, first.cause, first.link) == (MESSAGE, None, "")
    assert (last.message, last.cause, last.link) == ("gave up", 0, link)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("pandas/_libs/index.pyx", "pandas/_libs/index.pyx"),
        ("<frozen runpy>", "<frozen runpy>"),
        ("<string>", "<string>"),
        ("C:\\\\env\\\\Lib\\\\site-packages\\\\vllm\\\\v1\\\\a.py", "vllm/v1/a.py"),
        ("/workspace/vllm/vllm/v1/a.py", "vllm/v1/a.py"),
        ("/home/vllm/lib/python3.12/site-packages/zmq/sugar/socket.py", "zmq/sugar/socket.py"),
        ("/src/LMCache/lmcache/integration/vllm/a.py", "lmcache/integration/vllm/a.py"),
        ("/usr/lib/python3.12/socket.py", "/usr/lib/python3.12/socket.py"),
    ],
)
def test_56_frames_of_every_kind_of_path_are_read(path: str, module: str) -> None:
    path = path.replace("\\\\", "\\")
    text = f'Traceback (most recent call last):\n  File "{path}", line 3, in f\nKeyError: 1\n'
    frame = _only(text).frames[0]
    assert (frame.path, frame.module, frame.code) == (path, module, "")


def test_57_a_bare_class_name_ends_a_traceback() -> None:
    text = TRACE.replace("raise ValueError(", "assert rows").replace(
        f"ValueError: {MESSAGE}", "AssertionError"
    )
    failure = _only(text)
    assert (failure.exception, failure.message) == ("AssertionError", "")
    assert failure.frames[-1].code == "    assert rows"
    assert _only("psycopg2.OperationalError").exception == "psycopg2.OperationalError"


@pytest.mark.parametrize(
    ("text", "exception", "message"),
    [
        ("ValueError(\"type 'x' is not known\")", "ValueError", "type 'x' is not known"),
        ("NoFreeBlocksError()", "NoFreeBlocksError", ""),
        ("RuntimeError('a', 'b')", "RuntimeError", "'a', 'b'"),
        ("KeyError('it\\'s\\ngone')", "KeyError", "it's\ngone"),
    ],
)
def test_58_a_repr_is_read(text: str, exception: str, message: str) -> None:
    failure = _only("ERROR 01-02 03:04:05 [multiproc_executor.py:671] " + text)
    assert (failure.exception, failure.message, failure.form) == (exception, message, "repr")


def test_58_a_repr_inside_a_message_is_read_but_no_source_line() -> None:
    inside = "future: <Task finished name='Task-1' exception=DeadError('engine is gone')>"
    assert _only(inside).message == "engine is gone"
    assert read("        raise ValueError('never')").failures == ()


def test_58_a_tuple_message_is_kept() -> None:
    assert _only("RuntimeError: ('a', 'b')").message == "('a', 'b')"


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/usr/lib/python3/dist-packages/anyio/tasks.py", line 3, in run
  |     raise BaseExceptionGroup(
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/usr/lib/python3/dist-packages/vllm/v1/core/pool.py", line 41, in take
    |     raise ValueError(
    | ValueError: inner one
    | with a second line
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/usr/lib/python3/dist-packages/vllm/v1/core/pool.py", line 42, in give
    |     raise KeyError(
    | KeyError: 'two'
    +------------------------------------
"""


@pytest.mark.parametrize("head", ["", "(APIServer pid=3) ERROR 01-02 03:04:05 [core.py:9] "])
def test_59_the_leaves_of_an_exception_group_are_failures(head: str) -> None:
    text = "\n".join(head + row for row in GROUP.splitlines())
    group, first, second = read(text).failures
    assert (group.exception, group.cause, group.link) == ("ExceptionGroup", 1, "group")
    assert (first.message, first.frames[0].line) == ("inner one\nwith a second line", 41)
    assert (second.exception, second.frames[0].line, second.cause) == ("KeyError", 42, None)


def test_59_a_group_behind_a_container_prefix_is_read() -> None:
    text = "\n".join("vllm-1  | " + row for row in GROUP.splitlines())
    assert [one.exception for one in read(text).failures] == [
        "ExceptionGroup", "ValueError", "KeyError",
    ]  # fmt: skip


PYDANTIC = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    f"  Value error, {MESSAGE} [type=value_error, input_value=ArgsKwargs((), {{'a': ...b': None}})"
    ", input_type=ArgsKwargs]\n"
    "    For further information visit https://errors.pydantic.dev/2.11/v/value_error\n"
)


def test_60_the_inner_message_of_a_validation_error_is_read() -> None:
    failure = _only(TRACE.split("ValueError: ")[0].replace("ValueError(", "X(") + PYDANTIC)
    assert (failure.exception, failure.raised, failure.message) == (
        "ValidationError", "ValueError", MESSAGE,
    )  # fmt: skip
    assert failure.header == "1 validation error for ModelConfig"
    assert (failure.form, failure.number, len(failure.frames)) == ("pydantic", 5, 1)


def test_60_a_failed_assertion_and_an_inner_message_of_two_lines_are_read() -> None:
    text = PYDANTIC.replace("Value error", "Assertion failed").replace(": 48", ":\n48")
    failure = _only(text)
    assert failure.raised == "AssertionError"
    assert failure.message.split() == MESSAGE.split()


def test_60_the_header_may_be_missing() -> None:
    failure = _only(PYDANTIC.partition("\n")[2])
    assert (failure.message, failure.header) == (MESSAGE, "")


def test_60_every_error_of_a_validation_is_a_failure() -> None:
    text = (
        "ValidationError: 3 validation errors for KVTransferConfig\n"
        "kv_role\n"
        "  Input should be 'a' or 'b' [type=literal_error, input_value='c', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/2.11/v/literal_error\n"
        "extra.depth\n"
        "  Input should be a valid integer [type=int_type, input_value=None, input_type=NoneType]\n"
        "    For further information visit https://errors.pydantic.dev/2.11/v/int_type\n"
        "  Value error, all is lost [type=value_error, input_value=1, input_type=int]\n"
        "INFO:     Shutting down\n"
    )
    for damaged in (text, text.replace("\n", "\n\n"), "\n".join(map(str.strip, text.split("\n")))):
        failures = read(damaged).failures
        assert [(one.message, one.raised, one.notes) for one in failures] == [
            ("Input should be 'a' or 'b'", "", ("kv_role",)),
            ("Input should be a valid integer", "", ("extra.depth",)),
            ("all is lost", "ValueError", ()),
        ]
    cut = "\n".join(text.split("\n")[:3]) + "\nsomething else follows here\n"
    assert [one.message for one in read(cut).failures] == ["Input should be 'a' or 'b'"]


def test_61_argparse_refuses_without_a_traceback() -> None:
    text = (
        "usage: vllm serve [model_tag] [options]\n"
        "vllm serve: error: argument --kv-transfer-config: Value {a} cannot be converted to <f>.\n"
    )
    failure = _only(text)
    assert (failure.form, failure.exception) == ("argparse", "")
    assert failure.message.startswith("argument --kv-transfer-config: Value {a}")
    assert _only("api_server.py: error: unrecognized arguments: --kv-rule").form == "argparse"


def test_61_argparse_can_carry_a_validation_error() -> None:
    text = (
        "vllm serve: error: argument --kv-transfer-config: "
        "1 validation error for KVTransferConfig\n"
        f"  Value error, {MESSAGE} [type=value_error, input_value={{'a': 'b'}}, input_type=dict]\n"
    )
    failure = _only(text)
    assert (failure.form, failure.exception, failure.message) == (
        "pydantic", "ValidationError", MESSAGE,
    )  # fmt: skip
    assert failure.header == "1 validation error for KVTransferConfig"


@pytest.mark.parametrize("head", ["", "(Worker pid=3) ERROR 01-02 03:04:05 [core.py:9] "])
def test_62_what_dynamo_raised_stands_on_the_next_line(head: str) -> None:
    text = TRACE.replace(
        f"ValueError: {MESSAGE}",
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "CalledProcessError: Command 'ptxas' returned non-zero exit status 1.\n\n"
        'Set TORCH_LOGS="+dynamo" for more',
    )
    failures = read("\n".join(head + row for row in text.splitlines())).failures
    outer, inner = failures
    assert outer.message == "backend='inductor' raised:"
    assert (outer.cause, outer.link) == (1, "direct")
    assert inner.exception == "CalledProcessError"
    assert inner.message.startswith("Command 'ptxas' returned non-zero exit status 1.")
    assert inner.frames == outer.frames


def test_62_a_ray_task_error_stands_before_the_frames() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/run.py", line 2, in <module>\n'
        "    ray.get(job)\n"
        "ray.exceptions.RayTaskError(ValueError): ray::Engine.run() (pid=7, ip=10.0.0.1)\n"
        '  File "/usr/lib/python3/dist-packages/vllm/v1/core/pool.py", line 41, in take\n'
        "    raise ValueError(\n"
        f"ValueError: {MESSAGE}\n"
    )
    outer, inner = read(text).failures
    assert outer.exception == "ray.exceptions.RayTaskError"
    assert (inner.exception, inner.message) == ("ValueError", MESSAGE)
    assert inner.frames[0].line == 41


def test_63_the_table_of_torch_elastic_is_no_exception_of_its_own() -> None:
    text = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "============================================================\n"
        "train.py FAILED\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  error_file: <N/A>\n"
    )
    failure = _only(text)
    assert failure.exception.endswith("ChildFailedError")


def test_64_ipython_frames_have_no_quotes() -> None:
    text = (
        "---------------------------------------------------------------------------\n"
        "ValueError                                Traceback (most recent call last)\n"
        "Cell In[3], line 7\n"
        "      5 model = 'x'\n"
        "----> 7 llm = LLM(model)\n"
        "\n"
        "File /usr/lib/python3/dist-packages/vllm/entrypoints/llm.py:36, in LLM.__init__(self, m)\n"
        "     34 class LLM:\n"
        "---> 36     self.engine = make(m)\n"
        "     37\n"
        "\n"
        f"ValueError: {MESSAGE}\n"
    )
    failure = _only(text)
    assert (failure.exception, failure.message) == ("ValueError", MESSAGE)
    last = failure.frames[-1]
    assert (last.module, last.line, last.function) == (
        "vllm/entrypoints/llm.py", 36, "LLM.__init__",
    )  # fmt: skip
    assert "make(m)" in last.code
    assert failure.frames[0].line == 7


def test_64_a_rich_traceback_is_read() -> None:
    text = (
        "╭──────────────── Traceback (most recent call last) ────────────────╮\n"
        "│ /usr/lib/python3/dist-packages/vllm/v1/core/pool.py:41 in take     │\n"
        "│                                                                    │\n"
        "│    40 │   if rows:                                                 │\n"
        "│ ❱  41 │   │   raise ValueError(                                    │\n"
        "│    42                                                              │\n"
        "╰────────────────────────────────────────────────────────────────────╯\n"
        f"ValueError: {MESSAGE}\n"
    )
    failure = _only(text)
    assert (failure.exception, failure.message) == ("ValueError", MESSAGE)
    assert failure.frames[0].module == "vllm/v1/core/pool.py"
    assert failure.frames[0].code == "raise ValueError("


def test_65_a_django_page_breaks_nothing() -> None:
    text = (
        "Traceback:\n"
        'File "/usr/lib/django/db/base.py" in ensure_connection\n'
        "  216.                 self.connect()\n"
    )
    assert read(text).failures == ()


def test_66_stacks_without_an_exception_are_no_failures() -> None:
    text = (
        "Thread 0x00007f1 (most recent call first):\n"
        '  File "/usr/lib/python3/dist-packages/vllm/a.py", line 3 in run\n'
        "Stack (most recent call last):\n"
        '  File "/usr/lib/python3/dist-packages/vllm/a.py", line 3, in run\n'
        "    go()\n"
        "DPEngineCoreProc.run_busy_loop\n  -> execute_dummy_batch\n"
    )
    assert read(text).failures == ()


def test_a_traceback_printed_twice_is_two_failures_of_one_message() -> None:
    head = "(Worker pid=3) ERROR 01-02 03:04:05 [m.py:9] "
    rows = ["it broke.", *TRACE.splitlines(), *TRACE.splitlines(), ""]
    paste = read("\n".join(head + row for row in rows))
    assert [one.message for one in paste.failures] == [MESSAGE, MESSAGE]
    assert [(one.message, one.failure) for one in paste.records] == [("it broke.", 0)]


def test_a_second_record_of_the_same_call_is_not_swallowed_by_a_message() -> None:
    head = "(Worker pid=3) ERROR 01-02 03:04:05 [m.py:9] "
    rows = []
    for request in ("r1", "r2"):
        rows += [f"Transfer failed for {request}", *TRACE.splitlines()]
    paste = read("\n".join(head + row for row in rows))
    assert [one.message for one in paste.failures] == [MESSAGE, MESSAGE]
    assert [(one.message, one.failure) for one in paste.records] == [
        ("Transfer failed for r1", 0),
        ("Transfer failed for r2", 1),
    ]


def test_the_name_of_a_died_process_is_read() -> None:
    assert _only("Process EngineCore_DP2:\n" + TRACE).process == "EngineCore_DP2"


def test_an_unprefixed_traceback_below_a_record_belongs_to_it() -> None:
    text = "2024-01-01 12:00:00,123 - a.b - ERROR - it broke\n" + TRACE
    paste = read(text)
    assert [(one.message, one.failure) for one in paste.records] == [("it broke", 0)]


def test_a_message_that_quotes_its_root_is_unwrapped() -> None:
    wrapper = Wrapper("w", "Worker broke with error '{root}', look above", quotes="root")
    text = TRACE.replace(MESSAGE, f"Worker broke with error '{MESSAGE}', look above")
    outer, inner = read(text, wrappers=[wrapper]).failures
    assert (outer.cause, outer.link) == (1, "direct")
    assert (inner.form, inner.exception, inner.message) == ("quoted", "", MESSAGE)
    empty = TRACE.replace(MESSAGE, "Worker broke with error '', look above")
    assert read(empty, wrappers=[wrapper]).failures[1].message == ""
