"""Numpy twins of the passes over rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray

_LARGEST_MARGIN = 700.0
_LEAST_CURVATURE = 0.1


def first_items(start: IntArray, second: Int32Array, n_items: int) -> tuple[Int32Array, Int32Array]:
    """Return the items of each row; without starts the rows are all pairs, in order."""
    if not len(start):
        first, other = np.triu_indices(n_items, 1)
        return first.astype(np.int32), other.astype(np.int32)
    return np.repeat(np.arange(n_items, dtype=np.int32), np.diff(start)), second.astype(np.int32)


def link_of_votes(begin: IntArray, n_links: int) -> IntArray:
    """Return the link of each vote; without ``begin`` there is one vote on each link."""
    return np.repeat(np.arange(n_links), np.diff(begin)) if len(begin) else np.arange(n_links)


def list_likelihoods(
    vote_start: IntArray, vote: Int32Array, vote_weight: FloatArray, log_emission: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return the row of each vote and, by row, the larger log-likelihood and both likelihoods relative to it."""
    n_rows = len(vote_start) - 1
    row = np.repeat(np.arange(n_rows), np.diff(vote_start))
    by_vote = log_emission.reshape(-1, 2)[vote] * (vote_weight[:, None] if len(vote_weight) else 1.0)
    log_second, log_first = (np.bincount(row, by_vote[:, truth], n_rows) for truth in (0, 1))
    largest = np.maximum(log_first, log_second)
    return row, largest, np.exp(log_first - largest), np.exp(log_second - largest)


def _margins(first: Int32Array, second: Int32Array, scores: FloatArray) -> FloatArray:
    return np.clip(scores[first] - scores[second], -_LARGEST_MARGIN, _LARGEST_MARGIN)


def _weighted(values: FloatArray, weight: FloatArray) -> FloatArray:
    return values * weight if len(weight) else values


def _scatter(
    first: Int32Array, second: Int32Array, at_first: FloatArray, at_second: FloatArray, items: int
) -> FloatArray:
    return np.asarray(np.bincount(first, at_first, items) + np.bincount(second, at_second, items), dtype=np.float64)


def expectation(
    start: IntArray,
    second: Int32Array,
    pattern: Int32Array,
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    by_pattern: FloatArray,
    threads: int,
) -> float:
    """Compute the posterior of each row's truth (kept if wanted), and the sums that both steps need.

    With an empty ``curvature`` the degree is not computed: zeros, unless it is empty too. Returns the log-likelihood,
    without what is common to both truths of each pattern.
    """
    first, second = first_items(start, second, len(scores))
    truth, value = _infer(
        first,
        second,
        weight,
        if_first[pattern] if len(if_first) else 1.0,
        if_second[pattern],
        scores,
        curvature,
        gradient,
        degree,
    )
    if len(posterior):
        posterior[:] = truth
    if len(by_pattern):
        by_pattern[:] = np.bincount(pattern, _weighted(truth, weight), len(by_pattern))
    return value


def posterior(
    start: IntArray,
    second: Int32Array,
    pattern: Int32Array,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    out: FloatArray,
    threads: int,
) -> None:
    """Compute the posterior of each row's truth alone."""
    none, sums = np.empty(0), np.empty(len(scores))
    nothing = np.empty(0, dtype=np.float32)
    expectation(start, second, pattern, none, if_first, if_second, scores, out, nothing, sums, none, none, threads)


def expectation_lists(
    start: IntArray,
    second: Int32Array,
    vote_start: IntArray,
    vote: Int32Array,
    vote_weight: FloatArray,
    log_emission: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    expected_counts: FloatArray,
    truth_variance: FloatArray,
    observed: FloatArray,
    threads: int,
) -> float:
    """Run the same pass over rows with a list of votes each; ``log_emission`` is by kind of vote and truth.

    Unless it is empty, ``observed`` gets the sum of the observed curvature of each item, which may be negative, and
    ``truth_variance`` that of the variance of the truth by kind; else both are empty.
    """
    first, second = first_items(start, second, len(scores))
    row, largest, if_first, if_second = list_likelihoods(vote_start, vote, vote_weight, log_emission)
    wanted = np.empty(len(first) if len(observed) else len(curvature), dtype=np.float32)
    truth, value = _infer(first, second, np.empty(0), if_first, if_second, scores, wanted, gradient, degree)
    if len(curvature):
        curvature[:] = wanted
    if len(posterior):
        posterior[:] = truth
    expected_counts[:] = np.bincount(vote, _weighted(truth[row], vote_weight), len(expected_counts))
    if len(observed):
        variance, prior = truth * (1 - truth), expit(_margins(first, second, scores))
        truth_variance[:] = np.bincount(vote, _weighted(variance[row], vote_weight), len(truth_variance))
        bend = prior * (1 - prior) - variance
        observed[:] = _scatter(first, second, bend, bend, len(scores))
    return value + float(largest.sum())


