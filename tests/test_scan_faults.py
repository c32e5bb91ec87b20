"""A scan under hard conditions: archives of every kind, files that shrink, signals, full disks."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.pipeline import shipped

from kvdoctor.cli import main
from kvdoctor.scan import scan, scan_file
from kvdoctor.scan.inputs import PIECE, Progress
from kvdoctor.scan.jobs import in_processes

CASES = Path(__file__).with_name("cases")
FAILURE = CASES / "061-nixl-blocksize-d-smaller" / "decode.log"
RECORD = "nixl-block-size-not-multiple"
QUIET = (CASES / "050-nixl-healthy" / "decode.log").read_bytes()
SETTINGS = {"since": "", "until": ""}
on_posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def zstd() -> Callable[[bytes], bytes]:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            made: Callable[[bytes], bytes] = importlib.import_module(name).compress
        except ImportError:
            continue
        return made
    pytest.skip("no zstd in this Python")


PACKERS: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "gz": lambda: gzip.compress,
    "bz2": lambda: bz2.compress,
    "xz": lambda: lzma.compress,
    "zst": zstd,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_every_member_of_an_archive_is_read(kind: str, tmp_path: Path) -> None:
    pack = PACKERS[kind]()
    log = tmp_path / f"a.log.{kind}"
    log.write_bytes(pack(QUIET) + pack(FAILURE.read_bytes()))
    made = scan_file(str(log), shipped())
    assert RECORD in {row.record for row in made.rows}
    assert made.lines == (QUIET + FAILURE.read_bytes()).count(b"\n")
    assert not made.notes


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_that_is_cut_off_is_read_up_to_there_and_told(kind: str, tmp_path: Path) -> None:
    pack = PACKERS[kind]()
    log = tmp_path / f"a.log.{kind}"
    log.write_bytes(pack(FAILURE.read_bytes()) + pack(os.urandom(20_000).hex().encode())[:-50])
    made = scan_file(str(log), shipped())
    assert RECORD in {row.record for row in made.rows}
    assert any("damaged" in note for note in made.notes)


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_of_junk_is_told_and_stops_nothing(kind: str, tmp_path: Path) -> None:
    log = tmp_path / f"a.log.{kind}"
    log.write_bytes(PACKERS[kind]()(QUIET)[:12] + bytes(range(256)) * 20)
    found = scan([str(log), str(FAILURE)], shipped())
    assert RECORD in {row.record for row in found.rows}
    assert [bool(one.notes) for one in found.files if one.file == str(log)] == [True]


def test_a_file_that_shrinks_while_it_is_read_is_told(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(FAILURE.read_bytes() + QUIET * (4 * PIECE // len(QUIET)))

    def shrink(name: str, progress: Progress) -> None:
        os.truncate(name, PIECE)

    made = scan_file(str(log), shipped(), watch=shrink)
    assert RECORD in {row.record for row in made.rows}
    assert any("truncated while it was read" in note for note in made.notes)


def test_parts_of_a_file_that_shrank_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvdoctor.scan import jobs

    log = tmp_path / "a.log"
    log.write_bytes(FAILURE.read_bytes() + QUIET * 200)
    cut = jobs._parts

    def then_shrink(*given: object) -> object:
        parts = cut(*given)  # type: ignore[arg-type]
        os.truncate(log, FAILURE.stat().st_size)
        return parts

    monkeypatch.setattr(jobs, "_parts", then_shrink)
    (made,) = in_processes([str(log)], shipped(), 2, SETTINGS, (), part=300_000)
    assert RECORD in {row.record for row in made.rows}
    assert any("truncated while it was read" in note for note in made.notes)


def test_the_part_of_a_process_that_was_killed_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvdoctor.scan import jobs

    if sys.platform != "linux":
        pytest.skip("the fault is planted in a forked process")
    log = tmp_path / "a.log"
    log.write_bytes((QUIET * 8 + FAILURE.read_bytes()) * 4)
    whole = scan_file(str(log), shipped())
    here, part = os.getpid(), jobs._Work._part

    def fall(self: jobs._Work, task: jobs.Task, *given: object) -> object:
        if os.getpid() != here and task.start:
            os.kill(os.getpid(), signal.SIGKILL)
        return part(self, task, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs._Work, "_part", fall)
    (made,) = in_processes([str(log)], shipped(), 2, SETTINGS, (), part=300_000)
    assert (made.lines, made.rows, made.began) == (whole.lines, whole.rows, whole.began)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A log that takes seconds: errors that are all of another form."""
    log = tmp_path / "long.log"
    row = "(Worker pid=1) ERROR 11-30 12:00:00 [core.py:%d] Trouble of the kind %s happened\n"
    words = ["".join(chr(97 + (n >> 4 * at) % 16) for at in range(5)) for n in range(60_000)]
    text = "".join(row % (number, word) for number, word in enumerate(words))
    log.write_text(text * 12)
    return log


