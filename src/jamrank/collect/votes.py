"""The votes of a ledger as a table, with time, order and how each pair was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from sqlalchemy import Connection, select

from jamrank.collect import schema

SCHEMA: dict[str, Any] = {
    "annotator": pl.String,
    "left": pl.String,
    "right": pl.String,
    "winner": pl.String,
    "weight": pl.Float64,
    "question": pl.String,
    "criterion": pl.String,
    "time": pl.Float64,
    "order": pl.Int64,
    "chosen_by": pl.String,
    "chosen_probability": pl.Float64,
    "strength": pl.Float64,
    "purpose": pl.String,
    "seconds": pl.Float64,
    "cost": pl.Float64,
}
COUNTED = ("vote", "gold", "repeat")


def votes_frame(connection: Connection, purposes: Sequence[str], after: int) -> pl.DataFrame:
    """Return the votes as :meth:`jamrank.collect.Ledger.votes` describes them."""
    table, undone = schema.events, schema.events.alias("undone")
    c = table.c
    query = (
        select(
            c.annotator,
            c.left,
            c.right,
            c.outcome,
            c.question,
            c.criterion,
            c.time,
            c.id,
            c.strategy,
            c.probability,
            c.strength,
            c.purpose,
            c.seconds,
            c.cost,
        )
        .where(c.kind == "answered", c.purpose.in_(tuple(purposes)), c.id > after)
        .where(~select(undone.c.id).where(undone.c.refers == c.id, undone.c.kind == "undone").exists())
        .order_by(c.id)
    )
    parts = (
        pl.DataFrame([(*row[:4], 1.0, *row[4:]) for row in rows], schema=SCHEMA, orient="row")
        for rows in connection.execute(query).partitions(50_000)
    )
    return pl.concat([pl.DataFrame(schema=SCHEMA), *parts])
