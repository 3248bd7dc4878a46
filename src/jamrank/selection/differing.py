"""Whether annotators differ so much that votes are wasted where all count alike, by the likelihood of all votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaincc

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.rows import PairCounts, by_one
from jamrank.selection.design import Design
from jamrank.selection.joint_crowd import CrowdFit, fit_crowd
from jamrank.typing import FloatArray

THEY_DIFFER = "annotators differ too much in how often they err (p < 0.001) to count their votes alike"
# Of fewer decided votes the test says nothing.
FEWEST_TO_TELL = 30
# Of annotators who are alike, fewer than this share are said to differ.
_FALSE_ALARM = 1e-3
# Where votes that count alike are as informative as this share of them, rightly weighed, weighing them gains little.
_EFFICIENT = 0.9
# The largest root of a Wishart matrix, scaled, is nearly a gamma variable (Chiani 2014, Tracy and Widom's law).
_SHAPE, _SCALE, _SHIFT = 46.446, 0.186054, 9.84801


@dataclass(frozen=True)
class Differences:
    """How much annotators differ in their flips.

    chance: Bound of the probability of differences as large among annotators who are alike.
    efficiency: What votes that count alike are worth, as a share of what they are worth where each is weighed by its
        annotator's flip.
    """

    chance: float
    efficiency: float

    @property
    def matter(self) -> bool:
        """Whether annotators differ, and so much that counting their votes alike wastes many."""
        return self.chance < _FALSE_ALARM and self.efficiency < _EFFICIENT


def differ_in_few(votes: Comparisons, design: Design) -> bool:
    """Tell whether annotators differ too much to count their votes alike, where votes are too few to hold any out."""
    enough = design.n_decided >= FEWEST_TO_TELL and design.n_annotators > 1 and not design.one_pair
    return enough and differences(votes).matter


def differences(votes: Comparisons) -> Differences:
    """Compare a flip for each annotator with one for all, by their likelihoods.

    Where scores are clear, twice the difference is a chi-square variable. Where they are not, the fitted scores are
    those that separate the annotators best; it is then at most the largest root of a Wishart matrix with a dimension
    for each score and annotator. It is divided by the dispersion of the votes of each annotator on each two items,
    which is above 1 where annotators have tastes of their own.
    """
    own, alike = fit_crowd(votes), fit_crowd(by_one(votes))
    counts = PairCounts.decided(votes)
    voted = counts.opponents > 0
    n_scores = int(np.count_nonzero(voted)) - len(np.unique(counts.component[voted]))
    ratio = 2 * (own.log_likelihood - alike.log_likelihood) / max(_dispersion(votes, own, n_scores), 1.0)
    weight, skill = votes.annotator_decided, 1 - 2 * own.flip
    efficiency = float((weight @ skill) ** 2 / max(weight.sum() * (weight @ skill**2), 1e-300))
    return Differences(_chance(ratio, n_scores, int(np.count_nonzero(weight)) - 1), efficiency)


def _dispersion(votes: Comparisons, fit: CrowdFit, n_scores: int) -> float:
    """Return Pearson's chi-square of the votes of each annotator on each two items, over its degrees of freedom."""
    kept = decided(votes)
    pair, who, weight = votes.vote_pair[kept], votes.vote_annotator[kept], votes.vote_weight[kept]
    score, flip = fit.scores, fit.flip[who]
    proba = flip + (1 - 2 * flip) * expit(score[votes.pair_first[pair]] - score[votes.pair_second[pair]])
    items = votes.pair_first[pair].astype(np.int64) * votes.n_items + votes.pair_second[pair]
    cell = np.unique(items * votes.n_annotators + who, return_inverse=True)[1]
    surplus = np.bincount(cell, weight * ((votes.vote_result[kept] == FIRST) - proba))
    variance = np.bincount(cell, weight * proba * (1 - proba))
    free = len(variance) - n_scores - int(np.count_nonzero(votes.annotator_decided))
    return float((surplus**2 / variance).sum()) / free if free > 0 else 1.0


def _chance(value: float, rows: int, columns: int) -> float:
    """Return the probability that the largest root of a Wishart matrix is larger."""
    if rows < 1 or columns < 1:
        return 1.0
    roots = np.sqrt(np.array([rows, columns]) - 0.5)
    spread: FloatArray = roots.sum() * np.cbrt((1 / roots).sum())
    place = (value - roots.sum() ** 2) / spread
    return float(gammaincc(_SHAPE, max(place + _SHIFT, 0.0) / _SCALE))