def expectation_votes(
    start: IntArray,
    second: Int32Array,
    begin: IntArray,
    kind: NDArray[np.integer],
    weight: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    scores: FloatArray,
    posterior: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    expected_counts: FloatArray,
    truth_variance: FloatArray,
    observed: FloatArray,
    threads: int,
) -> float:
    """Run the same pass over rows that are single votes; ``start`` and ``second`` are those of the links.

    The votes on link ``l`` are ``begin[l]:begin[l + 1]``; without ``begin`` there is one on each. Also adds up the
    variance of the truth by kind and, unless ``observed`` is empty, the observed curvature of each item, which may be
    negative. An empty ``curvature`` is not kept.
    """
    first, second = first_items(start, second, len(scores))
    link = link_of_votes(begin, len(first))
    margin = _margins(first, second, scores)
    e = np.exp(-np.abs(margin))
    prior_first = np.where(margin >= 0, 1.0, e) / (1 + e)
    prior_second = np.where(margin >= 0, e, 1.0) / (1 + e)
    joint_first = prior_first[link] * (if_first[kind] if len(if_first) else 1.0)
    joint = joint_first + prior_second[link] * if_second[kind]
    truth = np.minimum(joint_first / joint, 1.0)
    variance = truth * (1 - truth)
    if len(posterior):
        posterior[:] = truth
    expected_counts[:] = np.bincount(kind, _weighted(truth, weight), len(expected_counts))
    truth_variance[:] = np.bincount(kind, _weighted(variance, weight), len(truth_variance))
    vote_counts, derivative, unknown = (
        np.bincount(link, _weighted(values, weight), len(first)).astype(np.float64)
        for values in (np.ones(len(kind)), truth - prior_first[link], variance)
    )
    # The variance of the latent truth reduces the curvature; it must not make it negative.
    most = vote_counts * prior_first * prior_second
    bend = np.maximum(most - unknown, _LEAST_CURVATURE * most)
    if len(curvature):
        curvature[:] = bend
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, bend, bend, len(scores))
    if len(observed):
        observed[:] = _scatter(first, second, most - unknown, most - unknown, len(scores))
    return float(_weighted(np.log(joint), weight).sum())


def expectation_sides(
    start: IntArray,
    second: Int32Array,
    wins: FloatArray,
    total: FloatArray,
    scores: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    threads: int,
) -> float:
    """Run the pass over votes that are the truth; ``wins`` is the weight of those for each link's first item."""
    first, second = first_items(start, second, len(scores))
    margin = _margins(first, second, scores)
    e = np.exp(-np.abs(margin))
    prior_first = np.where(margin >= 0, 1.0, e) / (1 + e)
    prior_second = np.where(margin >= 0, e, 1.0) / (1 + e)
    derivative, bend = wins - total * prior_first, total * prior_first * prior_second
    curvature[:] = bend
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, bend, bend, len(scores))
    against = np.where(margin >= 0, total - wins, wins)
    return -float((total * np.log1p(e) + against * np.abs(margin)).sum())


def direct(
    start: IntArray,
    second: Int32Array,
    begin: IntArray,
    kind: NDArray[np.integer],
    weight: FloatArray,
    params: FloatArray,
    scores: FloatArray,
    question: int,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    slope: FloatArray,
    information: FloatArray,
    threads: int,
) -> float:
    """Run the pass over votes that depend on the margin itself, through one parameter of each confusion group.

    ``kind`` is twice the confusion group plus 1 for a vote that says yes. ``question`` 0: is the first item better?
    The log-odds are ``a m``. 1: is it a tie? They are ``a - log cosh(m / 2)``. The curvature is the expected one,
    which is never negative. Also adds up the derivative in each parameter, and the information on it.
    """
    first, second = first_items(start, second, len(scores))
    link = link_of_votes(begin, len(first))
    margin, param, confusion_group = _margins(first, second, scores)[link], params[kind // 2], kind // 2
    log_odds, by_margin, by_param = (_better, _tied)[question](margin, param)
    log_odds = np.clip(log_odds, -_LARGEST_MARGIN, _LARGEST_MARGIN)
    e = np.exp(-np.abs(log_odds))
    answer, yes = kind % 2, np.where(log_odds >= 0, 1.0, e) / (1 + e)
    rest, spread = answer - yes, e / (1 + e) ** 2
    slope[:] = np.bincount(confusion_group, _weighted(rest * by_param, weight), len(slope))
    information[:] = np.bincount(confusion_group, _weighted(spread * by_param**2, weight), len(slope))
    derivative, curved = (
        np.bincount(link, _weighted(values, weight), len(first)).astype(np.float64)
        for values in (rest * by_margin, spread * by_margin**2)
    )
    curvature[:] = curved
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, curved, curved, len(scores))
    value = -np.log1p(e) - np.maximum(np.where(answer == 1, -log_odds, log_odds), 0.0)
    return float(_weighted(value, weight).sum())


