"""The pass over votes that depend on the margin of their pair itself, without a latent truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from jamrank.kernels import kernels
from jamrank.rows import Patterns, Rows
from jamrank.typing import Float32Array, FloatArray

if TYPE_CHECKING:
    from jamrank.engines.passes import Laid, Sums

_QUESTIONS = {"margin": 0, "tie": 1}


def over_margins(
    rows: Laid, ballots: Patterns, scores: FloatArray, params: FloatArray, curvature: Float32Array, threads: int
) -> Sums:
    """Run the pass over votes that depend on the margin.

    Where a pass over latent truths returns expected counts, this one returns, by confusion group, the derivative in
    its parameter and the information on it.
    """
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    slope, information = np.empty(ballots.n_confusion_groups), np.empty(ballots.n_confusion_groups)
    value = kernels.direct(
        *rows.link_layout,
        np.empty(0, dtype=np.int64) if rows.begin is None else rows.begin,
        ballots.of_row,
        rows.weight,
        np.ascontiguousarray(params),
        np.ascontiguousarray(scores),
        _QUESTIONS[rows.about],
        curvature,
        gradient,
        degree,
        slope,
        information,
        threads,
    )
    return value, gradient, degree, np.stack([slope, information], axis=1), np.zeros(ballots.n_confusion_groups)


def bend_of_rows(rows: Rows, block: slice, scores: FloatArray, params: FloatArray) -> FloatArray:
    """Return the observed information of some rows on their margins."""
    assert isinstance(rows.ballots, Patterns)
    kind = rows.ballots.of_row[block]
    margin, param, said = scores[rows.first[block]] - scores[rows.second[block]], params[kind // 2], kind % 2
    if rows.about == "margin":
        yes = expit(param * margin)
        return np.asarray(yes * (1 - yes) * param**2)
    better = expit(margin)
    yes = expit(param - np.logaddexp(margin / 2, -margin / 2) + np.log(2))
    return np.asarray(yes * (1 - yes) * (better - 0.5) ** 2 + (said - yes) * better * (1 - better))
