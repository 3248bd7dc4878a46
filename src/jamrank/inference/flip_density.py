"""The posterior density of scores and flips by one call, for the thousands of points that chains visit."""

from __future__ import annotations

from typing import Any

import numpy as np

from jamrank.engines import Engine
from jamrank.kernels import kernels
from jamrank.noise import Flip, Noise
from jamrank.rows import Patterns, RaggedVotes
from jamrank.typing import FloatArray, IntArray

# With more votes in distinct lists the usual pass is quicker; with more in one its likelihood ratio is too extreme.
_MOST_VOTES, _MOST_IN_LIST = 1 << 14, 100.0


class FlipDensity:
    """The log density of scores and logits of flips given the votes, without the prior of the scores.

    Parameters
    ----------
    arguments : tuple
        Of :func:`jamrank.kernels.twin.flip_density`, without the point and its gradient.
    """

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments

    @classmethod
    def of(cls, engine: Engine, noise: Noise, order: tuple[IntArray, IntArray], oriented: bool) -> FlipDensity | None:
        """Return the density, where rows lie in memory, lists of votes are short and the noise is a flip; else None.

        order: The item, and the annotator, of each entry of a point.
        oriented: Whether the density is 0 where the votes as a whole point the wrong way.
        """
        rows = getattr(engine, "rows", None) if engine.in_memory else None
        if rows is None or rows.about != "truth" or type(noise) is not Flip:
            return None
        lists = rows.ballots
        if type(lists) not in (Patterns, RaggedVotes) or lists.n_gold or len(lists.vote) > _MOST_VOTES:
            return None
        weight = lists.weight if len(lists.weight) else np.ones(len(lists.vote))
        if np.diff(np.concatenate([[0.0], np.cumsum(weight)])[lists.start]).max(initial=0.0) > _MOST_IN_LIST:
            return None
        of_row = lists.of_row if isinstance(lists, Patterns) else np.arange(len(rows), dtype=np.int32)
        votes = lists.start, lists.vote, weight, np.ascontiguousarray(noise.vote_counts).ravel()
        prior = np.concatenate([noise.prior_errors, noise.prior_correct, noise.prior_mode])
        return cls((*rows.layout, of_row, rows.weight, *votes, prior, noise.largest_logit, *order, oriented))

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray] | None:
        """Return the log density, up to a constant, and its gradient; None where one call does not do."""
        slope = np.empty(len(x))
        value = kernels.flip_density(*self._arguments, x, slope)
        return None if value != value else (value, slope)
