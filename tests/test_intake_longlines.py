"""Lines that no logger writes cost little and hide nothing that stands beside them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support import cpu_seconds

from kvdoctor.intake import read
from kvdoctor.intake.decode import decode
from kvdoctor.intake.longlines import GAP, LONG
from kvdoctor.intake.pieces import SIZE
from kvdoctor.intake.redact import redact_parts

TRACE = (
    "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9] Traceback (most recent call last):\n"
    '(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9]   File "/x/vllm/v1/a.py", line 3, in f\n'
    "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9] ValueError: rows of layer 7 are gone\n"
)
WORDS = "the quick brown fox jumps over it "
SECRET = "hf_" + "aBcD3fGh1" * 4


def messages(text: str | bytes) -> list[str]:
    return [one.message for one in read(text).failures]


@pytest.mark.parametrize("length", [1000, SIZE - 1, SIZE, LONG - 1, LONG, 3 * LONG])
@pytest.mark.parametrize("filling", ["x", "é", WORDS])
@pytest.mark.parametrize("make", [str, str.encode], ids=["text", "bytes"])
def test_a_log_between_long_lines_is_read(
    length: int, filling: str, make: Callable[[str], str | bytes]
) -> None:
    long = (filling * length)[:length]
    text = f"{long}\n{TRACE}{long}"
    paste = read(make(text))
    assert [(one.message, one.number) for one in paste.failures] == [
        ("rows of layer 7 are gone", 4)
    ]
    assert not any("\ufffd" in line.shown for line in paste.lines)


def test_a_log_on_one_line_between_runs_is_read() -> None:
    run, row = "x" * (5 * SIZE), TRACE.replace("\n", " ")
    plain = messages(row)
    assert plain == ["rows of layer 7 are gone"]
    assert messages(f"{run} {row} {run}") == plain
    assert messages(f"{run}{row}") == plain


@pytest.mark.parametrize("make", [str, str.encode], ids=["text", "bytes"])
def test_a_run_loses_no_half_of_a_secret(make: Callable[[str], str | bytes]) -> None:
    for at in range(0, 60, 3):
        pair = f"password={SECRET}"
        text = "a=1," + "é" * (126 - at // 2) + f",{pair}," + "y" * (2 * SIZE)
        text += f",{pair}," + "z" * (256 - at)
        parts = decode(make(text)).parts
        redact_parts(parts)
        assert SECRET[:9] not in "".join(parts) and SECRET[-9:] not in "".join(parts)
        assert "a=1," in "".join(parts)


def test_what_stands_at_both_ends_of_a_long_line_is_kept_and_the_gap_is_told() -> None:
    paste = read(f"first words {WORDS * 20_000} last words\n{TRACE}")
    shown = paste.lines[0].shown
    assert shown.startswith("first words") and shown.endswith("last words")
    assert " [...] " in shown and GAP not in shown and len(shown) < SIZE
    assert any("middle" in note for note in paste.notes)


def test_characters_that_are_none_do_not_stop_a_long_run() -> None:
    assert messages("\ud800" * (2 * SIZE) + ",\udfff\n" + TRACE) == ["rows of layer 7 are gone"]
    assert messages(b"\xff" * (2 * SIZE) + b"\n" + TRACE.encode()) == ["rows of layer 7 are gone"]


def test_lines_below_the_limit_stay_whole() -> None:
    line = (WORDS * 5000)[: LONG - 1].rstrip()
    assert read(f"{line}\n{TRACE}").lines[0].shown == line


def test_a_long_line_of_json_is_read_whole() -> None:
    rows = [{"message": WORDS * 40} for _ in range(300)]
    rows[150] = {"message": TRACE}
    text = json.dumps({"entries": rows})
    assert len(text) > LONG
    assert messages(text) == ["rows of layer 7 are gone"]


def test_a_log_copied_as_one_long_string_is_read_whole() -> None:
    text = json.dumps((f"{WORDS}\n" * 3000) + TRACE + (f"{WORDS}\n" * 3000))
    assert len(text) > LONG
    assert messages(text) == ["rows of layer 7 are gone"]


@pytest.mark.parametrize("at", range(0, 60, 7))
@pytest.mark.parametrize("name", ["password: ", "HF_TOKEN=", "Authorization: Bearer "])
def test_no_secret_is_parted_from_its_name_by_a_gap(name: str, at: int) -> None:
    """Whatever the gap cuts off: what names a secret, a part of it, or the words before it."""
    behind = WORDS * 2000
    line = WORDS * 9000 + f"{name}{SECRET} " + behind[: SIZE // 2 - at - 1]
    head = (WORDS * 1000)[: SIZE // 2 - at] + f" {name}{SECRET} " + WORDS * 9000
    parts = decode(f"{head}\n{line}").parts
    redact_parts(parts)
    assert SECRET[-12:] not in "".join(parts) and SECRET[:12] not in "".join(parts)
    assert GAP not in "".join(parts)


def test_the_cost_grows_with_the_length_at_most() -> None:
    def cost(size: int) -> float:
        text = "x" * size + TRACE.replace("\n", "") + WORDS * (size // len(WORDS))
        return cpu_seconds(lambda: read(text))

    cost(1 << 16)
    assert cost(1 << 22) < 1.5
