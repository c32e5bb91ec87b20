"""The open pages: a socket to the browser, a process of its own behind it, never more than agreed.

Whatever ends a page (its browser, its kvdoctor, the server) ends its process: asked first, killed
when it does not leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

LEAVING_SECONDS = 3.0  # for a process that was asked to leave
GRACE_SECONDS = 0.5  # a page that is loaded anew asks before the old one is known to be gone
HEARTBEAT_SECONDS = 15
MOST_BYTES = 64 * 1024 * 1024  # of one message from a browser: a paste
PIECE = 1 << 16  # of a paste, for the process
LARGEST = 1000  # cells of a terminal's side
FULL = "Too many pages: kvdoctor serves --pages {most}, all open. Close one, load this one again."
NOT_STARTED = (
    b"\x1b[2J\x1b[Hkvdoctor could not be started; where it is served from it said why.\r\n"
)


class Behind(AppService):  # type: ignore[misc]
    """The kvdoctor behind a page: started without a shell, ended for sure."""

    said = False
    _process: Any
    _task: Any

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        from kvdoctor.terminal import SERVED

        made: dict[str, str] = super()._build_environment(width, height)
        return {**made, "TEXTUAL_DRIVER": SERVED}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Any:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, stderr=pipe,
            env=self._build_environment(width, height),
        )  # fmt: skip
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        """Hand on what the process draws until it ends; then the page ends too."""
        await super().run()
        with contextlib.suppress(ConnectionError, RuntimeError):
            if not self.said:
                await self.remote_write_bytes(NOT_STARTED)
            await self.remote_close()

    async def on_data(self, payload: bytes) -> None:
        self.said = True
        await super().on_data(payload)

    async def on_meta(self, data: bytes) -> None:
        """A text to copy goes to the page as it is; the rest is textual-serve's."""
        told = json.loads(data)
        if told.get("type") == "copy":
            parts = {"key": told["key"], "text": told["text"]}
            await self.remote_write_str(json.dumps(["copy", parts]))
        else:
            await super().on_meta(data)

    async def stop(self) -> None:
        """End the process. Takes a few seconds at most."""
        process, task = self._process, self._task
        self._process = self._task = None
        if process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        with contextlib.suppress(asyncio.TimeoutError, OSError, RuntimeError):
            await asyncio.wait_for(self.send_meta({"type": "quit"}), LEAVING_SECONDS)
        patience = LEAVING_SECONDS
        if task is not None:
            await asyncio.wait({task}, timeout=patience)
            patience = LEAVING_SECONDS if task.done() else 0.0
            task.cancel()
            await asyncio.wait({task})
        await _ended(process, patience)


async def _ended(process: Any, patience: float) -> None:
    """Read what it still writes (on a full pipe it could not leave), then kill it."""
    with contextlib.suppress(asyncio.TimeoutError, OSError, ValueError):
        await asyncio.wait_for(process.communicate(), patience)
        return
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    with contextlib.suppress(asyncio.TimeoutError, OSError, ValueError):
        await asyncio.wait_for(process.communicate(), LEAVING_SECONDS)


class Pages:
    """At most ``most`` pages at once, each with ``command`` behind it."""

    def __init__(self, command: Sequence[str], most: int) -> None:
        self.command = tuple(command)
        self.most = most
        self._open: set[Behind] = set()
        self._answering: set[asyncio.Task[Any]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._downloads = DownloadManager()

    @property
    def refusal(self) -> str:
        return FULL.format(most=self.most)

    async def has_room(self) -> bool:
        """Whether there is room for one more page; waits for those that are just leaving."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while len(self._open) >= self.most:
            patience = 3 * LEAVING_SECONDS if self._leaving else GRACE_SECONDS
            if loop.time() - began > patience:
                return False
            await asyncio.sleep(0.05)
        return True

    def end(self) -> None:
        """End every page: each ends its kvdoctor."""
        for task in self._answering:
            task.cancel()

    async def ended(self) -> None:
        """Wait until the last of them is gone: a few seconds at most."""
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def page(self, request: Any) -> Any:
        """The socket of a page, for as long as it is open."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MOST_BYTES)
        await socket.prepare(request)
        if not await self.has_room():
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=self.refusal.encode())
            return socket
        behind = Behind(
            self.command, write_bytes=socket.send_bytes, write_str=socket.send_str,
            close=socket.close, download_manager=self._downloads,
        )  # fmt: skip
        task = asyncio.current_task()
        self._open.add(behind)
        self._answering |= {task} if task is not None else set()
        try:
            await behind.start(_cells(request.query, "width", 80), _cells(request.query, "height"))
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await _heard(message.data, socket, behind)
        except asyncio.CancelledError:
            await socket.close(code=WSCloseCode.GOING_AWAY, message=b"the server was ended")
        except ConnectionError:
            pass  # the browser is gone
        finally:
            self._answering.discard(task)
            await asyncio.shield(self._left(behind))
        return socket

    def _left(self, behind: Behind) -> asyncio.Task[None]:
        """End the process in a task of its own: nothing that ends the page may cut it short."""

        async def leave() -> None:
            try:
                await behind.stop()
            finally:
                self._open.discard(behind)

        leaving = asyncio.get_running_loop().create_task(leave())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return leaving

    async def download(self, request: Any) -> Any:
        """A file that a kvdoctor hands to its page, once."""
        key = request.match_info["key"]
        try:
            file = await self._downloads.get_download_metadata(key)
        except KeyError:
            raise web.HTTPNotFound from None
        pieces = [piece async for piece in self._downloads.download(key)]
        return web.Response(
            body=b"".join(pieces),
            headers={
                "Content-Type": f"{file.mime_type or 'text/plain'}; charset=utf-8",
                "Content-Disposition": f'attachment; filename="{_harmless(file.file_name)}"',
            },
        )


def _harmless(name: str) -> str:
    kept = "".join(
        one if one.isascii() and (one.isalnum() or one in "-_.") else "_" for one in name
    )
    return kept or "kvdoctor.txt"


def _cells(sizes: Any, name: str, usual: int = 24) -> int:
    """A side of the terminal, within reason whatever the page says."""
    try:
        return max(1, min(LARGEST, int(sizes.get(name, usual))))
    except (TypeError, ValueError):
        return usual


async def _heard(data: str, socket: Any, behind: Behind) -> None:
    """One message of a page: ``[kind, what]``. Others than ours are passed over."""
    try:
        kind, what = (*json.loads(data), None)[:2]
    except (TypeError, ValueError, RecursionError):
        return
    if kind == "stdin" and isinstance(what, str):
        typed = what.encode(errors="replace")
        for start in range(0, len(typed), PIECE):
            await behind.send_bytes(typed[start : start + PIECE])
    elif kind == "resize" and isinstance(what, dict):
        await behind.set_terminal_size(_cells(what, "width", 80), _cells(what, "height"))
    elif kind == "ping":
        await socket.send_json(["pong", what])
    elif kind == "copied" and isinstance(what, dict):
        outcome = {"key": str(what.get("key")), "outcome": str(what.get("outcome"))}
        await behind.send_meta({"type": "copied", **outcome})
    elif kind in ("blur", "focus"):
        await (behind.blur() if kind == "blur" else behind.focus())
