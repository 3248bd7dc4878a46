"""Verdicts on annotators, from the flip and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from jamrank.inference.response_bias import ResponseBias
from jamrank.inference.same_votes import SameVotes
from jamrank.text import number
from jamrank.typing import BoolArray, FloatArray, IntArray

ACTIONS = {
    "reliable": "keep",
    "noisy": "keep; the votes are less informative, and more of them help",
    "random": "leave out, or replace: the votes add almost nothing",
    "adversarial": "ask whether the scale was read the wrong way round; models with flips reverse these votes",
    "position-biased": "keep; show pairs in random order or both orders, or correct the preference (two-coin noise)",
    "one-sided": "leave out: the votes do not depend on the items",
    "tie-lazy": "keep, and ask for a decision where there is a difference",
    "too few votes": "collect more votes before judging",
    "alone": "have others vote on the same items",
    "opposed": "add gold pairs: nothing tells which of the annotators who vote against each other are right",
    "unresolved": "keep; comparisons between other pairs of these items show how often votes are wrong",
    "same votes": "find out whether they are independent; if not, leave out all but one",
}
# What to do about a preference for a side that is corrected, or favours no item, or is all that votes tell.
PREFERENCE_CORRECTED = "keep; the model corrects the preference for a side"
PREFERENCE_BALANCED = "keep; both orders are shown, so that no item gains by the preference"
PREFERENCE_ONLY = "leave out: beyond the preference for a side, the votes add almost nothing"
VERDICTS = tuple(ACTIONS)
_ONE_PAIR = "all votes are on two items: errors look like a small difference between them"
_FURTHER_ITEMS = "keep; votes on further items show how often votes are wrong"

# Careful people have flips up to this; a vote is then worth at least a quarter of a perfect one.
_RELIABLE = 0.25
# A flip between these whose interval includes 1/2, and excludes reliable annotators, is called random. Below, careful
# people would be accused; above, an annotator is wrong twice as often as right.
_COIN, _AGAINST = 0.4, 2 / 3
# A wider interval is too uncertain for a verdict.
_TOO_WIDE = 0.5
# Probability that any annotator of an unbiased crowd is called biased to a side or to ties.
_FALSE_ALARM = 0.005
# Fewest votes for a verdict, and smallest surplus, as a share of them, that is reported as a bias.
_LEAST_VOTES, _LEAST_LEAN, _LEAST_TIES = 10, 0.1, 0.2
_ALWAYS = 0.96
# Both orders are shown to an annotator where they are of this share of the votes.
_BOTH_WAYS = 0.8
# Others with the same votes who are named as evidence.
_MOST_OTHERS = 3


@dataclass(frozen=True)
class Verdicts:
    """A verdict on each annotator, the evidence for it, and what to do."""

    verdict: list[str]
    evidence: list[str]
    action: list[str]


def judge(
    flip: FloatArray,
    low: FloatArray,
    high: FloatArray,
    habits: ResponseBias | None = None,
    shown: BoolArray | bool = True,
    corrected: bool = False,
) -> Verdicts:
    """Return verdicts with evidence and actions; the arguments are those of :func:`verdicts`.

    shown: Whether the evidence has the intervals, of all or of each.
    corrected: Whether the model corrects preferences for a side.
    """
    found = verdicts(flip, low, high, habits)
    done = _actions_for_sides(found, flip, low, high, habits, corrected)
    low, high = (np.where(shown, end, np.nan) for end in (low, high))
    return Verdicts(found, evidence(found, flip, low, high, habits), done)


def judge_relative(
    flip: FloatArray,
    low: FloatArray,
    high: FloatArray,
    habits: ResponseBias | None = None,
    corrected: bool = False,
) -> Verdicts:
    """Return the verdicts that hold where votes tell which flips are higher, but not how high they are.

    Only ratios of 1 - 2 flip are then known. A verdict of an error rate holds if it does where the best annotator is
    never wrong; nobody is called reliable or noisy.
    """
    best, shown, unknown = float((1 - 2 * flip).max(initial=0.0)), flip, np.full(len(flip), np.nan)
    if best > 0:
        flip, low, high = (np.clip((1 - (1 - 2 * value) / best) / 2, 0.0, 1.0) for value in (flip, low, high))
    found = ["unresolved" if one in ("reliable", "noisy") else one for one in verdicts(flip, low, high, habits)]
    done = _actions_for_sides(found, flip, low, high, habits, corrected)
    return Verdicts(found, evidence(found, shown, unknown, unknown, habits), done)


def _actions_for_sides(
    found: list[str],
    flip: FloatArray,
    low: FloatArray,
    high: FloatArray,
    habits: ResponseBias | None,
    corrected: bool,
) -> list[str]:
    """Return the actions, those for a preference for a side by what else the votes tell, and by what corrects it."""
    done = actions(found)
    for k in [k for k, verdict in enumerate(found) if verdict == "position-biased" and habits is not None]:
        assert habits is not None
        if _by_flip(float(flip[k]), float(low[k]), float(high[k])) == "random":
            done[k] = PREFERENCE_ONLY
        elif corrected:
            done[k] = PREFERENCE_CORRECTED
        elif habits.both_ways[k] >= _BOTH_WAYS * habits.decided[k]:
            done[k] = PREFERENCE_BALANCED
    return done


def name_same_votes(found: Verdicts, names: NDArray[Any], groups: Sequence[SameVotes]) -> Verdicts:
    """Return the verdicts, nobody being called reliable who may be the copy of another."""
    verdict, evidence, action = list(found.verdict), list(found.evidence), list(found.action)
    for group in groups:
        for k in group.annotators.tolist():
            if verdict[k] in ("reliable", "noisy"):
                others = [str(names[j]) for j in group.annotators if j != k]
                more = " and others" if len(others) > _MOST_OTHERS else ""
                verdict[k], action[k] = "same votes", ACTIONS["same votes"]
                whose = f"{', '.join(others[:_MOST_OTHERS])}{more}"
                evidence[k] = (
                    f"the same votes as {whose} on all {group.pairs:,} common pairs: hardly any errors, or not "
                    "independent"
                )
    return Verdicts(verdict, evidence, action)


def name_copies(found: Verdicts, names: NDArray[Any], copy_of: IntArray) -> Verdicts:
    """Return the verdicts, copies called so: ``copy_of`` has whose votes they cast, -1 for nobody's."""
    if not (copy_of >= 0).any():
        return found
    verdict, evidence, action = list(found.verdict), list(found.evidence), list(found.action)
    for k in np.flatnonzero(copy_of >= 0):
        name = str(names[copy_of[k]])
        verdict[k] = f"copy of {name}"
        evidence[k] = f"every vote is the same as that of {name}; independent annotators would differ"
        action[k] = f"leave out; the votes are counted once, as those of {name}"
    return Verdicts(verdict, evidence, action)


