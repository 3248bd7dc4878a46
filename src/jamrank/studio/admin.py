"""The admin pages."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import PurePath
from typing import Any

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from jamrank.errors import InputError, JamrankError
from jamrank.studio import people
from jamrank.studio.access import csrf_of, is_password
from jamrank.studio.catalogue import add_items, read_setting, retire_item, save_study, set_state
from jamrank.studio.exports import exports_of
from jamrank.studio.forms import study_of_form
from jamrank.studio.items import Item, Kind, Part
from jamrank.studio.media import check_upload
from jamrank.studio.pages import templates
from jamrank.studio.security import same_origin
from jamrank.studio.snapshots import live_of, newest
from jamrank.studio.web import Refused, Studio, form_of, redirect, set_cookie, who

_MOST_INVITED = 5000
_EVERY = 1.0


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


# -- coming in --------------------------------------------------------------------------------------------------


async def admin_link(request: Request) -> Response:
    """Show a button; opening the link alone changes nothing."""
    return _studio(request).page("admin_login.html", token=request.path_params["token"], problem="", password=False)


async def enter(request: Request) -> Response:
    """Exchange the admin link for a cookie."""
    studio, fields = _studio(request), await form_of(request)
    if not same_origin(request.headers):
        raise Refused(403, "This form was not made by this page.")

    def work(connection: Connection) -> str | None:
        found = people.find_invitation(connection, fields.get("token", ""))
        return None if found is None or found.role != "admin" else people.redeem(connection, found, {}, False)

    session = await studio.database.write_soon(work)
    if session is None:
        problem = "This admin link is no longer valid; a new one is printed at every start."
        return studio.page("admin_login.html", 404, token="", problem=problem, password=False)
    return _let_in(studio, session)


async def login(request: Request) -> Response:
    """Log in with the password, if one was set."""
    studio, fields = _studio(request), await form_of(request)
    if not same_origin(request.headers):
        raise Refused(403, "This form was not made by this page.")
    if not studio.login_limit.allows("admin"):
        raise Refused(429, "Too many attempts. Please wait a minute.", {"Retry-After": "60"})
    stored = await run_in_threadpool(_read, studio, "password")
    if not stored or not await run_in_threadpool(is_password, fields.get("password", ""), stored):
        return studio.page(
            "admin_login.html", 403, token="", problem="That is not the password.", password=bool(stored)
        )
    session = await studio.database.write_soon(lambda c: people.open_session(c, "admin", "", None))
    return _let_in(studio, session)


def _read(studio: Studio, name: str) -> str:
    with studio.database.read() as connection:
        return read_setting(connection, name)


def _let_in(studio: Studio, session: str) -> Response:
    response = redirect("/admin")
    set_cookie(studio, response, "admin", session)
    return response


async def _admin(request: Request) -> str | Response:
    """Return the session's token, or the page that asks for it."""
    studio = _studio(request)
    try:
        _, token = await who(request, "admin")
    except Refused:
        stored = await run_in_threadpool(_read, studio, "password")
        return studio.page("admin_login.html", 401, token="", problem="", password=bool(stored))
    return token


# -- pages ------------------------------------------------------------------------------------------------------


async def overview(request: Request) -> Response:
    """Show the ranking, the judges and whether to continue."""
    token = await _admin(request)
    if isinstance(token, Response):
        return token
    studio = _studio(request)
    live = await run_in_threadpool(live_of, studio)
    return studio.page(
        "admin.html", here="/admin", csrf=csrf_of(token), state=studio.view().status, live=live, said="", problem=""
    )


async def live(request: Request) -> Response:
    """Send the parts of the overview that change."""
    await who(request, "admin")
    found = await run_in_threadpool(live_of, _studio(request))
    return HTMLResponse(templates().get_template("_live.html").render(live=found))


