"""The protocol of an engine: passes over the rows, each of which returns sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from jamrank.typing import FloatArray, Int32Array

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines.memory import MemoryEngine
    from jamrank.rows.grade_steps import GradeSteps

# A handle of a curvature, which is as large as the votes: an engine keeps the curvature of its last pass and
# recomputes any other. Only the engine that made a handle knows what is in it.
Curvature = Any


@dataclass(frozen=True)
class Choice:
    """The engine of a fit, by name, and why it is that one."""

    name: str
    why: str


@dataclass(frozen=True)
class Maximisation:
    """The sums of an M-step pass at given scores.

    ``gradient`` and ``degree`` have one entry per item: the derivative in its score, and the diagonal of the
    curvature, which is never negative.
    """

    value: float
    gradient: FloatArray
    degree: FloatArray
    curvature: Curvature


@dataclass(frozen=True)
class Expectation(Maximisation):
    """The sums of the fused pass.

    ``value`` is the log-likelihood with the latent truths summed out. ``expected_counts`` has, by confusion group and
    side, the expected number of votes cast where the first item is truly better. ``truth_variance`` has, by confusion
    group, the sum of ``q (1 - q)`` over its votes, with ``q`` the posterior of the truth: the information on the
    group that is missing because truths are latent; 0 where it was not added up.
    """

    expected_counts: FloatArray
    truth_variance: FloatArray


@dataclass(frozen=True)
class ObservedExpectation(Expectation):
    """The sums of the fused pass, and ``observed``: by item, what its rows contribute to the precision of its score.

    Rows that contradict the rest contribute negative values, which ``degree`` leaves out.
    """

    observed: FloatArray


@dataclass(frozen=True)
class MarginalExpectation(ObservedExpectation):
    """The sums of a pass in which the margins of the rows are integrated out: other scores are uncertain too."""


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

    degree: Diagonal of the scores' block.
    links: Its other entries, negated.
    cross, of shape (items, 2 groups): Missing information between scores and kinds.
    kinds, of shape (2 groups, 2 groups): Missing information among kinds.
    """

    degree: FloatArray
    links: Links
    cross: csr_array
    kinds: csr_array


