"""The input of a strategy: beliefs including open assignments, candidate pairs and annotators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.scores import MOST_DENSE
from jamrank.typing import BoolArray, FloatArray, IntArray

# With very many items each is paired with this many neighbours in the order and random others.
_NEIGHBOURS, _FAR = 8, 4


@dataclass(frozen=True)
class View:
    """Everything that a choice depends on.

    Attributes
    ----------
    belief : Belief
        Scores and annotators, with open assignments counted as expected votes.
    goal : Goal
    first, second : ndarray
        Pairs that may be asked about.
    annotators : ndarray
        Who may be asked.
    cost : ndarray
        Of a vote by each of these.
    given : ndarray
        Votes of each of these, in flight included.
    item_votes : ndarray
        Votes on each item, in flight included.
    count_pairs : callable
        Returns the votes on each pair, open assignments included.
    rng : Generator
    """

    belief: Belief
    goal: Goal
    first: IntArray
    second: IntArray
    annotators: IntArray
    cost: FloatArray
    given: FloatArray
    item_votes: FloatArray
    count_pairs: Callable[[], FloatArray]
    rng: np.random.Generator


@dataclass(frozen=True)
class Proposals:
    """Proposals of a strategy: the highest value is chosen, ties at random.

    Attributes
    ----------
    pairs : ndarray
        IntArray among the pairs of the view.
    value : ndarray of shape (annotators, pairs)
    why : str
        The reason, with placeholders ``{left}``, ``{right}``, ``{annotator}`` and ``{sure}``.
    learning : ndarray of shape (annotators, pairs), optional
        Where the value is mainly that of learning about the annotator. The reason then says so, and elsewhere what a
        vote on a pair of known order is for.
    """

    pairs: IntArray
    value: FloatArray
    why: str
    learning: BoolArray | None = None


def candidate_pairs(
    mean: FloatArray, rng: np.random.Generator, group: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return pairs to choose from: all, or with very many items neighbours in the order and some at random.

    group: The question of each item, where only items of the same one can be compared; then neighbours only.
    """
    n = len(mean)
    if n <= MOST_DENSE:
        first, second = np.triu_indices(n, 1)
        return (first, second) if group is None else _within(group, first, second)
    order = np.argsort(mean, kind="stable") if group is None else np.lexsort((mean, group))
    n_near, n_far = (_NEIGHBOURS, _FAR) if group is None else (_NEIGHBOURS + _FAR, 0)
    near = [(order[:-step], order[step:]) for step in range(1, n_near + 1)]
    near = near if group is None else [_within(group, *pairs) for pairs in near]
    far = [(np.arange(n), (np.arange(n) + rng.integers(1, n, n)) % n) for _ in range(n_far)]
    ends = [np.concatenate(side) for side in zip(*near, *far, strict=True)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    codes = np.unique(low * n + high)
    return codes // n, codes % n


def _within(group: IntArray, first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    same = group[first] == group[second]
    return first[same], second[same]
