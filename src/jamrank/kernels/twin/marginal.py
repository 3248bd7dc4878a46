"""Plain numpy twins of the passes over margins that are integrated out; see :mod:`jamrank.kernels.twin`.

A margin is, without the part that a row itself has in it, normal with mean ``m`` and variance ``v``. The chance of a
truth is then a logistic function of ``x = m / sqrt(1 + π v / 8)``, closely, and the margin of the scores is that of
the others plus the row's own pull: ``x + c (q(x) - p(x)) = margin / sqrt(1 + π v / 8)``, where
``c = v / (1 + π v / 8)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.twin.passes import first_items, link_of_votes, list_likelihoods
from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray

_LARGEST_MARGIN, _LEAST_CURVATURE = 700.0, 0.1
_SOLVED, _MOST_STEPS = 1e-15, 12


def marginal(
    start: IntArray,
    second: Int32Array,
    begin: IntArray,
    kind: NDArray[np.integer],
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    variance: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    observed: FloatArray,
    expected_counts: FloatArray,
    truth_variance: FloatArray,
    threads: int,
) -> float:
    """Do as ``expectation_votes`` does, with the margin of each row integrated out.

    ``variance`` is that of each item's score without a row's own part. Also adds up by item the precision that
    each row gives to its score, the other's being uncertain, which may be negative. Without room for sums by kind
    there are none.
    """
    first, second = first_items(start, second, len(scores))
    link = link_of_votes(begin, len(first))
    given = if_first[kind] if len(if_first) else np.ones(len(kind))
    truth, value = _integrate(
        (first, second, link), weight, given, if_second[kind], scores, variance, curvature, gradient, degree, observed
    )
    if len(posterior):
        posterior[:] = truth
    times = weight if len(weight) else np.ones(len(kind))
    if len(expected_counts):
        expected_counts[:] = np.bincount(kind, times * truth, len(expected_counts))
        truth_variance[:] = np.bincount(kind, times * truth * (1 - truth), len(truth_variance))
    return value


def marginal_lists(
    start: IntArray,
    second: Int32Array,
    vote_start: IntArray,
    vote: Int32Array,
    vote_weight: FloatArray,
    log_emission: FloatArray,
    scores: FloatArray,
    variance: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    observed: FloatArray,
    expected_counts: FloatArray,
    truth_variance: FloatArray,
    threads: int,
) -> float:
    """Do the same for rows with a list of votes each, and log-likelihoods for each kind of vote and truth."""
    first, second = first_items(start, second, len(scores))
    row, largest, if_first, if_second = list_likelihoods(vote_start, vote, vote_weight, log_emission)
    links = first, second, np.arange(len(first))
    out = curvature, gradient, degree, observed
    truth, value = _integrate(links, np.empty(0), if_first, if_second, scores, variance, *out)
    times = vote_weight if len(vote_weight) else np.ones(len(vote))
    if len(posterior):
        posterior[:] = truth
    expected_counts[:] = np.bincount(vote, times * truth[row], len(expected_counts))
    truth_variance[:] = np.bincount(vote, times * (truth * (1 - truth))[row], len(truth_variance))
    return value + float(largest.sum())


def _integrate(
    links: tuple[Int32Array, Int32Array, IntArray],
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    variance: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    observed: FloatArray,
) -> tuple[FloatArray, float]:
    first, second, link = links
    v = variance[first] + variance[second]
    scale = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * v)
    mean, spread = (scale * (scores[first] - scores[second]))[link], (v * scale**2)[link]
    x = mean.copy()
    for _ in range(_MOST_STEPS):
        _, pull, held, _ = truth_at(x, if_first, if_second)
        moved = (x + spread * pull - mean) / (1.0 - spread * held[1])
        x -= moved
        if (spread * moved**2).max(initial=0.0) <= _SOLVED:
            break
    truth, pull, held, likelihood = truth_at(x, if_first, if_second)
    times = weight if len(weight) else np.ones(len(x))
    n_links, n_items = len(first), len(scores)
    precisions = [
        held[1] / (1.0 - (each * scale**2)[link] * held[1]) for each in (v, variance[first], variance[second])
    ]
    slope, most, bend, on_first, on_second = (
        np.bincount(link, times * values, n_links) * scale**power
        for values, power in ((pull, 1), (held[0], 2), *((values, 2) for values in precisions))
    )
    # What the votes leave open of the truth bends the likelihood the other way; a step must not follow it.
    step = np.maximum(bend, _LEAST_CURVATURE * most)
    curvature[:] = step
    for out, at_first, at_second in (
        (gradient, slope, -slope),
        (degree, step, step),
        (observed, on_first, on_second),
    ):
        out[:] = np.bincount(first, at_first, n_items) + np.bincount(second, at_second, n_items)
    return truth, float((times * (np.log(likelihood) + 0.5 * spread * pull**2)).sum())


def truth_at(
    x: FloatArray, if_first: FloatArray, if_second: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray], FloatArray]:
    """Return posterior, its distance from the prior, what is held of the prior's variance, and the likelihood."""
    e = np.exp(-np.minimum(np.abs(x), _LARGEST_MARGIN))
    prior_first, prior_second = np.where(x >= 0, 1.0, e), np.where(x >= 0, e, 1.0)
    joint_first = prior_first * if_first
    joint = joint_first + prior_second * if_second
    truth = np.minimum(joint_first / joint, 1.0)
    certain = e / (1 + e) ** 2
    return truth, truth - prior_first / (1 + e), (certain, certain - truth * (1 - truth)), joint / (1 + e)