def _better(margin: FloatArray, param: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-odds of a vote, and their derivatives in the margin and in the parameter."""
    return param * margin, param, margin


def _tied(margin: FloatArray, param: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    e = np.exp(-np.abs(margin))
    log_cosh = np.abs(margin) / 2 + np.log1p(e) - np.log(2)
    half_tanh = np.sign(margin) * (1 - e) / (1 + e) / 2
    return param - log_cosh, -half_tanh, np.ones_like(margin)


def _infer(
    first: Int32Array,
    second: Int32Array,
    weight: FloatArray,
    if_first: FloatArray | float,
    if_second: FloatArray,
    scores: FloatArray,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the posterior of each row's truth and the log-likelihood; write what both steps need."""
    margin = _margins(first, second, scores)
    e = np.exp(-np.abs(margin))
    prior_first, prior_second = np.where(margin >= 0, 1.0, e), np.where(margin >= 0, e, 1.0)
    joint_first = prior_first * if_first
    joint = joint_first + prior_second * if_second
    truth = joint_first / joint
    derivative = _weighted(truth - prior_first / (1 + e), weight)
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = 0.0
    if len(curvature):
        # The variance of the latent truth reduces the curvature; it must not make it negative.
        bend = e / (1 + e) ** 2
        bend = _weighted(np.maximum(bend - truth * (1 - truth), _LEAST_CURVATURE * bend), weight)
        curvature[:] = bend
        degree[:] = _scatter(first, second, bend, bend, len(scores))
    return truth, float(_weighted(np.log(joint / (1 + e)), weight).sum())


def maximisation(
    start: IntArray,
    second: Int32Array,
    pattern: Int32Array,
    weight: FloatArray,
    posterior: FloatArray,
    scores: FloatArray,
    loss: int,
    curvature: Float32Array,
    gradient: FloatArray,
    degree: FloatArray,
    threads: int,
) -> float:
    """Compute value, gradient and curvature of the M-step at new scores, the posterior held fixed.

    With patterns, the posterior is one for each of them.
    """
    first, second = first_items(start, second, len(scores))
    posterior = posterior[pattern] if len(pattern) else posterior
    margin = _margins(first, second, scores)
    value, derivative, bend = (_logistic, _smooth_hinge)[loss](margin, posterior)
    derivative, bend = _weighted(derivative, weight), _weighted(bend, weight)
    curvature[:] = bend
    gradient[:] = _scatter(first, second, derivative, -derivative, len(scores))
    degree[:] = _scatter(first, second, bend, bend, len(scores))
    return float(_weighted(value, weight).sum())


def _logistic(margin: FloatArray, posterior: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    e = np.exp(-np.abs(margin))
    value = -np.log1p(e) - np.where(margin >= 0, (1 - posterior) * margin, -posterior * margin)
    return value, posterior - np.where(margin >= 0, 1.0, e) / (1 + e), e / (1 + e) ** 2


def _smooth_hinge(margin: FloatArray, posterior: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    gap_first, gap_second = np.clip(1 - margin, 0, 1), np.clip(1 + margin, 0, 1)
    loss_first = gap_first**2 / 2 - np.minimum(margin, 0)
    loss_second = gap_second**2 / 2 - np.minimum(-margin, 0)
    bend = np.where(np.abs(margin) >= 1, 0.0, np.where(margin > 0, posterior, 1 - posterior))
    value = -posterior * loss_first - (1 - posterior) * loss_second
    return value, posterior * gap_first - (1 - posterior) * gap_second, bend


def laplacian(
    start: IntArray,
    second: Int32Array,
    curvature: Float32Array,
    vector: FloatArray,
    product: FloatArray,
    threads: int,
) -> None:
    """Multiply the curvature matrix, a graph Laplacian over items, with a vector; an empty curvature means all 1."""
    first, second = first_items(start, second, len(vector))
    flow = (curvature if len(curvature) else 1.0) * (vector[first] - vector[second])
    product[:] = _scatter(first, second, flow, -flow, len(vector))


def sum_by_kind(
    begin: IntArray, kinds: NDArray[np.integer], weight: FloatArray, value: FloatArray, sums: FloatArray, threads: int
) -> None:
    """Add up a value for each link over its votes, times their weight, by kind."""
    sums[:] = np.bincount(kinds, _weighted(np.repeat(value, np.diff(begin)), weight), len(sums))


def weighted_gram(matrix: FloatArray, mean: FloatArray, weight: FloatArray, products: FloatArray) -> None:
    """Compute the weighted products of every two rows of a matrix, each less a mean; half of them are not used."""
    rows = matrix.reshape(len(mean), len(weight)) - mean[:, None]
    products[:] = np.einsum("fi,gi->fg", rows * weight, rows).ravel()


def sum_of_rows(matrix: FloatArray, factor: FloatArray, sums: FloatArray) -> None:
    """Compute the sum of the rows of a matrix, each times a factor."""
    sums[:] = np.einsum("fi,f->i", matrix.reshape(len(factor), len(sums)), factor)


def row_products(matrix: FloatArray, vector: FloatArray, products: FloatArray) -> None:
    """Compute the product of each row of a matrix with a vector."""
    products[:] = np.einsum("fi,i->f", matrix.reshape(len(products), len(vector)), vector)
