"""The tables of a ledger, their version, and migrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    event,
    insert,
    inspect,
    select,
    update,
)

from jamrank.errors import LedgerError

metadata = MetaData()


def _required(kind: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name in names]


meta = Table("ledger_meta", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))

items = Table(
    "items",
    metadata,
    Column("id", String, primary_key=True),
    Column("question", String, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("text", Text),
    Column("path", Text),
    Column("media", String, nullable=False),
    Column("details", Text, nullable=False),
    Column("retired", Boolean, nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("id", String, primary_key=True),
    Column("place", BigInteger, nullable=False),
    *_required(Text, "text", "details"),
)

annotators = Table(
    "annotators",
    metadata,
    Column("id", String, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("name", Text),
    Column("token_hash", String, unique=True),
    Column("details", Text, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

# Append-only. Ids are assigned under the write lock, so they increase by one in commit order.
events = Table(
    "events",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("kind", String, nullable=False),
    Column("key", String, nullable=False, unique=True),
    *_required(String, "annotator", "left", "right", "question", "criterion", "purpose", "strategy"),
    Column("probability", Double),
    Column("refers", BigInteger),
    Column("outcome", String),
    Column("strength", Double),
    Column("raw", Text),
    Column("cost", Double),
    Column("seconds", Double),
    Column("details", Text, nullable=False),
)
Index("events_refers", events.c.refers)
Index("events_annotator", events.c.annotator, events.c.id)

# Open leases and their reserved costs: derived from the events, for fast access.
leases = Table(
    "leases",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    *_required(String, "annotator", "left", "right", "question", "criterion", "purpose", "key"),
    *_required(Double, "expires", "reserved"),
)

totals = Table(
    "totals",
    metadata,
    Column("annotator", String, primary_key=True),
    *_required(Integer, "asked", "answered"),
    *_required(Double, "spent"),
)


def _after_create(dialect: str, statement: str) -> None:
    event.listen(events, "after_create", DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


for _operation in ("UPDATE", "DELETE"):
    _after_create(
        "sqlite",
        f"CREATE TRIGGER events_no_{_operation.lower()} BEFORE {_operation} ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
    )
_after_create(
    "postgresql",
    "CREATE OR REPLACE FUNCTION jamrank_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$",
)
_after_create(
    "postgresql",
    "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events "
    "FOR EACH ROW EXECUTE FUNCTION jamrank_append_only()",
)

Migration = Callable[[Connection], None]

# MIGRATIONS[k] converts a ledger from version k + 1 to k + 2; a new ledger has the newest version.
MIGRATIONS: Sequence[Migration] = ()


def prepare(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS, *, create: bool = True) -> None:
    """Create the tables of a new ledger, or migrate an older one, in the caller's transaction.

    Raises LedgerError: If the database is not a ledger and none may be created, or was written by a newer jamrank.
    """
    found = set(inspect(connection).get_table_names())
    newest = 1 + len(migrations)
    if meta.name not in found:
        if not create or (found and connection.dialect.name == "sqlite") or found & set(metadata.tables):
            raise LedgerError("this database is not a ledger of jamrank; give the file or URL of one")
        metadata.create_all(connection)
        connection.execute(insert(meta), {"key": "version", "value": str(newest)})
        return
    version = int(connection.scalar(select(meta.c.value).where(meta.c.key == "version")) or 0)
    if version > newest:
        raise LedgerError(
            f"this ledger has version {version}, written by a newer jamrank; this one reads up to version {newest}"
        )
    for migration in migrations[version - 1 :]:
        migration(connection)
    if version < newest:
        connection.execute(update(meta).where(meta.c.key == "version").values(value=str(newest)))
