"""The posterior of scores and annotators: a batch fit, then one update for each vote."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jamrank.acquisition.channel import LEFT, TIE, expected_truth, fisher_information, moments, vote_information
from jamrank.acquisition.features import ItemFeatures
from jamrank.acquisition.pool import VotePool
from jamrank.acquisition.prices import TRIED, count_wins, is_expensive, worth_their_price
from jamrank.acquisition.reliability import Reliability
from jamrank.acquisition.scores import MOST_DENSE, GaussianScores
from jamrank.errors import FeatureError, InputError, JamrankWarning
from jamrank.typing import BoolArray, FloatArray, IntArray

# An unfitted model, for votes with ties or without.
NewModel = Callable[[bool], Any]

# Prior variance of a score, before there are votes to estimate it.
USUAL_VARIANCE = 2.0
_ROUNDS = 2
# Flip of annotators without a fitted one.
_USUAL_FLIP = 0.3
# Pseudo-votes with the tie rate of all annotators, added to those of each annotator.
_IMAGINED_TIES = 4.0


class Belief:
    """Normal scores, a discrete posterior for each annotator, a threshold for ties.

    pool: The votes.
    new_model: Returns an unfitted model, given whether there are ties; the belief is centred at its scores.
    gold: Pairs of known truth, for the model.
    features: The prior of the scores is then that of a linear model with an effect of each item.
    alike: Whether all annotators count alike, as in the model.
    """

    def __init__(
        self,
        pool: VotePool,
        new_model: NewModel,
        gold: Any = None,
        features: ItemFeatures | None = None,
        alike: bool = False,
    ) -> None:
        self.pool, self._new_model, self._gold, self._features = pool, new_model, gold, features
        self._alike = alike
        self.model: Any = None
        # Annotators of one cost share a prior.
        self.cost_of_annotators: Callable[[], FloatArray] = lambda: np.ones(len(pool.annotators))
        self._worth: list[bool] = []
        # Variance of a score given its features, and of the weight of each standardised feature.
        self._own_variance, self._weight_variance = USUAL_VARIANCE, 0.0
        self.prior_variance = USUAL_VARIANCE
        self.scores = GaussianScores(np.empty(0), np.empty((0, 0)))
        self.reliability = Reliability(0)
        self.tie = np.empty(0)
        self.grow()

    @property
    def has_features(self) -> bool:
        """Whether scores depend on features."""
        return self._features is not None

    def grow(self) -> None:
        """Add new items and annotators."""
        new = len(self.pool.items) - len(self.scores.mean)
        if new > 0 and self._features is not None:
            self._start_scores() if self.model is None else self.refit()
        elif new > 0:
            self.scores.add(np.zeros(new), np.full(new, self.prior_variance))
        joined = len(self.pool.annotators) - len(self.tie)
        if joined > 0:
            self.reliability.add(joined)
            usual = float(self.tie.mean()) if len(self.tie) else 0.0
            self.tie = np.concatenate([self.tie, np.full(joined, usual)])

    def observe(self, who: int, left: int, right: int, outcome: int) -> None:
        """Update by one vote: scores by assumed-density filtering, the annotator exactly."""
        mean, variance = (float(value) for value in self.scores.margin(left, right))
        truth = float(expected_truth(np.asarray(mean), np.asarray(variance)))
        _, after, spread = moments(mean, variance, outcome, self.reliability.says_left(who), float(self.tie[who]))
        self.scores.condition(left, right, after, spread)
        if outcome != TIE:
            self.reliability.observe(who, outcome == LEFT, truth)

    def expect(self, who: int, left: int, right: int) -> None:
        """Count a pending vote: less uncertainty, the same means."""
        mean, variance = (float(value) for value in self.scores.margin(left, right))
        known = vote_information(np.asarray(mean), np.asarray(variance), self.reliability.flip[who], self.tie[who])
        self.scores.condition(left, right, mean, variance * float(np.exp(-2 * known)))

    @property
    def _alone(self) -> bool:
        """Whether nothing is learned of annotators: they count alike, or there is only one, or only two items."""
        of_annotators = self.model is None or self.model._spec.capabilities.annotators
        alone = self._alike or len(self.pool.annotators) == 1 or len(self.pool.items) == 2
        return alone and not of_annotators

    def _start_scores(self) -> None:
        """Start with the prior given the features: similar items have similar scores."""
        n = len(self.pool.items)
        self._own_variance, self._weight_variance = 0.5 * USUAL_VARIANCE, 0.0
        if self._features is not None:
            width = self._features.standardised(self.pool.items.names).shape[1]
            self._weight_variance = 0.5 * USUAL_VARIANCE / width
        self.scores = GaussianScores.from_information(
            np.zeros(n), self._prior(), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        )

    def _prior(self) -> FloatArray:
        """Return the prior variances of the scores, or with features their covariance."""
        n = len(self.pool.items)
        if self._features is None:
            return np.full(n, self._own_variance)
        matrix = self._features.standardised(self.pool.items.names)
        if n > MOST_DENSE:
            return np.asarray(self._own_variance + self._weight_variance * (matrix**2).sum(axis=1))
        return np.asarray(self._weight_variance * matrix @ matrix.T + self._own_variance * np.eye(n))

    @property
    def expensive(self) -> BoolArray:
        """Which annotators are expensive."""
        return is_expensive(self.cost_of_annotators())

    @property
    def asks_expensive(self) -> bool:
        """Whether to ask the expensive annotators rather than the cheap ones."""
        if not self._worth:  # a list, so that copies share it
            cost = self.cost_of_annotators()
            expensive = self.expensive
            price = float(cost[expensive].mean() / cost[~expensive].mean())
            who, left, right, outcome = self.pool.columns()
            won, lost = np.where(outcome == LEFT, (left, right), (right, left))
            decided = self.pool.weight * (outcome != TIE)
            n, by_expensive = len(self.pool.items), expensive[who]
            tried = decided[~by_expensive].sum() >= TRIED * n
            wins = count_wins(by_expensive, won, lost, decided, n)
            self._worth.append(bool(tried) and worth_their_price(wins, price))
        return self._worth[0]

    def refit(self) -> None:
        """Restart from a batch fit to all votes."""
        cost = self.cost_of_annotators()
        kind = np.unique(cost, return_inverse=True)[1].astype(np.int64)
        self._worth = []
        if self._features is None:
            self.grow()
        who, left, right, outcome = self.pool.columns()
        decided = outcome != TIE
        fitted = self._fit_model(bool((~decided).any()))
        if fitted is None:
            return
        mean, flip = fitted
        self._fit_ties(who, outcome, mean[left] - mean[right])
        weight = self.pool.weight
        margin = mean[left] - mean[right]
        prior = self._prior()
        self.prior_variance = float(np.mean(prior if prior.ndim == 1 else np.diagonal(prior)))
        for _ in range(_ROUNDS):
            information = fisher_information(margin, flip[who], self.tie[who]) * weight
            self.scores = GaussianScores.from_information(mean, prior, left, right, information)
            truth = self._left_out(left, right, outcome, flip[who], information)
            votes = who[decided], outcome[decided] == LEFT, truth[decided], weight[decided]
            self.reliability.refit(*votes, kind)
            if self._alone:
                self.reliability.trust()
            flip = self.reliability.flip
        information = fisher_information(margin, flip[who], self.tie[who]) * weight
        self.scores = GaussianScores.from_information(mean, prior, left, right, information)

    def _fit_model(self, ties: bool) -> tuple[FloatArray, FloatArray] | None:
        """Fit the model; return scores and flips, defaults without votes. None without decided votes."""
        model, votes = self._new_model(ties), self.pool.to_comparisons()
        known = {} if self._gold is None else {"gold": self._gold}
        if self._features is not None:
            known["features"] = self._features.of(votes.items.tolist())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            try:
                model.fit(votes, **known)
            except FeatureError:
                raise
            except InputError:
                self.model = None
                return None
        self.model = model
        flip = np.full(len(self.pool.annotators), _USUAL_FLIP)
        if np.shape(model.flip_) == votes.annotators.shape:
            flip[self.pool.annotators.places(votes.annotators)] = np.clip(model.flip_, 0.02, 0.98)
        return self._scores_of(model), flip

    def _scores_of(self, model: Any) -> FloatArray:
        """Return the score of each item; without votes, the mean score or that of its features."""
        own = model.result_.scores.score_variance
        self._own_variance = float(own if own is not None else max(model.scores_.var(), 0.1))
        mean = np.zeros(len(self.pool.items))
        if self._features is not None and model.coef_ is not None:
            names = self.pool.items.names
            matrix, seen = (
                np.stack(list(self._features.of(part).values())) for part in (names, model.items_.tolist())
            )
            centre = np.nanmean(seen, axis=0)
            mean = np.where(np.isnan(matrix), 0.0, matrix - centre) @ model.coef_
            variance = model.result_.scores.weight_variance
            self._weight_variance = float(variance if variance is not None else mean.var() / matrix.shape[1])
        mean[self.pool.items.places(model.items_)] = model.scores_
        return np.asarray(mean - mean.mean())

    def _fit_ties(self, who: IntArray, outcome: IntArray, margin: FloatArray) -> None:
        tied = (outcome == TIE).astype(np.float64)
        if not tied.any():
            self.tie = np.zeros(len(self.pool.annotators))
            return
        n = len(self.pool.annotators)
        usual = float(tied.mean())
        share = (np.bincount(who, tied, n) + _IMAGINED_TIES * usual) / (
            np.bincount(who, minlength=n) + _IMAGINED_TIES
        )
        share = np.minimum(share, 0.95)
        self.tie = float(np.cosh(np.minimum(np.abs(margin), 10.0) / 2).mean()) * share / (1 - share)

    def _left_out(
        self, left: IntArray, right: IntArray, outcome: IntArray, flip: FloatArray, information: FloatArray
    ) -> FloatArray:
        """Return P(left is better) for each vote, without that vote (to first order)."""
        mean, variance = self.scores.margin(left, right)
        truth = expected_truth(mean, np.zeros(1))
        said = flip + (1 - 2 * flip) * truth
        slope = (1 - 2 * flip) * truth * (1 - truth)
        pull = np.where(outcome == LEFT, slope / said, -slope / (1 - said))
        pull[outcome == TIE] = 0.0
        keep = np.maximum(1 - information * variance, 0.2)
        return expected_truth(mean - pull * variance / keep, variance / keep)

    def copy(self) -> Belief:
        """Return a copy for pending votes."""
        twin = object.__new__(Belief)
        twin.__dict__.update(self.__dict__)
        twin.scores, twin.reliability, twin.tie = self.scores.copy(), self.reliability.copy(), self.tie.copy()
        return twin


def usual_model(pool: VotePool, with_features: bool, judges: bool) -> NewModel:
    """Return how to make the model: of annotators if several compare more than two items or are to be judged."""
    from jamrank.models import JAM, BradleyTerry, CrowdBT

    def model(ties: bool) -> Any:
        place = "davidson" if ties else "leave out"
        if with_features:
            return JAM(scorer="linear+objects", ties=place)
        several = len(pool.annotators) > 1 and (judges or len(pool.items) > 2)
        return CrowdBT(ties=place) if several else BradleyTerry(ties=place)

    return model
