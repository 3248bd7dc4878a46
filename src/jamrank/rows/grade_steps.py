"""Graded votes as steps: a vote of grade 3 went on from 1 to 2 and from 2 to 3, one of grade 1 stopped at 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class GradeSteps:
    """Steps of graded votes, equal ones folded.

    first, second: The items of each distinct pair that has steps, sorted.
    pair: The pair of each step.
    annotator, step: Who voted, and from which grade the step leads, counted from 0.
    sign: 1 where the first item won, -1 where the second did.
    went_on: Whether the vote has a higher grade.
    n_items, n_annotators, n_steps: ``n_steps`` is one less than there are grades.
    """

    first: IntArray
    second: IntArray
    pair: IntArray
    annotator: IntArray
    step: IntArray
    sign: FloatArray
    went_on: BoolArray
    weight: FloatArray
    n_items: int
    n_annotators: int
    n_steps: int

    @property
    def threshold(self) -> IntArray:
        """The threshold of each step: by step, then by annotator."""
        return self.step * self.n_annotators + self.annotator

    @property
    def counts(self) -> FloatArray:
        """How many votes stopped and went on at each threshold, by weight."""
        n = self.n_steps * self.n_annotators
        counts = np.bincount(2 * self.threshold + self.went_on, self.weight, 2 * n)
        return np.asarray(counts.reshape(n, 2), dtype=np.float64)


def grade_steps(votes: Comparisons) -> GradeSteps:
    """Return the steps of the graded votes."""
    graded = np.flatnonzero((votes.vote_grade > 0) & (votes.vote_weight > 0))
    grade, n_steps = votes.vote_grade[graded].astype(np.int64), votes.n_grades - 1
    times = np.minimum(grade, n_steps)  # nobody can go on from the highest
    at = np.repeat(np.arange(len(graded)), times)
    step = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
    vote, went_on = graded[at], grade[at] > step + 1
    pair = votes.vote_pair[vote]
    link = votes.pair_first[pair].astype(np.int64) * votes.n_items + votes.pair_second[pair]
    links, link = np.unique(link, return_inverse=True)
    who, won = votes.vote_annotator[vote].astype(np.int64), votes.vote_result[vote] == FIRST
    key = (((link * votes.n_annotators + who) * max(n_steps, 1) + step) * 2 + won) * 2 + went_on
    _, begin, cell = np.unique(key, return_index=True, return_inverse=True)
    return GradeSteps(
        links // votes.n_items,
        links % votes.n_items,
        link[begin],
        who[begin],
        step[begin],
        np.where(won[begin], 1.0, -1.0),
        went_on[begin],
        np.bincount(cell, votes.vote_weight[vote], len(begin)).astype(np.float64),
        votes.n_items,
        votes.n_annotators,
        n_steps,
    )
