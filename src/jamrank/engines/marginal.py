"""Passes in which the margins of the rows are integrated out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines.memory import MemoryEngine

__all__ = ["HasMarginal", "MarginalEngine", "MarginalExpectation"]


@dataclass(frozen=True)
class MarginalExpectation(Expectation):
    """The sums of such a pass.

    ``observed`` is, by item, the sum of the precisions that its rows contribute to its score, with the other item's
    score uncertain too. Rows that contradict the rest contribute negative values.
    """

    observed: FloatArray


@runtime_checkable
class HasMarginal(Protocol):
    """An engine that can run such passes."""

    @property
    def marginal(self) -> Callable[[FloatArray, FloatArray, FloatArray], MarginalExpectation]:
        """Run the fused pass at scores and log emissions, with a variance of each item's score."""
        ...


class MarginalEngine(Engine):
    """A wrapper of an engine whose passes integrate margins out.

    Parameters
    ----------
    engine : Engine
        Where passes run.
    variance : ndarray
        Cavity variance of each item's score.
    """

    def __init__(self, engine: Engine, variance: FloatArray) -> None:
        assert isinstance(engine, HasMarginal)
        self.engine, self.variance = engine, variance
        self._marginal = engine.marginal

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.engine.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.engine.n_rows

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return self.engine.n_links

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        return self.engine.n_confusion_groups

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self.engine.vote_counts

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> MarginalExpectation:
        """Run the fused pass."""
        self.passes += 1
        return self._marginal(scores, log_emission, self.variance)

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step as if the shares of votes were the posterior."""
        return self.engine.initial_step(scores)

    def curvature_times(self, curvature: Any, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores with a vector."""
        return self.engine.curvature_times(curvature, vector)

    def links(self, curvature: Any) -> Links:
        """Return the curvature by pair of items."""
        return self.engine.links(curvature)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information at known scores."""
        return self.engine.observed(scores, log_emission, links)

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's votes, given the scores."""
        return self.engine.truth_variance(scores, log_emission)

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine over its rows."""
        return self.engine.parts()
