"""Passes over decided votes and over ties, added up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jamrank.engines.base import AddedEngine, Engine, Expectation, Links
from jamrank.typing import FloatArray


class TiedEngine(AddedEngine):
    """Runs a pass over the decided votes, and one over all votes about whether each is a tie.

    Parameters
    ----------
    decided : Engine
        Over the decided votes.
    ties : Engine
        Over all votes, by whether they are ties: its rows have every pair of items that the others have.

    There is a further parameter for each annotator.
    """

    def __init__(self, decided: Engine, ties: Engine) -> None:
        super().__init__(decided, ties.n_confusion_groups)
        self._ties = ties
        self.can_draw = decided.can_draw and ties.can_draw

    @property
    def ties(self) -> Engine:
        """The engine over all votes, by whether they are ties."""
        return self._ties

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return self.ties.n_links

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run both passes."""
        self.passes += 1
        own, params = self._split(log_emission)
        a, b = self.engine.expectation(scores, own), self.ties.expectation(scores, params)
        return Expectation(
            a.value + b.value,
            a.gradient + b.gradient,
            a.degree + b.degree,
            (a.curvature, b.curvature),
            np.concatenate([a.expected_counts, b.expected_counts]),
            a.truth_variance,
        )

    def curvature_times(self, curvature: tuple[Any, Any], vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product = self.engine.curvature_times(curvature[0], vector)
        return product if curvature[1] is None else product + self.ties.curvature_times(curvature[1], vector)

    def links(self, curvature: tuple[Any, Any]) -> Links:
        """Return the curvature by pair of items."""
        return self._together(self.engine.links(curvature[0]), self.ties.links(curvature[1]))

    def _together(self, decided: Links, ties: Links) -> Links:
        cells, own = (links.first.astype(np.int64) * self.n_items + links.second for links in (ties, decided))
        total = ties.curvature.copy()
        total[np.searchsorted(cells, own)] += decided.curvature
        return replace(ties, curvature=total)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        own, params = self._split(log_emission)
        degree, decided = self.engine.observed(scores, own, links)
        more, ties = self.ties.observed(scores, params, links)
        together = None if decided is None or ties is None else self._together(decided, ties)
        return degree + more, together

    def local_engines(self) -> list[Engine]:
        """Return one engine over the same rows with one thread, where they are in memory."""
        local = [engine.local_engines() for engine in (self.engine, self._ties)]
        return [TiedEngine(*(engines[0] for engines in local))] if all(len(one) == 1 for one in local) else [self]
