"""What is believed of scores and annotators: a batch fit, then one step for each vote."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.acquisition.channel import LEFT, TIE, expected_truth, fisher_information, moments, vote_information
from jamrank.acquisition.pool import VotePool
from jamrank.acquisition.reliability import Reliability
from jamrank.acquisition.scores import GaussianScores
from jamrank.errors import InputError, JamrankWarning

__all__ = ["Belief"]

Doubles = NDArray[np.float64]

# Of a score, before there are votes that could say.
_FIRST_VARIANCE = 2.0
_ROUNDS = 2
# Of annotators of whom a fit says nothing.
_USUAL_FLIP = 0.3
# Ties of an annotator count beside so many imagined votes that tie as often as everybody's.
_IMAGINED_TIES = 4.0


class Belief:
    """Normal scores, a discrete posterior for each annotator, a threshold for ties.

    Parameters
    ----------
    pool : VotePool
        The votes.
    new_model : callable
        Gives an unfitted model, told whether there are ties; its scores are those that the belief is built around.
    gold : optional
        Pairs of known truth, for the model.
    """

    def __init__(self, pool: VotePool, new_model: Callable[[bool], Any], gold: Any = None) -> None:
        self.pool, self._new_model, self._gold = pool, new_model, gold
        self.model: Any = None
        self.prior_variance = _FIRST_VARIANCE
        self.scores = GaussianScores(np.empty(0), np.empty((0, 0)))
        self.reliability = Reliability(0)
        self.tie = np.empty(0)
        self.grow()

    def grow(self) -> None:
        """Take up items and annotators that have joined."""
        new = len(self.pool.items) - len(self.scores.mean)
        if new > 0:
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
        """Count a vote that is asked for and not there yet: less uncertainty, the same means."""
        mean, variance = (float(value) for value in self.scores.margin(left, right))
        known = vote_information(np.asarray(mean), np.asarray(variance), self.reliability.flip[who], self.tie[who])
        self.scores.condition(left, right, mean, variance * float(np.exp(-2 * known)))

    def refit(self) -> None:
        """Start anew from a batch fit to all votes."""
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
        prior = np.full(len(mean), self.prior_variance)
        for _ in range(_ROUNDS):
            information = fisher_information(margin, flip[who], self.tie[who]) * weight
            self.scores = GaussianScores.from_information(mean, prior, left, right, information)
            truth = self._left_out(left, right, outcome, flip[who], information)
            self.reliability.refit(who[decided], outcome[decided] == LEFT, truth[decided], weight[decided])
            flip = self.reliability.flip
        information = fisher_information(margin, flip[who], self.tie[who]) * weight
        self.scores = GaussianScores.from_information(mean, prior, left, right, information)

    def _fit_model(self, ties: bool) -> tuple[Doubles, Doubles] | None:
        """Fit the model; return scores and flips, usual ones where there are no votes. None without decided votes."""
        model, votes = self._new_model(ties), self.pool.to_comparisons()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            try:
                model.fit(votes, **({} if self._gold is None else {"gold": self._gold}))
            except InputError:
                self.model = None
                return None
        self.model = model
        variance = model.score_variance_
        self.prior_variance = float(variance if variance is not None else max(model.scores_.var(), 0.1))
        mean = np.zeros(len(self.pool.items))
        mean[self.pool.items.places(model.items_)] = model.scores_ - model.scores_.mean()
        flip = np.full(len(self.pool.annotators), _USUAL_FLIP)
        if np.shape(model.flip_) == votes.annotators.shape:
            flip[self.pool.annotators.places(votes.annotators)] = np.clip(model.flip_, 0.02, 0.98)
        return mean, flip

    def _fit_ties(self, who: Doubles, outcome: Doubles, margin: Doubles) -> None:
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

    def _left_out(self, left: Any, right: Any, outcome: Any, flip: Doubles, information: Doubles) -> Doubles:
        """Return how likely left is better in each vote, that vote itself left out (to first order)."""
        mean, variance = self.scores.margin(left, right)
        truth = expected_truth(mean, np.zeros(1))
        said = flip + (1 - 2 * flip) * truth
        slope = (1 - 2 * flip) * truth * (1 - truth)
        pull = np.where(outcome == LEFT, slope / said, -slope / (1 - said))
        pull[outcome == TIE] = 0.0
        keep = np.maximum(1 - information * variance, 0.2)
        return expected_truth(mean - pull * variance / keep, variance / keep)

    def copy(self) -> Belief:
        """Return a copy for votes that are only expected."""
        twin = object.__new__(Belief)
        twin.__dict__.update(self.__dict__)
        twin.scores, twin.reliability, twin.tie = self.scores.copy(), self.reliability.copy(), self.tie.copy()
        return twin
