"""Initial values of a fit from an earlier result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jamrank.data.ids import locate
from jamrank.fitting.em import Problem
from jamrank.io.out_of_core.parted import Votes
from jamrank.scorers import Features
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult


def warm_start(
    problem: Problem,
    theta: FloatArray,
    params: FloatArray,
    earlier: RankingResult,
    votes: Votes,
    features: Features | None,
    kernel: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return scores and noise of an earlier result, where its ids and those of the votes match.

    Parameters without an earlier value keep their usual start; new items start at the mean of the old ones.

    problem: What is to be fitted.
    theta, params: The usual start.
    earlier: What to start from.
    votes: Whose ids are matched.
    features: Of the new fit.
    kernel: Whether features go through a kernel, whose weights cannot be reused.
    """
    item = locate(earlier.items, votes.items)
    old = earlier.scores

    def of_items(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else np.where(item >= 0, values[item], np.nan)

    scores = of_items(old.scores)
    assert scores is not None
    weights = None
    if features is not None and old.features is not None and features.names == old.features.names and not kernel:
        weights = None if old.coef is None else old.coef * features.scale
    at = locate(earlier.votes.annotators, votes.annotators)
    return (
        problem.scorer.warm_start(theta, scores, of_items(old.feature_scores), weights),
        problem.noise.warm_start(params, at, earlier.annotators.overall, earlier.annotators.traits),
    )
