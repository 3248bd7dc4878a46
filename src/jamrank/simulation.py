"""Votes with a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
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
    scores : ndarray
        True score of each of ``votes.items``.
    flips : ndarray
        True flip of each of ``votes.annotators``.
    features : ndarray or None
        Features of each item, of which the scores are a linear function plus noise.
    """

    votes: Comparisons
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
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation
    """
    if n_items < 2 or n_annotators < 1 or n_votes < 1:
        raise ParameterError("a simulation needs at least 2 items, 1 annotator and 1 vote")
    rng = np.random.default_rng(random_state)
    rates = _flips(flips, n_annotators, rng)
    scores, features = _scores(n_items, n_features, spread, rng)
    # Every item and annotator appears, so that their codes are the numbers used here.
    left = np.concatenate([np.arange(n_items), rng.integers(0, n_items, max(n_votes - n_items, 0))])[:n_votes]
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    who = np.concatenate([np.arange(n_annotators), rng.integers(0, n_annotators, n_votes)])[:n_votes]
    rng.shuffle(who)
    truth = rng.random(n_votes) < expit(scores[left] - scores[right])
    said = (truth ^ (rng.random(n_votes) < rates[who])).astype(np.float64)
    said[rng.random(n_votes) < tie_rate] = 0.5
    item = np.array([f"item{k:0{len(str(n_items - 1))}d}" for k in range(n_items)], dtype=object)
    name = np.array([f"ann{k:0{len(str(n_annotators - 1))}d}" for k in range(n_annotators)], dtype=object)
    votes = Comparisons.from_arrays(item[left], item[right], name[who], said)
    seen_items, seen_who = np.unique(np.concatenate([left, right])), np.unique(who)
    kept = None if features is None else features[seen_items]
    return Simulation(votes, scores[seen_items], rates[seen_who], kept)


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


def _scores(
    n_items: int, n_features: int, spread: float, rng: np.random.Generator
) -> tuple[Doubles, Doubles | None]:
    if not n_features:
        return spread * rng.standard_normal(n_items), None
    features = rng.standard_normal((n_items, n_features))
    explained = features @ rng.standard_normal(n_features) / np.sqrt(n_features)
    own = rng.standard_normal(n_items)
    return spread * (np.sqrt(0.8) * explained + np.sqrt(0.2) * own), features
