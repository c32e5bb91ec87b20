"""The web server of ``kvdoctor serve``: a page, and behind each open page a kvdoctor of its own.

The terminal in the page and the protocol between it and the process are textual-serve's. What is
ours: who may come in (``door``), how many at once and how each ends (``pages``), and a page that
loads nothing from elsewhere and tells what became of a copied text (``static``).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import textual_serve
from aiohttp import web

from kvdoctor.errors import InputError
from kvdoctor.serving.door import Door
from kvdoctor.serving.pages import Pages

CLOSING_SECONDS = 5.0
OURS = Path(__file__).with_name("static")
TERMINAL = Path(textual_serve.__file__).with_name("static")


def application(door: Door, pages: Pages) -> Any:
    """The web application: the page, its parts, the socket, downloads."""

    @web.middleware  # type: ignore[untyped-decorator]
    async def guarded(request: Any, handler: Any) -> Any:
        return await door.guarded(request, handler)

    async def index(request: Any) -> Any:
        if await pages.has_room():
            return web.FileResponse(OURS / "page.html")
        return web.Response(status=503, text=f"{pages.refusal}\n", headers={"Retry-After": "10"})

    async def end_pages(_: Any) -> None:
        pages.end()

    async def ended_pages(_: Any) -> None:
        await pages.ended()

    made = web.Application(middlewares=[guarded])
    made.router.add_get("/", index)
    made.router.add_get("/ws", pages.page)
    made.router.add_get("/download/{key}", pages.download)
    made.router.add_static("/static", OURS)
    made.router.add_static("/terminal", TERMINAL)
    made.on_shutdown.append(end_pages)
    made.on_cleanup.append(ended_pages)
    return made


def serve(command: Sequence[str], host: str, port: int, door: Door, most: int) -> None:
    """Serve ``command`` to at most ``most`` pages at once until SIGINT or SIGTERM. Raises
    InputError when the address cannot be taken."""
    with contextlib.suppress(KeyboardInterrupt):  # Windows has no handlers of signals
        asyncio.run(_serve(application(door, Pages(command, most)), host, port, door))


async def _serve(made: Any, host: str, port: int, door: Door) -> None:
    runner = web.AppRunner(
        made, access_log=None, shutdown_timeout=CLOSING_SECONDS, handle_signals=False
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise InputError(
                f"{host}:{port} cannot be listened on: {error.strerror or error}",
                remedy="another --port, or end what listens there",
            ) from error
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, ended.set)
        print(f"kvdoctor is at {door.address} (ctrl+c ends it)", flush=True)
        await ended.wait()
    finally:
        await runner.cleanup()


__all__ = ["Door", "application", "serve"]
