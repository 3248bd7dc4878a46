"""Dawid and Skene's model: the truths of pairs and the errors of annotators, without scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Engine, MemoryEngine
from jamrank.errors import ParameterError
from jamrank.fitting.em import Fit, Problem
from jamrank.fitting.prior import Prior
from jamrank.inference import Uncertainty, independent
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import RankingModel
from jamrank.models.latent import LatentModel
from jamrank.models.vote_query import VoteQuery
from jamrank.noise import Noise
from jamrank.scorers import NoScorer
from jamrank.typing import FloatArray

__all__ = ["DawidSkene"]


class DawidSkene(LatentModel):
    """One truth a pair, which says nothing of other pairs, and annotators who err.

    Before its votes each truth is even, for a pair has no order of its own. Items are ranked by their shares of pairs
    won, each pair by its posterior.

    Parameters
    ----------
    noise : {"flip", "two-coin"}
        ``flip`` is the one-coin model; ``two-coin`` has an error rate for each side on which the better item is.
    prior : "auto", Prior or None
        Weak prior on the errors; None for plain maximum likelihood.
    init, n_init, max_iter, tol, random_state, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    scores_ : ndarray
        Log-odds of each item's share of pairs won, one won and one lost imagined.
    flip_, bias_, bias_interval_, side_flip_ : ndarray
        As in :class:`JAM`.
    """

    _takes_gold: ClassVar[bool] = True
    _log_odds: ClassVar[bool] = False
    _extra_state: ClassVar[tuple[str, ...]] = (*LatentModel._extra_state, "_item_pairs")

    def __init__(
        self,
        *,
        noise: str = "flip",
        prior: Prior | str | None = "auto",
        init: str = "share",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.noise = noise
        self.prior = prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, votes: Votes, features: Any) -> None:
        if features is not None:
            raise ParameterError("DawidSkene uses no features; JAM does")
        super()._fit(votes, None)

    def _fit_objects(self, engine: Engine, noise: Noise, prior: Prior | None) -> tuple[Problem, Fit]:
        problem = Problem(engine, NoScorer(engine.n_items), noise)
        fit = self._best_run(problem)
        self._refined = problem, fit.point
        return problem, fit

    def _finish(self, votes: Votes, problem: Problem, fit: Fit) -> None:
        assert isinstance(votes, Comparisons) and isinstance(problem.engine, MemoryEngine)
        rows, first_won = problem.engine.rows, problem.posterior(fit.point)
        won = np.bincount(rows.first, first_won, votes.n_items) + np.bincount(
            rows.second, 1 - first_won, votes.n_items
        )
        self._item_pairs = np.bincount(np.concatenate([rows.first, rows.second]), minlength=votes.n_items)
        self.scores_ = np.asarray(logit((won + 1) / (self._item_pairs + 2)))
        super()._finish(votes, problem, fit)

    @property
    def _has_likelihood(self) -> bool:
        return False

    def _vote_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item; on a new pair, through a link from the scores."""
        truth = 0.5 + query.seen_from_first(self.posterior_ - 0.5, np.zeros(len(query)))
        for_first = self._confusion_groups(query, features)
        told = truth * for_first[:, 1] + (1 - truth) * for_first[:, 0]
        return np.where(query.pair >= 0, told, RankingModel._vote_proba(self, query, features))

    _estimate_link = RankingModel._estimate_link
    _estimate_score_variances = RankingModel._estimate_score_variances

    def _estimate_uncertainty(self) -> Uncertainty:
        """Take the pairs of an item for independent."""
        share = 1.0 / (1.0 + np.exp(-self.scores_))
        return independent(self.scores_, 1.0 / np.sqrt((self._item_pairs + 2) * share * (1 - share)))
