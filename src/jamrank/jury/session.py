"""From items and judges to votes in a ledger."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

import polars as pl

from jamrank.collect import Item, Ledger, Limit, Question, open_ledger
from jamrank.collect.items import read_items
from jamrank.errors import JudgeError, ParameterError
from jamrank.jury.asking import Outcome, Progress, ask_all
from jamrank.jury.judges import Judge
from jamrank.jury.plan import ChooserPlan, Contents, Plan, RandomPlan, Task
from jamrank.jury.prompts import Prompt, render

_SAMPLE = 100
_TARGET = 0.01


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of one judge.

    cost, worst: Of a call: likely, and at most.
    all_calls: To ask about every pair once.
    all_cost: The expected cost of that.
    """

    judge: str
    cost: float
    worst: float
    all_calls: int
    all_cost: float


def load_contents(items: str | os.PathLike[str] | Iterable[Item], questions: Iterable[Question] = ()) -> Contents:
    """Return the items to compare, from a file or folder (see :func:`read_items`) or from items."""
    if isinstance(items, str | os.PathLike):
        found, asked = read_items(items)
    else:
        found, asked = list(items), list(questions)
    return Contents(found, {question.id: question.text for question in asked})


def estimate(contents: Contents, judges: Sequence[Judge], *, criterion: str = "") -> list[Estimate]:
    """Return the estimated cost of each judge, from a sample of prompts; nothing is sent."""
    estimates = []
    for judge in judges:
        tasks = list(islice(_sample(contents, judge.name), _SAMPLE))
        prompts = [_prompt(contents, judge, task, criterion) for task in tasks]
        cost = sum(judge.likely_cost(prompt) for prompt in prompts) / len(prompts)
        worst = max(judge.worst_cost(prompt) for prompt in prompts)
        estimates.append(Estimate(judge.name, cost, worst, contents.n_comparisons, contents.n_comparisons * cost))
    return estimates


def example_prompt(contents: Contents, judge: Judge, *, criterion: str = "") -> Prompt:
    """Return an example of a judge's prompt."""
    return _prompt(contents, judge, next(iter(_sample(contents, judge.name))), criterion)


def _sample(contents: Contents, judge: str) -> Iterable[Task]:
    """Yield random comparisons, without listing all of them."""
    draw = random.Random(0)
    questions = [question for question, items in contents.answered.items() if len(items) > 1]
    if not questions:
        raise JudgeError("no question has two answers; there is nothing to compare")
    for _ in range(_SAMPLE):
        question = draw.choice(questions)
        left, right = draw.sample(contents.answered[question], 2)
        yield Task(judge, left, right, question)


def _prompt(contents: Contents, judge: Judge, task: Task, criterion: str) -> Prompt:
    left, right = contents.pair(task)
    text = contents.texts.get(task.question, task.question)
    return render(judge.template, left, right, question=text, criterion=criterion, salt=secrets.token_hex(8))


def ask_judges(
    items: str | os.PathLike[str] | Iterable[Item] | Contents,
    judges: Sequence[Judge],
    ledger: str | os.PathLike[str] | Ledger,
    *,
    budget: float | None = None,
    calls: int | None = None,
    plan: str = "information",
    goal: str = "ranking",
    k: int | None = None,
    target: float = _TARGET,
    both_orders: bool = False,
    criterion: str = "",
    recorded_as: str | None = None,
    seed: str | int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Ask judges about items until the ranking is good enough or the budget is spent.

    Parameters
    ----------
    items : path-like, iterable of Item, or Contents
        What to compare.
    judges : sequence of Judge
        Whom to ask; :func:`read_judges` reads them from a file, ``Judge(name, function)`` makes one.
    ledger : path-like, str or Ledger
        Where everything is recorded. Votes already in it, including those of people, count.
    budget : float, optional
        Largest total cost of the ledger, in the currency of the prices.
    calls : int, optional
        The most requests.
    plan : {"information", "random"}
        What is asked: the most informative comparisons, until the goal is reached; or all pairs in a random order
        that depends on the seed alone.
    goal, k, target
        The goal and its target; see :class:`jamrank.Chooser`.
    both_orders : bool
        Ask every comparison in both orders. Otherwise only the first ones of each judge are, until its position bias
        is known to within 10 points; after that sides are balanced.
    criterion : str
        What to judge by, in words.
    recorded_as : str, optional
        The criterion of the votes in the ledger, if its name is not its text, as in a study of the studio. Earlier
        votes count if they have this criterion, or none.
    seed : str or int, optional
        Seed of the random plan and the delimiters; stored in the ledger. Choose one that authors of answers cannot
        know.
    watch : callable, optional
        Called with a :class:`Progress` every second.

    Returns
    -------
    Outcome
    """
    if plan not in ("information", "random"):
        raise ParameterError(f"plan is {plan!r}; expected information or random")
    names = [judge.name for judge in judges]
    if not names or len(set(names)) < len(names):
        raise JudgeError("judges need names that differ" if names else "no judges; give at least one")
    contents = items if isinstance(items, Contents) else load_contents(items)
    with ExitStack() as stack:
        book = ledger if isinstance(ledger, Ledger) else stack.enter_context(open_ledger(ledger))
        salt = _seed(book, seed)
        book.add_items(contents.by_place.values())
        book.add_questions(Question(name, text) for name, text in contents.texts.items())
        name = criterion if recorded_as is None else recorded_as
        chosen: Plan = (
            RandomPlan(contents, names, salt, both_orders=both_orders)
            if plan == "random"
            else _chooser_plan(book, contents, judges, salt, goal, k, target, both_orders, criterion, name)
        )
        words = {"criterion": criterion, "recorded_as": name, "salt": salt}
        return ask_all(book, judges, contents, chosen, limit=Limit(budget, calls), watch=watch, **words)


def _seed(ledger: Ledger, seed: str | int | None) -> str:
    """Return the given seed, or that of the ledger, which is created if missing."""
    stored = ledger.setting("jury_seed")
    value = str(seed) if seed is not None else stored or secrets.token_hex(16)
    if value != stored:
        ledger.set_setting("jury_seed", value)
    return str(value)


def _chooser_plan(
    ledger: Ledger,
    contents: Contents,
    judges: Sequence[Judge],
    seed: str,
    goal: str,
    k: int | None,
    target: float,
    both_orders: bool,
    criterion: str,
    recorded_as: str,
) -> Plan:
    from jamrank.acquisition import Chooser

    known = pl.col("left").is_in(contents.items) & pl.col("right").is_in(contents.items)
    votes = ledger.votes().filter(pl.col("criterion").is_in(["", recorded_as]) & known)
    names = [judge.name for judge in judges]
    prices = {one.judge: one.cost for one in estimate(contents, judges, criterion=criterion)}
    least = min((price for price in prices.values() if price > 0), default=0.0)
    costs = {name: price / least if least else 1.0 for name, price in prices.items()}
    people = {one.id for one in ledger.annotators()} | set(votes["annotator"].unique())
    questions = [question for question in contents.questions if question]
    columns = ["annotator", "left", "right", "winner", *(["question"] if questions else [])]
    chooser = Chooser(
        votes.select(columns) if votes.height else None,
        goal=goal,
        k=k,
        costs=costs,
        capacity={name: 0 for name in people if name not in names} or None,
        items=contents.items,
        annotators=names,
        questions=questions or None,
        random_state=random.Random(seed).getrandbits(32),
        target=target,
        trusted=names,
    )
    given = dict(votes.group_by("annotator").len().rows()) if votes.height else {}
    return ChooserPlan(chooser, contents, given, costs, both_orders=both_orders)
