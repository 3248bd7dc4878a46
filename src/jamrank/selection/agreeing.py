"""Whether votes on the same pair agree more than a truth per vote explains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.selection.design import FEWEST_TO_COMPARE, examine_design
from jamrank.selection.joint_crowd import fit_crowd
from jamrank.typing import FloatArray, IntArray

# Standard errors: where a truth per vote is right, votes seem to agree more in one set of a thousand, by two tests.
_SIGNIFICANT = 3.29
# Of a vote whose probability is rounded to 0 or 1; it says nothing.
_LEAST_VARIANCE = 1e-12
# Probability that the truth of a pair contradicts the order of the scores.
_SURELY = 0.95


def share_truths(votes: Comparisons) -> bool:
    """Tell whether votes on the same pair share a truth, where there are enough of them to tell."""
    design = examine_design(votes)
    few = design.n_annotators < 2 or design.one_pair or design.n_decided < FEWEST_TO_COMPARE
    return not few and design.repeats and agree_more(votes, "flip")


def agree_more(votes: Comparisons, noise: str) -> bool:
    """Tell whether votes of different annotators on a pair agree more than if each had a truth of its own.

    A score test for an effect that votes on a pair share, beside a CrowdBT with this noise: the products of what the
    votes of two annotators say of it have mean 0 without one. Repeated votes of one annotator count as one. Of few
    items a truth per vote hardly tells flips, so votes are tested a second time as if all annotators erred alike.

    Where there are no questions and the votes on no pair contradict the order of the scores, a truth per vote with
    scores farther apart explains the agreement too, and a shared truth would make each pair a single fact, however
    many votes agree on it.
    """
    kept = decided(votes)
    pair, who, weight = votes.vote_pair[kept].astype(np.int64), votes.vote_annotator[kept], votes.vote_weight[kept]
    fit = fit_crowd(votes, noise)
    score, flip, proba = fit.scores, fit.flip[who], fit.proba
    first_won = votes.vote_result[kept] == FIRST
    margin = score[votes.pair_first] - score[votes.pair_second]
    if not votes.has_questions and not _contradicted(
        margin, pair, weight * np.where(first_won, 1.0, -1.0) * -logit(flip)
    ):
        return False
    truth = expit(margin[pair])
    variance = np.maximum(proba * (1 - proba), _LEAST_VARIANCE)
    slope = (1 - 2 * flip) * truth * (1 - truth)
    cell, place = np.unique(pair * votes.n_annotators + who, return_inverse=True)
    of_cell, surplus = cell // votes.n_annotators, first_won - proba

    def agree(slope: FloatArray) -> bool:
        said = np.bincount(place, weight * slope * surplus / variance)
        information = np.bincount(place, weight * slope**2 / variance)
        error = np.sqrt(2 * products_within(of_cell, information))
        return bool(products_within(of_cell, said) > _SIGNIFICANT * error)

    return agree(slope) or agree(variance)


def _contradicted(margin: FloatArray, pair: IntArray, evidence: FloatArray) -> bool:
    """Tell whether the votes on some pair surely are for the item with the lower score.

    margin: Of each pair.
    pair, evidence: Of each vote; log-odds that the first item is better.
    """
    truth = np.bincount(pair, evidence, len(margin))
    return bool((expit(-truth * np.sign(margin)) > _SURELY).any())


def products_within(group: IntArray, values: NDArray[Any]) -> float:
    """Return the sum of the products of any two different values of a group."""
    return float((np.bincount(group, values) ** 2).sum() - (values**2).sum())
