"""A log as it grows: one line for each new kind, whatever happens to the file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kvdoctor.load import load
from kvdoctor.scan.follow import follow

CASES = Path(__file__).with_name("cases")
FAILURE = CASES / "061-nixl-blocksize-d-smaller" / "decode.log"
SCAN = [sys.executable, "-c", "from kvdoctor.cli import main; raise SystemExit(main())", "scan"]


def piped(text: bytes) -> list[str]:
    done = subprocess.run([*SCAN, "-", "--follow"], input=text, capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def test_a_kind_is_told_once_with_cause_and_fix() -> None:
    told = piped(FAILURE.read_bytes() * 3)
    about = [line for line in told if "nixl-block-size-not-multiple" in line]
    assert len(about) == 1
    assert "128 tokens" in about[0] and "match-this-side" in about[0]


def test_a_healthy_pipe_ends_without_a_word() -> None:
    assert piped((CASES / "050-nixl-healthy" / "decode.log").read_bytes()) == []


def steps(*actions: Callable[[], object]) -> Callable[[], bool]:
    """Each time the follower finds nothing new the next action is done; then it is over."""
    left = list(actions)

    def next_step() -> bool:
        if left:
            left.pop(0)()
            return False
        return True

    return next_step


def test_a_rotated_file_is_followed_from_its_new_beginning(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"INFO 11-30 12:00:00 [a.py:1] nothing\n")
    told: list[str] = []

    def rotate() -> None:
        os.rename(log, tmp_path / "vllm.log.1")  # noqa: PTH104
        log.write_bytes(FAILURE.read_bytes())

    follow(str(log), load(private=False), told.append, until=steps(rotate, lambda: None))
    assert any("nixl-block-size-not-multiple" in line for line in told)


def test_a_truncated_file_is_followed_from_its_new_beginning(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"INFO 11-30 12:00:00 [a.py:1] nothing\n" * 9000)
    told: list[str] = []

    def truncate() -> None:
        log.write_bytes(FAILURE.read_bytes())

    follow(str(log), load(private=False), told.append, until=steps(truncate, lambda: None))
    assert any("nixl-block-size-not-multiple" in line for line in told)


def test_a_traceback_that_is_still_being_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvdoctor.scan.follow.QUIET", 0.0)
    text = FAILURE.read_bytes()
    end = text.index(b"AssertionError: Local block size")
    cut = text.rindex(b"\n", 0, end) + 1
    log = tmp_path / "vllm.log"
    log.write_bytes(text[:cut])
    told: list[str] = []

    def write_the_end() -> None:
        assert not [line for line in told if "cut off" in line]
        with log.open("ab") as stream:
            stream.write(text[cut:])

    nothing = lambda: None  # noqa: E731
    ends = steps(nothing, nothing, write_the_end, nothing)
    follow(str(log), load(private=False), told.append, until=ends)
    assert any("nixl-block-size-not-multiple" in line for line in told)
    assert not [line for line in told if "cut off" in line]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_followed_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(FAILURE.read_bytes()), daemon=True)
    writer.start()
    done = subprocess.run([*SCAN, str(pipe), "--follow"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b"nixl-block-size-not-multiple" in done.stdout