class Engine(ABC):
    """Where passes over the rows run; its sums do not depend on the number of threads.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator on a
    side or in a cluster of pairs. ``log_emission`` has the log-likelihood of a vote by confusion group, by whether it
    is for the first item of its row, and by the truth: shape (groups, 2, 2). Where votes depend on the margin itself
    and not on a latent truth, ``log_emission`` has one parameter for each group, and ``expected_counts`` has the
    derivative of the log-likelihood in that parameter and the information on it.

    Capabilities are attributes, so that other code need not know which engine it is; a new engine overrides them.
    """

    in_memory: bool = False
    """Whether all rows are in this process: there are ``rows``, ``posterior`` and ``maximisation``."""

    can_draw: bool = False
    """Whether passes are quick enough for the thousands that a posterior sample takes."""

    has_information: bool = False
    """Whether :meth:`information` is available."""

    has_marginal: bool = False
    """Whether :meth:`marginal` is available."""

    has_observed: bool = False
    """Whether :meth:`observed_expectation` is available."""

    choice: Choice | None = None
    """Which engine this is and why, where it was made by :func:`jamrank.engines.make_engine`."""

    flat: bool = False
    """Whether ``log_emission`` is one vector of several parts."""

    passes: int = 0
    """How many passes have been run."""

    @property
    def decided(self) -> Engine:
        """The engine over the decided votes: itself, unless ties have an engine of their own."""
        return self

    @property
    def ties(self) -> Engine | None:
        """The engine that asks of each vote whether it is a tie; None where ties are not modelled."""
        return None

    @property
    def grades(self) -> GradeSteps | None:
        """The steps of the votes' grades; None where grades are not modelled."""
        return None

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of items."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_links(self) -> int:
        """Number of distinct pairs of items."""

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        return len(self.vote_counts)

    @property
    @abstractmethod
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""

    @abstractmethod
    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""

    def start_expectation(self, scores: FloatArray, log_emission: FloatArray) -> Callable[[], Expectation]:
        """Start the fused pass, and return what waits for its sums: a host need not be idle while a device works."""
        return partial(self.expectation, scores, log_emission)

    def slopes(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass for log-likelihood, gradient and expected counts alone, where that is quicker."""
        return self.expectation(scores, log_emission)

    def observed_expectation(self, scores: FloatArray, log_emission: FloatArray) -> ObservedExpectation:
        """Run the fused pass with the observed curvature of each item; that of the rows is not kept."""
        raise NotImplementedError

    def mean_of_others(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Return for each item about the mean of a value of those it is linked with, where there is ``has_observed``.

        ``weight`` is proportional to how many these are.
        """
        raise NotImplementedError

    @abstractmethod
    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step with the share of votes for the first item in place of the posterior.

        Also returns ``expected_counts`` under that posterior.
        """

    @abstractmethod
    def curvature_times(self, curvature: Curvature, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""

    @abstractmethod
    def links(self, curvature: Curvature) -> Links:
        """Return the curvature by pair of items: for graphs of few pairs, or few items."""

    @abstractmethod
    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""

    @abstractmethod
    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the latent truths behind the votes, by confusion group and side."""

    @abstractmethod
    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes part by part, each with an engine in memory over its rows."""

    def information(self, scores: FloatArray, log_emission: FloatArray) -> Information:
        """Return the joint observed information on scores and votes: for few items and groups."""
        raise NotImplementedError

    def marginal(self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the margin of each row integrated out; each item's score has a ``variance``."""
        raise NotImplementedError

    def local_engines(self) -> list[Engine]:
        """Return single-threaded engines whose sums add up to those of this one, in this process where possible."""
        return [self]

    def start_solving(
        self,
        curvature: Curvature,
        target: FloatArray,
        precision: FloatArray,
        preconditioner: tuple[FloatArray, FloatArray, float],
        tolerance: float,
        max_iter: int,
    ) -> Callable[[], FloatArray] | None:
        """Start solving for a Newton step by conjugate gradients where the engine does that itself; else None.

        Returns what waits for the solution.

        Parameters
        ----------
        curvature : Curvature
            The matrix is this curvature plus, on its diagonal, a precision.
        target, precision : ndarray
            One value for each item.
        preconditioner : tuple
            As returned by :meth:`jamrank.scorers.ObjectScorer.evened`.
        tolerance : float
            See :func:`jamrank.fitting.newton.conjugate_gradients`, whose result this equals.
        max_iter : int
        """
        return None


class WrappedEngine(Engine):
    """An engine over the rows of another one, whose passes it runs; a subclass changes some of them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

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

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step with the share of votes for the first item in place of the posterior."""
        return self.engine.initial_step(scores)

    def curvature_times(self, curvature: Curvature, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        return self.engine.curvature_times(curvature, vector)

    def links(self, curvature: Curvature) -> Links:
        """Return the curvature by pair of items."""
        return self.engine.links(curvature)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        return self.engine.observed(scores, log_emission, links)

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the latent truths behind the votes, by confusion group and side."""
        return self.engine.truth_variance(scores, log_emission)

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes part by part, each with an engine in memory over its rows."""
        return self.engine.parts()


class AddedEngine(WrappedEngine):
    """An engine over decided votes that adds a pass of its own, with further parameters.

    Its ``log_emission`` is that of the decided votes, flattened, followed by the further parameters. Sums by
    confusion group are followed by derivative and information of each further parameter.
    """

    def __init__(self, decided: Engine, n_further: int) -> None:
        super().__init__(decided)
        self.n_further, self.passes = n_further, 0

    @property
    def decided(self) -> Engine:
        """The engine over the decided votes."""
        return self.engine.decided

    @property
    def grades(self) -> GradeSteps | None:
        """The steps of the votes' grades."""
        return self.engine.grades

    def _split(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = len(log_emission) - self.n_further
        own = log_emission[:at]
        return (own if self.engine.flat else own.reshape(-1, 2, 2)), log_emission[at:]

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step over the decided votes alone."""
        self.passes += 1
        at, expected_counts = self.engine.initial_step(scores)
        no_sums = np.zeros((self.n_further, 2))
        return replace(at, curvature=(at.curvature, None)), np.concatenate([expected_counts, no_sums])

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's decided votes, by confusion group and side."""
        return self.engine.truth_variance(scores, self._split(log_emission)[0])
