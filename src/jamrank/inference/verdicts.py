"""What to think of an annotator, from the flip and how surely it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from jamrank.inference.response_bias import ResponseBias
from jamrank.text import number
from jamrank.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "ACTIONS",
    "VERDICTS",
    "Verdicts",
    "actions",
    "best_first",
    "evidence",
    "flip_intervals",
    "inner_flip",
    "judge",
    "name_copies",
    "verdicts",
]


ACTIONS = {
    "reliable": "keep",
    "noisy": "keep; votes count for less, more of them help",
    "random": "leave out, or replace: the votes add next to nothing",
    "adversarial": "ask whether the scale was read upside down; models with flips turn these votes over",
    "position-biased": "leave out, and show pairs in random order or in both orders",
    "one-sided": "leave out: the votes tell nothing of the items",
    "tie-lazy": "keep, and ask for a decision where there is a difference",
    "too few votes": "collect more votes before judging",
    "alone": "have others vote on the same items",
}
VERDICTS = tuple(ACTIONS)

# A flip up to here is what careful people have; a vote is worth a quarter of a perfect one at least.
_RELIABLE = 0.25
# Between these a flip that cannot be told from 1/2 is a coin's. Lower, careful people would be accused; higher, it is
# twice as often wrong as right.
_COIN, _AGAINST = 0.4, 2 / 3
# An interval wider than this says nothing about whom to trust.
_TOO_WIDE = 0.5
# How likely a crowd without any such habit may have one annotator accused of a side, or of ties.
_FALSE_ALARM = 0.02
# Least votes to judge anybody by, and least surplus as a share of them for a habit to be worth a word.
_LEAST_VOTES, _LEAST_LEAN, _LEAST_TIES = 10, 0.1, 0.2
_ALWAYS = 0.96


@dataclass(frozen=True)
class Verdicts:
    """A verdict on each annotator, the evidence for it, and what to do."""

    verdict: list[str]
    evidence: list[str]
    action: list[str]


def judge(flip: FloatArray, low: FloatArray, high: FloatArray, habits: ResponseBias | None = None) -> Verdicts:
    """Return verdicts with evidence and actions; the arguments are those of :func:`verdicts`."""
    found = verdicts(flip, low, high, habits)
    return Verdicts(found, evidence(found, flip, low, high, habits), actions(found))


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


def flip_intervals(
    flip: FloatArray, information: FloatArray, votes: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of the flips, normal on the logit scale.

    Parameters
    ----------
    flip : ndarray
        Estimates.
    information : ndarray
        Information on each flip's logit; where it is not positive nothing is known.
    votes : ndarray
        Decided votes of each annotator: from none wrong in n follows a flip of about half a vote in n, not of 0.
    level : float
        Probability that they are to cover.
    """
    centre = logit(inner_flip(flip, votes))
    reach = float(ndtri((1 + level) / 2)) / np.sqrt(np.maximum(information, 1e-6))
    low, high = np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))
    return np.minimum(low, flip), np.maximum(high, flip)


def inner_flip(flip: FloatArray, votes: FloatArray) -> FloatArray:
    """Return the flips, those nearer to 0 or 1 than half a vote moved to there."""
    least = 0.5 / (votes + 1)
    return np.clip(flip, least, 1 - least)


def verdicts(flip: FloatArray, low: FloatArray, high: FloatArray, habits: ResponseBias | None = None) -> list[str]:
    """Return a verdict on each annotator, one of :data:`VERDICTS`.

    Parameters
    ----------
    flip, low, high : ndarray
        Of each annotator, with the ends of the interval.
    habits : Habits, optional
        How they treat sides and ties; without it none is called position-biased, one-sided or tie-lazy.
    """
    told = [_by_flip(*values) for values in zip(flip.tolist(), low.tolist(), high.tolist(), strict=True)]
    if habits is None:
        return told
    for k in np.flatnonzero(habits.decided < _LEAST_VOTES):
        told[k] = told[k] if told[k] == "adversarial" else "too few votes"
    limit = -float(ndtri(_FALSE_ALARM / (2 * max(len(flip), 1))))
    for k in np.flatnonzero(_tie_lazy(habits, limit)):
        told[k] = told[k] if told[k] in ("adversarial", "random") else "tie-lazy"
    one_sided = np.maximum(habits.left, habits.decided - habits.left) >= _ALWAYS * habits.decided
    for k in np.flatnonzero(_leaning(habits, limit)):
        told[k] = "one-sided" if one_sided[k] else "position-biased"
    for k in np.flatnonzero((habits.decided > 0) & (habits.checked == 0)):
        told[k] = "alone"
    return told


