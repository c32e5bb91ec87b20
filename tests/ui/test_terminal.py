"""The program on a real terminal: it leaves it as it found it, and pastes arrive whole."""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

CASE = Path(__file__).parents[1] / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

from terminals import Terminal  # noqa: E402


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    folders = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {**kept, **folders, "TERM": "xterm-256color", "PYTHONUTF8": "1"}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for one in terminals:
        one.close()


def test_q_leaves_the_terminal_as_it_was(tmp_path: Path, started: list[Terminal]) -> None:
    terminal = Terminal([], environment(tmp_path))
    started.append(terminal)
    terminal.wait_for("Paste a vLLM log")
    assert termios.tcgetattr(terminal.end)[3] != terminal.before[3], "the screen is raw"
    terminal.send("q")
    assert terminal.ended() == 0
    assert termios.tcgetattr(terminal.end)[:4] == terminal.before[:4]
    for off in (b"\x1b[?1049l", b"\x1b[?2004l", b"\x1b[?25h", b"\x1b[?1000l"):
        assert off in terminal.raw


def test_a_signal_to_end_leaves_the_terminal_as_it_was(
    tmp_path: Path, started: list[Terminal]
) -> None:
    terminal = Terminal([], environment(tmp_path))
    started.append(terminal)
    terminal.wait_for("Paste a vLLM log")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ended() == 128 + signal.SIGTERM
    assert termios.tcgetattr(terminal.end)[:4] == terminal.before[:4]
    assert b"\x1b[?1049l" in terminal.raw


def test_a_bracketed_paste_with_escapes_is_diagnosed(
    tmp_path: Path, started: list[Terminal]
) -> None:
    terminal = Terminal([], environment(tmp_path))
    started.append(terminal)
    terminal.wait_for("Paste a vLLM log")
    message = "AssertionError: Local block size 32 is not divisible by remote block size 128"
    terminal.send(f"\x1b[200~\x1b[31mq q q\x1b[0m\r{message} or vice versa.\x1b[201~")
    terminal.wait_for("never smaller")
    terminal.send("\x11")
    assert terminal.ended() == 0


def test_a_pipe_is_read_and_keys_come_from_the_terminal(
    tmp_path: Path, started: list[Terminal]
) -> None:
    terminal = Terminal([], environment(tmp_path), piped=CASE.read_bytes())
    started.append(terminal)
    terminal.wait_for("--block-size 128")
    terminal.send("y")
    terminal.wait_for("sent to the terminal's clipboard")
    file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
    assert file.read_text() == "--block-size 128\n"
    assert b"\x1b]52;c;" in terminal.raw
    terminal.send("\x03\x03")
    assert terminal.ended() == 0
