"""Independent Annotator Modeling: the paper's IAM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.errors import FeatureError
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.em import Problem, run
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.fit_warnings import warn_of_ties, warn_unless
from jamrank.fitting.prior import Prior, linear_variance
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.scores import Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.base import RankingModel
from jamrank.noise import NoNoise
from jamrank.rows import Rows
from jamrank.scorers import Features, LinearScorer, align_features
from jamrank.typing import FloatArray


@dataclass(kw_only=True, repr=False, eq=False)
class IAM(RankingModel):
    """Independent Annotator Modeling: one linear ranker for each annotator, their scores added up.

    Parameters
    ----------
    normalise : bool
        Divide each annotator's scores by their standard deviation before the sum, so that none dominates by its
        scale. The paper adds them as they are.
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

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote", scorer="linear", noise="none", capabilities=Capabilities(features="always")
    )

    normalise: bool = False
    loss: str = "logistic"
    prior: Prior | str | None = "auto"
    max_iter: int = 500
    tol: float = 1e-5
    n_jobs: int | None = None
    verbose: bool = False

    @property
    def annotator_scores_(self) -> FloatArray:
        """Scores by each annotator's own ranker: annotators × items."""
        scores: FloatArray = self.result_.extras["annotator_scores"]
        return scores

    def _fit(self, given: FitInput) -> RankingResult:
        votes, settings = given.in_memory, FitSettings.of("IAM", self._spec, self.get_params())
        if given.features is None:
            raise FeatureError(
                "IAM needs features", "give one row per item (--features FILE), or use JAM, which needs none"
            )
        matrix, names = align_features(given.features, votes.items)
        features = Features.of(matrix, names)
        warn_of_ties(votes, settings)
        scorer = LinearScorer(features.standardise(matrix), linear_variance(settings.prior))
        rankers = [_own_ranker(votes, k, scorer, settings) for k in range(votes.n_annotators)]
        weights = np.stack([ranker[0] for ranker in rankers])
        own_scores = np.stack([scorer.scores(own) for own in weights])
        if self.normalise:
            spread = own_scores.std(axis=1)
            share = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
            weights = weights * share[:, None]
        ends = [ranker[1] for ranker in rankers]
        convergence = Convergence(
            max(end.n_iter for end in ends), sum(end.n_passes for end in ends), all(end.converged for end in ends)
        )
        warn_unless(
            convergence.converged, "IAM", f"some annotator reached max_iter={self.max_iter}; raise it or use a prior"
        )
        total = weights.sum(axis=0)
        values = scorer.scores(total)
        scores = Scores(
            votes.items,
            values,
            "IAM",
            feature_scores=values,
            coef=features.in_user_units(scorer.weights(total)),
            features=features,
            scorer="linear",
        )
        flip = disagreement(votes, lambda part: np.sign(values[part.pair_first] - values[part.pair_second]))
        extras = {"annotator_scores": own_scores}
        return self._counted_result(
            VoteSummary.of(votes), scores, flip, convergence, self.get_params(), extras=extras
        )


def _own_ranker(
    votes: Comparisons, annotator: int, scorer: LinearScorer, settings: FitSettings
) -> tuple[FloatArray, Convergence]:
    """Fit one annotator's votes without noise; return the weights and whether the fit converged."""
    rows = Rows.per_vote(votes, annotator)
    if not len(rows):
        return np.zeros(scorer.n_params), Convergence()
    engine = MemoryEngine(rows, settings.n_jobs)
    problem = Problem(engine, scorer, NoNoise(rows.n_confusion_groups), settings.loss)
    theta, params = problem.start_from(rows.first_won.astype(np.float64))
    if settings.loss == "hinge":
        return theta, Convergence(0, engine.passes)
    fit = run(problem, problem.evaluate(theta, params), max_iter=settings.max_iter, tol=settings.tol)
    return fit.point.theta, Convergence(fit.n_iter, engine.passes, fit.converged)
