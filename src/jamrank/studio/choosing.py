"""Pairs for the judges of one criterion: from the chooser, or easy and gold pairs for suspicious judges."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jamrank.errors import JamrankError, JamrankWarning
from jamrank.studio.ballots import Pair
from jamrank.studio.feed import Vote
from jamrank.studio.study import Study

if TYPE_CHECKING:
    from jamrank.acquisition import Assignment, Chooser, Status

# A placeholder for new judges: pairs of the shared queue are chosen for an unknown judge.
_ANYBODY = "anybody"
_TRIES = 5


def known_pairs(study: Study, criterion: str) -> list[tuple[str, str]]:
    """Return the gold pairs of a criterion, the better item first."""
    first = study.asked()[0].name
    return [(pair.better, pair.worse) for pair in study.gold if (pair.criterion or first) == criterion]


class PairSource:
    """Chooses pairs among the active items.

    items: Those asked about.
    votes: All so far; those on other items are left out.
    """

    def __init__(self, study: Study, criterion: str, items: Sequence[str], votes: Iterable[Vote]) -> None:
        self._study, self._criterion, self._items = study, criterion, frozenset(items)
        self._open: dict[tuple[str, str, str], Assignment] = {}
        self._draw = random.Random()
        rows = self._rows(votes)
        gold = [pair for pair in known_pairs(study, criterion) if set(pair) <= self._items]
        self._chooser = self._new(rows, items, gold)

    def _new(self, rows: list[tuple[str, ...]], items: Sequence[str], gold: list[tuple[str, str]]) -> Chooser:
        from jamrank.acquisition import Chooser

        settings: dict[str, Any] = {
            "goal": self._study.goal,
            "strategy": self._study.strategy,
            "k": self._study.k or None,
            "costs": self._study.cost_per_vote or None,
            "easy_share": self._study.easy_share,
            "target": self._study.target,
            "budget": self._study.budget or None,
            "items": items,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            try:
                return Chooser(rows or None, gold=gold or None, **settings)
            except JamrankError:
                # Gold pairs on items without votes; they are used after the next restart.
                return Chooser(rows or None, **settings)

    def _rows(self, votes: Iterable[Vote]) -> list[tuple[str, ...]]:
        return [
            (vote.judge, vote.left, vote.right, vote.winner)
            for vote in votes
            if vote.criterion == self._criterion and {vote.left, vote.right} <= self._items
        ]

    def tell(self, votes: Iterable[Vote]) -> None:
        """Add new votes and skips."""
        rows = self._rows(votes)
        if not rows:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            self._chooser.tell(rows)
        for judge, left, right, _ in rows:
            self._open.pop((judge, min(left, right), max(left, right)), None)

    def pairs_for(self, judge: str, n: int, given: set[tuple[str, str, str]]) -> list[Pair]:
        """Choose up to `n` pairs for a judge that were not given before."""
        pairs: list[Pair] = []
        for _ in range(n + _TRIES):
            assignment = self._chooser.next(judge) if len(pairs) < n else None
            if assignment is None:
                break
            pair = self._pair(assignment)
            self._open[judge, pair.unordered[0], pair.unordered[1]] = assignment
            # Tell the chooser about pairs on the judge's screen that are not answered yet.
            if pair.unordered not in given:
                pairs.append(pair)
        return pairs

    def pool(self, n: int) -> list[Pair]:
        """Choose pairs for new judges."""
        chosen = [one for one in (self._chooser.next(_ANYBODY) for _ in range(n)) if one is not None]
        for assignment in chosen:
            self._chooser.cancel(assignment)
        return [self._pair(assignment) for assignment in chosen]

    def checks_for(self, judge: str, n: int, given: set[tuple[str, str, str]]) -> list[Pair]:
        """Return gold pairs and easy ones, for a judge who may be careless."""
        gold = [
            Pair(*self._sides(better, worse), self._criterion, "gold", "gold")
            for better, worse in known_pairs(self._study, self._criterion)
            if {better, worse} <= self._items
        ]
        left = [pair for pair in gold if pair.unordered not in given]
        self._draw.shuffle(left)
        scores = {item: score for item, score in self._chooser.scores().items() if item in self._items}
        order = sorted(scores, key=lambda item: scores[item])
        third = max(1, len(order) // 3)
        easy = (
            Pair(*self._sides(self._draw.choice(order[-third:]), self._draw.choice(order[:third])), self._criterion)
            for _ in range(10 * n)
        )
        taken = set(given)
        pairs: list[Pair] = []
        for pair in [*left[: n // 2 + 1], *easy]:
            if len(pairs) < n and pair.left != pair.right and pair.unordered not in taken:
                taken.add(pair.unordered)
                pairs.append(pair if pair.purpose == "gold" else _easy(pair))
        return pairs

    def _sides(self, first: str, second: str) -> tuple[str, str]:
        return (first, second) if self._draw.random() < 0.5 else (second, first)

    def drop(self, judge: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Cancel pairs that a judge will not be asked."""
        for left, right in pairs:
            assignment = self._open.pop((judge, min(left, right), max(left, right)), None)
            if assignment is not None:
                self._chooser.cancel(assignment)

    def status(self) -> Status:
        """Return the chooser's status."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            return self._chooser.status()

    def _pair(self, one: Assignment) -> Pair:
        return Pair(one.left, one.right, self._criterion, "vote", one.strategy, one.probability)


def _easy(pair: Pair) -> Pair:
    return Pair(pair.left, pair.right, pair.criterion, "vote", "easy")
