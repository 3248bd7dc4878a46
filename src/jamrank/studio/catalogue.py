"""The study in the database: its settings, whether it is open, its items."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from jamrank.collect.schema import items
from jamrank.errors import InputError
from jamrank.studio.items import Item, check_items, item_details, item_from
from jamrank.studio.media import media_type
from jamrank.studio.study import Study, study_from
from jamrank.studio.tables import QUEUE, SETTINGS

STATES = ("open", "paused", "closed")


@dataclass(frozen=True)
class Listed:
    """An item of the study, with its key in pages, and whether it is still compared."""

    item: Item
    key: str
    retired: bool

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id


def read_setting(connection: Connection, name: str, default: str = "") -> str:
    """Return a single value."""
    found = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar_one_or_none()
    return default if found is None else str(found)


def set_setting(connection: Connection, name: str, value: str) -> None:
    """Set a single value."""
    connection.execute(delete(SETTINGS).where(SETTINGS.c.name == name))
    connection.execute(insert(SETTINGS).values(name=name, value=value))


def changed(connection: Connection) -> None:
    """Mark study and items as changed, so that all processes reload them."""
    set_setting(connection, "version", str(1 + int(read_setting(connection, "version", "0"))))


def set_state(connection: Connection, state: str) -> None:
    """Open, pause or close the study."""
    if state not in STATES:
        raise InputError(f"a study cannot be {state[:20]!r}", f"expected {', '.join(STATES)}")
    set_setting(connection, "state", state)
    changed(connection)


def load_study(connection: Connection) -> Study:
    """Return the settings of the study."""
    return study_from(json.loads(read_setting(connection, "study", "{}")))


def save_study(connection: Connection, study: Study) -> None:
    """Set the settings of the study; pairs that were queued under the old ones are dropped."""
    set_setting(connection, "study", study.as_json())
    connection.execute(delete(QUEUE))
    changed(connection)


def catalogue(connection: Connection) -> list[Listed]:
    """Return all items, in the order in which they were added."""
    rows = connection.execute(select(items.c.id, items.c.details, items.c.retired).order_by(items.c.place))
    listed = []
    for id_, text, retired in rows:
        details = json.loads(text)
        # Items that another program added to the ledger have no key and are not shown to people.
        if "key" in details:
            listed.append(Listed(item_from(id_, details), details["key"], retired))
    return listed


def add_items(connection: Connection, added: Sequence[Item], source: str, *, again: bool = False) -> int:
    """Add items and return how many are new.

    With `again`, existing items get the new content; otherwise they are refused.
    """
    check_items(added, source)
    known = {listed.id: listed.key for listed in catalogue(connection)}
    # Items of a jury have no key; they become items of the study.
    there = set(connection.scalars(select(items.c.id).where(items.c.question == "")))
    place = 1 + (connection.scalar(select(func.max(items.c.place))) or 0)
    new = 0
    for item in added:
        key = known.get(item.id)
        if key is not None and not again:
            raise InputError(f"there is an item {item.id!r} already", "choose another id", source=source)
        row = _row(item, key or secrets.token_urlsafe(12))
        new += key is None
        if item.id in there:
            connection.execute(update(items).where(items.c.id == item.id, items.c.question == "").values(row))
            continue
        connection.execute(insert(items).values(row | {"question": "", "place": place + new, "retired": False}))
    changed(connection)
    return new


def _row(item: Item, key: str) -> dict[str, object]:
    """Return a row of the ledger: text or path of the first part, for LLM judges, and the whole content."""
    part = item.parts[0]
    kind = {"text": "text/plain", "markdown": "text/markdown"}.get(part.kind)
    return {
        "id": item.id,
        "text": None if kind is None else part.content,
        "path": part.content if kind is None else None,
        "media": kind or (f"{part.kind}/*" if part.is_url else media_type(part.content)),
        "details": json.dumps({"key": key, **item_details(item)}, ensure_ascii=False),
    }


def retire_item(connection: Connection, item: str, retired: bool = True) -> None:
    """Retire an item, or restore it; its votes stay."""
    connection.execute(update(items).where(items.c.id == item).values(retired=retired))
    connection.execute(delete(QUEUE).where((QUEUE.c.left == item) | (QUEUE.c.right == item)))
    changed(connection)
