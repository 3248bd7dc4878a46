"""SQLite and PostgreSQL behind one engine: durable commits, one writer at a time, no password in any message."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from jamrank.errors import LedgerError
from jamrank.io.sources import is_url

_BUSY_SECONDS = 60
_GONE_SECONDS = 3  # for the server to notice that a client was killed
_LOCK = 0x6A616D72  # "jamr"
_READING = {"jamrank_reading": True}


def locate(where: str | os.PathLike[str]) -> URL:
    """Return the database that a path or a URL names."""
    if not is_url(where):
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(str(where))
    except ArgumentError:
        raise LedgerError("a database URL that cannot be parsed; expected postgresql://user@host/name") from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database:
        return url.set(drivername="sqlite")
    raise LedgerError(f"{safe_name(url)}: expected a path, or a URL that begins with sqlite:/// or postgresql://")


def safe_name(url: URL) -> str:
    """Return what to call a database: its path, or its URL without the password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    shown = url.set(drivername="postgresql") if url.get_backend_name() == "postgresql" else url
    secret = {key for key in shown.query if "password" in key.lower()}
    return shown.difference_update_query(secret).render_as_string(hide_password=True)


def open_engine(url: URL, *, create: bool) -> Engine:
    """Connect to a database; a new SQLite file is readable by its owner only."""
    if url.get_backend_name() == "sqlite":
        _make_file(Path(str(url.database)), create)
        engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        # Many rows in one statement: after each statement another thread may take the interpreter. psycopg sends the
        # statements of many rows at once.
        engine.dialect.use_insertmanyvalues_wo_returning = True
        return engine
    try:
        engine = create_engine(url, pool_pre_ping=True)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise LedgerError(
            f"{safe_name(url)}: PostgreSQL needs psycopg; install it with pip install 'jamrank[postgres]'"
        ) from None
    event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _make_file(path: Path, create: bool) -> None:
    if path.is_dir():
        raise LedgerError(f"{path}: this is a folder; give the file of a ledger")
    if path.exists():
        return
    if not create:
        raise LedgerError(f"{path}: the file does not exist; check the name and the folder")
    if not path.absolute().parent.is_dir():
        raise LedgerError(f"{path.absolute().parent}: the folder does not exist; create it first")
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerError(f"{path}: the file cannot be created ({error.strerror})") from None


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin in _begin_sqlite, not in the driver
    for pragma in ("busy_timeout = 60000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that starts with a read fails if another has written since; IMMEDIATE waits instead.
    waiting = "" if connection.get_execution_options().get("jamrank_reading") else " IMMEDIATE"
    connection.exec_driver_sql(f"BEGIN{waiting}")


def _prepare_postgresql(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    connection.commit()


@contextlib.contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction with exclusive writing; it is on disk when the block ends."""
    with _explained(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection


@contextlib.contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction with a consistent snapshot of the ledger."""
    level: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with (
        _explained(engine),
        engine.connect().execution_options(**_READING, **level) as connection,
        connection.begin(),
    ):
        yield connection


@contextlib.contextmanager
def only_writer(engine: Engine, what: str) -> Iterator[None]:
    """Hold a lock that is released when the process ends, however it ends.

    Raises LedgerError: If another process holds it.
    """
    taken = LedgerError(f"{safe_name(engine.url)}: another {what} is using this ledger; wait until it has finished")
    if engine.dialect.name == "postgresql":
        with _explained(engine), engine.connect() as connection:
            number = _LOCK * 256 + sum(what.encode()) % 256
            until = time.monotonic() + _GONE_SECONDS
            while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": number}):
                connection.commit()
                if time.monotonic() > until:
                    raise taken
                time.sleep(0.1)
            connection.commit()
            yield
            connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": number})
            connection.commit()
        return
    # A separate database in an exclusive transaction: SQLite's locks work the same on every system.
    with contextlib.closing(
        sqlite3.connect(f"{engine.url.database}-{what}", timeout=0, isolation_level=None)
    ) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise taken from None
        yield


@contextlib.contextmanager
def _explained(engine: Engine) -> Iterator[None]:
    """Turn an error of the database into one line without statements, values or passwords."""
    try:
        yield
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        password = engine.url.password
        if password:
            reason = reason.replace(str(password), "***")
        reason = re.sub(r"(?i)(password=)\S+", r"\1***", reason)
        raise LedgerError(f"{safe_name(engine.url)}: the database answers: {reason}") from None
