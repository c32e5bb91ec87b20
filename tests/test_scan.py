"""Whole logs: the fast way finds what the thorough one does, and no input stops it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
import random
import shlex
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from kvdoctor.cli import main
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.scan import Partial, merge, scan, scan_file
from kvdoctor.scan.jobs import in_processes

CASES = Path(__file__).with_name("cases")
LOGS = sorted([*CASES.glob("*/*.log"), *CASES.glob("*/*.gz")])
FAILURE = CASES / "061-nixl-blocksize-d-smaller" / "decode.log"
HEALTHY = CASES / "050-nixl-healthy"
RECORD = "nixl-block-size-not-multiple"


@lru_cache(maxsize=1)
def shipped() -> Knowledge:
    return load(private=False)


def findings(one: Partial) -> object:
    """All that a scan says about what occurs."""
    rows = {
        row.key: (row.record, row.role, row.count, row.first, row.last, row.where, row.message)
        for row in one.rows
    }
    return rows, one.began


def long_log(seed: int, lines: int = 12_000) -> bytes:
    """Real logs mixed: runs of healthy lines, failures, and one warning over and over."""
    chance = random.Random(seed)  # noqa: S311 (repeatable)
    texts = [path.read_bytes() for path in LOGS if path.suffix == ".log"]
    healthy = [
        row for row in (HEALTHY / "decode.log").read_bytes().split(b"\n") if b" INFO " in row
    ]
    out: list[bytes] = []
    while sum(map(len, out)) < lines * 150:
        out += [chance.choice(healthy) for _ in range(chance.randrange(40, 900))]
        out += chance.choice(texts).rstrip(b"\n").split(b"\n")
        out += [warning(chance.randrange(10**6)) for _ in range(chance.randrange(50))]
    return b"\n".join(out) + b"\n"


def warning(number: int) -> bytes:
    head = b"(EngineCore pid=9) WARNING 11-30 12:00:%02d [scheduler.py:99] " % (number % 60)
    return (
        head
        + b"Releasing expired KV blocks for request cmpl-%x which were retrieved by %d "
        % (
            number,
            number % 3,
        )
        + (b"remote worker(s) before lease expired.")
    )


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.name}")
def test_the_fast_way_finds_what_the_thorough_one_does_in_a_real_log(log: Path) -> None:
    fast = scan_file(str(log), shipped())
    assert findings(fast) == findings(scan_file(str(log), shipped(), thorough=True))


def as_docker_keeps(text: str) -> str:
    return "\n".join(
        json.dumps({"log": f"{row}\n", "stream": "stderr", "time": "2026-11-30T19:57:30.12Z"})
        for row in text.split("\n")
    )


def as_a_node_keeps(text: str) -> str:
    return "\n".join(f"2026-11-30T19:57:30.123456789Z stderr F {row}" for row in text.split("\n"))


@pytest.mark.parametrize("kept", [as_docker_keeps, as_a_node_keeps])
@pytest.mark.parametrize("log", LOGS[::3], ids=lambda log: f"{log.parent.name}-{log.name}")
def test_a_log_as_a_container_runtime_keeps_it_gives_what_it_gives_plain(
    log: Path, kept: Callable[[str], str], tmp_path: Path
) -> None:
    file = tmp_path / "kept.log"
    text = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    file.write_text(kept(text.decode("utf-8", "replace")))
    fast = scan_file(str(file), shipped())
    assert findings(fast) == findings(scan_file(str(file), shipped(), thorough=True))
    plain = scan_file(str(log), shipped())
    assert [(one.key, one.count) for one in fast.rows] == [
        (one.key, one.count) for one in plain.rows
    ]


@pytest.mark.parametrize("log", LOGS[::5], ids=lambda log: f"{log.parent.name}-{log.name}")
def test_without_the_optional_engine_the_result_is_the_same(log: Path) -> None:
    assert scan_file(str(log), shipped(), compiled=False) == scan_file(str(log), shipped())


@pytest.mark.parametrize("seed", [1, 2])
def test_the_fast_way_finds_what_the_thorough_one_does_in_a_long_log(
    seed: int, tmp_path: Path
) -> None:
    log = tmp_path / "long.log"
    log.write_bytes(long_log(seed))
    fast = scan_file(str(log), shipped(), piece=200_000)
    assert fast.rows and not fast.notes  # else it would have been read thoroughly
    assert findings(fast) == findings(scan_file(str(log), shipped(), thorough=True))
    assert findings(fast) == findings(scan_file(str(log), shipped(), compiled=False))


def test_the_known_failure_is_the_root_cause_and_its_consequences_are_not() -> None:
    found = scan([str(FAILURE)], shipped())
    assert [row.record for row in found.rows if row.role == "root_cause"] == [RECORD]
    assert {row.role for row in found.rows} == {"root_cause", "consequence"}
    assert found.began and found.began[0].key == found.rows[0].key


def test_a_healthy_log_comes_out_clean() -> None:
    assert scan([str(HEALTHY)], shipped()).clean


def test_every_repetition_of_a_warning_is_counted(tmp_path: Path) -> None:
    log = tmp_path / "repeated.log"
    log.write_bytes(b"\n".join(warning(number) for number in range(5000)) + b"\n")
    found = scan_file(str(log), shipped(), piece=64_000)
    assert sum(row.count for row in found.rows) == 5000
    (row,) = found.rows
    assert (row.first.line, row.last.line) == (1, 5000)
    assert [(one.process, one.count) for one in row.where] == [("EngineCore", 5000)]


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)],
)
def test_a_packed_log_is_read(name: str, pack: object, tmp_path: Path) -> None:
    log = tmp_path / name
    log.write_bytes(pack(FAILURE.read_bytes()))  # type: ignore[operator]
    assert scan([str(log)], shipped()).rows[0].record == RECORD


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_log_in_two_or_four_bytes_a_character_is_read(encoding: str, tmp_path: Path) -> None:
    log = tmp_path / "windows.log"
    log.write_bytes(FAILURE.read_bytes().decode().encode(encoding))
    rows = scan([str(log)], shipped()).rows
    plain = scan([str(FAILURE)], shipped()).rows
    assert [(one.record, one.count, one.first.line) for one in rows] == [
        (one.record, one.count, one.first.line) for one in plain
    ]


def test_a_packed_log_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "cut.gz"
    log.write_bytes(gzip.compress(FAILURE.read_bytes() * 40)[:-200])
    made = scan_file(str(log), shipped())
    assert any("damaged" in note for note in made.notes)


def test_partial_results_are_pickled_and_merged_in_any_order(tmp_path: Path) -> None:
    parts = [scan_file(str(log), shipped()) for log in (FAILURE, LOGS[3], LOGS[8])]
    again = pickle.loads(pickle.dumps(parts))  # noqa: S301 (our own)
    assert again == parts
    assert merge(again[::-1]) == merge(parts)


def test_two_processes_find_what_one_does() -> None:
    names = [str(FAILURE), str(LOGS[3])]
    assert scan(names, shipped(), jobs=2).rows == scan(names, shipped()).rows


def test_a_huge_line_is_cut_and_what_follows_is_still_found(tmp_path: Path) -> None:
    log = tmp_path / "huge.log"
    log.write_bytes(b"x" * (9 << 20) + b"\n" + FAILURE.read_bytes())
    made = scan_file(str(log), shipped())
    assert any("lines of more than" in note for note in made.notes)
    assert RECORD in {row.record for row in made.rows}
    number = FAILURE.read_bytes().split(b"Local block size")[0].count(b"\n")
    assert next(r for r in made.rows if r.record == RECORD).first.line <= number + 2


def test_binary_junk_is_told_and_not_searched(tmp_path: Path) -> None:
    log = tmp_path / "junk.bin"
    log.write_bytes(random.Random(3).randbytes(200_000))  # noqa: S311
    made = scan_file(str(log), shipped())
    assert made.unread and made.notes == ("binary: not a log",)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    found = merge(
        [scan_file(str(tmp_path / "none.log"), shipped()), scan_file(str(FAILURE), shipped())]
    )
    assert [one.unread for one in found.files if one.notes] == [True]
    assert found.rows[0].record == RECORD


def test_times_limit_what_is_counted() -> None:
    whole = scan([str(FAILURE)], shipped())
    assert scan([str(FAILURE)], shipped(), since="12-25 00:00").clean
    assert scan([str(FAILURE)], shipped(), until="11-01").clean
    assert scan([str(FAILURE)], shipped(), since="11-30 00:00").rows == whole.rows


def test_json_on_standard_output_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(FAILURE), "--json", "--top", "1"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["record"] for row in shown["rows"]] == [RECORD]
    assert shown["files"][0]["vllm"] == "0.32.0"


def test_a_row_opens_as_the_ordinary_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scan", str(FAILURE), "--open", "1"]) == 0
    assert "--block-size 128" in capsys.readouterr().out
    kept = tmp_path / "place.log"
    assert main(["scan", str(FAILURE), "--open", "1", "--out", str(kept)]) == 0
    capsys.readouterr()
    assert main(["diagnose", str(kept)]) == 0
    assert "--block-size 128" in capsys.readouterr().out


def test_a_path_that_names_nothing_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "no-such-file-here"]) == 2
    assert "no such file" in capsys.readouterr().err


def error(number: int) -> bytes:
    return (
        b"(EngineCore pid=9) ERROR 11-30 12:00:%02d [house_patch.py:12] store %d answered late\n"
        % (number % 60, number)
    )


def test_errors_that_nothing_explains_are_counted_last_by_the_place_that_logs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "patched.log"
    quiet = b"(EngineCore pid=9) INFO 11-30 12:00:00 [core.py:4] ready\n"
    rows = [error(number) + quiet * 30 for number in range(3000)]
    log.write_bytes(b"".join(rows) + FAILURE.read_bytes())
    fast = scan_file(str(log), shipped(), piece=64_000)
    assert findings(fast) == findings(scan_file(str(log), shipped(), thorough=True))
    last = merge([fast]).rows[-1]
    assert (last.role, last.record, last.count, last.first.line) == ("unexplained", None, 3000, 1)
    assert main(["scan", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "3000x  store 0 answered late  [house_patch.py:12]" in shown
    assert shown.index(RECORD) < shown.index("Errors that nothing here explains")


def test_what_is_no_log_is_left_in_its_folder_and_read_when_it_is_named(tmp_path: Path) -> None:
    for name in ("a.log", "b.yaml", "c.PY", "d", "pod.log.1"):
        (tmp_path / name).write_bytes(FAILURE.read_bytes())
    read = [Path(one.file).name for one in scan([str(tmp_path)], shipped()).files]
    assert read == ["a.log", "d", "pod.log.1"]
    (named,) = scan([str(tmp_path / "b.yaml")], shipped()).files
    assert named.rows


def test_the_hint_repeats_what_limits_the_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "two words.log"
    log.write_bytes(FAILURE.read_bytes())
    words = ["--since", "11-30 00:00", "--until", "12-25", "--thorough"]
    assert main(["scan", str(log), *words]) == 0
    hint = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("Open one"))
    again = shlex.split(hint.removeprefix("Open one: kvdoctor scan ").partition(" --open")[0])
    assert again == [str(log), *words]
    assert main(["scan", *again, "--open", "1"]) == 0
    assert "--block-size 128" in capsys.readouterr().out


def test_a_number_of_rows_below_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(FAILURE), "--top", "-5"]) == 2
    assert "--top -5: below 0" in capsys.readouterr().err


def test_a_file_that_is_cut_into_parts_gives_what_it_gives_whole(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    log.write_bytes(long_log(5, 20_000))
    whole = scan_file(str(log), shipped())
    settings = {"since": "", "until": ""}
    (made,) = in_processes([str(log)], shipped(), 3, settings, (), part=300_000)
    assert made.lines == whole.lines == log.read_bytes().count(b"\n")
    assert findings(made) == findings(whole)


def test_a_huge_line_without_a_digit_stalls_nothing(tmp_path: Path) -> None:
    """From every place of a long word the search for a digit would go on to its end."""
    log = tmp_path / "huge.log"
    with log.open("wb") as stream:
        stream.write(b"(Worker pid=1) ERROR 01-01 00:00:00 [core.py:1] " + b"x" * 3_000_000 + b"\n")
        stream.write((CASES / "061-nixl-blocksize-d-smaller" / "decode.log").read_bytes())
    started = time.process_time()
    found = scan([str(log)], shipped())
    assert time.process_time() - started < 10
    assert found.rows[0].record == "nixl-block-size-not-multiple"
