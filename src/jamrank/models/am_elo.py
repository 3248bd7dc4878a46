"""Bradley–Terry with a discrimination for each annotator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from jamrank.fitting.em import Fit, Problem
from jamrank.fitting.latent import LatentFitter, Outcome
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.prior import Prior
from jamrank.fitting.solution import ScorerState
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.prediction import DiscriminationPredictor, LatentPredictor
from jamrank.models.latent import LatentModel
from jamrank.typing import FloatArray


class UnitMeanFitter(LatentFitter):
    """Fits discriminations with a mean square of 1, and returns them with a mean of 1 of their absolute values."""

    def finish(self, outcome: Outcome) -> LatentFit:
        """Return the same fit on the other scale."""
        point = outcome.fit.point
        size = float(np.abs(point.rates).mean())
        noise = replace(outcome.noise, scale=1.0 / size)
        variance = outcome.scorer.score_variance
        scorer = ScorerState("objects", score_variance=None if variance is None else variance * size**2)
        engine = outcome.problem.engine
        problem = Problem(engine, scorer.build(engine.n_items), noise.build(engine))
        point = problem.evaluate(point.theta * size, point.params)
        fit = Fit(point, outcome.fit.objectives, outcome.fit.converged)
        scores = point.scores - point.scores.mean()
        return super().finish(Outcome(problem, fit, scorer, noise, (scorer, problem, point), scores))


@dataclass(kw_only=True, repr=False, eq=False)
class AmElo(LatentModel):
    """Free item scores, and a discrimination for each annotator: votes follow ``sigmoid(b * margin)``.

    An annotator with a large ``b`` distinguishes close items, one with 0 votes at random, one below 0 prefers the
    worse item. The scale is fixed by a mean of 1 of their absolute values, so that ``scores_`` are the log-odds of a
    typical annotator. This is the model of am-ELO, fitted by maximum a posteriori estimation.

    Parameters
    ----------
    prior : "auto", Prior or None
        Normal priors on the scores, with a variance that is estimated, and on the discriminations; None for plain
        maximum likelihood.
    max_iter, tol, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    discrimination_, discrimination_interval_ : ndarray
        Of each annotator, and a 95 % interval.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote",
        scorer="objects",
        noise="discrimination",
        capabilities=Capabilities(out_of_core=True, log_odds=True, annotators=True, likelihood=True),
    )
    _fitter: ClassVar[type[LatentFitter]] = UnitMeanFitter
    _predictor: ClassVar[type[LatentPredictor]] = DiscriminationPredictor

    prior: Prior | str | None = "auto"
    max_iter: int = 500
    tol: float = 1e-6
    engine: str = "auto"
    n_jobs: int | None = None
    verbose: bool = False

    @property
    def discrimination_(self) -> FloatArray:
        """Discrimination of each annotator."""
        return self.result_.annotators.traits["discrimination"]

    @property
    def discrimination_interval_(self) -> FloatArray | None:
        """95 % interval of each annotator's discrimination, from low to high."""
        return self.result_.annotators.discrimination_interval
