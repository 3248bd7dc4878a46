"""Uncertainty of scores and ranks: intervals, draws, top k, groups."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from jamrank.engines import Links
from jamrank.errors import ParameterError, UncertaintyWarning, warn
from jamrank.inference.chain_diagnostics import ChainDiagnostics, diagnose
from jamrank.inference.exchangeability import all_distinct, by_group
from jamrank.inference.latent import N_DRAWS, LatentInference
from jamrank.inference.posterior_draws import N_CHAINS
from jamrank.inference.ranks import ranks
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.uncertainty import (
    MOST_ITEMS_DENSE,
    Uncertainty,
    draw_ranks,
    from_information,
    independent,
    joint_information,
    laplace,
    needs_links,
    normal_draws,
    pooled_quantiles,
)
from jamrank.inference.vote_summary import VoteSummary
from jamrank.linalg.blas import blas_threads
from jamrank.typing import FloatArray, IntArray


class ScoreUncertainty:
    """Independent normal errors with known standard errors, or none.

    se: Standard error of each score; None if the model gives none.
    """

    saved: tuple[str, ...] = ("exchangeable", "score_draws")

    def __init__(self, votes: VoteSummary, scores: Scores, se: FloatArray | None = None) -> None:
        self.votes, self.scores, self._se = votes, scores, se

    # -- standard errors and intervals ------------------------------------------------------------------------

    @cached_property
    def estimate(self) -> Uncertainty:
        """Standard errors, and 95 % intervals of scores and ranks, as the ranking shows them."""
        if self._se is None:
            return Uncertainty.unknown(len(self.votes.items))
        return independent(self.scores.scores, self._se)

    @cached_property
    def exchangeable(self) -> IntArray:
        """A number for each item, the same for those that nothing but their names tells apart."""
        return all_distinct(len(self.votes.items))

    def bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return an interval of each score: posterior quantiles if there are draws, otherwise normal."""
        found = self.estimate
        if level == 0.95:
            return found.score_low, found.score_high
        if found.kind == "posterior":
            tails = [(1 - level) / 2, (1 + level) / 2]
            low, high = pooled_quantiles(self.score_draws, tails, self.exchangeable, "weibull")
            return low, high
        reach = float(ndtri((1 + level) / 2)) * found.score_se
        return self.scores.scores - reach, self.scores.scores + reach

    def approximate(self) -> None:
        """Use the normal approximation from now on, where draws from the posterior would take longer."""

    def information(self) -> Uncertainty:
        """Return the normal approximation with the observed information."""
        raise ParameterError(f"{self.scores.model} has no likelihood, and so no information; try kind='bootstrap'")

    # -- draws ------------------------------------------------------------------------------------------------

    @cached_property
    def score_draws(self) -> FloatArray:
        """Draws of the scores, one per row, with the default number and seed."""
        return self._draw(N_DRAWS, 0)

    def draw(self, n: int = N_DRAWS, random_state: Any = 0) -> FloatArray:
        """Draw scores from their posterior: one row per draw, in the order of the items."""
        at_least_one("n", n)
        usual = n <= N_DRAWS and isinstance(random_state, int) and random_state == 0
        # Draws are one sequence: fewer draws are its beginning.
        if not usual:
            return self._draw(n, random_state)
        # Evenly from all chains, which are concatenated.
        return self.score_draws[np.arange(n) * len(self.score_draws) // n]

    def _draw(self, n: int, random_state: Any) -> FloatArray:
        se = self.estimate.score_se
        if not np.isfinite(se).all():
            raise ParameterError(f"{self.scores.model} gives no uncertainty of its scores")
        noise = np.random.default_rng(random_state).standard_normal((n, len(se)))
        return np.asarray(self.scores.scores + se * noise)

    @property
    def diagnostics(self) -> ChainDiagnostics | None:
        """R-hat and effective sample size of the draws; None if they are not from chains."""
        return None

    @cached_property
    def rank_draws(self) -> IntArray:
        """The rank of every item in each of the default draws."""
        return draw_ranks(self.score_draws)

    def rank_distribution(self) -> FloatArray:
        """Return P(item has rank r): one row for each item, one column for each rank from 1."""
        drawn, n_items = self.rank_draws, len(self.votes.items)
        cells = np.arange(n_items) * n_items + drawn - 1
        share = np.bincount(cells.ravel(), minlength=n_items**2).reshape(n_items, n_items) / len(drawn)
        return by_group(share, self.exchangeable)

    def top(self, k: int) -> FloatArray:
        """Return the probability that each item is among the ``k`` best."""
        if at_least_one("k", k) > len(self.votes.items):
            raise ParameterError(f"k is {k}; there are {len(self.votes.items)} items")
        return by_group((self.rank_draws <= k).mean(axis=0), self.exchangeable)

    # -- frames -----------------------------------------------------------------------------------------------

    @property
    def rank(self) -> IntArray:
        """The rank of each item: 1 for the highest score, equal scores share the better rank."""
        return ranks(self.scores.scores, within=SAME_SCORE)

    def top_frame(self, k: int) -> Any:
        """Return the items as a frame with the probability of being among the best, highest first."""
        likely, rank = self.top(k), self.rank
        order = np.lexsort((np.arange(len(rank)), rank, -likely))
        columns = {"item": self.votes.items, "rank": rank, "p_top": likely}
        return self.votes.frame({name: column[order] for name, column in columns.items()})

    def intervals_frame(self, level: float) -> Any:
        """Return the items as a frame with intervals of their scores, best first."""
        low, high = self.bounds(as_level(level))
        scores = self.scores.scores
        order = np.lexsort((np.arange(len(scores)), -scores))
        known = np.isfinite(low)
        columns = {
            "item": self.votes.items,
            "score": scores,
            "score_low": self.votes.with_gaps(low, known),
            "score_high": self.votes.with_gaps(high, known),
        }
        return self.votes.frame({name: column[order] for name, column in columns.items()})

    def groups_frame(self) -> Any:
        """Return the items as a frame, best first, in groups whose neighbours are not significantly different."""
        scores = self.scores.scores
        order = np.lexsort((np.arange(len(scores)), -scores))
        draws = self.score_draws[:, order]
        n_items = len(order)
        group, apart = np.ones(n_items, np.int64), np.zeros(n_items, np.int64)
        rank = self.rank[order]
        for i in range(n_items - 1):
            below = (draws[:, [i]] > draws[:, i + 1 :]).mean(axis=0) >= 0.975
            group[i + 1] = group[i] + int(below[0])
            open_until = np.flatnonzero(~below)
            first = i + 1 + (int(open_until[-1]) + 1 if len(open_until) else 0)
            apart[i] = rank[first] if first < n_items else 0
        return self.votes.frame(
            {
                "item": self.votes.items[order],
                "rank": rank,
                "group": group,
                "apart_from": self.votes.with_gaps(apart, apart > 0),
            }
        )


class LatentUncertainty(ScoreUncertainty):
    """Draws from the posterior of scorer and noise or, with many votes, a normal approximation.

    votes, scores: As in :class:`ScoreUncertainty`.
    inference: Of the fit.
    """

    def __init__(self, votes: VoteSummary, scores: Scores, inference: LatentInference) -> None:
        super().__init__(votes, scores)
        self.inference, self.fit = inference, inference.fit

    @cached_property
    def estimate(self) -> Uncertainty:
        """Standard errors, and 95 % intervals of scores and ranks."""
        if not self.inference.can_draw:
            return self.information()
        return Uncertainty.of_draws(self.scores.scores, self.score_draws, "posterior", self.exchangeable)

    @cached_property
    def exchangeable(self) -> IntArray:
        """A number for each item, the same for those that nothing but their names tells apart."""
        inference = self.inference
        return inference.exchangeability.group if inference.can_draw else all_distinct(len(self.votes.items))

    @cached_property
    def score_draws(self) -> FloatArray:
        """Draws of the scores, one per row, with the default seed: 400, or 800 if votes are few."""
        if (self.votes.source is None and self.estimate.kind == "independent") or not self.inference.can_draw:
            return self._draw(N_DRAWS, 0)
        return np.asarray(self.scores.scores.mean() + self.inference.draws.scores)

    def approximate(self) -> None:
        """Use the normal approximation from now on, where draws from the posterior would take longer."""
        if "score_draws" not in vars(self):
            vars(self.inference)["can_draw"] = False

    @property
    def diagnostics(self) -> ChainDiagnostics | None:
        """R-hat and effective sample size of the draws; None if they are not from chains."""
        return diagnose(self.score_draws, N_CHAINS) if self.estimate.kind == "posterior" else None

    def _draw(self, n: int, random_state: Any) -> FloatArray:
        inference, scores = self.inference, self.scores.scores
        if self.votes.source is None and self.estimate.kind == "independent":
            return super()._draw(n, random_state)
        if inference.can_draw:
            return np.asarray(scores.mean() + inference.sampler.draw(n, random_state).scores)
        if inference.observed is None and len(scores) > MOST_ITEMS_DENSE:
            return super()._draw(n, random_state)
        observed = inference.observed
        matrix = joint_information(*self._of_scores) if observed is None else observed.matrix
        return normal_draws(scores, matrix, inference.integrated_variances, n, random_state)

    @property
    def _of_scores(self) -> tuple[FloatArray, Links | None, float]:
        """The curvature in each score and in the difference of two, and the precision of the prior."""
        refined = self.fit.refined
        problem, point = refined.problem, refined.point
        engine = problem.engine
        links = needs_links(engine.n_links, engine.n_items)
        variance = self.fit.score_variance
        degree, between = engine.observed(point.scores, problem.noise.log_emission(point.params), links)
        return degree, between, 0.0 if variance is None else 1.0 / variance

    def information(self) -> Uncertainty:
        """Return the normal approximation with the observed information of scores and noise."""
        inference, scores = self.inference, self.scores.scores
        with blas_threads(len(scores)):
            if inference.observed is not None:
                known = inference.integrated_variances
                found = from_information(scores, inference.observed.matrix, inference.loose(), known)
            else:
                found = laplace(scores, *self._of_scores, inference.loose(), inference.integrated_variances)
        if found.raised:
            warn(
                "the information on the scores is not positive definite, as with very few votes: "
                f"{found.raised:.2g} was added to its diagonal, and intervals are only a rough guide",
                UncertaintyWarning,
            )
        return found


def as_level(value: Any) -> float:
    """Return the level of an interval, checked."""
    try:
        fine = 0 < value < 1
    except TypeError:
        fine = False
    if not fine:
        raise ParameterError(f"level is {value!r}; expected a probability between 0 and 1, neither included")
    return float(value)


def at_least_one(name: str, value: Any) -> int:
    """Return a whole number of at least 1, checked."""
    if not (isinstance(value, (int, np.integer)) and value >= 1):
        raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")
    return int(value)
