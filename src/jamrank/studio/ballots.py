"""What a judge's request writes to the ledger. Only plans; the database executes them."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jamrank.collect.records import Ask, Close, Undo
from jamrank.studio.history import AGAIN, AHEAD, History
from jamrank.studio.study import KnownPair, Study

if TYPE_CHECKING:
    from jamrank.studio.view import View

# Fewest other pairs before a pair is repeated.
_REPEAT_AFTER = 5
_DRAWS = 40


@dataclass(frozen=True)
class Answer:
    """A judge's answer to the pair with that key."""

    key: str
    said: str
    strength: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class TakeBack:
    """A judge undoes the answer to the pair with that key."""

    key: str


@dataclass(frozen=True)
class Next:
    """A judge requests a pair."""


@dataclass(frozen=True)
class Turn:
    """A request of a judge, and the study as the request sees it.

    session: Hash of the token of the judge's session, which must be valid when the turn is written; empty for a
        judge who needs none.
    """

    judge: str
    action: Answer | TakeBack | Next
    view: View
    session: str = ""


@dataclass(frozen=True)
class Pair:
    """A pair that may be asked about; `row` is its place in the queue."""

    left: str
    right: str
    criterion: str
    purpose: str = "vote"
    strategy: str = ""
    probability: float | None = None
    row: int | None = None

    @property
    def unordered(self) -> tuple[str, str, str]:
        """The pair in canonical order."""
        return (min(self.left, self.right), max(self.left, self.right), self.criterion)


@dataclass(frozen=True)
class Plan:
    """What a turn writes, or the name of the text for its refusal."""

    operations: list[Ask | Close | Undo] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    refused: str = ""
    status: int = 200


def plan(turn: Turn, history: History, offers: Iterable[Pair]) -> Plan:
    """Return what a turn writes.

    history: History of the judge in this transaction.
    offers: Pairs from the queue, best first: those for this judge, then those for any judge.
    """
    action = turn.action
    if isinstance(action, Answer):
        return _answer(turn, action, history, offers)
    if isinstance(action, TakeBack):
        return _take_back(turn, action, history)
    asks, used = _asks(turn, history, offers, set())
    return Plan(asks, used)


def _answer(turn: Turn, answer: Answer, history: History, offers: Iterable[Pair]) -> Plan:
    asked = history.find(answer.key)
    if asked is None:
        return Plan(refused="unknown_pair", status=404)
    if asked.ended:
        # Sent twice: by a double click, by a second tab, after a lost reply. The first answer stands.
        return Plan()
    if turn.view.status == "closed":
        return Plan(refused="closed", status=409)
    skipped = answer.said == "skip"
    close = Close(
        asked.id,
        "skipped" if skipped else "answered",
        f"close:{asked.id}",
        outcome=None if skipped else answer.said,
        strength=answer.strength,
        cost=0.0 if skipped else turn.view.study.cost_per_vote,
        seconds=answer.seconds,
    )
    asks, used = _asks(turn, history, offers, {asked.id})
    return Plan([close, *asks], used)


def _take_back(turn: Turn, wanted: TakeBack, history: History) -> Plan:
    last = history.last_answered
    named = history.find(wanted.key) if wanted.key else last
    if named is not None and named.undone:
        return Plan()  # sent twice
    if last is None or named is not last:
        return Plan(refused="nothing_to_undo", status=409)
    if turn.view.status == "closed":
        return Plan(refused="closed", status=409)
    again = Pair(last.left, last.right, last.criterion, last.purpose, last.strategy)
    return Plan([Undo(last.answer, f"undo:{last.answer}"), _ask(turn, again, AGAIN)])


def _ask(turn: Turn, pair: Pair, prefix: str = "") -> Ask:
    return Ask(
        turn.judge,
        pair.left,
        pair.right,
        prefix + secrets.token_urlsafe(12),
        criterion=pair.criterion,
        purpose=pair.purpose,
        strategy=pair.strategy,
        probability=pair.probability,
        seconds=60 * turn.view.study.lease_minutes,
    )


# -- what comes next --------------------------------------------------------------------------------------------