async def events(request: Request) -> Response:
    """Stream an event for every update."""
    await who(request, "admin")
    studio = _studio(request)

    async def stream() -> AsyncIterator[str]:
        last, quiet = "", 0.0
        yield "retry: 2000\n\n"
        while not studio.stopping and not await request.is_disconnected():
            version = await run_in_threadpool(newest, studio)
            if version != last:
                last, quiet = version, 0.0
                yield f"event: update\ndata: {version}\n\n"
            elif quiet >= 15:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(_EVERY)
            quiet += _EVERY

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _page(request: Request, name: str, here: str, status: int = 200, **values: Any) -> Response:
    token = await _admin(request)
    if isinstance(token, Response):
        return token
    shown = {"said": "", "problem": "", **values}
    return _studio(request).page(name, status, here=here, csrf=csrf_of(token), **shown)


async def _judges_page(request: Request, links: list[tuple[str, str]], **values: Any) -> Response:
    studio = _studio(request)

    def read() -> list[people.Judge]:
        with studio.database.read() as connection:
            return people.judges(connection)

    found = await run_in_threadpool(read)
    return await _page(request, "admin_judges.html", "/admin/judges", judges=found, links=links, **values)


async def judges(request: Request) -> Response:
    """List the judges and make links."""
    return await _judges_page(request, [])


async def _items_page(request: Request, **values: Any) -> Response:
    studio = _studio(request)
    items = list(studio.view().items.values())
    megabytes = studio.upload_bytes // 1_000_000
    return await _page(request, "admin_items.html", "/admin/items", items=items, upload_mb=megabytes, **values)


async def items(request: Request) -> Response:
    """List the items, with a form to add new ones."""
    return await _items_page(request)


async def settings(request: Request) -> Response:
    """Show the settings of the study."""
    return await _page(request, "admin_settings.html", "/admin/settings")


async def exports(request: Request) -> Response:
    """List the exports."""
    files = exports_of(_studio(request).view().study)
    return await _page(request, "admin_export.html", "/admin/export", files=files)


async def export(request: Request) -> Response:
    """Send votes, ranking, report or settings as a file."""
    await who(request, "admin")
    studio, name = _studio(request), request.path_params["name"]
    file = exports_of(studio.view().study).get(name)
    if file is None:
        raise Refused(404, "There is no such file.")
    content = await run_in_threadpool(file.make, studio)
    if content is None:
        raise Refused(404, "There is nothing yet: the first fit needs votes.")
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Security-Policy": policy}
    return Response(content, media_type=file.type, headers=headers)


# -- changes ----------------------------------------------------------------------------------------------------


async def _change(request: Request, work: Callable[[Connection, dict[str, str]], Any]) -> Any:
    fields = await form_of(request)
    await who(request, "admin", fields)
    studio = _studio(request)
    try:
        return await studio.database.write_soon(lambda connection: work(connection, fields))
    finally:
        studio.changed()


async def change_state(request: Request) -> Response:
    """Open, pause or close."""
    await _change(request, lambda connection, fields: set_state(connection, fields.get("state", "")))
    return redirect("/admin")


async def change_settings(request: Request) -> Response:
    """Save the settings form."""
    studio = _studio(request)
    try:
        await _change(request, lambda c, fields: save_study(c, study_of_form(studio.view().study, fields)))
    except InputError as error:
        return await _page(request, "admin_settings.html", "/admin/settings", 400, problem=str(error))
    return await _page(request, "admin_settings.html", "/admin/settings", said="Saved.")


async def invite(request: Request) -> Response:
    """Create links; they are shown only once."""
    studio = _studio(request)

    def work(connection: Connection, fields: dict[str, str]) -> list[tuple[str, str]]:
        kind = fields.get("kind")
        if kind == "end":
            people.revoke_open_links(connection)
            return []
        if kind == "open":
            most = fields.get("most", "")
            if not most.isdigit() or not 1 <= int(most) <= 100_000:
                raise InputError(f"an open link for {most[:20]!r} judges", "expected 1 to 100000")
            token = people.invite(connection, "open", most=int(most))
            return [(f"for up to {int(most)} judges", f"{studio.url}/join/{token}")]
        names = fields.get("names", "").replace("\r\n", "\n").split("\n")[:_MOST_INVITED]
        made = [(name.strip()[:200], *people.invite_judge(connection, name.strip()[:200])) for name in names]
        return [(name or judge, f"{studio.url}/join/{token}") for name, judge, token in made]

    try:
        links = await _change(request, work)
    except InputError as error:
        return await _judges_page(request, [], status=400, problem=str(error))
    return await _judges_page(request, links, said="" if links else "Done.")


