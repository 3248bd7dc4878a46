"""The same passes in numpy, as a careful user would write them: what the compiled engine is measured against."""

from __future__ import annotations

import numpy as np

from jamrank.engines import Expectation, Maximisation, MemoryEngine
from jamrank.rows import Rows


class WholeArrayEngine(MemoryEngine):
    """Whole-array float64 numpy: in the E-step, one ``np.where`` for each annotator."""

    def __init__(self, rows: Rows, threads: int | None = None) -> None:
        super().__init__(rows, threads)
        patterns = rows.patterns
        self._said = np.full((len(patterns), patterns.n_coins), np.nan)
        self._said[patterns.vote_pattern, patterns.coin] = patterns.first_won
        self._said = self._said[rows.pattern].T.copy()

    def expectation(self, scores, log_first, log_second, reuse=None, posterior=False):
        # The tables of patterns are this engine's only source of the flips: a single vote's row tells them.
        rows = self.rows
        flips = self._flips(log_first, log_second)
        self.passes += 1
        margin = scores[rows.first] - scores[rows.second]
        prior = 1 / (1 + np.exp(-margin))
        first, second = prior.copy(), 1 - prior
        for said, flip in zip(self._said, flips, strict=True):
            first *= np.where(said == 1, 1 - flip, np.where(said == 0, flip, 1.0))
            second *= np.where(said == 1, flip, np.where(said == 0, 1 - flip, 1.0))
        total = first + second
        truth = first / total
        value = float(np.log(total).sum())
        bend = prior * (1 - prior)
        return self._sums(value, truth, truth - prior, np.maximum(bend - truth * (1 - truth), 0.1 * bend))

    def _flips(self, log_first, log_second):
        """Solve for the flips behind the tables: pattern by pattern they are sums over annotators."""
        patterns = self.rows.patterns
        signs = np.zeros((len(patterns), patterns.n_coins))
        signs[patterns.vote_pattern, patterns.coin] = np.where(patterns.first_won, 1.0, -1.0)
        logits = np.linalg.lstsq(signs, log_first - log_second, rcond=None)[0]
        return 1 / (1 + np.exp(logits))

    def _sums(self, value, truth, derivative, curvature):
        rows, n = self.rows, self.rows.n_items
        gradient = np.bincount(rows.first, derivative, n) - np.bincount(rows.second, derivative, n)
        degree = np.bincount(rows.first, curvature, n) + np.bincount(rows.second, curvature, n)
        by_pattern = np.bincount(rows.pattern, truth, len(rows.patterns))
        return Expectation(value, gradient, degree, curvature, by_pattern, truth)

    def maximisation(self, scores, posterior, loss="logistic"):
        rows, n = self.rows, self.rows.n_items
        self.passes += 1
        margin = scores[rows.first] - scores[rows.second]
        prior = 1 / (1 + np.exp(-margin))
        value = float((posterior * margin - np.logaddexp(0, margin)).sum())
        derivative, curvature = posterior - prior, prior * (1 - prior)
        gradient = np.bincount(rows.first, derivative, n) - np.bincount(rows.second, derivative, n)
        degree = np.bincount(rows.first, curvature, n) + np.bincount(rows.second, curvature, n)
        return Maximisation(value, gradient, degree, curvature)

    def curvature_times(self, curvature, vector):
        rows, n = self.rows, self.rows.n_items
        flow = curvature * (vector[rows.first] - vector[rows.second])
        return np.bincount(rows.first, flow, n) - np.bincount(rows.second, flow, n)


class BlockedEngine(MemoryEngine):
    """Numpy in blocks that stay in cache, with a table of vote patterns."""

    block = 1 << 14

    def _blocks(self):
        return [slice(at, at + self.block) for at in range(0, len(self.rows), self.block)]

    def expectation(self, scores, log_first, log_second, reuse=None, posterior=False):
        rows, n, patterns = self.rows, self.rows.n_items, len(self.rows.patterns)
        self.passes += 1
        odds = np.exp(log_second - log_first)
        base = float((rows.pattern_weight * log_first).sum())
        truth, curvature = np.empty(len(rows)), np.empty(len(rows))
        gradient, degree, by_pattern, value = np.zeros(n), np.zeros(n), np.zeros(patterns), 0.0
        for part in self._blocks():
            first, second, pattern = rows.first[part], rows.second[part], rows.pattern[part]
            e = np.exp(scores[second] - scores[first])
            joint = e * odds[pattern]
            q = 1 / (1 + joint)
            prior = 1 / (1 + e)
            value += float(np.log((1 + joint) * prior).sum())
            bend = prior * prior * e
            bend = np.maximum(bend - q * (1 - q), 0.1 * bend)
            slope = q - prior
            gradient += np.bincount(first, slope, n) - np.bincount(second, slope, n)
            degree += np.bincount(first, bend, n) + np.bincount(second, bend, n)
            by_pattern += np.bincount(pattern, q, patterns)
            truth[part], curvature[part] = q, bend
        return Expectation(base + value, gradient, degree, curvature, by_pattern, truth)

    def maximisation(self, scores, posterior, loss="logistic"):
        rows, n = self.rows, self.rows.n_items
        self.passes += 1
        curvature, gradient, degree, value = np.empty(len(rows)), np.zeros(n), np.zeros(n), 0.0
        for part in self._blocks():
            first, second, q = rows.first[part], rows.second[part], posterior[part]
            margin = scores[first] - scores[second]
            prior = 1 / (1 + np.exp(-margin))
            value += float((q * margin - np.logaddexp(0, margin)).sum())
            bend, slope = prior * (1 - prior), q - prior
            gradient += np.bincount(first, slope, n) - np.bincount(second, slope, n)
            degree += np.bincount(first, bend, n) + np.bincount(second, bend, n)
            curvature[part] = bend
        return Maximisation(value, gradient, degree, curvature)

    def curvature_times(self, curvature, vector):
        rows, n = self.rows, self.rows.n_items
        product = np.zeros(n)
        for part in self._blocks():
            first, second = rows.first[part], rows.second[part]
            flow = curvature[part] * (vector[first] - vector[second])
            product += np.bincount(first, flow, n) - np.bincount(second, flow, n)
        return product
