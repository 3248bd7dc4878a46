"""Passes over decided votes and over the steps of their grades, added up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from jamrank.engines.base import AddedEngine, Engine, Expectation, Links
from jamrank.rows.grade_steps import GradeSteps
from jamrank.typing import FloatArray


class GradedEngine(AddedEngine):
    """Runs a pass over the decided votes, and one in numpy over the steps of their grades.

    A step of annotator ``k`` leads on with log-odds ``b_k y m - c_kj``: ``y m`` is the margin seen from the winner.

    Parameters
    ----------
    decided : Engine
        Over the decided votes.
    grades : GradeSteps
        Steps of graded votes among them.

    Further parameters are the slopes ``b`` of the annotators, then the thresholds ``c``, by step and annotator.
    """

    flat = True

    def __init__(self, decided: Engine, grades: GradeSteps) -> None:
        super().__init__(decided, grades.n_annotators * (1 + grades.n_steps))
        self._grades, self.can_draw = grades, decided.can_draw

    @property
    def grades(self) -> GradeSteps:
        """The steps of the grades."""
        return self._grades

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
        at, steps = self.engine.expectation(scores, own), self.grades
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

    def curvature_times(self, curvature: tuple[Any, Any], vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product, bend = self.engine.curvature_times(curvature[0], vector), curvature[1]
        if bend is None:
            return product
        steps = self.grades
        flow = bend * (vector[steps.first] - vector[steps.second])
        into = np.bincount(steps.first, flow, steps.n_items) - np.bincount(steps.second, flow, steps.n_items)
        return np.asarray(product + into)

    def links(self, curvature: tuple[Any, Any]) -> Links:
        """Return the curvature by pair of items."""
        return self._together(self.engine.links(curvature[0]), curvature[1])

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
        degree, decided = self.engine.observed(scores, own, links)
        bend = self._bends(scores, params)[3]
        return degree + self._degree(bend), None if decided is None else self._together(decided, bend)

    def local_engines(self) -> list[Engine]:
        """Return one engine over the same rows with one thread."""
        inner = self.engine.local_engines()
        return [GradedEngine(inner[0], self.grades)] if len(inner) == 1 else [self]
