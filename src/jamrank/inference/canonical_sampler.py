"""Posterior draws that do not depend on names.

A Markov chain amplifies rounding: sums over votes in another order give other draws. So chains run on votes whose ids
are replaced by ranks in an order of items and annotators that does not depend on names. For any names this is the
same computation, to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from jamrank.data.gold import KnownTruths
from jamrank.engines import Choice, Engine
from jamrank.fitting.em import Point, Problem, run
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.prior import Prior
from jamrank.fitting.solution import EngineSource, ScorerState
from jamrank.inference.exchangeability import Exchangeability
from jamrank.inference.feature_prior import FeaturePrior
from jamrank.inference.posterior_draws import Draws, Posterior
from jamrank.typing import FloatArray

# More draws where passes are short, so that intervals vary less with the seed.
_USUAL, _MANY, _SHORT_ROWS = 400, 800, 1000
_MOST_ITERATIONS, _TOL, _VARIANCE = 500, 1e-7, 3.0
# A fit from the usual start that ends lower by this much is at another optimum than the user's fit.
_LOWER = 1e-3
_DIGITS = 6


def n_draws(engine: Engine) -> int:
    """Return the number of draws: more where passes over the votes are short."""
    return _MANY if engine.n_rows <= _SHORT_ROWS else _USUAL


class CanonicalSampler:
    """Draws from the posterior of a fit, in an order that does not depend on names.

    like: The order.
    gold: Pairs of known truth.
    """

    def __init__(self, fit: LatentFit, like: Exchangeability, gold: KnownTruths | None) -> None:
        self.fit, self.like, self._gold = fit, like, gold

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the votes in that order."""
        fitted, like = self.fit.fitted, self.like
        gold_votes = None if self._gold is None else like.canonical(self._gold.with_truths)
        given = fitted.source
        source = EngineSource(
            like.canonical(), gold_votes, given.rows, given.ties, Choice("memory", ""), 1, graded=given.graded
        )
        engine = source.engine
        prior = fitted.noise.prior
        assert prior is not None
        # Chains draw the variances; for their start any value will do, and an estimate would carry rounding errors.
        variance, of_items = prior.score_variance or _VARIANCE, self._feature_prior(prior)
        name = fitted.scorer.name if of_items is None else "objects"
        problem = Problem(
            engine,
            ScorerState(name, score_variance=variance).build(engine.n_items),
            fitted.noise.build(engine),
            fitted.loss,
        )
        point = self._near(problem)
        return Posterior(
            engine,
            problem.noise,
            point.theta,
            point.params,
            prior.score_variance,
            oriented=self._gold is None,
            prior=of_items,
        )

    def _feature_prior(self, prior: Prior) -> FeaturePrior | None:
        """Return the prior of scores from features and an effect of each item; None without features.

        A scorer without effects gets them too: features hardly ever explain scores without a rest, and without it
        intervals would be too narrow.
        """
        matrix, fit = self.fit.fitted.scorer.matrix, self.fit
        if matrix is None:
            return None
        matrix = matrix[np.argsort(self.like.place)]
        scale = float((matrix**2).sum()) / len(matrix)
        given = None if prior.weight_variance is None else scale * prior.weight_variance
        assert fit.feature_scores is not None
        rest = fit.scores - fit.feature_scores
        near = float(fit.feature_scores.var()), float(rest.var())
        return FeaturePrior(matrix, given, prior.score_variance, near)

    def _near(self, problem: Problem) -> Point:
        """Return the fit of the votes in that order, from the usual start or, if that ends lower, from the fit."""
        best: Point | None = None
        for start in (problem.start(), self._start()):
            point = self._oriented(problem, _fit(problem, *start))
            if best is None or point.objective > best.objective + _LOWER:
                best = point
        assert best is not None
        return best

    def _oriented(self, problem: Problem, point: Point) -> Point:
        """Return the fit or its sign-flipped image, whichever has a positive orientation."""
        if self._gold is not None or problem.noise.orientation(point.params) >= 0:
            return point
        return _fit(problem, -point.theta, problem.noise.sign_flipped(point.params))

    def _start(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the fit, in that order; rounded, since rounding errors depend on names."""
        theta = np.empty_like(self.fit.scores)
        theta[self.like.place] = self.fit.fitted.theta if self.fit.fitted.scorer.matrix is None else self.fit.scores
        own, shared = self._by_annotator(self.fit.fitted.params[None])
        ordered = np.empty_like(own)
        ordered[:, :, self.like.annotator_place] = own
        return np.round(theta, _DIGITS), np.round(np.concatenate([ordered.ravel(), shared[0]]), _DIGITS)

    def _by_annotator(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of each row by kind and annotator, and those that all annotators share."""
        n_annotators = len(self.like.annotator_place)
        at = params.shape[1] - self.fit.fitted.problem.noise.n_shared
        at -= at % n_annotators  # a noise that has none for each annotator
        return params[:, :at].reshape(len(params), -1, n_annotators), params[:, at:]

    def draw(self, n: int, random_state: Any = 0) -> Draws:
        """Return draws in the order of the fit."""
        found = self.posterior.draw(n, random_state)
        own, shared = self._by_annotator(found.params)
        own = own[:, :, self.like.annotator_place].reshape(len(own), -1)
        params = np.concatenate([own, shared], axis=1)
        return replace(found, scores=found.scores[:, self.like.place], params=params)


def _fit(problem: Problem, theta: FloatArray, params: FloatArray) -> Point:
    return run(problem, problem.evaluate(theta, params), max_iter=_MOST_ITERATIONS, tol=_TOL).point
