"""Passes over decided votes and over the steps of their grades, added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.rows.grade_steps import GradeSteps
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines.memory import MemoryEngine

__all__ = ["GradedEngine"]


class GradedEngine(Engine):
    """Runs a pass over the decided votes, and one in numpy over the steps of their grades.

    A step of annotator ``k`` leads on with log-odds ``b_k y m - c_kj``: ``y m`` is the margin seen from the winner.

    Parameters
    ----------
    decided : Engine
        Over the decided votes.
    grades : GradeSteps
        Steps of graded votes among them.

    Its ``log_emission`` is that of the decided votes, flattened, followed by the slopes ``b`` of the annotators and
    by the thresholds ``c``, by step and annotator. Sums by confusion group are followed by derivative and information
    of each of these.
    """

    flat = True

    def __init__(self, decided: Engine, grades: GradeSteps) -> None:
        self._decided, self._grades = decided, grades
        self.can_draw = decided.can_draw
        self.passes = 0

    @property
    def decided(self) -> Engine:
        """The engine over the directions of the decided votes."""
        return self._decided.decided

    @property
    def grades(self) -> GradeSteps:
        """The steps of the grades."""
        return self._grades

    def _split(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = len(log_emission) - self.grades.n_annotators * (1 + self.grades.n_steps)
        own = log_emission[:at]
        return (own if self._decided.flat else own.reshape(-1, 2, 2)), log_emission[at:]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._decided.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows of decided votes."""
        return self._decided.n_rows

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return self._decided.n_links

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups of the decided votes."""
        return self._decided.n_confusion_groups

    @property
    def vote_counts(self) -> FloatArray:
        """Decided votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self._decided.vote_counts

    def _bends(self, scores: FloatArray, params: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return slope of each step, margin seen from the winner, chance of going on, and curvature by pair."""
        steps = self.grades
        slope, threshold = params[steps.annotator], params[steps.n_annotators :][steps.threshold]
        margin = steps.sign * (scores[steps.first] - scores[steps.second])[steps.pair]
        on = expit(slope * margin - threshold)
        bend = np.bincount(steps.pair, steps.weight * on * (1 - on) * slope**2, len(steps.first))
        return slope, margin, on, bend.astype(np.float64)

    def _degree(self, bend: FloatArray) -> FloatArray:
        steps = self.grades
        ends = np.concatenate([steps.first, steps.second])
        return np.bincount(ends, np.concatenate([bend, bend]), steps.n_items).astype(np.float64)

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run both passes."""
        self.passes += 1
        own, params = self._split(log_emission)
        at, steps = self._decided.expectation(scores, own), self.grades
        slope, margin, on, bend = self._bends(scores, params)
        odds = slope * margin - params[steps.n_annotators :][steps.threshold]
        value = float((steps.weight * -np.logaddexp(0, np.where(steps.went_on, -odds, odds))).sum())
        left, spread = steps.weight * (steps.went_on - on), steps.weight * on * (1 - on)
        by_pair = np.bincount(steps.pair, left * slope * steps.sign, len(steps.first))
        gradient = np.bincount(steps.first, by_pair, steps.n_items) - np.bincount(
            steps.second, by_pair, steps.n_items
        )
        n, n_thresholds = steps.n_annotators, steps.n_annotators * steps.n_steps
        sums = np.concatenate(
            [
                np.stack(
                    [np.bincount(steps.annotator, one, n) for one in (left * margin, spread * margin**2)], axis=1
                ),
                np.stack([np.bincount(steps.threshold, one, n_thresholds) for one in (-left, spread)], axis=1),
            ]
        )
        return Expectation(
            at.value + value,
            at.gradient + gradient,
            at.degree + self._degree(bend),
            (at.curvature, bend),
            np.concatenate([at.expected_counts, sums]),
            at.truth_variance,
        )

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step over the directions alone."""
        self.passes += 1
        at, expected_counts = self._decided.initial_step(scores)
        no_sums = np.zeros((self.grades.n_annotators * (1 + self.grades.n_steps), 2))
        return replace(at, curvature=(at.curvature, None)), np.concatenate([expected_counts, no_sums])

    def curvature_times(self, curvature: tuple[Any, Any], vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product, bend = self._decided.curvature_times(curvature[0], vector), curvature[1]
        if bend is None:
            return product
        steps = self.grades
        flow = bend * (vector[steps.first] - vector[steps.second])
        into = np.bincount(steps.first, flow, steps.n_items) - np.bincount(steps.second, flow, steps.n_items)
        return np.asarray(product + into)

    def links(self, curvature: tuple[Any, Any]) -> Links:
        """Return the curvature by pair of items."""
        return self._together(self._decided.links(curvature[0]), curvature[1])

    def _together(self, decided: Links, bend: FloatArray | None) -> Links:
        if bend is None:
            return decided
        steps, total = self.grades, decided.curvature.astype(np.float64)
        cells = decided.first.astype(np.int64) * self.n_items + decided.second
        total[np.searchsorted(cells, steps.first * self.n_items + steps.second)] += bend
        return replace(decided, curvature=total)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        own, params = self._split(log_emission)
        degree, decided = self._decided.observed(scores, own, links)
        bend = self._bends(scores, params)[3]
        return degree + self._degree(bend), None if decided is None else self._together(decided, bend)

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's decided votes, by confusion group and side."""
        return self._decided.truth_variance(scores, self._split(log_emission)[0])

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes part by part, each with an engine in memory over its decided votes."""
        return self._decided.parts()

    def local_engines(self) -> list[Engine]:
        """Return one engine over the same rows with one thread."""
        inner = self._decided.local_engines()
        return [GradedEngine(inner[0], self.grades)] if len(inner) == 1 else [self]
