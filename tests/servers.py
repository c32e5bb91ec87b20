"""``kvdoctor serve`` as a process, for the tests of its pages."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest

LOG = Path(__file__).parent / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"
needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None or sys.platform == "win32",
    reason='needs pip install "kvdoctor[serve]", and signals',
)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Served(subprocess.Popen[str]):
    """``kvdoctor serve`` on a free port of the loopback."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.port = free_port()
        self.state = folder / "XDG_STATE_HOME"
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
        self.address = next((word for word in self.told.split() if "://" in word), "")
        self.own = f"http://127.0.0.1:{self.port}"
        self.cookie = ""

    def get(self, path: str = "/", **headers: str) -> tuple[int, Message, str]:
        """Status, headers and text of a page, as a browser with our cookie gets it."""
        kept = {"Cookie": self.cookie} if self.cookie else {}
        asked = urllib.request.Request(f"{self.own}{path}", headers={**kept, **headers})  # noqa: S310
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def enter(self) -> str:
        """Open the told address, and keep the cookie; the whole of it."""
        given = str(self.get(self.address.removeprefix(self.own))[1]["Set-Cookie"])
        self.cookie = given.partition(";")[0]
        return given


def children(pid: int) -> list[int]:
    told = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True)
    return [int(one) for one in told.stdout.split()]


def is_alive(pid: int) -> bool:
    told = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True)
    return bool(told.stdout.strip()) and not told.stdout.startswith("Z")
