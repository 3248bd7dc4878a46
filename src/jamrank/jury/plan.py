"""Plans of comparisons: a fixed random one, or the chooser's."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

from jamrank.collect import Item

# Votes of a judge after which the interval of its position bias is narrower than ± 10 points.
_SETTLED = 96
# Votes per item, times the target, before a target counts as out of reach: a strict one deserves more patience.
_PATIENCE = 5.0
# Votes of a judge after which it is chosen by value and cost.
_FIRST_LOOK = 24


@dataclass(frozen=True)
class Task:
    """One comparison to ask for: the judge, the items on their sides, the question, and how it was chosen."""

    judge: str
    left: str
    right: str
    question: str = ""
    strategy: str = "random"
    probability: float | None = None

    @property
    def swapped(self) -> Task:
        """The same with the sides exchanged."""
        return replace(self, left=self.right, right=self.left, strategy="both orders", probability=None)


class Contents:
    """The content of each item for each question, and the possible pairs."""

    def __init__(self, items: Sequence[Item], questions: Mapping[str, str]) -> None:
        self.by_place = {(item.id, item.question): item for item in items if not item.retired}
        self.texts = dict(questions)
        self.items = list(dict.fromkeys(item.id for item in items if not item.retired))
        self.questions = list(dict.fromkeys(question for _, question in self.by_place))
        self.answered: dict[str, list[str]] = {question: [] for question in self.questions}
        for item, question in self.by_place:
            self.answered[question].append(item)

    def pair(self, task: Task) -> tuple[Item, Item]:
        """Return what is shown on the left and on the right."""
        return self.by_place[task.left, task.question], self.by_place[task.right, task.question]

    def has(self, left: str, right: str, question: str) -> bool:
        """Return whether both items have content for a question."""
        return (left, question) in self.by_place and (right, question) in self.by_place

    @property
    def n_comparisons(self) -> int:
        """How many pairs there are, over all questions."""
        return sum(len(items) * (len(items) - 1) // 2 for items in self.answered.values())

    def comparisons(self) -> list[tuple[str, str, str]]:
        """Return all pairs with their questions."""
        return [(a, b, question) for question, items in self.answered.items() for a, b in combinations(items, 2)]


class Plan(Protocol):
    """The protocol of a plan."""

    def take(self, free: Mapping[str, int]) -> list[Task]:
        """Return comparisons to ask next, at most as many per judge as it has free slots; none if all are asked."""

    def tell(self, task: Task, outcome: str | None) -> None:
        """Record the outcome of a comparison, or None."""

    def state(self) -> tuple[str, str]:
        """Return ``"go"`` or why to stop, and a sentence."""

    def remaining(self) -> float | None:
        """Return the approximate number of votes still needed, if known."""

    def leaders(self) -> list[str]:
        """Return the items, best first, as far as known."""


class RandomPlan:
    """All pairs by all judges in a random order that depends only on the seed.

    Sides are drawn in blocks of two, so that both orders are equally frequent; with ``both_orders`` every pair is
    asked in both.
    """

    def __init__(self, contents: Contents, judges: Sequence[str], seed: str, *, both_orders: bool = False) -> None:
        self._wins: dict[str, list[float]] = {item: [0.0, 0.0] for item in contents.items}
        self._total = contents.n_comparisons * len(judges) * (1 + both_orders)
        self._done = 0
        self._streams = {judge: self._stream(contents, judge, seed, both_orders) for judge in judges}

    @staticmethod
    def _stream(contents: Contents, judge: str, seed: str, both_orders: bool) -> Iterator[Task]:
        draw = random.Random(f"{seed}:{judge}")
        pairs = contents.comparisons()
        draw.shuffle(pairs)
        side = False
        for place, (a, b, question) in enumerate(pairs):
            side = draw.random() < 0.5 if place % 2 == 0 else not side
            left, right = (b, a) if side else (a, b)
            task = Task(judge, left, right, question, "random", 0.5)
            yield task
            if both_orders:
                yield task.swapped

    def take(self, free: Mapping[str, int]) -> list[Task]:
        """Return the next comparisons of each judge that has room."""
        taken = []
        for judge, room in free.items():
            for _, task in zip(range(room), self._streams[judge], strict=False):
                taken.append(task)
        return taken

    def tell(self, task: Task, outcome: str | None) -> None:
        """Count wins."""
        self._done += 1
        share = {"left": 1.0, "right": 0.0, "tie": 0.5}.get(outcome or "")
        if share is not None:
            for item, won in ((task.left, share), (task.right, 1 - share)):
                self._wins[item][0] += won
                self._wins[item][1] += 1

    def state(self) -> tuple[str, str]:
        """Continue until all comparisons are asked."""
        return "go", f"{self._total:,} comparisons are planned"

    def remaining(self) -> float | None:
        """Return how many comparisons are left."""
        return float(max(self._total - self._done, 0))

    def leaders(self) -> list[str]:
        """Return the items by their share of wins."""
        return sorted(self._wins, key=lambda item: -(self._wins[item][0] + 1) / (self._wins[item][1] + 2))


class ChooserPlan:
    """The chooser's comparisons; in both orders while the position bias of a judge is uncertain."""

    def __init__(
        self,
        chooser: Any,
        contents: Contents,
        votes: Mapping[str, int],
        costs: Mapping[str, float],
        *,
        both_orders: bool = False,
    ) -> None:
        self._chooser, self._contents, self._both = chooser, contents, both_orders
        self._votes, self._costs = dict(votes), dict(costs)
        self._twins: list[Task] = []
        self._needed: float | None = None

    def take(self, free: Mapping[str, int]) -> list[Task]:
        """Return the chooser's assignments, and the reversed order of earlier ones if required."""
        room = dict(free)
        taken = [self._twins.pop(k) for k in self._fitting_twins(room)]
        new = {judge: min(places, _FIRST_LOOK) for judge, places in room.items() if self._is_new(judge)}
        idle = {judge: room[judge] for judge in self._idle(room)}
        if any(new.values()) or idle:
            chosen = (self._chooser.next(judge) for judge, places in (idle | new).items() for _ in range(places))
            assigned = [assignment for assignment in chosen if assignment is not None]
        else:
            least = min(room.values(), default=0)
            assigned = self._chooser.batch(least) if least else []
        for assignment in assigned:
            task = self._task(assignment)
            if task is None or task.judge not in free:
                self._chooser.cancel(assignment)
                continue
            taken.append(task)
            votes = self._votes.get(task.judge, 0)
            twin = self._both or votes < _SETTLED
            self._votes[task.judge] = votes + 1 + twin
            if twin:
                self._twins.append(task.swapped)
        return taken

    def _is_new(self, judge: str) -> bool:
        """Return whether the value of a judge is still unknown; until then its price does not count."""
        return self._votes.get(judge, 0) < _FIRST_LOOK

    def _fitting_twins(self, room: dict[str, int]) -> list[int]:
        """Return the reversed comparisons for which there are free slots, last first, and use the slots."""
        fitting = []
        for k, twin in enumerate(self._twins):
            if room.get(twin.judge, 0) > 0:
                room[twin.judge] -= 1
                fitting.append(k)
        return fitting[::-1]

    def _idle(self, room: Mapping[str, int]) -> list[str]:
        """Return the judges to use while others that are not cheaper have no free slot."""
        full = max((self._costs.get(judge, 1.0) for judge, places in room.items() if not places), default=-1.0)
        return [judge for judge, places in room.items() if places and self._costs.get(judge, 1.0) <= full]

    def _task(self, assignment: Any) -> Task | None:
        question = "" if assignment.question is None else str(assignment.question)
        if not self._contents.has(assignment.left, assignment.right, question):
            return None
        return Task(
            assignment.annotator,
            assignment.left,
            assignment.right,
            question,
            assignment.strategy,
            float(assignment.probability),
        )

    def tell(self, task: Task, outcome: str | None) -> None:
        """Pass a vote to the chooser; a comparison without one stays assigned, so that it is not chosen again."""
        if outcome is not None:
            question = (task.question,) if task.question else ()
            self._chooser.tell([(task.judge, task.left, task.right, outcome, *question)])

    def state(self) -> tuple[str, str]:
        """Return the chooser's status."""
        status = self._chooser.status()
        self._needed = status.votes_needed
        # The estimated number of votes is unreliable while votes are few.
        patience = _PATIENCE / self._chooser.target * len(self._contents.items)
        if status.state == "futile" and status.votes < patience:
            return "go", status.reason
        return status.state, status.reason

    def remaining(self) -> float | None:
        """Return the approximate number of votes that the goal still needs."""
        return self._needed

    def leaders(self) -> list[str]:
        """Return the items by their present scores."""
        scores: Mapping[str, float] = self._chooser.scores()
        return sorted(scores, key=lambda item: -scores[item])
