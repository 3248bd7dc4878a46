"""The protocol of an engine: passes over the rows, each of which returns sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from scipy.sparse import csr_array

from jamrank.typing import FloatArray, Int32Array

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines.memory import MemoryEngine

__all__ = ["Curvature", "Engine", "Expectation", "Information", "Links", "Maximisation", "PartedEngine"]

# Stands for a curvature, which is as large as the votes are many: an engine keeps that of its last pass, and works
# any other out anew. Only the engine that made it knows what is in it.
Curvature = Any


@dataclass(frozen=True)
class Maximisation:
    """What a pass says of the M-step at some scores.

    ``gradient`` and ``degree`` have one entry an item: the derivative in its score, and the diagonal of the
    curvature, which is never negative.
    """

    value: float
    gradient: FloatArray
    degree: FloatArray
    curvature: Curvature


@dataclass(frozen=True)
class Expectation(Maximisation):
    """What the fused pass says.

    ``value`` is the log-likelihood with the latent truths summed out. ``expected_counts`` has, by confusion group and
    side, the expected number of votes cast where the first item is truly better. ``truth_variance`` has, by confusion
    group, the sum of ``q (1 - q)`` over its votes, with ``q`` the posterior of the truth: the information on the
    group that is missing because truths are latent; 0 where it was not added up.
    """

    expected_counts: FloatArray
    truth_variance: FloatArray


@dataclass(frozen=True)
class Links:
    """The distinct pairs of items between which there are rows, sorted, and a curvature for each."""

    first: Int32Array
    second: Int32Array
    curvature: FloatArray


@dataclass(frozen=True)
class Information:
    """The observed information on scores and votes together, as far as the rows have it.

    A vote adds to the log-odds of its row's truth. How much depends on its *kind*: twice its confusion group plus 1
    if it is for the first item. The missing information, in the margins and in the kinds, is the sum over rows of
    ``q (1 - q) B Bᵀ``, with 1 for the margin in ``B`` and the weight of each vote at its kind.

    Attributes
    ----------
    degree : ndarray
        Diagonal of the scores' block.
    links : Links
        Its other entries, negated.
    cross : csr_array of shape (items, 2 groups)
        What is taken away between scores and kinds.
    kinds : csr_array of shape (2 groups, 2 groups)
        What is taken away among kinds.
    """

    degree: FloatArray
    links: Links
    cross: csr_array
    kinds: csr_array


class Engine(Protocol):
    """Where passes over the rows run; its sums do not depend on threads.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator on a
    side or in a cluster of pairs. ``log_emission`` has the log-likelihood of a vote by confusion group, by whether it
    is for the first item of its row, and by the truth: shape (groups, 2, 2). Where votes depend on the margin itself
    and not on a latent truth, ``log_emission`` has one parameter for each group, and ``expected_counts`` has the
    derivative of the log-likelihood in that parameter and the information on it.
    """

    passes: int
    """How many passes have been run."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        ...

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        ...

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        ...

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        ...

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step as if the shares of votes were the posterior.

        Also returns what the E-step would say of the votes then.
        """
        ...

    def curvature_times(self, curvature: Curvature, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        ...

    def links(self, curvature: Curvature) -> Links:
        """Return the curvature by pair of items: for graphs of few pairs, or few items."""
        ...

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        ...

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the latent truths behind the votes, by confusion group and side."""
        ...


@runtime_checkable
class PartedEngine(Protocol):
    """An engine whose rows lie elsewhere, in parts."""

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine whose rows know their pairs."""
        ...
