"""What an engine says to the models: passes over the rows, each of which hands back sums."""

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

    ``value`` is the log-likelihood with the truths summed out; ``truly_first`` says, by coin and side, how many votes
    were cast where the first item is truly better. ``hidden`` says, by coin, how much of the information on it is
    lost because truths are not known: the sum of ``q (1 - q)`` over its votes, or 0 where nobody added it up.
    """

    truly_first: FloatArray
    hidden: FloatArray


@dataclass(frozen=True)
class Links:
    """The distinct pairs of items between which there are rows, sorted, and a curvature for each."""

    first: Int32Array
    second: Int32Array
    curvature: FloatArray


@dataclass(frozen=True)
class Information:
    """The observed information on scores and votes together, as far as the rows have it.

    A vote adds to the log-odds of its row's truth. How much hangs on who cast it and for which side: that is its
    *kind*, twice its coin plus 1 if it is for the first item. What truths that are not known take away is, in the
    margins and in the kinds, the sum over rows of ``q (1 - q) B Bᵀ``, with 1 for the margin in ``B`` and the weight
    of each vote at its kind.

    Attributes
    ----------
    degree : ndarray
        Diagonal of the scores' block.
    links : Links
        Its other entries, negated.
    cross : csr_array of shape (items, 2 coins)
        What is taken away between scores and kinds.
    kinds : csr_array of shape (2 coins, 2 coins)
        What is taken away among kinds.
    """

    degree: FloatArray
    links: Links
    cross: csr_array
    kinds: csr_array


class Engine(Protocol):
    """Where passes over the rows run; its sums do not depend on threads.

    A *coin* decides how a vote distorts the truth; ``tables`` has the log-likelihood of a vote by coin, by whether it
    is for the first item of its row, and by the truth: shape (coins, 2, 2). Where the votes of its rows do not tell
    of a truth but of the margin itself, ``tables`` has a parameter for each coin, and ``truly_first`` of its answer
    has the derivative in that parameter and the information on it.
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
    def n_coins(self) -> int:
        """Number of coins."""
        ...

    @property
    def cast(self) -> FloatArray:
        """Votes of each coin for the second and for the first item of their rows, by weight."""
        ...

    def expectation(self, scores: FloatArray, tables: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        ...

    def beginning(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
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

    def observed(self, scores: FloatArray, tables: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        ...

    def hidden(self, scores: FloatArray, tables: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each coin's votes, by coin and side."""
        ...


@runtime_checkable
class PartedEngine(Protocol):
    """An engine whose rows lie elsewhere, in parts."""

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine whose rows know their pairs."""
        ...
