"""What the way of pasting does to a text is undone: quotes, boxes, wraps, glue, escapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdoctor.intake import read
from kvdoctor.intake.paste import Failure

CASES = Path(__file__).with_name("cases")

MESSAGE = "block table of layer 7 does not fit: 48 rows, 32 wanted"
HEAD = "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:1349] "
FRAME = (
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/sched/scheduler.py", line 412, '
    "in schedule_waiting_requests"
)
RAW = (
    "Traceback (most recent call last):",
    '  File "/opt/venv/bin/vllm", line 6, in <module>',
    "    sys.exit(main())",
    "             ^^^^^^",
    FRAME,
    "    raise ValueError(",
    f"ValueError: {MESSAGE}",
)
PREFIXED = (HEAD + "EngineCore stopped.", *(HEAD + line for line in RAW))


def _check(text: str, process: str = "EngineCore") -> Failure:
    failures = [one for one in read(text).failures if one.form == "traceback"]
    assert len(failures) == 1, read(text).failures
    failure = failures[0]
    assert (failure.exception, failure.message) == ("ValueError", MESSAGE)
    assert [frame.line for frame in failure.frames] == [6, 412]
    assert failure.frames[-1].module == "vllm/v1/core/sched/scheduler.py"
    assert failure.frames[-1].function == "schedule_waiting_requests"
    assert failure.process == process
    return failure


def _both(change: object) -> None:
    """``change`` (lines -> text) applied to the prefixed and to the raw traceback."""
    assert callable(change)
    _check(change(PREFIXED))
    _check(change(RAW), "")


def _wrap(width: int, pad: bool) -> object:
    def change(lines: tuple[str, ...]) -> str:
        rows = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
        return "\n".join(row.ljust(width) if pad else row.rstrip() for row in rows)

    return change


def test_30_quotes_are_cut() -> None:
    _both(lambda lines: "\n".join("> " + line for line in lines))
    _both(lambda lines: "\n".join("> > " + line for line in lines))
    assert read(f"> {HEAD}text").lines[0].process == "EngineCore"


def test_30_the_error_mark_of_pytest_is_no_quote() -> None:
    text = (
        f">       raise ValueError(message)\nE       ValueError: {MESSAGE}\n\ncore.py:7: ValueError"
    )
    failures = read(text).failures
    assert [(one.exception, one.message) for one in failures] == [("ValueError", MESSAGE)]


def test_31_an_indented_block_is_read() -> None:
    _both(lambda lines: "\n".join("    " + line for line in lines))


def test_32_back_ticks_around_lines_are_cut() -> None:
    _both(lambda lines: "\n".join(f"`{line}`" for line in lines))
    _both(lambda lines: "```\n" + "\n".join(lines) + "\n```")


def test_33_markdown_leaves_bold_for_underscores_and_empty_functions() -> None:
    line = read("ERROR 08-19 18:34:27 [utils/**init**.py:1384] text").lines[0]
    assert line.log_file == "utils/__init__.py"
    text = (
        f'Traceback (most recent call last):\n  File "/a/b.py", line 10, in \nValueError: {MESSAGE}'
    )
    assert read(text).failures[0].frames[0].function == ""


def test_34_records_without_line_ends_are_parted() -> None:
    _check("".join(PREFIXED))
    _check(" ".join(PREFIXED))


def test_34_a_raw_traceback_without_line_ends_is_parted() -> None:
    _check(" ".join(RAW), "")
    _check("".join(RAW), "")


def test_35_doubled_line_ends_are_ignored() -> None:
    _both(lambda lines: "\n\n".join(lines))


@pytest.mark.parametrize("end", ["\r\n", "\r", "^M\n", "#015\n", "\\r\n", "\r\r\n"])
def test_36_every_spelling_of_a_carriage_return_is_a_line_end(end: str) -> None:
    _both(lambda lines: end.join(lines) + end)


def test_36_carriage_returns_inside_a_record_join_its_lines() -> None:
    text = (
        f"{HEAD}first request broke\r\n{HEAD}second line of the same record\n"
        f"{HEAD}first request broke\r\n{HEAD}another second line\n"
    )
    assert [record.message for record in read(text).records] == [
        "first request broke\nsecond line of the same record",
        "first request broke\nanother second line",
    ]


@pytest.mark.parametrize("width", [72, 80, 100, 132])
@pytest.mark.parametrize("pad", [False, True])
def test_37_38_lines_that_a_terminal_broke_are_joined(width: int, pad: bool) -> None:
    _both(_wrap(width, pad))


def test_37_one_broken_function_name_is_joined_without_a_blank() -> None:
    lines = list(PREFIXED)
    broken = lines[5]
    lines[5:6] = [broken[:-9], broken[-9:]]
    _check("\n".join(lines))


def test_39_a_message_broken_by_hand_keeps_its_words() -> None:
    text = (
        "\n".join(RAW[:-1])
        + "\nValueError: block table of layer 7 does not fit:\n48 rows, 32 wanted"
    )
    assert read(text).failures[0].message.split() == MESSAGE.split()


def test_40_box_borders_are_cut() -> None:
    _both(lambda lines: "\n".join("│" + line.ljust(170) + "│" for line in lines))


def test_41_an_editors_line_numbers_are_cut() -> None:
    _both(lambda lines: "\n".join(f"{n:>5}  {line}" for n, line in enumerate(lines, 97)))
    _both(lambda lines: "\n".join(f"{n}:{line}" for n, line in enumerate(lines, 8)))


@pytest.mark.parametrize(
    ("on", "off"),
    [
        ("\x1b[1;36m", "\x1b[0;0m"),
        ("\x1b[36m", "\x1b[39m"),
        ("^[[36m", "^[[39m"),
        ("#033[1;36m", "#033[0;0m"),
        ("[1;36m", "[0;0m"),
        ("\\x1b[36m", "\\x1b[0m"),
        ("\u241b[36m", "\u241b[0m"),
        ("\ufffd[36m", "\ufffd[0m"),
    ],
)
def test_42_colours_are_cut_in_every_spelling(on: str, off: str) -> None:
    line = HEAD.replace("(EngineCore pid=7)", f"{on}(EngineCore pid=7){off}")
    _check("\n".join(line + row for row in RAW))


def test_42_brackets_that_are_no_colour_stay() -> None:
    text = "rate(x[5m]) of layers[0] is [4/4] after [18/3] in [multiproc_executor.py:3] [0m"
    assert read(text).lines[0].text.rstrip() == text.removesuffix(" [0m").rstrip()


def test_43_a_record_glued_to_a_progress_bar_is_parted() -> None:
    bar = "Processed prompts:   0%|          | 0/1 [00:00<?, ?it/s, est. speed: 0.00 toks/s]"
    _check("\n".join([bar + PREFIXED[0], *PREFIXED[1:]]))
    _check("\n".join(["\r" + bar + "\r" + PREFIXED[0], *PREFIXED[1:]]))
    loose = "ERROR 02-12 15:54:28 [core.py:1008] it broke"
    records = read(bar + loose).records
    assert [(one.message, one.log_line) for one in records] == [("it broke", 1008)]


def test_44_interleaved_ranks_are_read_apart() -> None:
    rows = []
    for line in RAW:
        for rank in (0, 1):
            rows.append(f"(Worker_TP{rank} pid={20 + rank}) ERROR 08-19 18:34:27 [w.py:5] {line}")
    failures = read("\n".join(rows)).failures
    assert [(one.process, one.pid, one.message) for one in failures] == [
        ("Worker_TP0", 20, MESSAGE),
        ("Worker_TP1", 21, MESSAGE),
    ]
    assert failures[1].first == 2


def test_45_lines_of_other_processes_do_not_disturb() -> None:
    rows: list[str] = []
    for line in PREFIXED:
        rows += [line, '(ApiServer_3 pid=9) INFO: 127.0.0.1:1 - "POST / HTTP/1.1" 200 OK']
        rows += ["INFO:     127.0.0.1:2 - GET /health 200 OK"]
    _check("\n".join(rows))


def test_46_lost_indentation_is_no_obstacle() -> None:
    _check("\n".join(HEAD + line.lstrip() for line in RAW))
    _check("\n".join(line.lstrip() for line in RAW), "")


def test_47_shortened_paths_and_masked_numbers_are_read() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File ".../vllm/v1/core/sched/scheduler.py", line N, in schedule\n'
        "ValueError: Cannot take N rows\n"
    )
    failure = read(text).failures[0]
    assert failure.frames[0].module == "vllm/v1/core/sched/scheduler.py"
    assert failure.frames[0].line == 0
    assert failure.message == "Cannot take N rows"


def test_48_a_traceback_without_its_end_is_told_as_cut() -> None:
    for rows in (PREFIXED[:6], PREFIXED[:7], RAW[:5]):
        failures = read("\n".join(rows)).failures
        assert [(one.form, one.exception) for one in failures] == [("cut", "")]
        assert failures[0].frames[-1].line == 412


def test_48_a_traceback_without_its_beginning_is_read() -> None:
    for rows in (PREFIXED[5:], RAW[4:]):
        failures = read("\n".join(rows)).failures
        assert [(one.form, one.message) for one in failures] == [("traceback", MESSAGE)]
        assert failures[0].frames[0].line == 412


def test_49_smart_quotes_and_odd_blanks_are_read_but_shown_as_given() -> None:
    text = "\n".join(RAW).replace('"', "\u201d").replace("  ", "\u00a0\u00a0")
    _check(text, "")
    paste = read("ValueError: \u2018x\u2019")
    assert paste.failures[0].message == "'x'"
    assert paste.lines[0].shown == "ValueError: \u2018x\u2019"


def test_49_html_characters_of_a_copied_page_are_read() -> None:
    text = "\n".join(PREFIXED).replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    failure = _check(text)
    assert failure.frames[0].function == "<module>"


def test_50_prose_stays_for_a_search_of_the_whole_text() -> None:
    paste = read(f"# {MESSAGE}, what now?\n" + "\n".join(RAW[:5]))
    assert MESSAGE in paste.text
    assert paste.failures[0].form == "cut"


def test_51_an_asserted_line_is_evidence() -> None:
    text = "(EngineCore pid=536) ERROR ... assert block_size % hash_block_size == 0"
    failure = read(text).failures[0]
    assert (failure.exception, failure.form) == ("AssertionError", "cut")
    assert failure.frames[-1].code == "assert block_size % hash_block_size == 0"


def test_escaped_line_ends_of_a_copied_string_are_read() -> None:
    body = "\\n".join(PREFIXED)
    _check(body)
    _check('"' + body.replace('"', '\\"') + '"')
    _check("ERROR: request failed: '" + "\\n".join(RAW) + "'", "")


def test_the_prompt_of_a_request_is_not_taken_for_a_failure() -> None:
    prompt = "\\n".join(PREFIXED)
    text = (
        f"(APIServer pid=1) INFO 08-19 18:34:27 [logger.py:9] Received request: prompt: '{prompt}'"
    )
    rows = [text, *(f"(APIServer pid=1) INFO 08-19 18:34:28 [l.py:{n}] idle" for n in range(30))]
    assert read("\n".join(rows)).failures == ()


def test_line_numbers_are_those_of_the_text_as_given() -> None:
    text = "start\n\n" + "\r\n".join(PREFIXED) + "\nend"
    failure = _check(text)
    assert (failure.first, failure.number) == (4, 10)
    assert [line.number for line in read(text).lines][-1] == 11


def test_a_single_record_that_a_narrow_terminal_broke_is_joined() -> None:
    head = "(Worker_DP0 pid=28) ERROR 10-16 17:22:56 [side.py:815] "
    whole = head + "RuntimeError: engine mismatch. Expected 46126a31-6b81-435d-a116, received 9b1c."
    other = head.replace("815", "827")
    broken = f"{whole[:100]}\n{whole[100:]}\n{other}Handshake failed\n"
    found = read(broken).failures
    assert [one.message for one in found] == [whole.partition("RuntimeError: ")[2]]


@pytest.mark.parametrize("below", ["  indented text of another program", "INFO:     Started", ""])
def test_what_stands_below_the_widest_record_is_left_alone(below: str) -> None:
    record = (
        "(Worker pid=28) ERROR 10-16 17:22:56 [side.py:815] RuntimeError: " + "word " * 12 + "end"
    )
    found = read(f"{record}\n{below}\n(Worker pid=28) ERROR 10-16 17:22:56 [side.py:827] bye\n")
    assert [one.message for one in found.failures] == ["word " * 12 + "end"]


def test_an_exception_below_a_frame_of_the_widest_lines_width_is_not_joined_to_it() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/server.py", line 3, in serve\n'
        '  File "/app/proxy.py", line 33, in handle\n'
        '  File "/app/pool.py", line 1, in <module>\n'
        "KeyError: 'remote_block_ids'\n"
    )
    (failure,) = read(text).failures
    assert (failure.exception, len(failure.frames)) == ("KeyError", 3)


@pytest.mark.parametrize("error", ["KeyError: 'remote_block_ids'", "zmq.error.Again: try again"])
def test_an_exception_below_source_of_the_frames_width_is_not_joined_to_it(error: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/proxy.py", line 33, in handle\n'
        '    block_ids = params["remote_block_ids"]\n'  # as long as the line above
        f"{error}\n"
    )
    (failure,) = read(text).failures
    assert f"{failure.exception}: {failure.message}" == error
    assert failure.frames[-1].code.strip() == 'block_ids = params["remote_block_ids"]'


def excerpts() -> list[tuple[str, str, str]]:
    """Ends of the tracebacks of the real logs, their lines drawn out to one width: exception,
    message and text."""
    found: dict[str, tuple[str, str, str]] = {}
    for log in sorted(CASES.glob("*/*.log")):
        paste = read(log.read_bytes())
        for failure in paste.failures:
            rows = [one.text for one in paste.lines if failure.first <= one.number <= failure.last]
            frames = [at for at, row in enumerate(rows) if row.lstrip().startswith('File "')]
            if failure.form != "traceback" or not frames:
                continue
            rows = rows[frames[-min(3, len(frames))] :]
            width = max([60, *(len(row) for row in rows if len(row) < 200)])
            text = "\n".join(drawn_out(row, width) for row in rows)
            found[text] = (failure.exception, failure.message, text)
    return list(found.values())


def drawn_out(row: str, width: int) -> str:
    """A frame or a line of source, made longer in a way that Python could have printed."""
    if row.lstrip().startswith('File "/') and len(row) < width:
        return row.replace('File "/', f'File "/{"a" * (width - len(row) - 1)}/', 1)
    if row[:4] == "    " and not row.lstrip().startswith(("File", "^", "~")):
        return row + "  # " + "b" * max(0, width - len(row) - 4)
    return row


def test_lines_of_one_width_hide_no_exception() -> None:
    for exception, message, text in excerpts():
        got = [(one.exception, "".join(one.message.split())) for one in read(text).failures]
        assert (exception, "".join(message.split())) in got, text
