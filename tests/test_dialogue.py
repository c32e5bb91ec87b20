"""The linear dialogue: the same questions and answers, on a terminal and without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

from terminals import Terminal

CASE = Path(__file__).parent / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    folders = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {**kept, **folders, "TERM": "dumb", "PYTHONUTF8": "1"}


@pytest.fixture
def started() -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for one in terminals:
        one.close()


def test_a_dumb_terminal_gets_the_report_and_may_copy(
    environment: dict[str, str], started: list[Terminal], tmp_path: Path
) -> None:
    terminal = Terminal([str(CASE)], environment)
    started.append(terminal)
    terminal.wait_for("Copy a fix?")
    assert "FIX 1" in terminal.text
    assert b"\x1b" not in terminal.raw, "nothing that a screen reader would stumble over"
    terminal.send("1\n")
    terminal.wait_for("last-fix.txt")
    assert terminal.ended() == 0
    file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
    assert file.read_text() == "--block-size 128\n"


def test_a_paste_ends_with_a_full_stop_and_questions_follow(
    environment: dict[str, str], started: list[Terminal]
) -> None:
    terminal = Terminal(["--plain"], environment)
    started.append(terminal)
    terminal.wait_for("single full stop")
    terminal.send(
        "AssertionError: Local block size 32 is not divisible by remote block size 128 "
        "or vice versa.\n.\n"
    )
    terminal.wait_for("ROOT CAUSE")
    terminal.wait_for("[1-")
    terminal.send("\n")
    assert terminal.ended() == 0


def test_after_a_pipe_the_answers_come_from_the_terminal(
    environment: dict[str, str], started: list[Terminal]
) -> None:
    terminal = Terminal(["--plain"], environment, piped=CASE.read_bytes())
    started.append(terminal)
    terminal.wait_for("Copy a fix?")
    terminal.send("\n")
    assert terminal.ended() == 0


def test_without_a_terminal_nothing_prompts(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvdoctor", "--plain", str(CASE)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0
    assert "FIX 1" in done.stdout
    assert "Copy a fix?" not in done.stdout
    assert done.stderr == ""


def test_yes_copies_the_first_fix(
    environment: dict[str, str], started: list[Terminal], tmp_path: Path
) -> None:
    terminal = Terminal([str(CASE)], environment)
    started.append(terminal)
    terminal.wait_for("Copy a fix?")
    terminal.send("9\n")
    terminal.wait_for("there is no fix '9'")
    terminal.send("y\n")
    terminal.wait_for("last-fix.txt")
    assert terminal.ended() == 0
    file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
    assert file.read_text() == "--block-size 128\n"


@pytest.mark.parametrize("command", [["--plain"], ["diagnose"], ["diagnose", "--json", "-"]])
def test_an_empty_pipe_is_refused_with_what_to_do(
    command: list[str], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvdoctor", *command],
        input=" \n",
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is empty" in done.stderr
