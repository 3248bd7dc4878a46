"""Middleware of every request: host check, size limit, response headers, one log line."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterable
from pathlib import PurePath
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("jamrank.studio")

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class BodyTooLargeError(Exception):
    """A request body above the size limit."""


def policy(media: Iterable[str] = ()) -> str:
    """Return the content-security policy of the pages; `media` are the external origins of items."""
    elsewhere = "".join(f" {origin}" for origin in media)
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src 'self'{elsewhere}; media-src 'self'{elsewhere}; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def same_origin(headers: Headers) -> bool:
    """Return whether a form comes from the same origin, by the headers of a browser; other clients send none."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin == "null" or urlsplit(origin).netloc == headers.get("host")


class Guard:
    """Middleware around the whole app.

    hosts: Allowed host names.
    limit_of: Most bytes that a request to a path may have.
    media: Origins of items that lie elsewhere.
    secure: Whether browsers reach it by https only.
    observe: Called for every response: endpoint, status, seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: frozenset[str],
        limit_of: Callable[[str], int],
        media: Callable[[], Iterable[str]],
        secure: bool,
        observe: Callable[[str, int, float], None],
    ) -> None:
        self.app, self.hosts, self.limit_of, self.media = app, hosts, limit_of, media
        self.secure, self.observe = secure, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status, started = perf_counter(), 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                self._add_headers(MutableHeaders(scope=message))
            await send(message)

        try:
            headers = Headers(scope=scope)
            refused = self._refused(scope, headers)
            if refused is not None:
                await _plain(answer, *refused)
            else:
                await self.app(scope, _limited(receive, self.limit_of(scope["path"])), answer)
        except BodyTooLargeError:
            if not started:
                await _plain(answer, 413, "The request is too large.")
        except Exception as error:
            # Only the location, since values may be personal.
            log.error("failed", extra={"facts": {"error": type(error).__name__, "where": _where(error)}})
            if not started:
                await _plain(answer, 500, "Something went wrong here. It was noted; please try again.")
        finally:
            self._note(scope, status, perf_counter() - begin)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        try:
            name = urlsplit(f"//{headers.get('host', '')}").hostname
        except ValueError:
            name = None
        if name not in self.hosts:
            return 421, "This server does not answer to that host name (see --url)."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.limit_of(scope["path"]):
            return 413, "The request is too large."
        return None

    def _add_headers(self, headers: MutableHeaders) -> None:
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Content-Security-Policy", policy(self.media()))
        headers.setdefault("Cache-Control", "no-store")
        if self.secure:
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # The endpoint's name and never its path: paths of invitations hold tokens.
        endpoint = getattr(scope.get("endpoint"), "__name__", "none")
        self.observe(endpoint, status, seconds)
        level = logging.WARNING if status >= 500 else logging.INFO
        facts = {"method": scope["method"], "endpoint": endpoint, "status": status, "ms": round(1000 * seconds, 1)}
        log.log(level, "request", extra={"facts": facts})


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def _limited(receive: Receive, limit: int) -> Receive:
    """Count the bytes of requests without a Content-Length."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise BodyTooLargeError
        return message

    return counted


async def _plain(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, message; no personal data."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        facts: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            facts["error"] = record.exc_info[0].__name__
        return json.dumps(facts)
