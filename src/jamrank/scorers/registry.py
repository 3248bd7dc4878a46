"""The scorers by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jamrank.registry import Registry
from jamrank.scorers.base import Scorer
from jamrank.scorers.linear import LinearScorer
from jamrank.scorers.none import NoScorer
from jamrank.scorers.objects import ObjectScorer
from jamrank.scorers.sum import SumScorer

if TYPE_CHECKING:
    from jamrank.fitting.solution import ScorerState


@dataclass(frozen=True)
class ScorerSpec:
    """A scorer in the registry.

    make: Returns the scorer for a number of items, and variances, features and centre.
    features: Whether it needs features.
    kernel: Whether features go through a kernel first.
    effects: Whether every item has a free score or effect.
    selectable: Whether it is a value of the parameter ``scorer``.
    """

    make: Callable[[int, ScorerState], Scorer]
    features: bool = False
    kernel: bool = False
    effects: bool = False
    selectable: bool = True


def _objects(n_items: int, state: ScorerState) -> Scorer:
    return ObjectScorer(n_items, state.score_variance, state.centre)


def _linear(n_items: int, state: ScorerState) -> Scorer:
    assert state.matrix is not None
    return LinearScorer(state.matrix, state.weight_variance)


def _sum(n_items: int, state: ScorerState) -> Scorer:
    assert state.matrix is not None
    return SumScorer(LinearScorer(state.matrix, state.weight_variance), ObjectScorer(n_items, state.score_variance))


def _none(n_items: int, state: ScorerState) -> Scorer:
    return NoScorer(n_items)


SCORERS: Registry[ScorerSpec] = Registry(
    "scorer",
    {
        "linear": ScorerSpec(_linear, features=True),
        "objects": ScorerSpec(_objects, effects=True),
        "kernel": ScorerSpec(_linear, features=True, kernel=True),
        "linear+objects": ScorerSpec(_sum, features=True, effects=True),
        "kernel+objects": ScorerSpec(_sum, features=True, kernel=True, effects=True),
        "none": ScorerSpec(_none, selectable=False),
    },
)
