"""A copy of a study, taken while it runs."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from sqlalchemy import delete, func, insert, select

from jamrank.collect import schema
from jamrank.collect.database import reading, writing
from jamrank.errors import LedgerError
from jamrank.studio.setup import open_study
from jamrank.studio.tables import METADATA

_BATCH = 2000


def back_up(where: str | os.PathLike[str], copy: Path) -> int:
    """Copy a consistent state from a SQLite file or PostgreSQL to a new SQLite file.

    Returns: Number of events copied.
    Raises LedgerError: If the copy exists already, or either database does not answer.
    """
    if copy.exists():
        raise LedgerError(f"{copy}: the file exists; choose another name")
    source = open_study(where, create=False)
    unfinished = copy.with_name(f".jamrank-{secrets.token_hex(8)}.tmp")
    try:
        goal = open_study(unfinished)
        with reading(source) as old, writing(goal) as new:
            for table in (*schema.metadata.sorted_tables, *METADATA.sorted_tables):
                if table is not schema.events:
                    new.execute(delete(table))
                for part in old.execute(select(table)).mappings().partitions(_BATCH):
                    new.execute(insert(table), [dict(row) for row in part])
            n_events = new.scalar(select(func.count()).select_from(schema.events)) or 0
        # Closing the last connection merges the log into the file.
        goal.dispose()
        unfinished.rename(copy)
    finally:
        source.dispose()
        for left in copy.parent.glob(f"{unfinished.name}*"):
            left.unlink(missing_ok=True)
    return n_events
