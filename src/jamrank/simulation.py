"""Votes with a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from jamrank.comparisons import Comparisons
from jamrank.errors import ParameterError

__all__ = ["Simulation", "simulate"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Simulation:
    """Votes, and what they were drawn from.

    Attributes
    ----------
    votes : Comparisons
    frame : polars.DataFrame
        The votes one by one, in the canonical form.
    scores : ndarray
        True score of each of ``votes.items``.
    flips : ndarray
        True flip of each of ``votes.annotators``.
    features : ndarray or None
        Features of each item, of which the scores are a linear function plus noise.
    """

    votes: Comparisons
    frame: pl.DataFrame
    scores: Doubles
    flips: Doubles
    features: Doubles | None


def simulate(
    n_items: int = 50,
    n_annotators: int = 10,
    n_votes: int = 5000,
    *,
    flips: ArrayLike | None = None,
    spread: float = 2.0,
    n_features: int = 0,
    tie_rate: float = 0.0,
    truth: str = "pair",
    random_state: Any = None,
) -> Simulation:
    """Draw votes on random pairs from items with normal scores, by annotators who flip.

    Parameters
    ----------
    n_items, n_annotators, n_votes : int
        How many of each.
    flips : array-like, optional
        Flip of each annotator; drawn from Beta(2, 8), every tenth annotator an adversary at 0.8, unless given.
    spread : float
        Standard deviation of the scores, in log-odds.
    n_features : int
        Number of features that explain four fifths of the variance of the scores.
    tie_rate : float
        Share of votes that are ties whatever the pair.
    truth : {"pair", "vote"}
        Whether one truth is drawn for each pair, as JAM has it, or one for each vote, as CrowdBT has it.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation
    """
    _validate(n_items, n_annotators, n_votes, spread, n_features, tie_rate, truth)
    rng = np.random.default_rng(random_state)
    rates = _flips(flips, n_annotators, rng)
    scores, features = _scores(n_items, n_features, spread, rng)
    # Every item and annotator appears, if there are votes enough.
    left = np.concatenate([np.arange(n_items), rng.integers(0, n_items, max(n_votes - n_items, 0))])[:n_votes]
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    who = np.concatenate([np.arange(n_annotators), rng.integers(0, n_annotators, n_votes)])[:n_votes]
    rng.shuffle(who)
    left_better = _truths(left, right, scores, truth, rng)
    said = np.where(left_better ^ (rng.random(n_votes) < rates[who]), "left", "right")
    said[rng.random(n_votes) < tie_rate] = "tie"
    item, name = _names("item", n_items), _names("ann", n_annotators)
    columns = {"annotator": name[who], "left": item[left], "right": item[right], "winner": said}
    frame = pl.DataFrame({key: column.tolist() for key, column in columns.items()})
    seen_items, seen_who = np.unique(np.concatenate([left, right])), np.unique(who)
    kept = None if features is None else features[seen_items]
    return Simulation(Comparisons.from_frame(frame), frame, scores[seen_items], rates[seen_who], kept)


def _validate(
    n_items: int, n_annotators: int, n_votes: int, spread: float, n_features: int, tie_rate: float, truth: str
) -> None:
    if n_items < 2 or n_annotators < 1 or n_votes < 1:
        raise ParameterError("a simulation needs at least 2 items, 1 annotator and 1 vote")
    if not 0 <= tie_rate <= 1:
        raise ParameterError(f"tie_rate is {tie_rate!r}; expected a share, between 0 and 1")
    if not (np.isfinite(spread) and spread >= 0):
        raise ParameterError(f"spread is {spread!r}; expected a number of at least 0")
    if n_features < 0:
        raise ParameterError(f"n_features is {n_features!r}; expected at least 0")
    if truth not in ("pair", "vote"):
        raise ParameterError(f"truth is {truth!r}; expected 'pair' or 'vote'")


def _names(prefix: str, count: int) -> NDArray[Any]:
    return np.array([f"{prefix}{k:0{len(str(count - 1))}d}" for k in range(count)], dtype=object)


def _truths(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    scores: Doubles,
    truth: str,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Draw whether left is truly better, once for each vote or once for each pair."""
    if truth == "vote":
        return np.asarray(rng.random(len(left)) < expit(scores[left] - scores[right]))
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, of_vote = np.unique(first * len(scores) + second, return_inverse=True)
    margin = scores[pairs // len(scores)] - scores[pairs % len(scores)]
    first_better = rng.random(len(pairs)) < expit(margin)
    return np.asarray(first_better[of_vote] ^ (left > right))


def _flips(flips: ArrayLike | None, n_annotators: int, rng: np.random.Generator) -> Doubles:
    if flips is None:
        drawn = rng.beta(2, 8, n_annotators)
        drawn[9::10] = 0.8
        return drawn
    rates = np.asarray(flips, dtype=np.float64)
    if rates.shape != (n_annotators,):
        raise ParameterError(f"{rates.size} flips for {n_annotators} annotators; expected one each")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ParameterError("a flip is a probability, between 0 and 1")
    return rates


def _scores(n_items: int, n_features: int, spread: float, rng: np.random.Generator) -> tuple[Doubles, Doubles | None]:
    if not n_features:
        return spread * rng.standard_normal(n_items), None
    features = rng.standard_normal((n_items, n_features))
    explained = _standard(features @ rng.standard_normal(n_features))
    own = rng.standard_normal(n_items)
    own = own - explained * (own * explained).mean()
    return spread * (np.sqrt(0.8) * explained + np.sqrt(0.2) * _standard(own)), features


def _standard(values: Doubles) -> Doubles:
    centred = values - values.mean()
    deviation = float(np.sqrt((centred**2).mean()))
    return np.asarray(centred / deviation if deviation > 0 else centred)