def _by_flip(flip: float, low: float, high: float) -> str:
    if low > 0.5:
        return "adversarial"
    if not high - low <= _TOO_WIDE:
        return "too few votes"
    if flip > _AGAINST:
        return "adversarial"
    if high < 0.5:
        return "reliable" if flip <= _RELIABLE else "noisy"
    return "random" if flip > _COIN else "noisy"


def _leaning(habits: ResponseBias, limit: float) -> BoolArray:
    """Tell who picks a side more often than the items explain: surely, and by more than a trifle."""
    surplus = np.abs(habits.left - habits.expected_left)
    sure = surplus > limit * np.sqrt(habits.left_variance)
    return sure & (habits.decided >= _LEAST_VOTES) & (surplus >= _LEAST_LEAN * habits.decided)


def _tie_lazy(habits: ResponseBias, limit: float) -> BoolArray:
    """Tell who ties far more often than others on comparable pairs."""
    surplus = habits.ties - habits.expected_ties
    # One tie more in the variance: where the others never tie, a single tie must not weigh much.
    sure = surplus > limit * np.sqrt(habits.tie_variance + 1)
    return sure & (habits.votes >= _LEAST_VOTES) & (surplus >= _LEAST_TIES * habits.votes)


def evidence(
    told: list[str], flip: FloatArray, low: FloatArray, high: FloatArray, habits: ResponseBias | None = None
) -> list[str]:
    """Return what speaks for each verdict, as a phrase with the numbers.

    Parameters
    ----------
    told : list of str
        What :func:`verdicts` returned for the same arguments.
    flip, low, high, habits
        As there.
    """
    found = []
    for k, (verdict, *values) in enumerate(zip(told, flip.tolist(), low.tolist(), high.tolist(), strict=True)):
        if verdict == "alone":
            found.append("nobody else voted on these items: errors cannot be distinguished from close pairs")
        elif habits is not None and verdict in _BY_HABIT:
            found.append(_habit(verdict, habits, k))
        else:
            found.append(_flip(verdict, *values))
    return found


def actions(told: list[str]) -> list[str]:
    """Return what to do about each annotator, as :func:`verdicts` judged them."""
    return [ACTIONS[verdict] for verdict in told]


_BY_HABIT = ("position-biased", "one-sided", "tie-lazy")


def _habit(verdict: str, habits: ResponseBias, k: int) -> str:
    if verdict == "tie-lazy":
        return (
            f"tie on {number(habits.ties[k])} of {number(habits.votes[k])} votes; others would say it on "
            f"{habits.expected_ties[k]:.1f}"
        )
    left, decided, expected = habits.left[k], habits.decided[k], habits.expected_left[k]
    side, picked, explained = (
        ("left", left, expected) if left > expected else ("right", decided - left, decided - expected)
    )
    return f"picked the {side} on {number(picked)} of {number(decided)} votes; the items explain {explained:.1f}"


def _flip(verdict: str, flip: float, low: float, high: float) -> str:
    told = f"flip {flip:.2f}, between {low:.2f} and {high:.2f}"
    meanings = {
        "random": ": one half is among them",
        "adversarial": ": more wrong than right",
        "too few votes": ": too little to tell",
    }
    return told + meanings.get(verdict, "")


def best_first(frame: Any) -> Any:
    """Return a polars frame of annotators by flip, lowest first; those with too few votes to be judged come last."""
    import polars as pl

    return frame.sort(pl.col("verdict") == "too few votes", "flip", maintain_order=True)
