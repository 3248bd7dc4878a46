"""The studio's own tables, beside those of the ledger: settings, links and sessions, queue and results."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, Index, Integer, MetaData, String, Table, Text

VERSION = 1
METADATA = MetaData()

# Single values: the version of these tables, the study's settings, whether it is open, the hash of a password.
SETTINGS = Table(
    "studio_settings",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("value", Text, nullable=False),
)

# Secret links: of one judge, open to `most` judges, or of an admin.
INVITATIONS = Table(
    "studio_invitations",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("role", String(10), nullable=False),
    Column("judge", String(40)),
    Column("used", Integer, nullable=False, default=0),
    Column("most", Integer),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("revoked", Boolean, nullable=False, default=False),
)

SESSIONS = Table(
    "studio_sessions",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("role", String(10), nullable=False),
    Column("judge", String(40), index=True),
    Column("invitation", String(64), index=True),
    Column("expires", Double, nullable=False),
)

# Pairs that the worker has chosen: for one judge, or for any (`judge` is empty).
QUEUE = Table(
    "studio_queue",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("judge", String(40), nullable=False),
    Column("left", String(200), nullable=False),
    Column("right", String(200), nullable=False),
    Column("criterion", String(200), nullable=False),
    Column("purpose", String(20), nullable=False),
    Column("strategy", String(60), nullable=False),
    Column("probability", Double),
    Column("made", Double, nullable=False),
    Index("studio_queue_of", "judge", "id"),
)

# Results of the worker, ready to be shown: the latest of each name.
SNAPSHOTS = Table(
    "studio_snapshots",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("made", Double, nullable=False),
    Column("body", Text, nullable=False),
)
