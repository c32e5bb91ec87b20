"""A long log is held once, in little more room than its text takes."""

from __future__ import annotations

import gc
import tracemalloc

from kvdoctor.data import replace
from kvdoctor.history.entry import pack, pack_parts, unpack
from kvdoctor.intake import read
from kvdoctor.intake.decode import decode
from kvdoctor.intake.paste import Line, LogRecord, Paste
from kvdoctor.intake.pieces import SIZE, Pieces, cut

LINES = 6_000
MOST_HELD = 420  # bytes a line beside its text, which a line's and a record's fields and str take
MOST_USED = 560  # at once, while it is read
TOKEN = "hf_" + "aB3" * 12


def long_log(front: str = "") -> str:
    """Records of several processes that all differ, and vLLM's signs beyond ASCII among them."""
    rows = [
        f"{front}(Worker_TP{n % 8} pid={4000 + n % 8}) INFO 11-30 10:{n // 600 % 60:02}:"
        f"{n // 10 % 60:02} [core.py:{300 + n % 700}] step {n} gave {n * 7919 % 10007} tokens"
        for n in range(LINES)
    ]
    rows[100] = "\u2588\u2580\u2584 vLLM"
    return "\n".join(rows) + "\n"


def measured(data: bytes) -> tuple[Paste, float, float]:
    """The paste, and the bytes a line beside the text that it holds and that its reading used."""
    read(data[: 4 * SIZE])  # late imports and patterns
    gc.collect()
    tracemalloc.start()
    try:
        paste = read(data)
        _, used = tracemalloc.get_traced_memory()
        gc.collect()  # what only waits to be collected is not held
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return paste, (held - len(data)) / LINES, (used - len(data)) / LINES


def test_a_long_log_is_held_once_with_little_beside_its_text() -> None:
    for front in ("", "2026-11-30T10:00:00.123456789Z "):
        for _ in range(3):  # a thread that an earlier test left may allocate meanwhile
            paste, held, used = measured(long_log(front).encode())
            if held < MOST_HELD and used < MOST_USED:
                break
        assert len(paste.lines) == LINES
        assert held < MOST_HELD, "content and message are cut from the line when asked for"
        assert used < MOST_USED, "the text is never held several times over"


def test_content_given_as_a_place_is_the_content() -> None:
    whole = Line(1, "INFO text", "text", "A", 7, "INFO")
    placed = Line(1, "INFO text", 5, "A", 7, "INFO")  # type: ignore[arg-type]
    assert placed.text == "text"
    assert placed == whole
    assert hash(placed) == hash(whole)
    assert repr(placed) == repr(whole)
    assert replace(placed, shown="other").text == "text"
    record = LogRecord(1, 1, "INFO", placed)  # type: ignore[arg-type]
    assert record == LogRecord(1, 1, "INFO", "text")
    assert replace(record, number=0).message == "text"


def test_a_text_in_pieces_has_the_same_lines() -> None:
    for text in (
        "",
        "\n",
        "a",
        "a\n",
        "a\n\nb",
        "x\n" * SIZE,
        "\n" * SIZE + "  >q",
        "y" * 3 * SIZE,
    ):
        pieces = Pieces(list(cut(text, "\n")))
        assert pieces.whole() == text
        assert pieces.begins_line(">") == ("\n>" in text or text.lstrip().startswith(">"))
        assert not text.strip() or pieces.inner_ends() == text.strip().count("\n")
        assert pieces.rows() == (text[:-1] if text.endswith("\n") else text).split("\n") or not text
        assert not pieces.parts


def test_a_secret_between_two_pieces_is_replaced() -> None:
    variable = "  - name: DB_PASSWORD\n    value: hunter22hunter22\n"
    for before in range(0, len(variable) + 100, 4):
        front = "x" * 99 + "\n"
        fill = "x" * ((SIZE - before) % 100) + "\n"
        text = front * (SIZE // 100) + fill + variable + front * 9
        assert "hunter22" not in read(text).text


def test_a_text_packed_while_it_is_read_is_the_one_packed_later() -> None:
    text = f"{'row ' * 40}\n" * 30_000 + f"HF_TOKEN={TOKEN}\n"
    kept: list[object] = []
    read(decode(text), keep=lambda parts: kept.append(pack_parts(parts, "a.log", "this")))
    packed = pack(text, "a.log", "this")
    assert kept == [packed]
    assert packed.left_out > 0
    assert unpack(packed).count("\n") == text.count("\n")
    assert TOKEN not in unpack(packed)
