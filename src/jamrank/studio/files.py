"""Files that pages load: media of the items, style sheets and scripts of the studio."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from jamrank.errors import InputError
from jamrank.io.resources import package_text
from jamrank.studio.media import media_type, resolve, sanitised_svg
from jamrank.studio.web import Refused, Studio, who

_STATIC = {
    "studio.css": ("jamrank.studio", "static/studio.css", "text/css"),
    "vote.js": ("jamrank.studio", "static/vote.js", "text/javascript"),
    "admin.js": ("jamrank.studio", "static/admin.js", "text/javascript"),
    "icon.svg": ("jamrank.studio", "static/icon.svg", "image/svg+xml"),
    "report.css": ("jamrank.report", "assets/page.css", "text/css"),
}
# Opened by itself, a file of an item runs nothing and loads nothing.
_ALONE = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


async def static(request: Request) -> Response:
    """Send a file of the studio itself."""
    found = _STATIC.get(request.path_params["name"])
    if found is None:
        raise Refused(404, "There is no such file.")
    package, path, type_ = found
    return Response(package_text(package, path), media_type=type_, headers={"Cache-Control": "no-cache"})


async def media(request: Request) -> Response:
    """Send a file of an item, named by the item's random key: no name of a file comes from a request."""
    studio: Studio = request.app.state.studio
    try:
        await who(request, "judge")
    except Refused:
        await who(request, "admin")
    listed = studio.view().by_key.get(request.path_params["key"])
    place = request.path_params["place"]
    parts = () if listed is None else listed.item.parts
    if place >= len(parts) or not parts[place].is_file:
        raise Refused(404, "There is no such file.")
    return await run_in_threadpool(_send, studio.media, parts[place].content)


def _send(root: Path, name: str) -> Response:
    headers = {"Content-Security-Policy": _ALONE, "Cache-Control": "private, max-age=86400"}
    try:
        path = resolve(root, name)
        type_ = media_type(name)
        if type_ == "image/svg+xml":
            return Response(_svg(path, path.stat().st_mtime_ns), media_type=type_, headers=headers)
        if not path.is_file():
            raise FileNotFoundError
        return FileResponse(path, media_type=type_, headers=headers)
    except (OSError, InputError):
        raise Refused(404, "There is no such file.") from None


@lru_cache(maxsize=256)
def _svg(path: Path, changed: int) -> bytes:
    with path.open("rb") as file:
        return sanitised_svg(file.read())


ROUTES = [
    Route("/static/{name}", static),
    Route("/media/{key}/{place:int}", media),
]
