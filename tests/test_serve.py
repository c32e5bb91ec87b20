"""The screen in a browser: the page, the kvdoctor behind it, and a door closed to other sites."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdoctor.clipboard import copy
from kvdoctor.command import serve
from kvdoctor.command.arguments import parser
from kvdoctor.errors import InputError

LOG = Path(__file__).parent / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"
needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None or sys.platform == "win32",
    reason='needs pip install "kvdoctor[serve]", and signals',
)


def options(*words: str) -> argparse.Namespace:
    return parser("serve").parse_args(["serve", *words])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Served(subprocess.Popen[str]):
    """``kvdoctor serve`` on a free port of the loopback."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.port = free_port()
        folders = {
            name: str(folder / name)
            for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
        }
        super().__init__(
            [sys.executable, "-m", "kvdoctor", "serve", "--port", str(self.port), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **folders},
        )  # fmt: skip
        assert self.stdout is not None
        self.told = self.stdout.readline()

    def get(self, path: str = "/", **headers: str) -> tuple[int, str, str]:
        """Status, policy and text of a page."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
                policy = answer.headers["Content-Security-Policy"]
                return answer.status, policy, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, "", error.read().decode()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path, "--decode", str(LOG))
    yield one
    if one.poll() is None:
        one.kill()
    one.communicate(timeout=20)


@needs_extra
def test_the_page_is_served_at_the_told_address_until_the_process_is_ended(served: Served) -> None:
    assert f"http://127.0.0.1:{served.port}" in served.told
    status, policy, page = served.get()
    assert status == 200
    assert f"ws://127.0.0.1:{served.port}/ws" in page
    assert "default-src 'none'" in policy
    assert "googleapis" not in policy
    os.kill(served.pid, signal.SIGTERM)
    assert served.wait(20) == 0
    with pytest.raises(OSError):
        served.get()


@needs_extra
def test_other_sites_and_other_names_are_turned_away(served: Served) -> None:
    own = f"http://127.0.0.1:{served.port}"
    assert served.get(Origin=own)[0] == 200
    assert served.get(Host=f"localhost:{served.port}")[0] == 200
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{served.port}"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://127.0.0.1:{served.port}"},
    ):
        assert served.get(**headers)[0] == 403, headers
    for headers in ({}, {"Origin": "https://evil.example"}):
        assert served.get("/ws", **headers)[0] == 403, "a socket needs our own page"


@needs_extra
async def test_behind_the_page_is_this_kvdoctor_with_the_named_file(served: Served) -> None:
    import aiohttp

    own = f"http://127.0.0.1:{served.port}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{own}/ws?width=100&height=40", origin=own) as page,
    ):
        shown = ""
        while "never smaller" not in shown:
            message = await page.receive(timeout=60)
            assert message.type is aiohttp.WSMsgType.BINARY, message
            shown += message.data.decode(errors="replace")
        await page.send_json(["stdin", "y"])
        while "browser's clipboard" not in shown:
            message = await page.receive(timeout=60)
            shown += message.data.decode(errors="replace")
        assert "\x1b]52;c;" in shown, "the text goes to the browser, not to this machine"
        os.kill(served.pid, signal.SIGTERM)
        while message.type is aiohttp.WSMsgType.BINARY:
            message = await page.receive(timeout=20)
    assert served.wait(20) == 0, "an open page holds nothing up"


@needs_extra
def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "kvdoctor", "serve", "--port", str(port)],
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        )  # fmt: skip
    assert done.returncode == 2
    assert "cannot be listened on" in done.stderr and "another --port" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "", "no address is told that was not taken"


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "kvdoctor.serving", raising=False)
    for name in ("textual_serve", "textual_serve.server"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match="textual-serve") as told:
        serve.run(options())
    assert 'pip install "kvdoctor[serve]"' in str(told.value)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is asked")
def test_hostile_names_reach_the_served_kvdoctor_whole_and_run_nothing(tmp_path: Path) -> None:
    names = ["a b.log", "$(touch ran).log", "'; touch ran; '.log", "--theme", "`touch ran`"]
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_text("x\n")
    command = serve.served_command(
        options("--prefill", str(files[0]), "--set", "a=$(touch ran)", "--", *map(str, files))
    )
    words = shlex.split(command)
    assert words[:2] == [sys.executable, "-c"]
    shown = "import sys; print('\\0'.join(sys.argv[1:]), end='')"
    printed = shlex.join([sys.executable, "-c", shown]) + command[len(shlex.join(words[:3])) :]
    done = subprocess.run(
        ["sh", "-c", printed], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=60
    )
    assert done.stdout.split("\0") == words[3:]
    read = parser("screen").parse_args(done.stdout.split("\0"))
    assert read.files == [str(one) for one in files]
    assert (read.prefill, read.sets) == ([str(files[0])], ["a=$(touch ran)"])
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    for words in (
        ["-"], [str(tmp_path / "none.log")], ["--port", "0"], ["--port", "70000"],
        ["--host", "::"], ["--url", "ftp://x"], ["--url", "http://x/y"],
    ):  # fmt: skip
        with pytest.raises(InputError):
            serve.run(options(*words))


def test_an_open_address_shows_no_history() -> None:
    assert "--no-history" in serve.served_command(options("--host", "192.0.2.1"))
    assert "--no-history" not in serve.served_command(options())


def test_a_served_kvdoctor_never_copies_to_the_clipboard_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "xclip"
    helper.write_text(f"#!/bin/sh\ncat > {tmp_path / 'taken'}\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("WAYLAND_DISPLAY", "TMUX", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    done = copy("text", lambda sequence: True)
    assert not (tmp_path / "taken").exists()
    assert done.told.startswith("sent to the browser's clipboard (it does not confirm)")
