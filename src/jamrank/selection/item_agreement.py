"""How much more votes of one annotator on an item agree than if annotators erred independently."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.errors import JamrankWarning
from jamrank.fitting.family_votes import MOST_SAMPLED
from jamrank.fitting.taste_votes import TasteVotes
from jamrank.models.registry import find_model
from jamrank.selection.agreeing import products_within
from jamrank.typing import FloatArray, IntArray

# Standard errors: with independent annotators, votes on an item agree that much in one set of a thousand.
_SIGNIFICANT = 3.09
# Fewer annotators do not tell tastes from the common scores.
_FEWEST_ANNOTATORS = 5
# As in TasteVotes.work, with which a fit takes half a minute at most.
_MOST_WORK = 500_000_000.0
_FIT_TOL, _LEAST_VARIANCE = 1e-4, 1e-12


def have_own_tastes(votes: Comparisons) -> bool:
    """Tell whether votes of one annotator on an item agree more than if annotators erred independently.

    Where FamilyBT is fast enough to be tried, it finds own tastes, and they are not looked for here; nor where a fit
    would take long.
    """
    known = int(np.count_nonzero(votes.annotator_decided > 0))
    if known < _FEWEST_ANNOTATORS or known * votes.n_items**3 <= MOST_SAMPLED:
        return False
    return agreement_on_items(votes) > _SIGNIFICANT and TasteVotes.of(votes, ties=True).work <= _MOST_WORK


def agreement_on_items(votes: Comparisons) -> float:
    """Return how much more votes of one annotator on an item agree than independent ones, in standard errors.

    A score test for an effect of each annotator on each item, beside CrowdBT: the products of what two votes of an
    annotator, on two pairs that share an item, say for that item have mean 0 without one. What votes of an annotator
    on the same two items say is added up before.
    """
    kept = decided(votes)
    pair, who, weight = votes.vote_pair[kept], votes.vote_annotator[kept].astype(np.int64), votes.vote_weight[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        model = find_model("CrowdBT")().set_params(flips="joint", ties="leave out", tol=_FIT_TOL).fit(votes)
        proba = np.asarray(model.vote_proba(votes))
    score, flip = model.scores_, np.asarray(model.result_.annotators.overall)[who]
    first, second = votes.pair_first[pair].astype(np.int64), votes.pair_second[pair].astype(np.int64)
    truth = expit(score[first] - score[second])
    variance = np.maximum(proba * (1 - proba), _LEAST_VARIANCE)
    slope = (1 - 2 * flip) * truth * (1 - truth)
    turned = np.where(first < second, 1.0, -1.0)
    low, high, n = np.minimum(first, second), np.maximum(first, second), votes.n_items
    cell, place = np.unique((who * n + low) * n + high, return_inverse=True)
    won = votes.vote_result[kept] == FIRST
    said: FloatArray = np.bincount(place, weight * turned * slope * (won - proba) / variance).astype(np.float64)
    information: FloatArray = np.bincount(place, weight * slope**2 / variance).astype(np.float64)
    owner = cell // n**2 * n
    items = owner + cell // n % n, owner + cell % n
    total = _products(items, said, -said)
    error = float(np.sqrt(2 * _products(items, information, information)))
    return total / error if error > 0 else 0.0


def _products(group: tuple[IntArray, IntArray], first: FloatArray, second: FloatArray) -> float:
    """Return the sum of the products of any two different values of a group, each value being in two groups."""
    at, values = np.unique(np.concatenate(group), return_inverse=True)[1], np.concatenate([first, second])
    return products_within(at, values)
