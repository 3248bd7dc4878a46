"""The fused pass over rows in memory, for all engines that run on the CPU."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jamrank.engines.direct import over_margins
from jamrank.kernels import kernels
from jamrank.rows import EasedPatterns, Patterns, RaggedVotes, with_gold
from jamrank.typing import Float32Array, FloatArray, IntArray

# Log-likelihood, gradient and degree by item, expected counts by group and side, and truth variance by group.
Sums = tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]

# With more patterns, a table of sums for each block would not stay in cache.
_MOST_PATTERNS_IN_PASS = 1 << 14
_LARGEST_LOG_RATIO = 300.0
_NONE = np.empty(0)


class Laid(Protocol):
    """Rows as a pass reads them; :class:`jamrank.rows.Rows` says what each part is."""

    @property
    def layout(self) -> tuple[IntArray, NDArray[np.integer]]: ...  # noqa: D102
    @property
    def begin(self) -> IntArray | None: ...  # noqa: D102
    @property
    def link_layout(self) -> tuple[IntArray, NDArray[np.integer]]: ...  # noqa: D102
    @property
    def single_votes(self) -> bool: ...  # noqa: D102
    @property
    def about(self) -> str: ...  # noqa: D102
    @property
    def weight(self) -> FloatArray: ...  # noqa: D102
    @property
    def ballots(self) -> Patterns | RaggedVotes: ...  # noqa: D102
    @property
    def pattern_weight(self) -> FloatArray: ...  # noqa: D102
    @property
    def n_items(self) -> int: ...  # noqa: D102
    def __len__(self) -> int: ...
    def over_votes(self, values: FloatArray, power: int = 1) -> FloatArray: ...  # noqa: D102


def expectation(
    rows: Laid,
    scores: FloatArray,
    log_emission: FloatArray,
    curvature: Float32Array,
    posterior: FloatArray,
    threads: int,
) -> Sums:
    """Run the fused pass.

    rows: What to pass over.
    scores: One for each item.
    log_emission, of shape (groups, 2, 2): Log-likelihood of a vote by confusion group, by whether it is for the first
        item, and by the truth. For votes that do not depend on a latent truth: a parameter for each group.
    curvature: Receives the curvature of each row or, where rows come in runs, of each run; empty: not computed.
    posterior: Receives the probability that the first item of each row is truly better; empty: not computed.
    """
    if isinstance(rows.ballots, RaggedVotes):
        return _over_lists(rows, rows.ballots, scores, log_emission, curvature, posterior, threads)
    if rows.about != "truth":
        return over_margins(rows, rows.ballots, scores, log_emission, curvature, threads)
    if rows.single_votes:
        return _over_votes(rows, rows.ballots, scores, log_emission, curvature, posterior, threads)
    return _over_patterns(rows, rows.ballots, scores, log_emission, curvature, posterior, threads)


def observed(rows: Laid, scores: FloatArray, log_emission: FloatArray, threads: int) -> tuple[Sums, FloatArray]:
    """Run the fused pass without keeping curvature, and add up the observed curvature of each item.

    rows: Single votes or lists of votes, about latent truths.
    scores, log_emission, threads: As in :func:`expectation`.
    """
    found, kept, ballots = np.empty(rows.n_items), np.empty(0, dtype=np.float32), rows.ballots
    at = scores, log_emission, kept, np.empty(0), threads, found
    over = _over_lists(rows, ballots, *at) if isinstance(ballots, RaggedVotes) else _over_votes(rows, ballots, *at)
    return over, found


def posterior(rows: Laid, scores: FloatArray, log_emission: FloatArray, out: FloatArray, threads: int) -> None:
    """Compute the probability that the first item of each row is truly better."""
    ballots = rows.ballots
    if not isinstance(ballots, Patterns) or rows.single_votes or rows.about != "truth":
        expectation(rows, scores, log_emission, np.empty(0, dtype=np.float32), out, threads)
        return
    _, *likely = likelihoods(ballots, log_emission)
    kernels.posterior(*rows.layout, ballots.of_row, *likely, np.ascontiguousarray(scores), out, threads)


def _over_patterns(
    rows: Laid,
    ballots: Patterns,
    scores: FloatArray,
    log_emission: FloatArray,
    curvature: Float32Array,
    posterior: FloatArray,
    threads: int,
) -> Sums:
    base, if_first, if_second = likelihoods(ballots, log_emission)
    in_pass = len(ballots) <= _MOST_PATTERNS_IN_PASS
    truth = posterior if in_pass or len(posterior) else np.empty(len(rows))
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    by_pattern = np.empty(len(ballots) if in_pass else 0)
    votes = ballots.of_row, rows.weight, if_first, if_second
    out = truth, curvature, gradient, degree, by_pattern
    value = kernels.expectation(*rows.layout, *votes, np.ascontiguousarray(scores), *out, threads)
    value += float((rows.pattern_weight * base).sum())
    if isinstance(ballots, EasedPatterns):
        by_pattern = by_pattern if in_pass else ballots.by_pattern(truth * rows.weight if len(rows.weight) else truth)
        expected_counts = ballots.expected_counts(by_pattern, rows.pattern_weight, log_emission)
    else:
        expected_counts = ballots.over_patterns(by_pattern) if in_pass else rows.over_votes(truth)
    return value, gradient, degree, expected_counts, np.zeros(ballots.n_confusion_groups)


def _over_votes(
    rows: Laid,
    ballots: Patterns,
    scores: FloatArray,
    log_emission: FloatArray,
    curvature: Float32Array,
    posterior: FloatArray,
    threads: int,
    observed: FloatArray = _NONE,
) -> Sums:
    base, if_first, if_second = likelihoods(ballots, log_emission)
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    expected_counts, truth_variance = np.empty(len(ballots)), np.empty(len(ballots))
    begin = np.empty(0, dtype=np.int64) if rows.begin is None else rows.begin
    votes = begin, ballots.of_row, rows.weight, if_first, if_second
    out = posterior, curvature, gradient, degree, expected_counts, truth_variance, observed
    value = kernels.expectation_votes(*rows.link_layout, *votes, np.ascontiguousarray(scores), *out, threads)
    value += float((rows.pattern_weight * base).sum())
    sums = ballots.over_patterns(expected_counts), ballots.over_patterns(truth_variance).sum(axis=1)
    return value, gradient, degree, *sums


def likelihoods(ballots: Patterns, log_emission: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-likelihood of each pattern's votes that is common to both truths, and the rest under either.

    Where the ratio of the likelihoods cannot overflow, only the ratio is returned and the second array is empty: one
    table is quicker than two.
    """
    log_first, log_second = ballots.log_likelihoods(log_emission)
    log_ratio = log_second - log_first
    if log_ratio.min(initial=0.0) >= -_LARGEST_LOG_RATIO and log_ratio.max(initial=0.0) <= _LARGEST_LOG_RATIO:
        return log_first, np.empty(0), np.exp(log_ratio, out=log_ratio)
    base = np.maximum(log_first, log_second)
    return base, np.exp(log_first - base), np.exp(log_second - base)


