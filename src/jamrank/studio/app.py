"""The studio as an ASGI app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from sqlalchemy import func, select
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from jamrank.collect.schema import events, leases
from jamrank.errors import InputError, JamrankError
from jamrank.studio import admin, files, people, voting
from jamrank.studio.security import BodyTooLargeError, Guard, log
from jamrank.studio.web import Refused, Studio, refusal, wants_json

_FORM_BYTES = 300_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def create_app(studio: Studio, hosts: tuple[str, ...] = ()) -> ASGIApp:
    """Return the app.

    studio: Its database and settings.
    hosts: Further allowed host names, beside that of its URL and the loopback names.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        studio.stopping = True

    app = Starlette(
        routes=[*voting.ROUTES, *admin.ROUTES, *files.ROUTES, Route("/health", health), Route("/metrics", metrics)],
        exception_handlers={
            Refused: _refused,  # type: ignore[dict-item]
            JamrankError: _not_stored,  # type: ignore[dict-item]
            BodyTooLargeError: _too_large,  # type: ignore[dict-item]
            HTTPException: _http_error,  # type: ignore[dict-item]
        },
        lifespan=lifespan,
    )
    app.state.studio = studio
    names = frozenset(name.lower() for name in (*_LOOPBACK, *hosts, urlsplit(studio.url).hostname or "localhost"))

    def limit_of(path: str) -> int:
        return studio.upload_bytes if path == "/admin/items" else _FORM_BYTES

    return Guard(app, names, limit_of, lambda: studio.view().origins, studio.secure, studio.metrics.observe)


async def health(request: Request) -> Response:
    """Return whether the database answers."""
    studio: Studio = request.app.state.studio
    try:
        await run_in_threadpool(_count, studio)
    except JamrankError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ok"})


def _count(studio: Studio) -> dict[str, float]:
    with studio.database.read() as connection:
        return {
            "events": float(connection.scalar(select(func.max(events.c.id))) or 0),
            "open_leases": float(connection.scalar(select(func.count()).select_from(leases)) or 0),
        }


async def metrics(request: Request) -> Response:
    """Send counts and times to clients with an admin token (``Authorization: Bearer``)."""
    studio: Studio = request.app.state.studio
    scheme, _, token = request.headers.get("authorization", "").partition(" ")

    def allowed() -> bool:
        with studio.database.read() as connection:
            found = people.find_invitation(connection, token)
            return found is not None and found.role == "admin"

    if scheme.lower() != "bearer" or not await run_in_threadpool(allowed):
        raise Refused(401, "The admin token is needed.", {"WWW-Authenticate": "Bearer"})
    return PlainTextResponse(studio.metrics.text(await run_in_threadpool(_count, studio)))


async def _refused(request: Request, error: Refused) -> Response:
    return refusal(request, error)


async def _not_stored(request: Request, error: JamrankError) -> Response:
    """Answer user errors with 400 and database errors with 503; nothing was stored."""
    if isinstance(error, InputError):
        return refusal(request, Refused(400, str(error)))
    studio: Studio = request.app.state.studio
    log.error("not stored", extra={"facts": {"error": type(error).__name__, "reason": str(error)}})
    try:
        text = studio.view().texts["not_stored"]
    except JamrankError:
        return PlainTextResponse("The database does not answer. Nothing was stored.\n", 503)
    return refusal(request, Refused(503, text, {"Retry-After": "5"}))


async def _too_large(request: Request, error: BodyTooLargeError) -> Response:
    return refusal(request, Refused(413, "The request is too large.", {"Connection": "close"}))


async def _http_error(request: Request, error: HTTPException) -> Response:
    studio: Studio = request.app.state.studio
    text = studio.view().texts["not_found"] if error.status_code == 404 else error.detail
    if wants_json(request):
        return JSONResponse({"message": text}, error.status_code)
    return refusal(request, Refused(error.status_code, text, dict(error.headers or {})))
