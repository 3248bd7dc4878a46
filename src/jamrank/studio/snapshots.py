"""Results of the worker, for the server."""

from __future__ import annotations

import json
from time import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select

from jamrank.studio.tables import SNAPSHOTS

if TYPE_CHECKING:
    from jamrank.studio.web import Studio

_NOTHING: dict[str, Any] = {"lights": [], "tiles": [], "chart": "", "judges": [], "sections": [], "version": ""}


def report_name(place: int) -> str:
    """Return the file name of the report on a criterion, by its place among those asked about."""
    return f"report-{place + 1}.html" if place else "report.html"


def save_snapshot(connection: Connection, name: str, body: str) -> None:
    """Store the newest snapshot of a name."""
    version = 1 + (connection.scalar(select(SNAPSHOTS.c.version).where(SNAPSHOTS.c.name == name)) or 0)
    connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.name == name))
    connection.execute(insert(SNAPSHOTS).values(name=name, version=version, made=time(), body=body))


def read_snapshot(connection: Connection, name: str) -> str | None:
    """Return the newest snapshot of a name."""
    body = connection.scalar(select(SNAPSHOTS.c.body).where(SNAPSHOTS.c.name == name))
    return None if body is None else str(body)


def newest(studio: Studio) -> str:
    """Return a text that changes when the overview does."""
    with studio.database.read() as connection:
        version = connection.scalar(select(func.max(SNAPSHOTS.c.version)).where(SNAPSHOTS.c.name == "live"))
    return str(version or 0)


def live_of(studio: Studio) -> dict[str, Any]:
    """Return what the overview shows."""
    with studio.database.read() as connection:
        row = connection.execute(select(SNAPSHOTS).where(SNAPSHOTS.c.name == "live")).one_or_none()
    if row is None:
        return _NOTHING
    return {**_NOTHING, **json.loads(row.body), "version": str(row.version)}
