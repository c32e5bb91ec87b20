"""Who may come in.

Every page that is open in a browser can send requests to a server on the same machine, a WebSocket
asks nobody for leave, and every user of the machine reaches its loopback. A request is therefore
answered only when it calls the server by its own name, comes from its own page, and brings the
token of the told address, or the cookie that was given for it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

LOCAL = ("127.0.0.1", "localhost", "[::1]")
LOCKED = (
    "This kvdoctor is closed without its token.\n"
    "Open the whole address that `kvdoctor serve` has printed; after a restart it is a new one.\n"
)
FOREIGN = "only from kvdoctor's own page\n"


class Door:
    """The door of the server that browsers call ``url``. With ``locked`` a fresh token opens it."""

    def __init__(self, url: str, port: int, locked: bool = True) -> None:
        parts = urlsplit(url)
        self.url = url
        self.places = {parts.netloc.lower()}
        if parts.hostname in ("127.0.0.1", "localhost", "::1"):
            self.places |= {f"{name}:{port}" for name in LOCAL}
        usual = ":443" if parts.scheme == "https" else ":80"  # left out by browsers
        self.places |= {one.removesuffix(usual) for one in self.places}
        self.origins = {f"{parts.scheme}://{one}" for one in self.places}
        self.token = secrets.token_urlsafe(32) if locked else ""
        self._cookie = f"kvdoctor-{port}"  # a cookie is sent to every port of a host
        self._ticket = secrets.token_urlsafe(32)
        self._secure = parts.scheme == "https"
        self.policy = _policy(self.origins)

    @property
    def address(self) -> str:
        """What to open in the browser."""
        return f"{self.url}/?token={self.token}" if self.token else self.url

    async def guarded(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Answer a request, or turn it away."""
        answer = await self._answer(request, handler)
        if not answer.prepared:
            answer.headers["Content-Security-Policy"] = self.policy
            answer.headers["X-Content-Type-Options"] = "nosniff"
            answer.headers["Referrer-Policy"] = "no-referrer"
            answer.headers["Cache-Control"] = "no-store"
        return answer

    async def _answer(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin.lower() not in self.origins
        nameless = request.path == "/ws" and origin is None
        if request.host.lower() not in self.places or foreign or nameless:
            return web.Response(status=403, text=FOREIGN)
        known = not self.token or _same(request.cookies.get(self._cookie, ""), self._ticket)
        fresh = not known and request.path == "/" and _same(_token(request), self.token)
        if not known and not fresh:
            return web.Response(status=403, text=LOCKED)
        try:
            answer = await handler(request)
        except web.HTTPException as error:
            answer = web.Response(status=error.status, text=f"{error.reason}\n")
        if fresh:
            answer.set_cookie(
                self._cookie, self._ticket, path="/", httponly=True, samesite="Strict",
                secure=self._secure,
            )  # fmt: skip
        return answer


def _token(request: Any) -> str:
    return str(request.query.get("token", ""))


def _same(given: str, wanted: str) -> bool:
    """Compared in a time that tells nothing about ``wanted``."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


def _policy(origins: set[str]) -> str:
    """The page may load nothing from elsewhere, nor stand in another page."""
    named = sorted(one for one in origins if "[" not in one)  # else no valid source
    sockets = " ".join(one.replace("http", "ws", 1) for one in named)
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
