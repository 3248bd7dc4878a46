"""Passes over decided votes and over ties, added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines.memory import MemoryEngine
    from jamrank.rows.grade_steps import GradeSteps

__all__ = ["TiedEngine"]


class TiedEngine(Engine):
    """Runs a pass over the decided votes, and one over all votes about whether each is a tie.

    Parameters
    ----------
    decided : Engine
        Over the decided votes.
    ties : Engine
        Over all votes, by whether they are ties: its rows have every pair of items that the others have.

    Its ``log_emission`` is that of the decided votes, flattened, followed by a parameter for each annotator. Sums by
    confusion group have the groups of the decided votes first, then the annotators.
    """

    def __init__(self, decided: Engine, ties: Engine) -> None:
        self._decided, self._ties = decided, ties
        self.can_draw = decided.can_draw and ties.can_draw
        self.passes = 0

    @property
    def decided(self) -> Engine:
        """The engine over the decided votes."""
        return self._decided.decided

    @property
    def grades(self) -> GradeSteps | None:
        """The steps of the votes' grades."""
        return self._decided.grades

    @property
    def ties(self) -> Engine:
        """The engine over all votes, by whether they are ties."""
        return self._ties

    def _split(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = len(log_emission) - self.ties.n_confusion_groups
        own = log_emission[:at]
        return (own if self._decided.flat else own.reshape(-1, 2, 2)), log_emission[at:]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._decided.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows, of decided votes: without any there is no ranking."""
        return self._decided.n_rows

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return self.ties.n_links

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups of the decided votes."""
        return self._decided.n_confusion_groups

    @property
    def vote_counts(self) -> FloatArray:
        """Decided votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self._decided.vote_counts

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run both passes."""
        self.passes += 1
        own, params = self._split(log_emission)
        a, b = self._decided.expectation(scores, own), self.ties.expectation(scores, params)
        return Expectation(
            a.value + b.value,
            a.gradient + b.gradient,
            a.degree + b.degree,
            (a.curvature, b.curvature),
            np.concatenate([a.expected_counts, b.expected_counts]),
            a.truth_variance,
        )

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step over the decided votes: at equal scores ties have no information on scores."""
        self.passes += 1
        at, expected_counts = self._decided.initial_step(scores)
        no_sums = np.zeros((self.ties.n_confusion_groups, 2))
        return replace(at, curvature=(at.curvature, None)), np.concatenate([expected_counts, no_sums])

    def curvature_times(self, curvature: tuple[Any, Any], vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product = self._decided.curvature_times(curvature[0], vector)
        return product if curvature[1] is None else product + self.ties.curvature_times(curvature[1], vector)

    def links(self, curvature: tuple[Any, Any]) -> Links:
        """Return the curvature by pair of items."""
        return self._together(self._decided.links(curvature[0]), self.ties.links(curvature[1]))

    def _together(self, decided: Links, ties: Links) -> Links:
        cells, own = (links.first.astype(np.int64) * self.n_items + links.second for links in (ties, decided))
        total = ties.curvature.copy()
        total[np.searchsorted(cells, own)] += decided.curvature
        return replace(ties, curvature=total)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        own, params = self._split(log_emission)
        degree, decided = self._decided.observed(scores, own, links)
        more, ties = self.ties.observed(scores, params, links)
        together = None if decided is None or ties is None else self._together(decided, ties)
        return degree + more, together

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's decided votes, by confusion group and side."""
        return self._decided.truth_variance(scores, self._split(log_emission)[0])

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes part by part, each with an engine in memory over its decided votes."""
        return self._decided.parts()

    def local_engines(self) -> list[Engine]:
        """Return one engine over the same rows with one thread, where they are in memory."""
        local = [engine.local_engines() for engine in (self._decided, self._ties)]
        return [TiedEngine(*(engines[0] for engines in local))] if all(len(one) == 1 for one in local) else [self]
