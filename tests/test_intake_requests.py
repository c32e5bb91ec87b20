"""What a user asks the server, and what somebody writes about an error, is no failure."""

from __future__ import annotations

import json

import pytest
from made_up import WIDGET, knowledge

from kvdoctor.intake import read
from kvdoctor.match import Match, match

ERROR = "ValueError: Widget size 3 does not divide 8 here"
TRACE = f'Traceback (most recent call last):\n  File "/a/vllm/widget.py", line 5, in f\n{ERROR}'
HEALTHY = "INFO 01-01 00:00:00 [x.py:1] all is well\n"
CHAT = [{"role": "user", "content": f"what is this?\n{TRACE}"}]
SPOKEN = [{"role": "user", "content": [{"type": "text", "text": ERROR}]}]


def found(text: str) -> tuple[Match, ...]:
    known = knowledge()
    return match(read(text, "x.log", knowledge=known.reading), known)


@pytest.mark.parametrize(
    "request_",
    [
        json.dumps({"messages": CHAT}),
        json.dumps({"model": "m", "messages": SPOKEN, "max_tokens": 7}),
        json.dumps({"model": "m", "messages": CHAT}, indent=2),
        json.dumps({"role": "user", "content": TRACE}),
        json.dumps({"prompt": TRACE, "model": "m"}),
        json.dumps({"model": "m", "prompt": [ERROR]}),
        json.dumps({"model": "m", "input": TRACE}),
        json.dumps({"model": "m", "input": SPOKEN}),
        f"curl -s http://h/v1/completions -d '{json.dumps({'prompt': ERROR})}'",
        f"curl -s http://h/v1/completions -d '{json.dumps({'prompt': ERROR})[:-3]}",
        f"2026-11-30T19:57:30Z {json.dumps({'prompt': ERROR})}",
        f"{HEALTHY.rstrip()} body: {json.dumps({'messages': CHAT})}",
        f"sent {{'messages': [{{'role': 'user', 'content': '{ERROR}'}}]}}",
    ],
)
def test_what_a_request_quotes_is_no_failure(request_: str) -> None:
    assert found(f"{HEALTHY}{request_}\n{HEALTHY}") == ()


@pytest.mark.parametrize(
    "row",
    [
        {"message": ERROR, "prompt": "a user's"},
        {"level": "ERROR", "text": ERROR, "model": "m"},
        {"content": {"message": ERROR, "host": "h"}},
        {"text": ERROR},
        {"content": ERROR},
        {"message": TRACE, "input": [1, 2]},
    ],
)
def test_a_loggers_record_is_read_whatever_else_it_carries(row: dict[str, object]) -> None:
    (one,) = found(f"{HEALTHY}{json.dumps(row)}\n")
    assert one.record == WIDGET.id


def test_an_error_behind_a_request_on_the_same_line_is_read() -> None:
    (one,) = found(f'{HEALTHY}failed for {{"prompt": "hello"}} {ERROR}\n')
    assert one.record == WIDGET.id
    (one,) = found(f'ERROR 01-01 00:00:00 [x.py:1] {{"prompt": "hello"}} gave {ERROR}\n{ERROR}')
    assert one.record == WIDGET.id


@pytest.mark.parametrize(
    "text",
    [
        f"# we once had: {ERROR}\nall fine now\n",
        f"a1b2c3d Mend the {ERROR}\n",
        f"ann  10:31 AM did you see {ERROR} on the node?\n",
        f"size: 3  # {ERROR}\n",
    ],
)
def test_a_message_in_running_text_is_told_as_such(text: str) -> None:
    (one,) = found(text)
    assert (one.record, one.confidence) == (WIDGET.id, 0.6)
    assert "running text" in one.hint
    assert one.holes == {"local_size": "3", "remote_size": "8"}


def test_a_message_that_stands_alone_is_no_running_text() -> None:
    for text in (f"  {ERROR.partition(': ')[2]}\n", f"`{ERROR.partition(': ')[2]}`\n"):
        (one,) = found(text)
        assert (one.confidence, one.hint) == (0.9, "")


@pytest.mark.parametrize(
    "text",
    [
        f"#!/bin/sh\n# we once had: {ERROR}\nvllm serve m --block-size 16\n",
        f"# not 8: {ERROR}\nargs:\n  - python3 -m vllm.entrypoints.openai.api_server\n",
        f"vllm serve m --block-size 16  # {ERROR}\n",
    ],
)
def test_a_comment_beside_a_launch_command_is_no_failure(text: str) -> None:
    assert found(text) == ()
