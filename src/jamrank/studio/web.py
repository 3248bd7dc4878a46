"""Shared by all routes: app state, forms, pages, responses and sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from jamrank.studio import people
from jamrank.studio.access import RateLimit, check_csrf, cookie_name, digest
from jamrank.studio.catalogue import read_setting
from jamrank.studio.database import Database
from jamrank.studio.media import resolve
from jamrank.studio.metrics import Metrics
from jamrank.studio.pages import templates
from jamrank.studio.security import same_origin
from jamrank.studio.view import View, read_view

_FRESH = 1.0
_SESSION_FRESH = 3.0


class Refused(Exception):  # noqa: N818 (an answer, not an error of ours)
    """A request that is answered with a status and a sentence."""

    def __init__(
        self, status: int, text: str, headers: Mapping[str, str] | None = None, state: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.headers, self.state = status, text, headers or {}, state


@dataclass
class Studio:
    """The running app: its database, media folder and options."""

    database: Database
    media: Path
    url: str
    upload_bytes: int = 50_000_000
    judge_limit: RateLimit = field(default_factory=lambda: RateLimit(per_second=5, burst=60))
    login_limit: RateLimit = field(default_factory=lambda: RateLimit(per_second=0.2, burst=10))
    metrics: Metrics = field(default_factory=Metrics)
    sessions: dict[tuple[str, str], tuple[float, people.Session]] = field(default_factory=dict)
    stopping: bool = False
    _view: View | None = None
    _looked: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    @property
    def secure(self) -> bool:
        """Whether browsers come by https."""
        return self.url.startswith("https://")

    def view(self) -> View:
        """Return the current study, at most a second old."""
        with self._lock:
            if self._view is None or monotonic() - self._looked > _FRESH:
                with self.database.read() as connection:
                    if self._view is None or read_setting(connection, "version") != self._view.version:
                        self._view = read_view(connection)
                self._looked = monotonic()
            return self._view

    def changed(self) -> None:
        """Clear the cached study after a change."""
        with self._lock:
            self._view = None
            self.sessions.clear()

    def keep(self, name: str, content: bytes) -> None:
        """Store an upload in the media folder."""
        path = resolve(self.media, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Write a page."""
        view = self.view()
        shown = {"study": view.study, "t": view.texts, "language": view.study.language}
        shown |= {"votes_per_judge": view.votes_per_judge, **values}
        return HTMLResponse(templates().get_template(name).render(shown), status)


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form or of a JSON object, as text."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    try:
        if kind == "application/json":
            values = json.loads(body or b"{}")
            if not isinstance(values, dict):
                raise ValueError("no object")
            fields = {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in values.items() if v is not None}
        elif kind == "application/x-www-form-urlencoded":
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
        elif not body:
            fields = {}
        else:
            raise Refused(415, "Expected a form.")
    except (ValueError, UnicodeError, RecursionError):
        raise Refused(400, "The form cannot be read.") from None
    if any("\x00" in value or len(value) > 200_000 for value in fields.values()):
        raise Refused(400, "The form cannot be read.")
    return fields


def wants_json(request: Request) -> bool:
    """Return whether the request comes from the script, not from a form."""
    return "application/json" in request.headers.get("accept", "")


def redirect(path: str) -> Response:
    """Redirect a browser after a form."""
    return RedirectResponse(path, 303)


async def who(
    request: Request, role: str, fields: Mapping[str, str] | None = None, max_age: float = _SESSION_FRESH
) -> tuple[people.Session, str]:
    """Return the session and its token; a form must belong to that session and to our own pages.

    max_age: Seconds for which a session that was found valid needs no second look: so long may a revoked link work in
        another process.

    Raises Refused: 401 without a valid cookie, 403 for a form that was made elsewhere.
    """
    studio: Studio = request.app.state.studio
    token = request.cookies.get(cookie_name(role, studio.secure), "")
    session = await _session(studio, token, role, max_age) if token else None
    if session is None:
        text = studio.view().texts["signed_out"] if role == "judge" else "Open the admin link first."
        raise Refused(401, text)
    if fields is not None:
        given = request.headers.get("x-csrf-token") or fields.get("csrf", "")
        if not same_origin(request.headers) or not check_csrf(token, given):
            raise Refused(403, "This form was not made by this page. Reload it and try again.")
    return session, token


async def _session(studio: Studio, token: str, role: str, max_age: float) -> people.Session | None:
    """Find a session."""
    known = studio.sessions.get((role, digest(token)))
    if known is not None and monotonic() - known[0] < max_age:
        return known[1]
    session = await run_in_threadpool(_read_session, studio, token, role)
    if len(studio.sessions) > 50_000:
        studio.sessions.clear()
    if session is not None:
        studio.sessions[role, digest(token)] = (monotonic(), session)
    return session


def _read_session(studio: Studio, token: str, role: str) -> people.Session | None:
    with studio.database.read() as connection:
        return people.find_session(connection, token, role)


def set_cookie(studio: Studio, response: Response, role: str, token: str) -> None:
    """Set the session cookie."""
    response.set_cookie(
        cookie_name(role, studio.secure),
        token,
        max_age=(90 if role == "judge" else 7) * 86400,
        path="/",
        secure=studio.secure,
        httponly=True,
        samesite="lax" if role == "judge" else "strict",
    )


def refusal(request: Request, error: Refused) -> Response:
    """Answer a refused request: a sentence for the script, a page for people."""
    studio: Studio = request.app.state.studio
    if wants_json(request):
        return JSONResponse({"message": error.text, "state": error.state}, error.status, headers=dict(error.headers))
    heading = studio.view().texts["error"]
    response = studio.page("message.html", error.status, heading=heading, message=error.text, undo=None, csrf="")
    response.headers.update(error.headers)
    return response