async def change_judge(request: Request) -> Response:
    """Revoke or restore a judge, create a new link, or delete personal data."""
    studio = _studio(request)

    def work(connection: Connection, fields: dict[str, str]) -> list[tuple[str, str]]:
        judge, action = fields.get("judge", ""), fields.get("action")
        if action in ("revoke", "admit"):
            people.revoke_judge(connection, judge, action == "revoke")
        elif action == "delete":
            people.delete_judge(connection, judge)
        elif action == "link" and judge in {one.id for one in people.judges(connection) if not one.deleted}:
            people.revoke_links(connection, judge)
            return [(judge, f"{studio.url}/join/{people.invite(connection, 'judge', judge=judge)}")]
        else:
            raise Refused(400, "There is no such action.")
        return []

    links = await _change(request, work)
    return await _judges_page(request, links, said="" if links else "Done.")


async def change_item(request: Request) -> Response:
    """Retire an item, or ask about it again."""

    def work(connection: Connection, fields: dict[str, str]) -> None:
        retire_item(connection, fields.get("item", ""), fields.get("action") != "return")

    await _change(request, work)
    return redirect("/admin/items")


async def upload(request: Request) -> Response:
    """Add items: files whose content matches their names, or lines of text."""
    studio = _studio(request)
    form = await request.form(max_files=1000, max_fields=20)
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    await who(request, "admin", fields)
    try:
        new = [Item(line, (Part("text", line),)) for line in _texts(fields.get("text", ""))]
        files = [file for file in form.getlist("files") if isinstance(file, UploadFile) and file.filename]
        new += [await _uploaded(studio, str(file.filename), await file.read()) for file in files]
        if not new:
            raise InputError("nothing to add", "choose files or write texts")
        await studio.database.write_soon(lambda connection: add_items(connection, new, "the form"))
    except JamrankError as error:
        return await _items_page(request, status=400, problem=str(error))
    finally:
        await form.close()
        studio.changed()
    return await _items_page(request, said=f"{len(new)} added.")


def _texts(text: str) -> list[str]:
    return [line.strip() for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


async def _uploaded(studio: Studio, name: str, content: bytes) -> Item:
    """Store an upload under a generated name; its original name is used only as the item's id."""
    kind = check_upload(name, content)
    path = PurePath(name.replace("\\", "/"))
    id_ = path.stem[:150] or "item"
    if kind in ("text", "markdown"):
        text: Kind = "markdown" if kind == "markdown" else "text"
        return Item(id_, (Part(text, content.decode("utf-8-sig")),))
    stored = f"uploads/{secrets.token_hex(12)}{path.suffix.lower()}"
    await run_in_threadpool(studio.keep, stored, content)
    return Item(id_, (Part(kind, stored),))  # type: ignore[arg-type]


ROUTES = [
    Route("/admin", overview),
    Route("/admin/enter/{token}", admin_link),
    Route("/admin/enter", enter, methods=["POST"]),
    Route("/admin/login", login, methods=["POST"]),
    Route("/admin/live", live),
    Route("/admin/events", events),
    Route("/admin/state", change_state, methods=["POST"]),
    Route("/admin/judges", judges),
    Route("/admin/invite", invite, methods=["POST"]),
    Route("/admin/judge", change_judge, methods=["POST"]),
    Route("/admin/items", items),
    Route("/admin/items", upload, methods=["POST"]),
    Route("/admin/item", change_item, methods=["POST"]),
    Route("/admin/settings", settings),
    Route("/admin/settings", change_settings, methods=["POST"]),
    Route("/admin/export", exports),
    Route("/admin/export/{name}", export),
]
