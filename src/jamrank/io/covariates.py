"""Covariates from the columns of a file, or computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from jamrank.data.covariates import CovariateSource, covariate_columns, parse_covariate
from jamrank.errors import InputError
from jamrank.io.records import Record
from jamrank.typing import IntArray


def with_covariates(
    frame: pl.DataFrame,
    content: pl.DataFrame | list[Record],
    covariates: Mapping[str, CovariateSource],
    row: IntArray | None,
) -> pl.DataFrame:
    """Return votes with their covariates as columns of numbers.

    frame: The votes in the canonical form.
    content: The table or records from which they come.
    row: The row there of each vote; None where they are the same.
    """
    if not covariates:
        return frame
    if row is None and len(content) != frame.height:
        raise InputError(f"{len(content):,} rows with {frame.height:,} votes", "covariates need a row for each vote")
    table = content if isinstance(content, pl.DataFrame) else pl.DataFrame(content, strict=False)
    computed = {name: _series(how(table)) for name, how in covariates.items() if how is not None}
    there = {column.name: column for column in table.get_columns()}
    cast = (frame["winner"].is_not_null() & (frame["winner"].cast(pl.String) != "abstain")).to_numpy()
    if "p_left" in frame.columns:
        cast = cast | frame["p_left"].is_not_null().to_numpy()
    columns = []
    for name, column in covariate_columns({**there, **computed}, list(covariates)).items():
        of_vote = column if row is None else column.gather(pl.Series(row))
        columns.append(pl.Series(name, parse_covariate(name, of_vote, cast)))
    return frame.with_columns(columns)


def _series(values: Any) -> pl.Series:
    return values if isinstance(values, pl.Series) else pl.Series(np.asarray(values))
