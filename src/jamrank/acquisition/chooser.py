"""The chooser: the next comparison, its annotator, and whether to continue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jamrank.acquisition.belief import Belief, NewModel, usual_model
from jamrank.acquisition.desk import Desk
from jamrank.acquisition.features import ItemFeatures
from jamrank.acquisition.goals import GOALS, Goal
from jamrank.acquisition.picking import Picked, pick
from jamrank.acquisition.planning import Plan, no_plan, nothing_to_choose, plan_collection
from jamrank.acquisition.pool import OUTCOME_NAMES, VotePool, read_votes
from jamrank.acquisition.records import Assignment, Status
from jamrank.acquisition.stopping import assess
from jamrank.acquisition.strategies import STRATEGIES
from jamrank.acquisition.view import View, candidate_pairs
from jamrank.diagnostics.target import TARGET_ERROR
from jamrank.errors import ParameterError
from jamrank.text import many
from jamrank.typing import IntArray

# A full refit after this many new votes, or this share of the present ones.
_REFIT_VOTES, _REFIT_SHARE = 10, 0.1
# With features a fit takes longer.
_REFIT_SHARE_WITH_FEATURES = 0.15
# Largest horizon of a simulated plan, in votes per item and, of few items, in votes.
_HORIZON, _LEAST_HORIZON = 200.0, 2_000.0


class Chooser:
    """Chooses the next comparison to ask for.

    Parameters
    ----------
    votes_or_model : Comparisons, path-like, data frame, iterable of votes, or fitted model, optional
        The votes so far, or a fitted model, whose votes and settings are used. Without votes give ``items``.
    goal : {"ranking", "top-k", "threshold", "verdicts"}
        The goal: the order of all items; the best ``k``; which items are above a threshold; or how reliable
        each annotator is.
    k : int, optional
        Size of the top; 5 unless given, and at most all items but one.
    threshold : float or id, optional
        A score (0 is the mean of all items), or an item whose score is the threshold.
    costs : number or mapping, optional
        Cost of a vote, or of a vote by each annotator; 1 by default.
    capacity : int or mapping, optional
        Votes that each annotator can still give; by default no limit.
    strategy : str
        One of the registered ones: ``information``, ``swiss``, ``random``, ``uncertainty``, ``top-two``.
    items, annotators : iterable, optional
        Ids beyond those in the votes. More can join at any time.
    features : data frame, mapping or array, optional
        One row for each item: the prior of a new item then depends on its features.
    easy_share : float
        Share of assignments that are easy pairs, against fatigue and as attention checks.
    random_state : int, Generator or None
    target : float
        The error at which the goal is reached; by default the one for which :func:`check` plans votes.
    budget : float, optional
        Budget, in the unit of ``costs``.
    explore : float
        Share of assignments that are drawn at random; not used by strategies that ignore the votes.
    share_cap : float
        No annotator gets more than this multiple of the equal share.
    questions : iterable or mapping, optional
        Prompts to ask about: all of them for every pair; or the one question of each item.
    gold : optional
        Gold pairs, as in ``fit``: they determine the orientation.
    trusted : iterable, optional
        Annotators known to be reliable, who determine it too.
    repeats : bool or "last"
        Whether an annotator may be asked the same comparison again; a deterministic judge would only repeat itself.
        ``"last"``: only where nothing else is left to ask.
    """

    def __init__(
        self,
        votes_or_model: Any = None,
        goal: str = "ranking",
        k: int | None = None,
        threshold: Any = None,
        costs: Any = None,
        capacity: Any = None,
        strategy: str = "information",
        items: Iterable[Any] | None = None,
        annotators: Iterable[Any] | None = None,
        features: Any = None,
        easy_share: float = 0.0,
        random_state: Any = None,
        *,
        target: float = TARGET_ERROR,
        budget: float | None = None,
        explore: float = 0.1,
        share_cap: float = 2.0,
        questions: Any = None,
        gold: Any = None,
        trusted: Iterable[Any] = (),
        repeats: bool | str = False,
    ) -> None:
        _one_of("goal", goal, GOALS)
        _one_of("strategy", strategy, STRATEGIES)
        for name, value in (("easy_share", easy_share), ("explore", explore), ("target", target)):
            if not 0 <= value < 1:
                raise ParameterError(f"{name} is {value!r}; expected a share, at least 0 and below 1")
        if repeats not in (False, True, "last"):
            raise ParameterError(f"repeats is {repeats!r}; expected True, False or 'last'")
        self.strategy, self.easy_share, self.target, self.budget = strategy, easy_share, target, budget
        self.explore = explore if strategy not in ("random", "swiss") else 0.0
        self.share_cap, self._repeats_last = share_cap, repeats == "last"
        self.trusted = frozenset(trusted)
        self._rng = np.random.default_rng(random_state)
        votes, new_model = _opened(votes_or_model)
        self._pool = VotePool()
        self._desk = Desk(self._pool, costs, capacity, repeats is True, questions)
        known = [*read_votes(votes)] if votes is not None else []
        for name in items or ():
            self._pool.items.code(name)
        for name in annotators or ():
            self._pool.annotators.code(name)
        for vote in known:
            self._desk.take_in(vote)
        self._desk.start()
        described = None if features is None else ItemFeatures(features, self._pool.items.names)
        self._features = described
        self._belief = Belief(
            self._pool,
            new_model or usual_model(self._pool, described is not None, gold is not None or goal == "verdicts"),
            gold,
            described,
            alike=new_model is not None and goal != "verdicts" and not new_model(False)._spec.capabilities.annotators,
        )
        self._belief.cost_of_annotators = lambda: self._desk.cost
        self._gold = gold is not None
        self._ahead: Belief | None = None
        self._goal_name, self._k, self._threshold = goal, 5 if k is None else k, threshold
        self._goal()
        self._since_refit = 0
        if len(self._pool):
            self.refit()

    # -- asking ---------------------------------------------------------------------------------------------

    def next(self, annotator: Any) -> Assignment | None:
        """Choose a pair for a given annotator.

        Parameters
        ----------
        annotator : id
            The annotator; may be new.

        Returns
        -------
        Assignment or None
            None if the annotator has no capacity left or has judged every pair.
        """
        who = self._pool.annotators.code(annotator)
        self._belief.grow()
        if self._ahead is not None:
            self._ahead.grow()
        return self._assign(np.array([who])) if self._desk.can_ask(who) else None

    def batch(self, n: int) -> list[Assignment]:
        """Choose up to n assignments, each given those before it.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        list of Assignment
            Fewer where capacities or pairs run out.
        """
        if not len(self._pool.annotators):
            raise ParameterError("no annotators; give annotators, or votes that name some")
        chosen: list[Assignment] = []
        for _ in range(n):
            assignment = self._assign(self._desk.eligible(self.share_cap))
            if assignment is None:
                break
            chosen.append(assignment)
        return chosen

    def add(self, items: Iterable[Any] = (), annotators: Iterable[Any] = (), features: Any = None) -> None:
        """Add items and annotators.

        Parameters
        ----------
        items, annotators : iterable
            Ids; known ones are ignored.
        features : data frame or mapping, optional
            Of the new items.
        """
        joined = list(items)
        if features is not None and self._features is not None:
            self._features.add(features, joined)
        for name in joined:
            self._pool.items.code(name)
        for name in annotators:
            self._pool.annotators.code(name)
        self._belief.grow()
        self._ahead = None

    def tell(self, votes: Any) -> None:
        """Add votes, asked for or not; an abstention cancels its assignment.

        Parameters
        ----------
        votes : data frame, path-like, Comparisons, mapping, or iterable
            Files, frames and columns in any known form; one vote in the canonical form, or several; or tuples
            ``(annotator, left, right, winner)`` with the question as the fifth.
        """
        for vote in read_votes(votes):
            codes = self._desk.take_in(vote)
            self._belief.grow()
            if codes is not None and vote.outcome is not None:
                self._belief.observe(*codes, vote.outcome)
                self._since_refit += 1
        self._ahead = None
        share = _REFIT_SHARE if self._features is None else _REFIT_SHARE_WITH_FEATURES
        if self._since_refit >= max(_REFIT_VOTES, share * len(self._pool)):
            self.refit()

    def cancel(self, assignment: Assignment) -> None:
        """Cancel an assignment that will not be answered."""
        self._desk.cancel(assignment)
        self._ahead = None

    def refit(self) -> Any:
        """Fit the model to all votes and return it; the result does not depend on their order."""
        self._belief.refit()
        self._since_refit, self._ahead = 0, None
        return self._belief.model

    # -- knowing --------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return the expected error, the votes still needed, and whether to continue."""
        if self._since_refit:
            self.refit()
        status = assess(
            self._belief,
            self._goal(),
            target=self.target,
            cost=self._desk.spent(),
            usual_cost=self._desk.usual_cost(),
            budget=self.budget,
            n_pairs=self._desk.n_pairs(),
            sign_settled=self._gold or bool(self.trusted & set(self._pool.annotators.names)),
        )
        if self._goal_name == "top-k" and self._k > self._largest_k():
            n = len(self._pool.items)
            counted = f" Of {many(n, 'item')} the top {self._largest_k()} is meant, not the top {self._k}."
            status = replace(status, reason=status.reason + counted)
        return status

    def plan(self, *, runs: int | None = None, most_votes: float | None = None) -> Plan:
        """Simulate the rest of the collection from the posterior: votes and cost until the target.

        With a single pair to ask, votes are like those so far, and nothing is simulated.
        Nothing is simulated where the status has an obstacle: the plan then has the present error only.

        Parameters
        ----------
        runs : int, optional
            Number of simulated collections; by default as many as take about two seconds, between 4 and 100.
        most_votes : float, optional
            Horizon; by default twice the estimate of :meth:`status`, and at least twenty votes per item.
        """
        if not len(self._pool.annotators):
            raise ParameterError("no annotators; give annotators, or votes that name some")
        status = self.status()
        n, goal, cost = len(self._pool.items), self._goal(), self._desk.cost
        if status.obstacle:
            return no_plan(status.expected_error, self.target)
        if most_votes is None:
            most_votes = max(20.0 * n, 2.0 * (status.votes_needed or 0.0))
        if not nothing_to_choose(self._belief, goal, cost):
            most_votes = min(most_votes, max(_HORIZON * n, _LEAST_HORIZON))
        return plan_collection(
            self._belief,
            goal,
            STRATEGIES[self.strategy],
            cost,
            now=status.expected_error,
            target=self.target,
            runs=runs,
            most_votes=most_votes,
            left_to_ask=self._desk.left_to_ask(self._repeats_last),
            share_cap=self.share_cap,
            rng=self._rng,
        )

    @property
    def items(self) -> list[Any]:
        """Ids of all items."""
        return list(self._pool.items.names)

    @property
    def annotators(self) -> list[Any]:
        """Ids of all annotators."""
        return list(self._pool.annotators.names)

    @property
    def open(self) -> list[Assignment]:
        """Assignments that are not answered yet."""
        return self._desk.open_assignments()

    def scores(self) -> dict[Any, float]:
        """Return the current score of each item: the last fit, updated by the votes since."""
        return dict(zip(self._pool.items.names, self._belief.scores.mean.tolist(), strict=True))

    def flips(self) -> dict[Any, float]:
        """Return the expected flip of each annotator."""
        return dict(zip(self._pool.annotators.names, self._belief.reliability.flip.tolist(), strict=True))

    def history(self) -> Any:
        """Return the votes in the order in which they came, with how each pair was chosen.

        Returns
        -------
        polars.DataFrame
            Columns annotator, left, right, winner, question, weight, order, strategy and probability; the last two
            are empty for votes that were not asked for. ``read_comparisons`` reads it from a file.
        """
        import polars as pl

        rows = [
            {
                "annotator": vote.annotator,
                "left": vote.left,
                "right": vote.right,
                "winner": OUTCOME_NAMES[vote.outcome],
                "question": vote.question,
                "weight": vote.weight,
                "order": place,
                "strategy": None if asked is None else asked.strategy,
                "probability": None if asked is None else asked.probability,
            }
            for place, (vote, asked) in enumerate(self._desk.log, 1)
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return frame.drop("question") if rows and len(self._pool.questions) < 2 else frame

    # -- inside ---------------------------------------------------------------------------------------------

    def _goal(self) -> Goal:
        name, items = self._goal_name, self._pool.items
        if name == "top-k" and not (isinstance(self._k, (int, np.integer)) and self._k >= 1):
            raise ParameterError(f"k is {self._k!r}; expected a whole number of at least 1")
        group = self._desk.question_of_items()
        if name != "threshold":
            return Goal(name, k=min(int(self._k), self._largest_k()) if name == "top-k" else 1, group=group)
        if self._threshold in items.codes:
            return Goal(name, anchor=items.codes[self._threshold], group=group)
        try:
            return Goal(name, threshold=float(self._threshold), group=group)
        except (TypeError, ValueError):
            message = f"threshold is {self._threshold!r}; expected a score, or one of the items"
            raise ParameterError(message) from None

    def _largest_k(self) -> int:
        """Return the size of the largest top that leaves an item out."""
        return max(len(self._pool.items) - 1, 1)

    def _expected(self) -> Belief:
        """Return the expected posterior once all open assignments are answered."""
        if self._ahead is None:
            self._ahead = self._belief.copy()
            for who, left, right in self._desk.in_flight():
                self._ahead.expect(who, left, right)
        return self._ahead

    def _assign(self, annotators: IntArray) -> Assignment | None:
        if len(self._pool.items) < 2:
            raise ParameterError(f"{len(self._pool.items)} items; expected at least 2")
        if not len(annotators):
            return None
        view = self._view(annotators)
        picked = self._pick(view)
        if picked is None and self._repeats_last:
            with self._desk.with_repeats():
                picked = self._pick(view)
        return None if picked is None else self._hand_out(view, picked)

    def _pick(self, view: View) -> Picked | None:
        return pick(view, STRATEGIES[self.strategy], self._desk, self.strategy, self.explore, self.easy_share)

    def _view(self, annotators: IntArray) -> View:
        belief = self._expected()
        goal = self._goal()
        first, second = candidate_pairs(belief.scores.mean, self._rng, goal.group)
        return View(
            belief,
            goal,
            first,
            second,
            annotators,
            self._desk.cost[annotators],
            self._desk.given[annotators],
            self._desk.item_votes,
            lambda: self._desk.votes_on(first, second),
            self._rng,
        )

    def _hand_out(self, view: View, picked: Picked) -> Assignment:
        names, items = self._pool.annotators.names, self._pool.items.names
        left, right = self._desk.sides(picked.who, picked.first, picked.second, self._rng)
        question = self._desk.question_for(picked.who, left, right, self._rng)
        asked = Assignment(
            names[picked.who],
            items[left],
            items[right],
            question,
            picked.gain,
            picked.probability,
            picked.strategy,
            picked.why.replace("{annotator}", str(names[picked.who])),
        )
        view.belief.expect(picked.who, left, right)
        self._desk.hand_out(asked, picked.who, left, right)
        return asked


def _one_of(name: str, value: Any, known: Mapping[str, Any]) -> None:
    if value not in known:
        raise ParameterError(f"{name} is {value!r}; expected one of {', '.join(known)}")


def _opened(given: Any) -> tuple[Any, NewModel | None]:
    """Return the votes, and how to make a model for them."""
    if not hasattr(given, "get_params"):
        return given, None
    votes = given.result_.votes.source
    if votes is None:
        raise ParameterError(f"this {type(given).__name__} does not keep its votes; give the votes, or fit again")

    def alike(ties: bool) -> Any:
        return type(given)(**given.get_params())

    return votes, alike
