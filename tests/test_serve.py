"""The screen in a browser: the page, the kvdoctor behind it, and a door closed to other sites."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from servers import LOG, Served, children, is_alive, needs_extra

from kvdoctor.clipboard import copy
from kvdoctor.command import serve
from kvdoctor.command.arguments import parser
from kvdoctor.errors import InputError
from kvdoctor.terminal import SERVED, WEB


def options(*words: str) -> argparse.Namespace:
    return parser("serve").parse_args(["serve", *words])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path, "--decode", str(LOG))
    yield one
    if one.poll() is None:
        one.kill()
    one.communicate(timeout=20)


@needs_extra
def test_the_page_is_served_at_the_told_address_until_the_process_is_ended(served: Served) -> None:
    assert served.address.startswith(f"{served.own}/?token=")
    served.enter()
    status, headers, page = served.get()
    assert status == 200
    assert "https:" not in page and "http:" not in page, "nothing is loaded from elsewhere"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    for part in ("/static/page.js", "/static/page.css", "/terminal/js/textual.js"):
        assert part in page and served.get(part)[0] == 200
    os.kill(served.pid, signal.SIGTERM)
    assert served.wait(20) == 0
    with pytest.raises(OSError):
        served.get()


@needs_extra
def test_the_token_opens_the_page_and_a_cookie_keeps_it_open(served: Served) -> None:
    for path in ("/", "/?token=", "/?token=wrong", "/static/page.js", "/terminal/js/textual.js",
                 "/download/x", "/ws", "/none"):  # fmt: skip
        status, headers, told = served.get(path, Origin=served.own)
        assert (status, headers["Set-Cookie"]) == (403, None), path
        assert "Open the whole address" in told
    given = served.enter()
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(given.split("; "))
    token = served.address.partition("token=")[2]
    assert len(token) >= 32 and token not in given, "the cookie does not give the token away"
    assert served.get()[0] == 200
    assert served.get("/none")[0] == served.get("/download/x")[0] == 404
    served.cookie = served.cookie[:-1]
    assert served.get()[0] == 403


@needs_extra
def test_without_a_token_only_when_asked_and_then_told(tmp_path: Path) -> None:
    with Served(tmp_path, "--no-token") as one:
        try:
            assert one.address == one.own
            assert one.get()[0] == 200
        finally:
            one.terminate()
            told = one.communicate(timeout=20)[1]
    assert "every user of this machine" in told


@needs_extra
def test_other_sites_and_other_names_are_turned_away(served: Served) -> None:
    served.enter()
    assert served.get(Origin=served.own)[0] == 200
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
@pytest.mark.parametrize(
    ("url", "port", "host"),
    [
        ("http://127.0.0.1:80", 80, "127.0.0.1"),
        ("http://127.0.0.1:80", 80, "localhost"),
        ("https://vllm.example:443", 8765, "vllm.example"),
        ("https://vllm.example", 8765, "vllm.example"),
        ("http://vllm.example:8080", 8080, "vllm.example:8080"),
    ],
)
def test_a_browser_leaves_the_usual_port_out(url: str, port: int, host: str) -> None:
    from kvdoctor.serving import Door

    door = Door(url, port)
    assert host in door.places and f"{url.partition(':')[0]}://{host}" in door.origins


@asynccontextmanager
async def opened(served: Served) -> AsyncIterator[Page]:
    """A page, without a browser."""
    import aiohttp

    if not served.cookie:
        await asyncio.to_thread(served.enter)
    async with (
        aiohttp.ClientSession(headers={"Cookie": served.cookie}) as session,
        session.ws_connect(f"{served.own}/ws?width=100&height=40", origin=served.own) as socket,
    ):
        yield Page(socket)


class Page:
    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.shown = ""

    async def told(self, kind: str) -> Any:
        """The next message of this kind to the page."""
        while True:
            message = await self.socket.receive(timeout=60)
            if isinstance(message.data, str) and json.loads(message.data)[0] == kind:
                return json.loads(message.data)[1]
            self.shown += message.data.decode(errors="replace")

    async def wait_for(self, words: str) -> None:
        while words not in self.shown:
            message = await self.socket.receive(timeout=60)
            assert isinstance(message.data, bytes), message
            self.shown += message.data.decode(errors="replace")

    async def end(self) -> Any:
        """The last message."""
        message = await self.socket.receive(timeout=20)
        while isinstance(message.data, (bytes, str)) and not isinstance(message.data, int):
            message = await self.socket.receive(timeout=20)
        return message


@needs_extra
async def test_a_fix_is_copied_by_the_page_which_says_so(served: Served) -> None:
    async with opened(served) as page:
        await page.wait_for("never smaller")
        for outcome, words in (
            ("copied", "copied to the browser's clipboard"),
            ("shown", "copied by hand"),
            (None, "the page does not answer: saved on the serving machine"),
        ):
            await page.socket.send_json(["stdin", "y"])
            asked = await page.told("copy")
            assert asked["text"] == "--block-size 128"
            for wrong in ({"key": "x", "outcome": "copied"}, {}, [], "copied", None):
                await page.socket.send_json(["copied", wrong])
            if outcome:
                await page.socket.send_json(["copied", {"key": asked["key"], "outcome": outcome}])
            await page.wait_for(words)
            file = served.state / "kvdoctor" / "last-fix.txt"
            assert file.exists() == (outcome is None), "nothing is left on the serving machine"


@needs_extra
async def test_a_note_is_a_download_that_is_given_once(served: Served) -> None:
    async with opened(served) as page:
        await page.wait_for("never smaller")
        await page.socket.send_json(["stdin", "C"])
        await page.wait_for("Copy what?")
        await page.socket.send_json(["stdin", "p"])
        key = await page.told("deliver_file_start")
        reader = asyncio.create_task(page.wait_for("offered to the browser"))
        status, headers, note = await asyncio.to_thread(served.get, f"/download/{key}")
        assert status == 200
        assert headers["Content-Disposition"].startswith('attachment; filename="kvdoctor-')
        assert "--block-size 128" in note
        assert (await asyncio.to_thread(served.get, f"/download/{key}"))[0] == 404
        reader.cancel()
    assert not list(served.state.rglob("notes/*"))


@needs_extra
async def test_a_page_that_is_closed_leaves_no_process_and_no_more_than_agreed_are_open(
    tmp_path: Path,
) -> None:
    served = Served(tmp_path, "--pages", "1")
    try:
        async with opened(served) as page:
            await page.wait_for("Paste a vLLM log")
            (first,) = children(served.pid)
            status, _, told = await asyncio.to_thread(served.get)
            assert status == 503 and "--pages 1, all open. Close one" in told
            async with opened(served) as second:
                ended = await second.end()
            assert "--pages 1, all open" in ended.extra
            assert children(served.pid) == [first]
            for junk in ("", "{", "[]", "1", '["stdin"]', '["resize", {"width": 1e99}]', "[[]]"):
                await page.socket.send_str(junk)
            await page.socket.send_json(["resize", {"width": 10**9, "height": -4}])
        async with opened(served) as again:
            await again.wait_for("Paste a vLLM log")
            (second_pid,) = children(served.pid)
            assert second_pid != first
            os.kill(served.pid, signal.SIGTERM)
            await again.end()
        assert served.wait(20) == 0, "an open page holds nothing up"
        assert not is_alive(first) and not is_alive(second_pid)
    finally:
        served.kill()
        served.communicate(timeout=20)


@needs_extra
@pytest.mark.parametrize("end", ["page", "server"])
async def test_a_process_that_does_not_answer_is_ended_with_its_page(
    served: Served, end: str
) -> None:
    async with opened(served) as page:
        await page.wait_for("Paste a vLLM log")
        (behind,) = children(served.pid)
        os.kill(behind, signal.SIGSTOP)
        if end == "server":
            served.terminate()
            await page.end()
    until = time.monotonic() + 30
    while is_alive(behind):
        assert time.monotonic() < until, "an orphan"
        await asyncio.sleep(0.1)
    if end == "server":
        assert served.wait(20) == 0


@needs_extra
async def test_a_server_that_is_killed_leaves_no_process(served: Served) -> None:
    async with opened(served) as page:
        await page.wait_for("never smaller")
        (behind,) = children(served.pid)
        served.kill()
        until = time.monotonic() + 20
        while is_alive(behind):
            assert time.monotonic() < until, "an orphan"
            await asyncio.sleep(0.1)


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


def test_hostile_names_reach_the_served_kvdoctor_whole(tmp_path: Path) -> None:
    names = ["a b.log", "$(touch ran).log", "'; touch ran; '.log", "--theme", "`touch ran`"]
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_text("x\n")
    words = serve.served_command(
        options("--prefill", str(files[0]), "--set", "a=$(touch ran)", "--", *map(str, files))
    )
    assert words[:2] == [sys.executable, "-c"]
    read = parser("screen").parse_args(words[3:])
    assert read.files == [str(one) for one in files]
    assert (read.prefill, read.sets) == ([str(files[0])], ["a=$(touch ran)"])


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    for words in (
        ["-"], [str(tmp_path / "none.log")], ["--port", "0"], ["--port", "70000"],
        ["--host", "::"], ["--url", "ftp://x"], ["--url", "http://x/y"],
        ["--pages", "0"], ["--host", "192.0.2.1", "--no-token"],
    ):  # fmt: skip
        with pytest.raises(InputError):
            serve.run(options(*words))


def test_an_open_address_shows_no_history() -> None:
    assert "--no-history" in serve.served_command(options("--host", "192.0.2.1"))
    assert "--no-history" not in serve.served_command(options())


@pytest.mark.parametrize("driver", [SERVED, WEB])
def test_a_served_kvdoctor_never_copies_to_the_clipboard_of_the_server(
    driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "xclip"
    helper.write_text(f"#!/bin/sh\ncat > {tmp_path / 'taken'}\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("WAYLAND_DISPLAY", "TMUX", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_DRIVER", driver)
    done = copy("text", lambda sequence: True)
    assert not (tmp_path / "taken").exists()
    assert done.told.startswith("sent to the browser's clipboard (it does not confirm)")
