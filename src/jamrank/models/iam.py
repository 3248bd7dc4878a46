"""Independent Annotator Modeling: the paper's IAM."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.errors import FeatureError
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.em import Problem, run
from jamrank.fitting.prior import Prior, linear_variance, resolve_prior
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import FeatureUse, RankingModel
from jamrank.models.latent import LatentModel
from jamrank.noise import NoNoise
from jamrank.rows.rows import Rows
from jamrank.scorers import LinearScorer
from jamrank.typing import FloatArray

__all__ = ["IAM"]


class IAM(LatentModel):
    """Independent Annotator Modeling: one linear ranker for each annotator, their scores added up.

    Parameters
    ----------
    normalise : bool
        Divide each annotator's scores by their standard deviation before the sum, so that none dominates it by
        scale alone. The paper adds them as they are.
    loss, prior, max_iter, tol, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    scores_ : ndarray
        Sum of the annotators' scores.
    annotator_scores_ : ndarray of shape (annotators, items)
        Scores by each annotator's own ranker.
    posterior_ : ndarray
        Sigmoid of the difference in scores, for each pair.
    flip_ : ndarray
        Share of each annotator's votes that go against the sum.
    """

    _log_odds: ClassVar[bool] = False
    _extra_state: ClassVar[tuple[str, ...]] = ("annotator_scores_",)
    _takes_features: ClassVar[FeatureUse] = "always"
    _knows_annotators: ClassVar[bool] = False
    annotator_scores_: FloatArray

    def __init__(
        self,
        *,
        normalise: bool = False,
        loss: str = "logistic",
        prior: Prior | str | None = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.normalise = normalise
        self.loss = loss
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, votes: Votes, features: Any) -> None:
        assert isinstance(votes, Comparisons)
        self._validate()
        if features is None:
            raise FeatureError(
                "IAM needs features", "give one row an item (--features FILE), or use JAM, which needs none"
            )
        matrix = self._measure(features, votes)
        self._leave_out_ties(votes)
        assert self._features is not None
        prior = resolve_prior(self.prior)
        scorer = LinearScorer(matrix, linear_variance(prior))
        weights = np.stack([self._own_weights(votes, k, scorer) for k in range(votes.n_annotators)])
        self.annotator_scores_ = np.stack([scorer.scores(own) for own in weights])
        if self.normalise:
            spread = self.annotator_scores_.std(axis=1)
            share = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
            weights = weights * share[:, None]
        self._warn_unless(self.converged_, f"max_iter={self.max_iter} for some annotator; raise it or use a prior")
        total = weights.sum(axis=0)
        self.coef_ = self._features.in_user_units(total)
        self.scores_ = self.feature_scores_ = scorer.scores(total)
        margin = self.scores_[votes.pair_first] - self.scores_[votes.pair_second]
        self.posterior_ = np.asarray(expit(margin))
        self.flip_ = disagreement(votes, lambda votes: np.sign(margin))

    # Flips are counted here, not estimated, and scores have no standard errors: as in the base of all models.
    _estimate_flip_information = RankingModel._estimate_flip_information
    _truth_of_votes = RankingModel._truth_of_votes
    _chance = RankingModel._chance
    _estimate_uncertainty = RankingModel._estimate_uncertainty
    _estimate_recommended = RankingModel._estimate_recommended
    # A sum of scores is no log-odds: votes are foretold through a link.
    _vote_proba = RankingModel._vote_proba
    _estimate_link = RankingModel._estimate_link
    _estimate_score_variances = RankingModel._estimate_score_variances
    _estimate_vote_tables = RankingModel._estimate_vote_tables

    def _own_weights(self, votes: Comparisons, annotator: int, scorer: LinearScorer) -> FloatArray:
        """Fit one annotator's votes as if they were the truth."""
        rows = Rows.per_vote(votes, annotator)
        if not len(rows):
            return np.zeros(scorer.n_params)
        engine = MemoryEngine(rows, self.n_jobs)
        problem = Problem(engine, scorer, NoNoise(rows.n_confusion_groups), self.loss)
        truth = rows.first_won.astype(np.float64)
        theta, params = problem.start_from(truth)
        if self.loss == "logistic":
            start = problem.evaluate(theta, params)
            fit = run(problem, start, max_iter=self.max_iter, tol=self.tol)
            self.n_iter_ = max(self.n_iter_, fit.n_iter)
            self.converged_ = self.converged_ and fit.converged
            theta = fit.point.theta
        self.n_passes_ += engine.passes
        return theta
