"""Which columns of a large table the reader of its format looks at: the others need not be read."""

from __future__ import annotations

import polars as pl

from jamrank.data.periods import TIMES
from jamrank.errors import InputError
from jamrank.io.way import Way


def needed_columns(sample: pl.DataFrame, source: str, way: Way) -> set[str]:
    """Return the columns that are looked at in some rows of a CSV, and those that may be looked at elsewhere.

    sample: The first rows.
    source: The name of the file.
    way: How to read it.
    """
    from jamrank.io.formats import Table, named_further, read_ballots

    everything = set(sample.columns)
    if way.covariates:
        return everything
    table = Table(sample, True, given=named_further(way.mapping), words=way.words)
    try:
        read_ballots(table, source, way.format, way.mapping)
    except InputError:
        return everything
    return {name for name in everything if name in TIMES or table.looked_at & {name, name.strip().lower()}}
