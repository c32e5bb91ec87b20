"""Copying with the real programs: the clipboards of X and Wayland, tmux, a terminal's own (OSC 52).

Each test runs where its programs are installed, and says which are missing where they are not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LOG = Path(__file__).parent / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"
FIX = "--block-size 128"
SECONDS = 60.0
KVDOCTOR = [sys.executable, "-m", "kvdoctor"]


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [one for one in programs if sys.platform == "win32" or shutil.which(one) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"NOT TRIED WITH REAL PROGRAMS: {', '.join(missing)} not installed"
    )


def until(holds: Callable[[], bool], what: Callable[[], str]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what()
        time.sleep(0.1)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    folders = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {**kept, **folders, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONUTF8": "1"}


@pytest.fixture
def display() -> Iterator[str]:
    """An X server of our own, with no screen to look at."""
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp"],
        pass_fds=[writer], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    try:
        with os.fdopen(reader) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def wayland() -> Iterator[dict[str, str]]:
    """A Wayland compositor of our own, as nobody when we are root: it refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="kvdoctor-wayland-"))  # a short path: it holds a socket
    nobody = 65534
    if os.geteuid() == 0:
        os.chown(folder, nobody, nobody)
    as_nobody = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
    settings = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1",
                "WLR_RENDERER": "pixman", "XDG_RUNTIME_DIR": str(folder)}  # fmt: skip
    server = subprocess.Popen(
        [*(as_nobody if os.geteuid() == 0 else []), "sway", "--config", os.devnull],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
    )  # fmt: skip
    try:
        until(lambda: (folder / "wayland-1").exists(), lambda: "the compositor did not start")
        yield {"WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": str(folder)}
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder)


class Tmux:
    """A tmux server of our own; the screen runs in its only pane."""

    def __init__(self, folder: Path, environment: dict[str, str], *command: str) -> None:
        self._socket = folder / "tmux"
        self._environment = environment
        configuration = folder / "tmux.conf"
        configuration.write_text(
            "set -g set-clipboard on\nset -g default-terminal screen-256color\n"
        )
        self("-f", str(configuration), "new-session", "-d", "-x", "100", "-y", "40", *command)

    def __call__(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self._socket), *words], check=True, timeout=SECONDS,
            env=self._environment, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def wait_for(self, words: str) -> None:
        def drawn() -> str:
            return " ".join(self("capture-pane", "-p").split())

        until(lambda: words in drawn(), drawn)

    def end(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self("kill-server")


@pytest.fixture
def tmux(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Tmux]]:
    made: list[Tmux] = []

    def start(environment: dict[str, str], *command: str) -> Tmux:
        made.append(Tmux(tmp_path, environment, *command))
        return made[-1]

    yield start
    for one in made:
        one.end()


def x_clipboard(display: str) -> str:
    told = subprocess.run(
        ["xclip", "-o", "-selection", "clipboard"], capture_output=True, text=True,
        timeout=SECONDS, check=False, env={**os.environ, "DISPLAY": display},
    )  # fmt: skip
    return told.stdout


@needs("Xvfb", "xclip")
def test_the_command_line_copies_exactly_the_fix_to_the_x_clipboard(
    display: str, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [*KVDOCTOR, "diagnose", "--copy", "--decode", str(LOG)], capture_output=True, text=True,
        timeout=SECONDS, check=False, env={**environment, "DISPLAY": display},
    )  # fmt: skip
    assert "copied to the clipboard" in done.stdout + done.stderr
    assert x_clipboard(display) == FIX


@needs("sway", "setpriv", "wl-copy", "wl-paste")
def test_the_command_line_copies_exactly_the_fix_to_the_wayland_clipboard(
    wayland: dict[str, str], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [*KVDOCTOR, "diagnose", "--copy", "--decode", str(LOG)], capture_output=True, text=True,
        timeout=SECONDS, check=False, env={**environment, **wayland},
    )  # fmt: skip
    assert "copied to the clipboard" in done.stdout + done.stderr
    pasted = subprocess.run(
        ["wl-paste", "-n"], capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**environment, **wayland},
    )  # fmt: skip
    assert pasted.stdout == FIX


@needs("tmux", "Xvfb", "xclip")
def test_the_screen_in_tmux_on_a_desktop_copies_to_both(
    display: str, environment: dict[str, str], tmux: Callable[..., Tmux]
) -> None:
    one = tmux({**environment, "DISPLAY": display}, *KVDOCTOR, "--decode", str(LOG))
    one.wait_for("never smaller")
    one("send-keys", "y")
    one.wait_for("copied to tmux's buffer and the clipboard")
    assert one("show-buffer") == FIX
    assert x_clipboard(display) == FIX


@needs("tmux")
def test_a_terminal_that_takes_the_escape_sequence_has_exactly_the_fix(
    environment: dict[str, str], tmux: Callable[..., Tmux]
) -> None:
    """As over ssh or ``kubectl exec`` from a pane: the program there knows nothing of tmux."""
    one = tmux(environment, "env", "-u", "TMUX", *KVDOCTOR, "--decode", str(LOG))
    one.wait_for("never smaller")
    one("send-keys", "y")
    one.wait_for("sent to the terminal's clipboard (it does not confirm)")
    assert one("show-buffer") == FIX


@needs("tmux", "Xvfb", "xclip")
def test_a_whole_command_arrives_byte_by_byte(
    display: str, environment: dict[str, str], tmux: Callable[..., Tmux]
) -> None:
    one = tmux({**environment, "DISPLAY": display}, *KVDOCTOR, "--decode", str(LOG))
    one.wait_for("never smaller")
    one("send-keys", "c")
    one.wait_for("copied to tmux's buffer and the clipboard")
    saved = Path(environment["XDG_STATE_HOME"]) / "kvdoctor" / "last-fix.txt"
    whole = saved.read_text(encoding="utf-8").removesuffix("\n")
    assert FIX in whole and len(whole) > len(FIX)
    assert one("show-buffer") == x_clipboard(display) == whole


@needs("tmux", "Xvfb", "xclip")
def test_a_display_that_is_gone_is_no_clipboard(
    environment: dict[str, str], tmux: Callable[..., Tmux]
) -> None:
    gone = {**environment, "DISPLAY": ":987"}
    one = tmux(gone, "env", "-u", "TMUX", *KVDOCTOR, "--decode", str(LOG))
    one.wait_for("never smaller")
    one("send-keys", "y")
    one.wait_for("sent to the terminal's clipboard")
    assert one("show-buffer") == FIX
