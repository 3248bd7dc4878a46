"""Opening a study: migrations, settings and items."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect

from jamrank.collect import schema
from jamrank.collect.database import locate, open_engine, safe_name, writing
from jamrank.errors import InputError, LedgerError
from jamrank.studio import people
from jamrank.studio.access import hashed_password
from jamrank.studio.catalogue import add_items, catalogue, read_setting, save_study, set_setting
from jamrank.studio.items import Item, read_items
from jamrank.studio.study import Study, read_study
from jamrank.studio.tables import METADATA, SETTINGS
from jamrank.studio.texts import texts_of

Migration = Callable[[Connection], None]
# MIGRATIONS[k] converts tables from version k + 1 to k + 2; new ones have the newest version.
MIGRATIONS: Sequence[Migration] = ()


def prepare(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Create the studio's tables in a ledger, or migrate older ones."""
    newest = 1 + len(migrations)
    if not inspect(connection).has_table(SETTINGS.name):
        METADATA.create_all(connection)
        set_setting(connection, "tables", str(newest))
        return
    version = int(read_setting(connection, "tables", "1"))
    if version > newest:
        raise LedgerError(f"the study has version {version}, made by a newer jamrank; this one reads up to {newest}")
    for migration in migrations[version - 1 :]:
        migration(connection)
    if version < newest:
        set_setting(connection, "tables", str(newest))


def open_study(where: str | os.PathLike[str], *, create: bool = True) -> Engine:
    """Open a ledger together with the studio's tables; those of an older jamrank are migrated.

    Raises LedgerError: If it cannot be opened, or was written by a newer jamrank.
    """
    url = locate(where)
    engine = open_engine(url, create=create)
    try:
        with writing(engine) as connection:
            schema.prepare(connection, create=create)
            prepare(connection)
    except LedgerError as error:
        engine.dispose()
        name = safe_name(url)
        raise error if str(error).startswith(name) else LedgerError(f"{name}: {error}") from None
    return engine


@dataclass(frozen=True)
class Material:
    """The input of a study: settings, items and their folder."""

    study: Study | None = None
    study_digest: str = ""
    items: tuple[Item, ...] = ()
    media: Path | None = None
    source: str = ""


def read_material(items: Path | None, study: Path | None) -> Material:
    """Read the items and the settings.

    Raises InputError: If either is invalid; nothing is changed then.
    """
    settings, text = None, ""
    if study is not None:
        try:
            with study.open("rb") as file:
                text = file.read().decode("utf-8-sig")
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=str(study)) from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8", "save it as UTF-8", source=str(study)) from None
        settings, named = read_study(text, str(study))
        texts_of(settings.texts)
        if items is None and named is not None:
            items = study.parent / named
    if items is None:
        return Material(settings, _digest(text))
    found, media = read_items(items)
    if settings is not None:
        _check_pairs(settings, found, str(study))
    return Material(settings, _digest(text), tuple(found), media, str(items))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


def _check_pairs(study: Study, items: Sequence[Item], source: str) -> None:
    known = {item.id for item in items}
    for name in ("practice", "gold"):
        for pair in getattr(study, name):
            for item in (pair.better, pair.worse):
                if item not in known:
                    raise InputError(f"{name} names {item!r}, which is not an item", "check the id", source=source)


@dataclass(frozen=True)
class Links:
    """Secret links, to be shown once."""

    admin: str
    judges: str
    media: Path
    n_items: int


def start(engine: Engine, material: Material, url: str, *, judges: int = 20, password: str = "") -> Links:
    """Write settings and items to the database and create the links of this start.

    The settings file is used if it has changed since the last start; otherwise those of the admin page are kept.
    """
    with writing(engine) as connection:
        if material.study is not None and read_setting(connection, "study_file") != material.study_digest:
            save_study(connection, material.study)
            set_setting(connection, "study_file", material.study_digest)
        elif not read_setting(connection, "study"):
            save_study(connection, material.study or Study())
        if material.items:
            add_items(connection, material.items, material.source, again=True)
            set_setting(connection, "media", str(material.media))
        n_items = len(catalogue(connection))
        if n_items < 2:
            raise InputError("the study has no items yet", "name a table or a folder of items")
        if password:
            set_setting(connection, "password", hashed_password(password))
        admin = people.invite_admin(connection)
        open_link = people.invite(connection, "open", most=judges)
        media = Path(read_setting(connection, "media", "."))
    return Links(f"{url}/admin/enter/{admin}", f"{url}/join/{open_link}", media, n_items)