def _asks(
    turn: Turn, history: History, offers: Iterable[Pair], closing: set[int]
) -> tuple[list[Ask | Close | Undo], list[int]]:
    """Lease pairs until the judge's page is full, or the judge has the requested number."""
    if turn.view.status != "open":
        return [], []
    open_ = [one for one in history.open if one.id not in closing]
    counted = sum(one.purpose != "practice" for one in open_)
    closed = sum(one.purpose != "practice" and one.id in closing for one in history.open)
    room = turn.view.study.votes_per_judge - history.done - closed - counted
    asks: list[Ask | Close | Undo] = []
    used: list[int] = []
    given = set(history.pairs)
    pairs = _candidates(turn, history, offers, given)
    while len(open_) + len(asks) < AHEAD:
        pair = next(pairs, None)
        if pair is None or (room <= 0 and pair.purpose != "practice"):
            break
        given.add(pair.unordered)
        room -= pair.purpose != "practice"
        asks.append(_ask(turn, pair))
        used += [] if pair.row is None else [pair.row]
    return asks, used


def _candidates(
    turn: Turn, history: History, offers: Iterable[Pair], given: set[tuple[str, str, str]]
) -> Iterator[Pair]:
    """Yield pairs for a judge: practice first, then chosen pairs mixed with gold pairs and repeats."""
    study, usable = turn.view.study, turn.view.usable
    yield from _practice(turn, history, usable)
    offered = iter(offers)
    number = history.counted
    while True:
        # Seeded by judge and number, so that a repeated request gets the same pairs.
        draw = random.Random(f"{turn.judge} {number}")
        number += 1
        share, pair = draw.random(), None
        if share < study.gold_share:
            pair = _gold(study, usable, given, draw)
        elif share < study.gold_share + study.repeat_share:
            pair = _repeat(history, draw)
        if pair is None:
            pair = next(
                (one for one in offered if one.unordered not in given and {one.left, one.right} <= usable), None
            )
        if pair is None:
            pair = _random(study, sorted(usable), given, draw)
        if pair is None:
            return
        yield pair


def _practice(turn: Turn, history: History, usable: Set[str]) -> Iterator[Pair]:
    if not turn.view.study.practice:
        return
    shown = {one.pair for one in history.asked if one.purpose == "practice"}
    for number, known in enumerate(turn.view.study.practice):
        pair = _known_pair(turn.view.study, known, "practice", random.Random(f"{turn.judge} practice {number}"))
        if pair.unordered not in shown and {pair.left, pair.right} <= usable:
            yield pair


def _known_pair(study: Study, known: KnownPair, purpose: str, draw: random.Random) -> Pair:
    left, right = (known.better, known.worse) if draw.random() < 0.5 else (known.worse, known.better)
    return Pair(left, right, known.criterion or study.asked()[0].name, purpose, purpose)


def _gold(study: Study, usable: Set[str], given: set[tuple[str, str, str]], draw: random.Random) -> Pair | None:
    pairs = (_known_pair(study, known, "gold", draw) for known in study.gold)
    left = [pair for pair in pairs if pair.unordered not in given and {pair.left, pair.right} <= usable]
    return draw.choice(left) if left else None


def _repeat(history: History, draw: random.Random) -> Pair | None:
    """Return an earlier pair of the judge with its sides swapped; no pair is shown a third time."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in history.asked:
        counts[one.pair] = counts.get(one.pair, 0) + 1
    earlier = [one for one in history.answered if one.purpose == "vote" and one.ended == "answered"][:-_REPEAT_AFTER]
    once = [one for one in earlier if counts[one.pair] == 1]
    if not once:
        return None
    one = draw.choice(once)
    return Pair(one.right, one.left, one.criterion, "repeat", "repeat")


def _random(study: Study, usable: list[str], given: set[tuple[str, str, str]], draw: random.Random) -> Pair | None:
    """Return a random new pair, for a judge whose queue is still empty."""
    criteria = [criterion.name for criterion in study.asked()]
    if len(usable) < 2:
        return None
    for _ in range(_DRAWS):
        left, right = draw.sample(usable, 2)
        pair = Pair(left, right, draw.choice(criteria), strategy="random")
        if pair.unordered not in given:
            return pair
    every = (
        Pair(a, b, criterion, strategy="random")
        for criterion in criteria
        for i, a in enumerate(usable)
        for b in usable[i + 1 :]
    )
    left_over = [pair for pair in every if pair.unordered not in given]
    if not left_over:
        return None
    pair = draw.choice(left_over)
    return pair if draw.random() < 0.5 else Pair(pair.right, pair.left, pair.criterion, strategy="random")
