"""Whether expensive annotators are worth their price.

Frequent flips and close scores look alike in the votes of cheap annotators, so that these alone hardly tell what a
vote of a better annotator would add. Therefore the scale of the scores and the flips of the cheap and of the
expensive annotators are judged together: on a grid, with the scores integrated out (Laplace's approximation).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from scipy.stats import beta

from jamrank.acquisition.channel import vote_information
from jamrank.fitting.prior import Prior
from jamrank.typing import BoolArray, FloatArray, IntArray

# An annotator is expensive above this multiple of the lowest cost.
_PRICIER = 3.0
# Prior of the scale of the scores: median and standard deviation of its logarithm.
_USUAL_SCALE, _SPREAD = np.sqrt(2.0), 0.5
_SCALES = _USUAL_SCALE * np.exp(np.linspace(-2.5, 2.0, 7) * _SPREAD)
_STEPS, _LONGEST_STEP = 6, 1.5
# Share for a trial; the kind that got more money keeps it up to this ratio of expected costs.
_TRIAL, _LEAN = 0.1, 1.2
# Votes per item by the cheap ones before the expensive ones can get the money.
_TRIED = 6.0
_MOST_ITEMS = 100


def _grid() -> tuple[FloatArray, FloatArray]:
    """Return scales, and the flips of cheap and expensive annotators, of equal prior probability for each scale.

    Cheap annotators as a whole are better than coins, and expensive ones flip a share of what the cheap ones flip: a
    higher price is not paid for worse votes.
    """
    wrong, right = Prior().flip_votes
    flips = beta(1 + wrong, 1 + right)
    cheap = flips.ppf((np.arange(6) + 0.5) / 6 * flips.cdf(0.5))
    ratio = (np.arange(5) + 0.5) / 5
    scale, first, share = (axis.ravel() for axis in np.meshgrid(_SCALES, cheap, ratio, indexing="ij"))
    return scale, np.stack([first, first * share])


_SCALE, _FLIPS = _grid()
_LOG_PRIOR = -0.5 * (np.log(_SCALE / _USUAL_SCALE) / _SPREAD) ** 2


def is_expensive(cost: FloatArray) -> BoolArray:
    """Say which annotators are expensive."""
    return np.asarray(cost > _PRICIER * cost.min(initial=np.inf))


def count_wins(expensive: BoolArray, won: IntArray, lost: IntArray, weight: FloatArray, n: int) -> FloatArray:
    """Return the votes for each item over each other, by cheap and by expensive annotators.

    With very many items, only those with the most votes.

    expensive, won, lost, weight: For each vote.
    n: Number of items.
    """
    votes = np.bincount(won, weight, n) + np.bincount(lost, weight, n)
    most = np.sort(np.argsort(-votes, kind="stable")[:_MOST_ITEMS])
    place = np.full(n, -1)
    place[most] = np.arange(len(most))
    kept = (place[won] >= 0) & (place[lost] >= 0)
    wins = np.zeros((2, len(most), len(most)))
    np.add.at(wins, (expensive[kept].astype(np.int64), place[won[kept]], place[lost[kept]]), weight[kept])
    return wins


def share_of_money(wins: FloatArray, price: float) -> float:
    """Return the share of the money to spend on expensive votes.

    It goes to one kind, because a fit that is unsure of the flips of both loses by a mixture: to the kind with the
    lower expected cost, relative to that of the better kind; if they hardly differ, to the one that got more so far.
    The cheap ones begin, and while they get it, the expensive ones are tried, unless they are surely not worth it.

    wins: For cheap and expensive annotators the votes for each item over each other.
    price: Of an expensive vote, in cheap ones.
    """
    votes = wins.sum(axis=(1, 2))
    cheap, dear, chance = _worth(wins)
    better = np.maximum(cheap, dear / price)
    by_cheap, by_dear = float(chance @ (better / cheap)), float(chance @ (better * price / dear))
    lean = _LEAN if price * votes[1] <= votes[0] else 1 / _LEAN
    if votes[0] >= _TRIED * wins.shape[1] and by_cheap > lean * by_dear:
        return 1.0
    return min(_TRIAL, float(chance[dear > price * cheap].sum()))


def _worth(wins: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each point of the grid what a cheap and an expensive vote tell, and its probability."""
    log_evidence, scores, precision = _integrated(wins)
    log_weight = log_evidence + _LOG_PRIOR
    chance = np.exp(log_weight - log_weight.max())
    chance /= chance.sum()
    # What is asked are mostly neighbours in the order.
    order = np.argsort(chance @ scores, kind="stable")
    above, below = order[1:], order[:-1]
    covariance = np.linalg.inv(precision) * (_SCALE**2)[:, None, None]
    own = np.diagonal(covariance, axis1=1, axis2=2)
    mean = scores[:, above] - scores[:, below]
    variance = own[:, above] + own[:, below] - 2 * covariance[:, above, below]
    cheap, dear = (-np.expm1(-2 * vote_information(mean, variance, flip[:, None])).sum(axis=1) for flip in _FLIPS)
    return cheap, dear, chance


def _integrated(wins: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each point of the grid the log evidence, the scores, and the precision of scores of unit scale."""
    points, n = len(_SCALE), wins.shape[1]
    total = wins.sum(axis=0)
    first, second = np.nonzero(np.triu(total + total.T, 1))
    won, lost = wins[:, first, second], wins[:, second, first]
    incidence = np.zeros((len(first), n))
    incidence[np.arange(len(first)), first], incidence[np.arange(len(first)), second] = 1.0, -1.0
    unit = np.zeros((points, n))
    for step in range(_STEPS + 1):
        truth = expit(_SCALE[:, None] * (unit[:, first] - unit[:, second]))
        slope, known, likely = (np.zeros_like(truth) for _ in range(3))
        for flip, up, down in zip(_FLIPS[:, :, None], won, lost, strict=True):
            says = flip + (1 - 2 * flip) * truth
            rise = (1 - 2 * flip) * truth * (1 - truth)
            slope += rise * (up / says - down / (1 - says))
            known += rise**2 / (says * (1 - says)) * (up + down)
            likely += up * np.log(says) + down * np.log1p(-says)
        precision = np.zeros((points, n, n))
        precision[:, first, second] = -known * (_SCALE**2)[:, None]
        precision += precision.transpose(0, 2, 1)
        precision[:, range(n), range(n)] = 1.0 - precision.sum(axis=2)
        if step < _STEPS:
            move = np.linalg.solve(precision, (_SCALE[:, None] * (slope @ incidence) - unit)[:, :, None])[:, :, 0]
            unit += move * np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(move).max(axis=1), 1e-12))[:, None]
    log_evidence = likely.sum(axis=1) - 0.5 * (unit**2).sum(axis=1) - 0.5 * np.linalg.slogdet(precision)[1]
    return log_evidence, _SCALE[:, None] * unit, precision
