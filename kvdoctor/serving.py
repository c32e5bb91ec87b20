"""The web server of ``kvdoctor serve``: textual-serve's, closed to other sites.

Every page that is open in a browser can send requests to a server on the same machine, and a
WebSocket asks nobody for leave. A request is therefore only answered when it calls the server by
its own name and comes from its own page. The page may load nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

from kvdoctor.errors import InputError

CLOSING_SECONDS = 5.0
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class _Closed(Server):  # type: ignore[misc]
    """textual-serve's server with a guard at the door, ended pages that leave nothing running."""

    def __init__(self, command: str, host: str, port: int, url: str) -> None:
        super().__init__(command, host=host, port=port, title="kvdoctor", public_url=url)
        scheme, place = urlsplit(url).scheme, urlsplit(url).netloc.lower()
        self.places = {place}
        if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
            self.places |= {f"{name}:{port}" for name in LOCAL}
        self.origins = {f"{scheme}://{one}" for one in self.places}
        named = sorted(one for one in self.origins if "[" not in one)  # else no valid source
        own = " ".join(["'self'", *named])
        sockets = " ".join(one.replace("http", "ws", 1) for one in named)
        self.policy = (
            f"default-src 'none'; script-src {own} 'unsafe-inline'; "
            f"style-src {own} 'unsafe-inline'; img-src {own} data:; font-src {own} data:; "
            f"connect-src {own} {sockets}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        self.open_pages: set[asyncio.Task[Any]] = set()

    async def made(self) -> Any:
        """The web application."""
        application = await self._make_app()
        application.middlewares.append(self._guarded())
        return application

    def _guarded(self) -> Any:
        async def guarded(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            origin = request.headers.get("Origin")
            foreign = origin is not None and origin.lower() not in self.origins
            socket = request.path == "/ws"
            if request.host.lower() not in self.places or foreign or (socket and origin is None):
                raise web.HTTPForbidden(text="only from kvdoctor's own page\n")
            task = asyncio.current_task()
            if not socket or task is None:
                response = await handler(request)
                response.headers["Content-Security-Policy"] = self.policy
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Referrer-Policy"] = "no-referrer"
                return response
            self.open_pages.add(task)
            try:
                return await handler(request)
            finally:
                self.open_pages.discard(task)

        return web.middleware(guarded)

    async def on_startup(self, app: Any) -> None:
        """Nothing is printed here: the address is told once it has been taken."""

    async def on_shutdown(self, app: Any) -> None:
        """End the pages: each ends its kvdoctor."""
        for task in list(self.open_pages):
            task.cancel()


def serve(command: str, host: str, port: int, url: str) -> None:
    """Serve ``command`` to every page until SIGINT or SIGTERM. Raises InputError when the address
    cannot be taken."""
    with contextlib.suppress(KeyboardInterrupt):  # Windows has no handlers of signals
        asyncio.run(_serve(_Closed(command, host, port, url)))


async def _serve(server: _Closed) -> None:
    runner = web.AppRunner(
        await server.made(), access_log=None, shutdown_timeout=CLOSING_SECONDS, handle_signals=False
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, server.host, server.port).start()
        except OSError as error:
            raise InputError(
                f"{server.host}:{server.port} cannot be listened on: {error.strerror or error}",
                remedy="another --port",
            ) from error
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, ended.set)
        print(f"kvdoctor is at {server.public_url} (ctrl+c ends it)", flush=True)
        await ended.wait()
    finally:
        await runner.cleanup()
