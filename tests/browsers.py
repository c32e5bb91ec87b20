"""A real browser without a window, driven over its own protocol: what a page does with keys, pastes
and the clipboard cannot be seen from the server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), "")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0", "about:blank",
)  # fmt: skip
SECONDS = 60.0
CONTROL = 2


class Browser:
    """One browser and its answers; a tab is a ``session`` of the protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._asked = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._tabs: dict[str, Tab] = {}

    async def listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            answer = self._answers.pop(told.get("id", 0), None)
            if answer is not None:
                answer.set_result(told)
            elif told.get("sessionId") in self._tabs:
                self._tabs[told["sessionId"]].heard(told["method"], told["params"])

    async def ask(self, method: str, session: str = "", **given: Any) -> Any:
        self._asked += 1
        answer = self._answers[self._asked] = asyncio.get_running_loop().create_future()
        where = {"sessionId": session} if session else {}
        await self._socket.send_json(
            {"id": self._asked, "method": method, "params": given, **where}
        )
        told = await asyncio.wait_for(answer, SECONDS)
        assert "error" not in told, (method, told)
        return told["result"]

    async def open(self, address: str) -> Tab:
        origin = "/".join(address.split("/")[:3])
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        await self.ask("Browser.grantPermissions", origin=origin, permissions=allowed)
        target = (await self.ask("Target.createTarget", url="about:blank"))["targetId"]
        told = await self.ask("Target.attachToTarget", targetId=target, flatten=True)
        tab = self._tabs[told["sessionId"]] = Tab(self, told["sessionId"], target)
        for part in ("Network", "Runtime", "Page"):
            await tab.ask(f"{part}.enable")
        await tab.ask("Page.navigate", url=address)
        return tab


class Tab:
    """A page: ``shown`` is what its terminal was told to draw, ``sent`` what it told the server,
    ``wrong`` its errors."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.shown = ""
        self.sent: list[list[Any]] = []
        self.wrong: list[str] = []

    def heard(self, method: str, told: dict[str, Any]) -> None:
        if method == "Network.webSocketFrameReceived" and told["response"]["opcode"] == 2:
            drawn = base64.b64decode(told["response"]["payloadData"])
            self.shown += drawn.decode(errors="replace")
        elif method == "Network.webSocketFrameSent":
            self.sent.append(json.loads(told["response"]["payloadData"]))
        elif method == "Runtime.exceptionThrown":
            self.wrong.append(str(told["exceptionDetails"]))

    async def ask(self, method: str, **given: Any) -> Any:
        return await self._browser.ask(method, self._session, **given)

    async def run(self, script: str) -> Any:
        told = await self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def clipboard(self) -> str:
        return str(await self.run("navigator.clipboard.readText()"))

    async def press(self, key: str, modifiers: int = 0) -> None:
        """A key, as the keyboard sends it: to whatever has the focus."""
        named = {"key": key, "code": f"Key{key.upper()}", "modifiers": modifiers,
                 "windowsVirtualKeyCode": ord(key.upper())}  # fmt: skip
        typed = {} if modifiers else {"text": key}
        await self.ask("Input.dispatchKeyEvent", type="keyDown", **named, **typed)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **named)

    async def wait_for(self, words: str) -> None:
        await self.until(lambda: words in self.shown, words)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(int(SECONDS / 0.1)):
            if holds():
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"never: {what}; {self.wrong} {self.sent[-5:]} {self.shown[-2000:]!r}")

    async def close(self) -> None:
        await self._browser.ask("Target.closeTarget", targetId=self._target)


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """A browser with a profile and a home in ``folder``; ended by its own process id."""
    import aiohttp

    process = subprocess.Popen(
        [BROWSER, f"--user-data-dir={folder}", *FLAGS],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    try:
        address = await asyncio.wait_for(asyncio.to_thread(_address, process), SECONDS)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, max_msg_size=0) as socket,
        ):
            made = Browser(socket)
            listening = asyncio.create_task(made.listen())
            try:
                yield made
            finally:
                listening.cancel()
    finally:
        process.terminate()
        try:
            await asyncio.to_thread(process.communicate, timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if "DevTools listening on " in line:
            return line.rpartition(" ")[2].strip()
    raise AssertionError("the browser did not start")
