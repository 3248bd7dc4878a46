"""Passes in which the margins of the rows are integrated out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from jamrank.engines.base import Engine, Expectation, MarginalExpectation, WrappedEngine
from jamrank.typing import FloatArray


class MarginalEngine(WrappedEngine):
    """A wrapper of an engine whose passes integrate margins out.

    engine: Where passes run.
    variance: Cavity variance of each item's score.
    """

    def __init__(self, engine: Engine, variance: FloatArray) -> None:
        super().__init__(engine)
        self.variance = variance

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> MarginalExpectation:
        """Run the fused pass."""
        self.passes += 1
        return self.engine.marginal(scores, log_emission, self.variance)


class PartedEngine(Engine):
    """Base of engines that add up passes over parts: the sums of a pass are one vector."""

    has_marginal = True

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        return self._run_pass(scores, log_emission, None)[0]

    def marginal(self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the margin of each row integrated out; each item's score has a ``variance``."""
        at, observed = self._run_pass(scores, log_emission, variance)
        return MarginalExpectation(**vars(at), observed=observed)

    @abstractmethod
    def _sums(
        self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray | None
    ) -> tuple[FloatArray, Any]:
        """Return the sums of a pass (those of an expectation, then ``observed``) and the handle of its curvature."""

    def _run_pass(
        self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray | None
    ) -> tuple[Expectation, FloatArray]:
        self.passes += 1
        sums, curvature = self._sums(scores, log_emission, variance)
        sums, observed = sums[: -self.n_items], sums[-self.n_items :]
        value, gradient, degree, expected_counts = self._split(sums[: -self.n_confusion_groups])
        truth_variance = sums[-self.n_confusion_groups :]
        return Expectation(value, gradient, degree, curvature, expected_counts, truth_variance), observed

    def _split(self, sums: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        n = self.n_items
        return float(sums[0]), sums[1 : n + 1], sums[n + 1 : 2 * n + 1], sums[2 * n + 1 :].reshape(-1, 2)