def name_on_one_pair(found: Verdicts) -> Verdicts:
    """Return verdicts of relative flips on one pair, where more votes tell no more of errors."""
    unknown = [one in ("unresolved", "too few votes") for one in found.verdict]
    verdict = ["unresolved" if own else one for own, one in zip(unknown, found.verdict, strict=True)]
    evidence, action = (
        [new if own else one for own, one in zip(unknown, column, strict=True)]
        for new, column in ((_ONE_PAIR, found.evidence), (_FURTHER_ITEMS, found.action))
    )
    return Verdicts(verdict, evidence, action)


def name_opposed(found: Verdicts) -> Verdicts:
    """Return the verdicts where annotators balance each other: nobody is called reliable or adversarial."""
    opposed = [one in ("reliable", "noisy", "adversarial") for one in found.verdict]
    verdict = ["opposed" if own else one for own, one in zip(opposed, found.verdict, strict=True)]
    evidence = [
        f"{of_flip.partition(':')[0]}, or one minus that, if the others are right" if own else of_flip
        for own, of_flip in zip(opposed, found.evidence, strict=True)
    ]
    action = [ACTIONS["opposed"] if own else done for own, done in zip(opposed, found.action, strict=True)]
    return Verdicts(verdict, evidence, action)


def name_nobody(found: Verdicts) -> Verdicts:
    """Return the verdict on all votes together, for votes that name no annotators."""
    return Verdicts(found.verdict, ["the votes name no annotators"], ["name the annotators of the votes"])