@on_posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_in_the_middle_ends_it_at_once_with_all_its_processes(
    name: str, jobs: str, endless: Path
) -> None:
    command = [sys.executable, "-m", "kvdoctor", "scan", str(endless), "--jobs", jobs, "--json"]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        # a job in the background of a script starts with the signal ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    until = time.monotonic() + 30
    while len(members(started.pid)) < (3 if jobs == "2" else 1) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.7)
    assert started.poll() is None, "it was done before the signal"
    number = getattr(signal, name)
    if name == "SIGINT":
        os.killpg(started.pid, number)  # as a terminal does
    else:
        os.kill(started.pid, number)
    out, problems = started.communicate(timeout=30)
    assert (out, problems) == (b"", b"")
    assert started.returncode == (130 if name == "SIGINT" else -number)
    until = time.monotonic() + 20
    while members(started.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not members(started.pid)


def members(session: int) -> list[int]:
    """The living processes of a session."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,sid=,stat="], capture_output=True, text=True, check=False
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(pid) for pid, sid, state in rows if int(sid) == session and state[0] != "Z"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("form", [["--json"], []])
def test_a_full_disk_is_told_and_no_success(jobs: str, form: list[str]) -> None:
    command = [sys.executable, "-m", "kvdoctor", "scan", str(FAILURE), str(FAILURE.parent)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*command, "--jobs", jobs, *form], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr and b"Traceback" not in done.stderr


def test_the_rows_of_a_span_of_time_are_those_of_the_lines_within_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    row = "(EngineCore pid=9) WARNING 11-30 %s [scheduler.py:99] Releasing expired KV blocks for "
    row += "request cmpl-%d which were retrieved by 0 remote worker(s) before lease expired.\n"
    hours = [f"{hour:02}:00:00" for hour in range(10, 20)]
    log.write_text("".join(row % (hour, number) for number, hour in enumerate(hours)))

    def counted(*limits: str) -> list[int]:
        assert main(["scan", str(log), "--json", *limits]) == 0
        return [one["count"] for one in json.loads(capsys.readouterr().out)["rows"]]

    assert counted() == [10]
    assert counted("--since", "11-30 12:00") == counted("--since", "12:00:00") == [8]
    assert counted("--until", "11-30 12:00:00") == [3]
    assert counted("--since", "12:00", "--until", "14:30") == [3]
    assert counted("--since", "2025-11-30 18:30:00") == [1]
    assert counted("--since", "11-30 21:00") == []
    assert main(["scan", str(log), "--since", "noon"]) == 2
    assert "no time" in capsys.readouterr().err


def test_top_shows_the_weightiest_rows_alone(capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(FAILURE), str(CASES / "070-nixl-expired-lease")]
    assert main(["scan", *logs, "--json"]) == 0
    every = json.loads(capsys.readouterr().out)["rows"]
    assert len(every) > 2
    assert main(["scan", *logs, "--json", "--top", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == every[:2]
    assert main(["scan", *logs, "--top", "2"]) == 0
    shown = capsys.readouterr().out
    assert [row["title"] in shown for row in every[:3]] == [True, True, False]
