"""Bradley–Terry with annotators who tell items apart more or less sharply."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.engines import Engine
from jamrank.fitting.em import Fit, Problem
from jamrank.fitting.prior import Prior, resolve_prior
from jamrank.inference.information import interval, joint_covariance
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.bradley_terry import BradleyTerry
from jamrank.models.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.noise import Discrimination, Noise
from jamrank.scorers import ObjectScorer
from jamrank.typing import FloatArray

__all__ = ["AmElo"]


class AmElo(BradleyTerry):
    """Free item scores, and a discrimination for each annotator: votes follow ``sigmoid(b * margin)``.

    An annotator with a large ``b`` tells close items apart, one with 0 is at a loss, one below 0 prefers the worse.
    The scale is fixed by a mean of 1 of their absolute values, so that ``scores_`` are the log-odds of a typical
    annotator. This is the model of am-ELO, fitted by maximum posterior.

    Parameters
    ----------
    prior : "auto", Prior or None
        Normal priors on the scores, with a variance that is estimated, and on the discriminations; None for plain
        maximum likelihood.
    max_iter, tol, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    discrimination_, discrimination_interval_ : ndarray
        Of each annotator, and a 95 % interval.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _likelihood_unit: ClassVar[str] = "margin"
    _knows_annotators: ClassVar[bool] = True
    _extra_state: ClassVar[tuple[str, ...]] = (
        *BradleyTerry._extra_state,
        "discrimination_",
        "discrimination_interval_",
    )
    discrimination_: FloatArray

    def __init__(
        self,
        *,
        prior: Prior | str | None = "auto",
        max_iter: int = 500,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _noise(self, engine: Engine, prior: Prior | None) -> Noise:
        return Discrimination(engine.vote_counts, prior.discrimination_variance if prior else None)

    def _finish(self, votes: Votes, problem: Problem, fit: Fit) -> None:
        super()._finish(votes, *self._rescaled(problem, fit))
        self.discrimination_ = self._fitted[1].rates

    def _rescaled(self, problem: Problem, fit: Fit) -> tuple[Problem, Fit]:
        """Return the same fit with a mean of 1 of the absolute discriminations: the loop had the mean square."""
        prior, engine, point = resolve_prior(self.prior), problem.engine, fit.point
        size = float(np.abs(point.rates).mean())
        noise = Discrimination(engine.vote_counts, prior.discrimination_variance if prior else None, 1.0 / size)
        if self.score_variance_ is not None:
            self.score_variance_ *= size**2
        problem = Problem(engine, ObjectScorer(engine.n_items, self.score_variance_), noise)
        point = problem.evaluate(point.theta * size, point.params)
        self.scores_ = point.scores - point.scores.mean()
        self._refined = problem, point
        return problem, Fit(point, fit.objectives, fit.converged)

    @cached_property
    def discrimination_interval_(self) -> FloatArray:
        """95 % interval of each annotator's discrimination, from low to high."""
        self._require_fit()
        problem, point = self._fitted
        if len(point.rates) == 1:  # 1 by definition
            return np.ones((1, 2))
        covariance = joint_covariance(problem, point)
        if covariance is None:
            # Scores taken as known.
            return interval(point.rates, 1.0 / np.maximum(point.expectation.expected_counts[:, 1], 1e-300))
        # The parameters are these discriminations but for their common scale, which is none of their own.
        value, n = point.params, len(point.params)
        size = float(np.abs(value).mean())
        turn = (np.eye(n) - np.outer(value, np.sign(value)) / (n * size)) / size
        return interval(point.rates, np.einsum("ij,jk,ik->i", turn, covariance, turn))

    def _annotator_columns(self) -> dict[str, FloatArray]:
        low, high = self.discrimination_interval_.T
        return {"discrimination": self.discrimination_, "discrimination_low": low, "discrimination_high": high}

    def _vote_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        margin, variance = self._margins(query, features)
        # An annotator of whom nothing is known is a typical one.
        sharpness = np.append(self.discrimination_, 1.0)[query.annotator]
        return probit_adjusted_sigmoid(sharpness * margin, sharpness**2 * variance)

    def _says_left(self, better: FloatArray, who: NDArray[np.intp]) -> FloatArray:
        return np.asarray(expit(self.discrimination_[who] * logit(better)))
