"""The votes of annotators as normal likelihoods of the scores they vote by and of how often they lapse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jamrank.fitting.family_search import Below
from jamrank.fitting.family_state import LAPSE_MEAN
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.kernels import kernels
from jamrank.linalg.normal_effects import Normal, absorb_columns
from jamrank.typing import Float32Array, FloatArray, IntArray

# Likelihoods of one expansion that are kept: as many as a search returns to.
_MOST_KNOWN = 6


@dataclass(frozen=True)
class Cells:
    """Votes by annotator and pair of items: how many for the first, and for the second."""

    annotator: IntArray
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    n_annotators: int
    n_items: int

    @classmethod
    def of(cls, votes: FamilyVotes) -> Cells:
        """Count the votes."""
        n, k = votes.n_items, votes.n_annotators
        at = (votes.annotator * n + votes.winner) * n + votes.loser
        wins = np.bincount(at, votes.count, k * n * n).reshape(k, n, n)
        first, second = np.triu_indices(n, 1)
        won, lost = wins[:, first, second].astype(np.float64), wins[:, second, first].astype(np.float64)
        who, pair = np.nonzero(won + lost)
        return cls(who, first[pair], second[pair], won[who, pair], lost[who, pair], k, n)

    def together(self, sign: FloatArray) -> Cells:
        """Return the votes as if one annotator had cast all, those of adversaries turned."""
        n, straight = self.n_items, sign[self.annotator] > 0
        at = self.first * n + self.second
        won, lost = np.where(straight, self.won, self.lost), np.where(straight, self.lost, self.won)
        pair = np.flatnonzero(np.bincount(at, minlength=n * n))
        of_pair = [np.bincount(at, values, n * n)[pair].astype(np.float64) for values in (won, lost)]
        return Cells(np.zeros(len(pair), dtype=np.int64), pair // n, pair % n, of_pair[0], of_pair[1], 1, n)


@dataclass(frozen=True)
class Expansion:
    """The votes of each annotator as a normal likelihood of the scores they vote by and the logit of their lapses.

    precision, shift: Of the scores; the shift is precision times mean, lapses included.
    slope: Precision between scores and logit.
    information, pull: Precision and shift of the logit.
    """

    precision: FloatArray
    shift: FloatArray
    slope: FloatArray
    information: FloatArray
    pull: FloatArray

    def below(self, lapse_mean: float, lapse_sd: float, own_sd: float) -> tuple[Normal, Below]:
        """Integrate lapses out, and also own effects. The prior of the logits of lapses is normal."""
        at = lapse_sd, own_sd
        said, likelihood = self._known.pop(at) if at in self._known else self._below(lapse_sd, own_sd)
        self._known[at] = said, likelihood
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        away = lapse_mean - LAPSE_MEAN
        return _moved(said, away), Below(_moved(likelihood, away), lapse_mean)

    @cached_property
    def _known(self) -> dict[tuple[float, float], tuple[Normal, Normal]]:
        """The likelihoods about the prior's mean by standard deviations, those used last."""
        return {}

    def _below(self, lapse_sd: float, own_sd: float) -> tuple[Normal, Normal]:
        prior = 1 / lapse_sd**2
        total = self.information + prior
        means = LAPSE_MEAN + np.array([-1.0, 0.0, 1.0])
        pull = self.pull[:, None] + prior * means
        shift = self.shift[..., None] - self.slope[..., None] * (pull / total[:, None])[:, None, :]
        share = self.slope / total[:, None]
        factor = 0.5 * (pull**2 / total[:, None] - prior * means**2 - np.log(total / prior)[:, None])
        precision = share[:, :, None] * self.slope[:, None, :]
        np.subtract(self.precision, precision, out=precision)
        said = Normal(precision, shift, factor)
        return said, absorb_columns(said, np.asarray(own_sd)) if own_sd > 0 else said

    def log_odds(
        self, scores: FloatArray | Float32Array, lapse_mean: FloatArray | float, lapse_sd: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and precision of the logits of lapses given scores."""
        total = self.information + 1 / lapse_sd**2
        pull = (
            self.pull
            - np.einsum("kn,...kn->...k", self.slope, scores)
            + np.asarray(lapse_mean)[..., None] / lapse_sd**2
        )
        return np.asarray(pull / total), total


def _moved(likelihood: Normal, away: float) -> Normal:
    """Return the likelihoods where the mean of the logits of lapses, in which they are normal, is further away."""
    by, (shift, factor) = away + np.array([-1.0, 0.0, 1.0]), (likelihood.shift, likelihood.log_factor)
    slope, curve = (factor[:, 2:] - factor[:, :1]) / 2, (factor[:, 2:] + factor[:, :1]) / 2 - factor[:, 1:2]
    moved = shift[..., 1:2] + by * (shift[..., 2:] - shift[..., :1]) / 2
    return Normal(likelihood.precision, moved, factor[:, 1:2] + by * (slope + by * curve))


@dataclass(frozen=True)
class Spread:
    """Posterior covariances: of the scores each annotator votes by, with the logit of their lapses, and of that."""

    scores: FloatArray
    both: FloatArray
    log_odds: FloatArray


def expand(cells: Cells, scores: FloatArray, log_odds: FloatArray, spread: Spread | None = None) -> Expansion:
    """Expand the likelihood about the scores each annotator votes by and the logits of lapses.

    spread: Slopes and curvatures are their means over this posterior, not those at its centre: a normal distribution
        near to the posterior (Opper and Archambeau, *Neural Computation* 21, 2009), where the expansion at the mode
        understates scores if annotators have many tastes.
    """
    k, n = cells.n_annotators, cells.n_items
    precision, (shift, slope), (information, pull) = np.empty((k, n, n)), np.empty((2, k, n)), np.empty((2, k))
    about = [np.empty(0)] * 3 if spread is None else [spread.scores, spread.both, spread.log_odds]
    kernels.expand_cells(
        cells.annotator,
        cells.first,
        cells.second,
        cells.won,
        cells.lost,
        *(np.ascontiguousarray(values).ravel() for values in (scores, log_odds, *about)),
        *(values.ravel() for values in (precision, shift, slope, information, pull)),
        n,
    )
    return Expansion(precision, shift, slope, information, pull)
