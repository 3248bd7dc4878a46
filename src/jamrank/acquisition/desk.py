"""The bookkeeping of a collection: assignments, open ones, sides, costs, capacities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from jamrank.acquisition.groups import joinable_groups
from jamrank.acquisition.pool import Vote, VotePool
from jamrank.acquisition.prices import is_expensive
from jamrank.acquisition.records import Assignment
from jamrank.acquisition.view import View
from jamrank.errors import ParameterError
from jamrank.typing import BoolArray, FloatArray, IntArray

Pair = tuple[int, int]

# Votes beyond the capped share that every annotator may give, so that a collection can start.
_HEAD_START = 2
_FEW = 1_000


class Desk:
    """Records assignments and votes.

    costs, capacity, questions: As in :class:`Chooser`.
    repeats: Whether an annotator may be asked the same comparison again.
    """

    def __init__(self, pool: VotePool, costs: Any, capacity: Any, repeats: bool, questions: Any) -> None:
        self.pool, self._costs, self._capacity, self._repeats = pool, costs, capacity, repeats
        self._question_of: dict[Any, Any] = dict(questions) if isinstance(questions, Mapping) else {}
        # A list of questions means that every item has content for each of them.
        self._crossed = questions is not None and not isinstance(questions, Mapping)
        for name in self._question_of.values() if self._question_of else questions or ():
            pool.questions.code(name)
        self._seen_in: dict[int, set[Any]] = defaultdict(set)
        self._crossed = questions is not None and not self._question_of
        self._is_nested: bool | None = None
        self._groups: list[IntArray | None] = []
        self.log: list[tuple[Vote, Assignment | None]] = []
        self._open: dict[tuple[int, Pair, Any], list[Assignment]] = {}
        self._asked: dict[int, dict[Pair, Counter[Any]]] = defaultdict(lambda: defaultdict(Counter))
        self._done: dict[int, IntArray] = {}
        self._last: dict[int, Pair] = {}
        self._given: dict[int, float] = defaultdict(float)
        self._before: dict[int, float] = defaultdict(float)
        self._pair_votes: dict[Pair, float] = defaultdict(float)
        self._question_votes: dict[tuple[Pair, Any], float] = defaultdict(float)
        self._item_votes: dict[int, float] = defaultdict(float)
        self._left_lead: dict[int, float] = defaultdict(float)
        self._pair_lead: dict[Pair, float] = defaultdict(float)
        self._who_lead: dict[tuple[int, int], float] = defaultdict(float)
        self._spent = 0.0

    # -- votes ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Count capacities from now on, without the votes so far."""
        self._before = defaultdict(float, self._given)

    def take_in(self, vote: Vote) -> tuple[int, int, int] | None:
        """Add a vote; return the codes of annotator, left and right. None for an abstention."""
        items, who = self.pool.items, self.pool.annotators.code(vote.annotator)
        left, right = items.code(vote.left), items.code(vote.right)
        pair = _pair(left, right)
        vote = self._with_question(vote, who, pair)
        asked = self._close((who, pair, vote.question), lambda one: one.left == vote.left)
        if vote.outcome is None:
            if asked is not None:
                self._count(who, items.codes[asked.left], items.codes[asked.right], asked.question, -1.0)
            else:
                self._asked[who][pair][vote.question] += 1
            self._done.pop(who, None)
            return None
        self.pool.add(vote)
        if asked is None:
            self._count(who, left, right, vote.question, vote.weight)
        self._spent += vote.weight * self._cost_of(who)
        self.log.append((vote, asked))
        as_before = all(vote.question in self._seen_in[item] for item in (left, right))
        for item in (left, right):
            self._seen_in[item].add(vote.question)
        self._is_nested = None
        if not (as_before and self._groups and self._groups[0] is None):  # what is connected stays so
            self._groups.clear()
        return who, left, right

    def _with_question(self, vote: Vote, who: int, pair: Pair) -> Vote:
        """Return a vote without a question with that of its assignment."""
        if vote.question is not None or len(self.pool.questions) < 2:
            return vote
        open_ones = [question for name, two, question in self._open if (name, two) == (who, pair)]
        return replace(vote, question=open_ones[0]) if open_ones else vote

    def cancel(self, assignment: Assignment) -> None:
        """Cancel an assignment."""
        items = self.pool.items.codes
        who, left, right = (
            self.pool.annotators.codes[assignment.annotator],
            items[assignment.left],
            items[assignment.right],
        )
        pair, question = _pair(left, right), assignment.question
        if assignment not in self._open.get((who, pair, question), []):
            raise ParameterError(
                f"no open assignment of {assignment.left} and {assignment.right} to {assignment.annotator}"
            )
        self._close((who, pair, question), lambda one: one == assignment)
        self._count(who, left, right, question, -1.0)
        self._asked[who][pair] -= Counter([question])
        self._done.pop(who, None)

    def hand_out(self, assignment: Assignment, who: int, left: int, right: int) -> None:
        """Record an assignment."""
        self._open.setdefault((who, _pair(left, right), assignment.question), []).append(assignment)
        self._count(who, left, right, assignment.question, 1.0)

    def _close(self, comparison: tuple[int, Pair, Any], like: Callable[[Assignment], bool]) -> Assignment | None:
        """Remove an open assignment of a comparison and return it: the first of that kind, otherwise the first."""
        same = self._open.get(comparison, [])
        if not same:
            return None
        closed = same.pop(next((k for k, one in enumerate(same) if like(one)), 0))
        if not same:
            del self._open[comparison]
        return closed

    def _count(self, who: int, left: int, right: int, question: Any, by: float) -> None:
        pair, sign = _pair(left, right), 1 if left < right else -1
        self._given[who] += by
        self._pair_votes[pair] += by
        self._question_votes[pair, question] += by
        for item, side in ((left, 1), (right, -1)):
            self._item_votes[item] += by
            self._left_lead[item] += side * by
            self._who_lead[who, item] += side * by
        self._pair_lead[pair] += sign * by
        if by > 0:
            self._asked[who][pair][question] += 1
            self._done.pop(who, None)
            self._last[who] = pair

    def in_flight(self) -> Iterator[tuple[int, int, int]]:
        """Yield annotator and items of each open assignment."""
        for (who, (first, second), _), same in self._open.items():
            for _ in same:
                yield who, first, second

    def open_assignments(self) -> list[Assignment]:
        """Return the open assignments."""
        return [assignment for same in self._open.values() for assignment in same]

    # -- who and what may be asked --------------------------------------------------------------------------

    def can_ask(self, who: int) -> bool:
        """Say whether an annotator has capacity left."""
        return self._given[who] - self._before[who] < self._capacity_of(who)

    def eligible(self, share_cap: float) -> IntArray:
        """Return who may be asked: annotators with capacity, below the cap on shares of all and of open votes.

        The equal share is that of one of the cheap, or of the expensive annotators, if only these voted.
        """
        able = np.array([who for who in range(len(self.pool.annotators)) if self.can_ask(who)], np.int64)
        open_votes = np.bincount([who for who, _, _ in self.in_flight()], minlength=len(self.pool.annotators))
        given, expensive = self.given[able], is_expensive(self.cost)[able]
        in_flight = open_votes[able]
        below = np.zeros(len(able), np.bool_)
        for kind in (expensive, ~expensive):
            fair = share_cap / max(int(kind.sum()), 1)
            room = given < fair * (given.sum() + 1) + _HEAD_START
            below |= kind & room & (in_flight < fair * in_flight.sum() + 1)
        return able[below] if below.any() else able

    def free(self, view: View, pairs: IntArray, rows: IntArray | None = None, *, rested: bool = True) -> BoolArray:
        """Return which pairs each annotator may be asked: annotators by pairs.

        pairs: Indices of pairs of the view.
        rows: Indices of its annotators; by default all.
        rested: Whether to leave out both items of an annotator's last pair, otherwise that pair only.
        """
        annotators = (view.annotators if rows is None else view.annotators[rows]).tolist()
        first, second = view.first[pairs], view.second[pairs]
        codes = first * len(self.pool.items) + second
        free = np.ones((len(annotators), len(pairs)), np.bool_)
        for row, who in enumerate(annotators):
            done = self._exhausted(who)
            if len(done):
                free[row] = ~_among(codes, done[:, 0] * len(self.pool.items) + done[:, 1])
            if who in self._last:
                a, b = self._last[who]
                held_a, held_b = (first == a) | (second == a), (first == b) | (second == b)
                fresh = free[row] & ~(held_a | held_b if rested else held_a & held_b)
                # With two or three items one must be repeated; it may be if only a few of many pairs are candidates.
                if fresh.any() or len(pairs) < len(view.first):
                    free[row] = fresh
        return free

    @contextmanager
    def with_repeats(self) -> Iterator[None]:
        """Allow the same comparison again for a while."""
        before, self._repeats = self._repeats, True
        try:
            yield
        finally:
            self._repeats = before

    def _exhausted(self, who: int) -> IntArray:
        """Return the pairs of which an annotator was asked all questions."""
        if self._repeats:
            return np.empty((0, 2), np.int64)
        if who not in self._done:
            most = self._questions_a_pair()
            done = [pair for pair, asked in self._asked[who].items() if len(asked) >= most]
            self._done[who] = np.array(done, dtype=np.int64).reshape(-1, 2)
        return self._done[who]

    def n_pairs(self) -> int:
        """Return the number of pairs that can be asked."""
        items = range(len(self.pool.items))
        sizes = Counter(self._own_question(item) if self._nested() else None for item in items).values()
        return sum(size * (size - 1) // 2 for size in sizes)

    def left_to_ask(self, repeats: bool = False) -> float:
        """Return how many comparisons can still be handed out.

        repeats: Whether annotators may be asked the same again, once nothing else is left.
        """
        questions = self._questions_a_pair()
        each = float("inf") if repeats or self._repeats else float(self.n_pairs() * questions)
        left = 0.0
        for who in range(len(self.pool.annotators)):
            asked = sum(min(len(asked), questions) for asked in self._asked[who].values())
            left += min(each - asked, self._capacity_of(who) - self._given[who] + self._before[who])
        return max(left, 0.0)

    def question_of_items(self) -> IntArray | None:
        """Return the question of each item where each belongs to one, so that only items of the same are compared."""
        if not self._nested():
            return None
        codes: dict[Any, int] = {}
        own = [codes.setdefault(self._own_question(k), len(codes)) for k in range(len(self.pool.items))]
        return np.array(own, dtype=np.int64)

    def unconnected(self) -> IntArray | None:
        """Return the groups of items that votes do not connect but could, as :func:`joinable_groups` does."""
        if not self._groups:  # computed once for all assignments between two votes
            self._groups.append(joinable_groups(self.pool, self.question_of_items()))
        return self._groups[0]

    def _nested(self) -> bool:
        """Say whether every item belongs to one question."""
        if self._crossed:
            return False
        if self._is_nested is None:
            one_each = bool(self._seen_in) and all(len(seen) == 1 for seen in self._seen_in.values())
            several = len(self.pool.questions) > 1 and not self._crossed
            self._is_nested = bool(self._question_of) or (several and one_each)
        return self._is_nested

    def _own_question(self, item: int) -> Any:
        name = self.pool.items.names[item]
        if name in self._question_of:
            return self._question_of[name]
        seen = self._seen_in.get(item)
        return next(iter(seen)) if seen else None

    def _questions_a_pair(self) -> int:
        return 1 if self._nested() else max(len(self.pool.questions), 1)

    def question_for(self, who: int, left: int, right: int, rng: np.random.Generator) -> Any:
        """Return the question to ask a pair about: the one with the fewest votes on it."""
        if self._nested():
            return self._own_question(left)
        if not len(self.pool.questions):
            return None
        pair = _pair(left, right)
        names = self.pool.questions.names
        free = [name for name in names if self._repeats or name not in self._asked[who][pair]] or names
        fewest = min(self._question_votes[pair, name] for name in free)
        best = [name for name in free if self._question_votes[pair, name] == fewest]
        return best[int(rng.integers(len(best)))]

    def sides(self, who: int, first: int, second: int, rng: np.random.Generator) -> Pair:
        """Return left and right, balanced over items, pairs and annotators."""
        lead = self._left_lead[first] - self._left_lead[second]
        lead += 4 * self._pair_lead[_pair(first, second)] * (1 if first < second else -1)
        lead += 2 * (self._who_lead[who, first] - self._who_lead[who, second])
        swap = lead > 0 if lead else rng.random() < 0.5
        return (second, first) if swap else (first, second)

    # -- numbers --------------------------------------------------------------------------------------------

    @property
    def item_votes(self) -> FloatArray:
        """Votes on each item, in flight included."""
        return np.array([self._item_votes[item] for item in range(len(self.pool.items))], dtype=np.float64)

    @property
    def given(self) -> FloatArray:
        """Votes of each annotator, in flight included."""
        return np.array([self._given[who] for who in range(len(self.pool.annotators))], dtype=np.float64)

    def votes_on(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the votes on each pair, in flight included."""
        votes = np.zeros(len(first))
        places = _PairIndex(first, second, len(self.pool.items))
        at, found = places.find(np.array(list(self._pair_votes), dtype=np.int64).reshape(-1, 2))
        votes[at[found]] = np.array(list(self._pair_votes.values()), dtype=np.float64)[found]
        return votes

    @property
    def cost(self) -> FloatArray:
        """Of a vote by each annotator."""
        return np.array([self._cost_of(who) for who in range(len(self.pool.annotators))])

    def spent(self) -> float:
        """Return what the votes so far have cost."""
        return self._spent

    def usual_cost(self) -> float:
        """Return the mean cost of a vote, with the current shares of annotators."""
        votes = float(self.pool.weight.sum())
        return self._spent / votes if votes else float(self.cost.mean()) if len(self.pool.annotators) else 1.0

    def _cost_of(self, who: int) -> float:
        return _per_annotator("costs", self._costs, self.pool.annotators.names[who], 1.0)

    def _capacity_of(self, who: int) -> float:
        return _per_annotator("capacity", self._capacity, self.pool.annotators.names[who], np.inf)


class _PairIndex:
    """Index of pairs among sorted candidates."""

    def __init__(self, first: IntArray, second: IntArray, n: int) -> None:
        self._codes, self._n = first * n + second, n

    def find(self, wanted: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the index of each pair, and whether it is there."""
        codes = wanted[:, 0] * self._n + wanted[:, 1]
        at = np.minimum(np.searchsorted(self._codes, codes), max(len(self._codes) - 1, 0))
        return at, self._codes[at] == codes


def _among(codes: IntArray, wanted: IntArray) -> BoolArray:
    """Return which codes are wanted; few are looked up one by one, many are in order as all pairs are."""
    if len(codes) < _FEW or not (np.diff(codes) > 0).all():
        return np.isin(codes, wanted)
    found = np.zeros(len(codes), np.bool_)
    at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    found[at[codes[at] == wanted]] = True
    return found


def _pair(left: int, right: int) -> Pair:
    return (left, right) if left < right else (right, left)


def _per_annotator(what: str, given: Any, name: Any, usual: float) -> float:
    value = given.get(name, usual) if isinstance(given, Mapping) else usual if given is None else given
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not number >= 0 or (what == "costs" and not number > 0):
        raise ParameterError(f"{what} of {name} is {value!r}; expected a number above 0")
    return number
