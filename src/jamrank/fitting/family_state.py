"""What the chains of the families model hold, and the priors of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from jamrank.typing import FloatArray, IntArray

# The family of annotators who have none.
ALONE = -1
# Standard deviations that effects of families and own effects may have. Of the latter 0 is as likely as all others
# together; a family without an effect is none.
FAMILY_SDS = np.array([0.4, 0.6, 0.85, 1.2, 1.7, 2.4])
OWN_SDS = np.array([0.0, 0.15, 0.25, 0.4, 0.6, 0.9, 1.4])
OWN_WEIGHTS = np.append(0.5, np.full(len(OWN_SDS) - 1, 0.5 / (len(OWN_SDS) - 1)))
# How likely all annotators have one taste, before it happens by chance.
_NO_FAMILIES = 0.3
# How likely an annotator is an adversary, and the log prior of a sign of 1 and of -1.
TURNED = 0.05
LOG_SIGN = np.log([1 - TURNED, TURNED])
# Shape and scale of the inverse gamma prior of the variance of the scores.
SCORE_SHAPE = 0.5
# Logits of lapses are normal about a common mean, which is normal: its mean and standard deviation, and the standard
# deviations about it that are possible. A lapse is wrong half of the time.
LAPSE_MEAN, LAPSE_MEAN_SD = -1.5, 1.0
LAPSE_SDS = np.array([0.3, 0.5, 0.8, 1.3, 2.0])


@dataclass(frozen=True)
class State:
    """Where the chains are; every array has the chain first.

    family: The family of each annotator, numbered without gaps, or :data:`ALONE`.
    sign: -1 for adversaries, otherwise 1.
    scores: The common scores.
    effects, of shape (chains, families, items); tastes, of shape (chains, annotators, items): Effects of families and
        own effects, in units of their standard deviation.
    log_odds: The logit of the probability that an annotator's vote is a lapse, the toss of a coin.
    """

    family: IntArray
    sign: FloatArray
    scores: FloatArray
    effects: FloatArray
    tastes: FloatArray
    log_odds: FloatArray
    score_sd: FloatArray
    family_sd: FloatArray
    own_sd: FloatArray
    lapse_sd: FloatArray

    @property
    def lapse(self) -> FloatArray:
        """The probability that an annotator's vote is a lapse."""
        return np.asarray(expit(self.log_odds))

    @property
    def member(self) -> FloatArray:
        """Whether an annotator is in a family, of shape (chains, annotators, families)."""
        return np.asarray(self.family[..., None] == np.arange(self.effects.shape[1]), np.float64)

    @property
    def own(self) -> FloatArray:
        """The scores that each annotator has in mind."""
        shared = self.family_sd[:, None, None] * (self.member @ self.effects)
        return np.asarray(self.scores[:, None] + shared + self.own_sd[:, None, None] * self.tastes)


def log_membership(sizes: FloatArray, n_annotators: int) -> FloatArray:
    """Return the log prior of families of such sizes, last axis; the rest of the annotators have none.

    Groups form as in a Chinese restaurant process. One of them has no effect with a probability of its cubed share,
    so that a large majority likely has none and of two halves likely neither; one group of everybody has none.
    """
    inside, total = sizes.sum(axis=-1), float(n_annotators)
    alone = total - inside
    groups = gammaln(np.maximum(sizes, 1)).sum(axis=-1) + gammaln(np.maximum(alone, 1)) - gammaln(total + 1)
    none_without = np.maximum(1.0 - (sizes**3).sum(axis=-1) / total**3, 0.0)
    with np.errstate(divide="ignore"):
        unaffected = np.where(alone > 0, 3.0 * np.log(np.maximum(alone, 1) / total), np.log(none_without))
    found = np.log(1 - _NO_FAMILIES) + groups + unaffected
    return np.asarray(np.where(inside == 0, np.log(_NO_FAMILIES + (1 - _NO_FAMILIES) / total), found))


def log_lapses(log_odds: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log density of the logits of all lapses by chain, their common mean integrated out; its gradient."""
    n, rest, variance = log_odds.shape[1], log_odds - LAPSE_MEAN, sd[:, None] ** 2
    common = variance + n * LAPSE_MEAN_SD**2
    weighted = (rest - LAPSE_MEAN_SD**2 * rest.sum(axis=1, keepdims=True) / common) / variance
    log_det = (n - 1) * np.log(variance[:, 0]) + np.log(common[:, 0])
    return np.asarray(-0.5 * (rest * weighted).sum(axis=1) - 0.5 * log_det), -weighted
