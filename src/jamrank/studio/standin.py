"""A chooser that knows no scores: items seldom shown come first, sides in balance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Assignment", "BalancedChooser", "Status"]


@dataclass(frozen=True)
class Assignment:
    """A pair for an annotator."""

    annotator: str
    left: str
    right: str
    question: str = ""
    gain: float = 0.0
    probability: float | None = None
    strategy: str = "balanced"
    why: str = ""


@dataclass(frozen=True)
class Status:
    """Whether to go on."""

    state: str
    reason: str
    expected_error: float | None = None
    votes_needed: float | None = None
    cost_needed: float | None = None


class BalancedChooser:
    """Pairs of the items that were shown least."""

    def __init__(self, votes: Any = None, *, items: Sequence[str], random_state: int | None = None, **_: Any) -> None:
        self._items = list(items)
        self._shown: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._draw = random.Random(random_state)

    def tell(self, votes: Any) -> None:
        """Do nothing: what was shown is counted already."""

    def next(self, annotator: str) -> Assignment:
        """Return a pair of seldom shown items."""
        order = sorted(self._items, key=lambda item: (self._shown[item], self._draw.random()))
        first = order[0]
        second = self._draw.choice(order[1 : max(2, len(order) // 2)])
        left, right = sorted((first, second), key=lambda item: (self._left[item], self._draw.random()))
        self._left[left] += 1
        self._shown.update((left, right))
        return Assignment(annotator, left, right)

    def batch(self, n: int) -> Iterable[Assignment]:
        """Return several pairs for anybody."""
        return [self.next("") for _ in range(n)]

    def status(self) -> Status:
        """Return that there is no telling."""
        return Status("go", "Pairs are balanced; there is no estimate of what is still to come.")
