"""Covariates of votes: numbers that may sway a vote, such as the difference in length of two answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.ids import Column, as_array, as_column, is_missing
from jamrank.data.storage import MISSING
from jamrank.errors import InputError, ParameterError
from jamrank.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

# 1 in every vote: a preference for the item on the left. It needs no column.
SIDE = "side"
# A name, or how to compute a column from the table of votes.
CovariateSource = Callable[[pl.DataFrame], Any] | None
_TAKEN = ("annotator", "left", "right", "winner", "weight", "question", "p_left", "grade", "all")
_EXPECTED = "expected a number for every vote, left minus right"


def checked_covariates(covariates: Any) -> dict[str, CovariateSource]:
    """Return covariates by name, with how to compute them where they are no columns; those that need none are out."""
    if isinstance(covariates, str):
        covariates = [covariates]
    try:
        found = dict(covariates) if isinstance(covariates, Mapping) else dict.fromkeys(covariates)
    except TypeError:
        raise ParameterError(f"covariates is {covariates!r}; expected names of columns") from None
    for name, source in found.items():
        if not isinstance(name, str) or not name or name in _TAKEN:
            raise ParameterError(f"covariates has {name!r}; expected the name of a column of numbers")
        if source is not None and not callable(source):
            raise ParameterError(f"covariates has {source!r} for {name}; expected a function of the table of votes")
    if found.get(SIDE) is not None:
        raise ParameterError(f"{SIDE} stands for the side on which an item was shown; call this covariate otherwise")
    found.pop(SIDE, None)
    return found


def covariate_columns(columns: Mapping[str, Any], covariates: Any) -> dict[str, Any]:
    """Return the columns of covariates by name; an error names those there are."""
    for name in (found := checked_covariates(covariates)):
        if name not in columns:
            there = ", ".join(repr(one) for one in columns if one not in _TAKEN) or "only those of the votes"
            raise InputError(f"no column {name!r} for a covariate", f"there are {there}")
    return {name: columns[name] for name in found}


def parse_covariates(
    covariates: Mapping[str, Any], results: NDArray[np.int8], p_left: FloatArray | None
) -> FloatArray | None:
    """Return the covariates of votes with these results, one column each; None where there are none."""
    cast = results != MISSING
    if p_left is not None:
        cast |= np.isfinite(p_left)
    known = [parse_covariate(name, column, cast) for name, column in covariates.items()]
    return np.column_stack(known) if known else None


def covariate_of(votes: Comparisons, name: str) -> FloatArray:
    """Return a covariate of each folded vote, towards the item on the left; ``side`` is always 1."""
    if name == SIDE:
        return np.ones(len(votes.vote_result))
    return np.asarray(votes.storage.table.covariate[:, votes.covariates.index(name)])


def parse_covariate(name: str, column: Any, cast: BoolArray) -> FloatArray:
    """Return a covariate as numbers; 0 for rows without a vote, which need none.

    name: For messages.
    column: Numbers, truth values, or text that spells numbers.
    cast: Whether each row is a vote.
    """
    known = as_column(column)
    if len(known) != len(cast):
        raise InputError(f"{name} has {len(known):,} values for {len(cast):,} votes", "expected one for each vote")
    values = _numbers(known)
    bad = np.flatnonzero(~np.isfinite(values) & cast)
    if len(bad):
        first = as_array(known)[bad[:1]].tolist()[0]
        problem = f"{name} is missing" if is_missing(first) or first == "" else f"{name} is {str(first)[:40]!r}"
        reason = f"{name} is not a number"
        raise InputError(problem, _EXPECTED, row=int(bad[0]) + 1, rows=(bad + 1).tolist(), reason=reason)
    return np.where(np.isfinite(values), values, 0.0)


def _numbers(column: Column) -> FloatArray:
    series = column if isinstance(column, pl.Series) else pl.Series(as_array(column).tolist(), strict=False)
    if not (series.dtype.is_numeric() or series.dtype in (pl.String, pl.Boolean, pl.Null)):
        return np.full(len(series), np.nan)
    return series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
