"""Scores on familiar scales."""

from __future__ import annotations

import math
from typing import Any

from jamrank.errors import ParameterError

# Points for one unit of log-odds, and the score of the anchor.
_SCALES = {"logit": (1.0, 0.0), "elo": (400.0 / math.log(10.0), 1000.0)}


def points_of(scale: str) -> float:
    """Return how many points of a scale one unit of log-odds is."""
    return _SCALES[scale][0]


def rescaled(ranking: Any, scale: str, zero: float) -> Any:
    """Return a ranking with its scores, standard errors and intervals on another scale.

    ranking: Columns that begin with ``score`` are in log-odds; those that end in ``_se`` are distances.
    scale ({"logit", "elo"}).
    zero: The score that becomes 0 (logit) or 1000 (elo).
    """
    if scale not in _SCALES:
        raise ParameterError(f"scale is {scale!r}; expected {' or '.join(map(repr, _SCALES))}")
    import narwhals as nw

    points, origin = _SCALES[scale]
    frame = nw.from_native(ranking, eager_only=True)
    changed = [
        nw.col(name) * points if name.endswith("_se") else (nw.col(name) - zero) * points + origin
        for name in frame.columns
        if name.startswith("score") and frame[name].dtype.is_numeric()
    ]
    return frame.with_columns(*changed).to_native()