def _over_lists(
    rows: Laid,
    ballots: RaggedVotes,
    scores: FloatArray,
    log_emission: FloatArray,
    curvature: Float32Array,
    posterior: FloatArray,
    threads: int,
    observed: FloatArray = _NONE,
) -> Sums:
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    kinds = 2 * (ballots.n_confusion_groups + ballots.n_gold)
    expected_counts, hidden = np.empty(kinds), np.empty(kinds if len(observed) else 0)
    emission = np.ascontiguousarray(with_gold(log_emission, ballots.n_gold)).ravel()
    votes = ballots.start, ballots.vote, ballots.weight, emission
    out = posterior, curvature, gradient, degree, expected_counts, hidden, observed
    value = kernels.expectation_lists(*rows.layout, *votes, np.ascontiguousarray(scores), *out, threads)
    known = slice(ballots.n_confusion_groups)
    counts, truth_variance = expected_counts.reshape(-1, 2)[known], np.zeros(ballots.n_confusion_groups)
    if len(observed):
        truth_variance = hidden.reshape(-1, 2)[known].sum(axis=1)
    return value, gradient, degree, counts, truth_variance


def marginal(
    rows: Laid,
    scores: FloatArray,
    log_emission: FloatArray,
    variance: FloatArray,
    curvature: Float32Array,
    posterior: FloatArray,
    threads: int,
) -> tuple[Sums, FloatArray]:
    """Run the fused pass with the margin of each row integrated out; see :mod:`jamrank.kernels.twin_marginal`.

    rows, scores, log_emission, curvature, posterior, threads: As in :func:`expectation`; there must be room for the
        curvature.
    variance: Cavity variance of each item's score.
    Returns sums, observed (see :class:`jamrank.engines.marginal.MarginalExpectation`).
    """
    gradient, degree, observed = (np.empty(rows.n_items) for _ in range(3))
    at = np.ascontiguousarray(scores), np.ascontiguousarray(variance)
    by_item = gradient, degree, observed
    ballots = rows.ballots
    if isinstance(ballots, RaggedVotes):
        counts, spread = (np.empty(2 * (ballots.n_confusion_groups + ballots.n_gold)) for _ in range(2))
        emission = np.ascontiguousarray(with_gold(log_emission, ballots.n_gold)).ravel()
        votes = ballots.start, ballots.vote, ballots.weight, emission
        value = kernels.marginal_lists(
            *rows.layout, *votes, *at, posterior, curvature, *by_item, counts, spread, threads
        )
        known = slice(ballots.n_confusion_groups)
        sums = counts.reshape(-1, 2)[known], spread.reshape(-1, 2)[known].sum(axis=1)
        return (value, gradient, degree, *sums), observed
    base, if_first, if_second = likelihoods(ballots, log_emission)
    in_pass = rows.single_votes or len(ballots) <= _MOST_PATTERNS_IN_PASS
    truth = posterior if in_pass or len(posterior) else np.empty(len(rows))
    counts, spread = (np.empty(len(ballots) if in_pass else 0) for _ in range(2))
    begin = np.empty(0, dtype=np.int64) if rows.begin is None else rows.begin
    votes_by_kind = begin, ballots.of_row, rows.weight, if_first, if_second
    value = kernels.marginal(
        *rows.link_layout, *votes_by_kind, *at, truth, curvature, *by_item, counts, spread, threads
    )
    value += float((rows.pattern_weight * base).sum())
    if in_pass:
        sums = ballots.over_patterns(counts), ballots.over_patterns(spread).sum(axis=1)
    else:
        sums = rows.over_votes(truth), rows.over_votes(truth * (1 - truth)).sum(axis=1)
    return (value, gradient, degree, *sums), observed