def flip_intervals(
    flip: FloatArray, information: FloatArray, votes: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of the flips, normal on the logit scale.

    flip: Estimates.
    information: Information on each flip's logit; if it is not positive, nothing is known.
    votes: Decided votes of each annotator: with none wrong in n votes the flip is about half a vote in n, not 0.
    level: Coverage probability.
    """
    centre = logit(inner_flip(flip, votes))
    reach = float(ndtri((1 + level) / 2)) / np.sqrt(np.maximum(information, 1e-6))
    low, high = np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))
    return np.minimum(low, flip), np.maximum(high, flip)


def inner_flip(flip: FloatArray, votes: FloatArray) -> FloatArray:
    """Return the flips, kept at least half a vote away from 0 and 1."""
    least = 0.5 / (votes + 1)
    return np.clip(flip, least, 1 - least)


def verdicts(flip: FloatArray, low: FloatArray, high: FloatArray, habits: ResponseBias | None = None) -> list[str]:
    """Return a verdict on each annotator, one of :data:`VERDICTS`.

    Parameters
    ----------
    flip, low, high : ndarray
        Of each annotator, with the ends of the interval.
    habits : ResponseBias, optional
        How they treat sides and ties; without it nobody is called position-biased, one-sided or tie-lazy.
    """
    found = [_by_flip(*values) for values in zip(flip.tolist(), low.tolist(), high.tolist(), strict=True)]
    if habits is None:
        return found
    for k in np.flatnonzero(habits.decided < _LEAST_VOTES):
        found[k] = found[k] if found[k] == "adversarial" else "too few votes"
    limit = _limit(len(flip))
    for k in np.flatnonzero(_tie_lazy(habits, limit)):
        found[k] = found[k] if found[k] in ("adversarial", "random") else "tie-lazy"
    one_sided = np.maximum(habits.left, habits.decided - habits.left) >= _ALWAYS * habits.decided
    for k in np.flatnonzero(leaning(habits)):
        if one_sided[k]:
            found[k] = "one-sided"
        elif found[k] != "adversarial":
            found[k] = "position-biased"
    for k in np.flatnonzero((habits.decided > 0) & (habits.checked == 0)):
        found[k] = "alone"
    return found


def _by_flip(flip: float, low: float, high: float) -> str:
    if low > 0.5:
        return "adversarial"
    if not high - low <= _TOO_WIDE:
        return "too few votes"
    if flip > _AGAINST:
        return "adversarial"
    if high < 0.5:
        return "reliable" if flip <= _RELIABLE else "noisy"
    if flip <= _COIN:
        return "noisy"
    return "random" if low > _RELIABLE else "too few votes"


def _limit(n_annotators: int) -> float:
    """Return how many standard errors are significant for one of so many annotators."""
    return -float(ndtri(_FALSE_ALARM / (2 * max(n_annotators, 1))))


def leaning(habits: ResponseBias) -> BoolArray:
    """Return who picks a side more often than the items explain, significantly and by a relevant amount."""
    limit = _limit(len(habits.decided))
    surplus = np.abs(habits.left - habits.expected_left)
    sure = surplus > limit * np.sqrt(habits.left_variance)
    return sure & (habits.decided >= _LEAST_VOTES) & (surplus >= _LEAST_LEAN * habits.decided)


def _tie_lazy(habits: ResponseBias, limit: float) -> BoolArray:
    """Return who ties far more often than others on comparable pairs."""
    surplus = habits.ties - habits.expected_ties
    # The variance of one more tie, so that a single tie does not count much if the others never tie.
    sure = surplus > limit * np.sqrt(habits.tie_variance + 1)
    return sure & (habits.votes >= _LEAST_VOTES) & (surplus >= _LEAST_TIES * habits.votes)


def evidence(
    found: list[str], flip: FloatArray, low: FloatArray, high: FloatArray, habits: ResponseBias | None = None
) -> list[str]:
    """Return the evidence for each verdict, as a phrase with numbers.

    Parameters
    ----------
    found : list of str
        The result of :func:`verdicts` for the same arguments.
    flip, low, high, habits
        As there; ends that are NaN are not shown.
    """
    phrases = []
    for k, (verdict, *values) in enumerate(zip(found, flip.tolist(), low.tolist(), high.tolist(), strict=True)):
        if verdict == "alone":
            phrases.append("no vote is between two items on which others voted too: errors look like close pairs")
        elif verdict == "unresolved":
            phrases.append("the compared pairs form no cycle: errors look like close pairs")
        elif habits is not None and verdict in _BY_HABIT:
            phrases.append(_habit(verdict, habits, k))
        else:
            phrases.append(_flip(verdict, *values))
    return phrases


def actions(found: list[str]) -> list[str]:
    """Return the action for each verdict."""
    return [ACTIONS[verdict] for verdict in found]


_BY_HABIT = ("position-biased", "one-sided", "tie-lazy")


def _habit(verdict: str, habits: ResponseBias, k: int) -> str:
    if verdict == "tie-lazy":
        return (
            f"tie on {number(habits.ties[k])} of {number(habits.votes[k])} votes; "
            f"{habits.expected_ties[k]:.1f} expected from the other annotators"
        )
    left, decided, expected = habits.left[k], habits.decided[k], habits.expected_left[k]
    side, picked, explained = (
        ("left", left, expected) if left > expected else ("right", decided - left, decided - expected)
    )
    return (
        f"picked the {side} on {number(picked)} of {number(decided)} votes; {explained:.1f} expected from the items"
    )


def _flip(verdict: str, flip: float, low: float, high: float) -> str:
    known = not np.isnan(low)
    found = f"flip {flip:.2f}" + (f", between {low:.2f} and {high:.2f}" if known else "")
    meanings = {
        "random": f": at least {_COIN:g}, and the interval includes 0.5" if known else ": as often wrong as right",
        "adversarial": ": more wrong than right",
        "too few votes": ": too few votes for a verdict",
    }
    return found + meanings.get(verdict, "")


def best_first(frame: Any) -> Any:
    """Return a polars frame of annotators by flip, lowest first; those with too few votes to be judged come last."""
    import polars as pl

    return frame.sort(pl.col("verdict") == "too few votes", "flip", maintain_order=True)
