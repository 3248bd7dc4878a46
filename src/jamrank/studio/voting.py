"""What judges see and send. A GET changes nothing; every form answers with the state that follows it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from jamrank.studio import people
from jamrank.studio.access import cookie_name, csrf_of, digest
from jamrank.studio.ballots import Answer, Next, TakeBack, Turn
from jamrank.studio.history import read_history
from jamrank.studio.pages import page_state
from jamrank.studio.security import same_origin
from jamrank.studio.web import (
    Refused,
    Studio,
    form_of,
    redirect,
    set_cookie,
    wants_json,
    who,
)

_ANSWERS = {"left", "right", "tie", "skip"}
_LONGEST_ABOUT = 200


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


async def invitation(request: Request) -> Response:
    """Show what an invitation is for; nothing changes before the button is pressed, so link previews are harmless."""
    studio, token = _studio(request), request.path_params["token"]
    found = await run_in_threadpool(_find_invitation, studio, token)
    text = studio.view().texts
    if found is None or found.role not in ("judge", "open"):
        return studio.page("join.html", 404, token="", problem=text["link_unknown"], known=False)
    if found.used_up:
        return studio.page("join.html", 403, token="", problem=text["link_used_up"], known=False)
    return studio.page("join.html", token=token, problem="", known=found.role == "judge" and found.used > 0)


def _find_invitation(studio: Studio, token: str) -> people.Invitation | None:
    with studio.database.read() as connection:
        return people.find_invitation(connection, token)


async def join(request: Request) -> Response:
    """Exchange an invitation for a cookie."""
    studio, fields = _studio(request), await form_of(request)
    token, text = fields.get("token", ""), studio.view().texts
    if not same_origin(request.headers):
        raise Refused(403, text["refused"])
    study = studio.view().study
    if study.consent and fields.get("agree") != "yes":
        return studio.page("join.html", 400, token=token, problem=text["must_agree"], known=False)
    about = {
        question: fields[f"about-{place}"][:_LONGEST_ABOUT]
        for place, question in enumerate(study.ask)
        if fields.get(f"about-{place}", "").strip()
    }
    old = request.cookies.get(cookie_name("judge", studio.secure), "")

    def work(connection: Any) -> str:
        found = people.find_invitation(connection, token)
        if found is None or found.role not in ("judge", "open"):
            raise Refused(404, text["link_unknown"])
        # A judge who used an open link before keeps the same identity.
        if found.role == "open" and old and people.came_by(connection, old, found.digest):
            return old
        if found.used_up:
            raise Refused(403, text["link_used_up"])
        return people.redeem(connection, found, about, bool(study.consent))

    session = await studio.database.write_soon(work)
    await _top_up(studio, session)
    response = redirect("/vote")
    set_cookie(studio, response, "judge", session)
    return response


async def _top_up(studio: Studio, token: str) -> None:
    """Lease the first pairs."""
    found = await run_in_threadpool(_judge_of, studio, token)
    if found is not None:
        await studio.database.take(Turn(found, Next(), studio.view()))


def _judge_of(studio: Studio, token: str) -> str | None:
    with studio.database.read() as connection:
        session = people.find_session(connection, token, "judge")
        return None if session is None else session.judge


async def ballot(request: Request) -> Response:
    """Show the open pair, or the state of the study."""
    studio = _studio(request)
    session, token = await who(request, "judge")
    state = await run_in_threadpool(_state, studio, session.judge)
    csrf, text = csrf_of(token), studio.view().texts
    if state["status"] in ("done", "closed"):
        heading, message = (text["done_title"], text["done"]) if state["status"] == "done" else ("", text["closed"])
        undo = state["undo"] if state["status"] == "done" else None
        return studio.page(
            "message.html", heading=heading or studio.view().study.title, message=message, undo=undo, csrf=csrf
        )
    return studio.page("vote.html", state=state, csrf=csrf, storage=digest(session.judge)[:16], said="")


def _state(studio: Studio, judge: str) -> dict[str, Any]:
    view = studio.view()
    with studio.database.read() as connection:
        return page_state(view, read_history(connection, judge))


async def vote(request: Request) -> Response:
    """Store an answer, and lease what comes next."""
    fields = await form_of(request)
    judge = await _judge(request, fields)
    return await _take(request, judge, _answer(_studio(request), fields))


async def undo(request: Request) -> Response:
    """Undo the last answer, and ask again."""
    fields = await form_of(request)
    judge = await _judge(request, fields)
    return await _take(request, judge, TakeBack(fields.get("key", "")[:100]))


async def next_pair(request: Request) -> Response:
    """Lease pairs for a judge who has none."""
    judge = await _judge(request, await form_of(request))
    return await _take(request, judge, Next())


async def _judge(request: Request, fields: Mapping[str, str]) -> tuple[str, str]:
    """Return the judge and the hash of the session's token, which the transaction that writes checks again."""
    session, token = await who(request, "judge", fields, max_age=math.inf)
    return session.judge, digest(token)


def _answer(studio: Studio, fields: dict[str, str]) -> Answer:
    study, text = studio.view().study, studio.view().texts
    said, _, grade = fields.get("answer", "").partition(":")
    grade = grade or fields.get("grade", "0")
    allowed = _ANSWERS - (set() if study.ties else {"tie"}) - (set() if study.skip else {"skip"})
    number = int(grade) if grade.isdigit() and len(grade) < 3 else -1
    if said not in allowed or not 0 <= number <= len(study.grades):
        raise Refused(400, text["refused"])
    taken = fields.get("ms", "")
    seconds = int(taken) / 1000 if taken.isdigit() and len(taken) < 10 else None
    strength = number / len(study.grades) if number and said in ("left", "right") else None
    return Answer(fields.get("key", "")[:100], said, strength, seconds)


async def _take(request: Request, judge: tuple[str, str], action: Answer | TakeBack | Next) -> Response:
    studio, (name, session) = _studio(request), judge
    view = studio.view()
    if not studio.judge_limit.allows(name):
        raise Refused(429, view.texts["too_fast"], {"Retry-After": "2"})
    outcome = await studio.database.take(Turn(name, action, view, session))
    if outcome.status == 401:
        studio.sessions.pop(("judge", session), None)
    if outcome.refused:
        raise Refused(outcome.status, view.texts[outcome.refused], state=outcome.state)
    if not wants_json(request):
        return redirect("/vote")
    return JSONResponse(outcome.state)


async def root(request: Request) -> Response:
    """Send judges on to their pairs."""
    return redirect("/vote")


ROUTES = [
    Route("/", root),
    Route("/join/{token}", invitation),
    Route("/join", join, methods=["POST"]),
    Route("/vote", ballot),
    Route("/vote", vote, methods=["POST"]),
    Route("/undo", undo, methods=["POST"]),
    Route("/next", next_pair, methods=["POST"]),
]
