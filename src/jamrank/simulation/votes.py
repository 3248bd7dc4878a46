"""Votes with a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.errors import ParameterError
from jamrank.noise.kmeans import cluster_pairs
from jamrank.rows.eased import NODES, WEIGHTS
from jamrank.scorers import Features
from jamrank.simulation.outcomes import draw_grades, draw_probabilities
from jamrank.simulation.tastes import DrawnTastes, Tastes
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

_SCORERS = ("objects", "linear", "linear+objects", "kernel", "kernel+objects")
# Number of waves in a smooth function; share of the variance that features explain in a sum.
_WAVES, _EXPLAINED = 200, 0.8
_NOISES = ("flip", "two-coin", "difficulty", "clustered flip", "discrimination", "none")


@dataclass(frozen=True)
class Simulation:
    """Simulated votes with their true parameters.

    Attributes
    ----------
    votes : Comparisons
    frame : polars.DataFrame
        The votes one by one, in the canonical form.
    scores : ndarray
        True score of each of ``votes.items``.
    flips : ndarray
        True flip of each of ``votes.annotators``; with clusters, one for each of these. With ``difficulty``, over all
        pairs.
    features : ndarray or None
        Features of each item, of which the scores are a function, with an effect of each item or without.
    bias : ndarray or None
        True bias of each annotator towards the left, in log-odds, where the noise is ``two-coin``.
    discrimination : ndarray or None
        True discrimination of each annotator, where that is the noise; its absolute values have mean 1.
    ties : ndarray or None
        True threshold of each annotator, where ties are drawn from one.
    coef : ndarray or None
        True weight of each feature, where the scores are linear in them, with an effect of each item or without.
    tastes : DrawnTastes or None
        What each annotator has in mind, where annotators do not share the scores.
    """

    votes: Comparisons
    frame: pl.DataFrame
    scores: FloatArray
    flips: FloatArray
    features: FloatArray | None
    bias: FloatArray | None = None
    discrimination: FloatArray | None = None
    ties: FloatArray | None = None
    coef: FloatArray | None = None
    tastes: DrawnTastes | None = None


def simulate(
    n_items: int = 50,
    n_annotators: int = 10,
    n_votes: int = 5000,
    *,
    flips: ArrayLike | None = None,
    spread: float = 2.0,
    n_features: int = 0,
    scorer: str | None = None,
    tie_rate: float = 0.0,
    truth: str = "pair",
    noise: str = "flip",
    bias: ArrayLike | None = None,
    discrimination: ArrayLike | None = None,
    difficulty: float = 1.0,
    ties: ArrayLike | None = None,
    n_clusters: int = 2,
    tastes: Tastes | None = None,
    grades: ArrayLike | None = None,
    soft: float | None = None,
    random_state: Any = None,
) -> Simulation:
    """Draw votes on random pairs from items with normal scores, by annotators who err.

    Parameters
    ----------
    n_items, n_annotators, n_votes : int
        How many of each.
    flips : array-like, optional
        Flip of each annotator (with ``clustered flip``, and cluster); drawn from Beta(2, 8), every tenth annotator an
        adversary at 0.8, unless given. With ``two-coin`` it is the flip that an annotator would have without bias,
        with ``difficulty`` the one on a pair of ease 1.
    spread : float
        Standard deviation of the scores, in log-odds.
    n_features : int
        Number of features that explain the scores, or four fifths of their variance where objects have effects too.
    scorer : {"objects", "linear", "linear+objects", "kernel", "kernel+objects"}, optional
        How scores arise: freely, linearly from the features, as a smooth function of them, or as a sum. Unless given,
        ``linear+objects`` with features and ``objects`` without.
    tie_rate : float
        Share of votes that are ties, for any pair.
    truth : {"pair", "vote"}
        Whether a truth is drawn for each pair, as in JAM, or for each vote, as in CrowdBT.
    noise : {"flip", "two-coin", "difficulty", "clustered flip", "discrimination", "none"}
        How annotators err. With ``discrimination`` there is no latent truth: the log-odds of a vote are margin times
        discrimination. With ``none`` a vote is the truth.
    bias : array-like, optional
        Bias of each annotator towards the left, in log-odds; drawn from a normal with deviation 1/2 unless given.
    discrimination : array-like, optional
        Of each annotator, scaled so that the mean of the absolute values is 1; drawn from a log-normal, every tenth
        annotator negative, unless given.
    difficulty : float
        With ``difficulty``, the standard deviation of the logarithm of the ease of a pair.
    ties : array-like, optional
        Threshold of each annotator: the odds of a tie between equal items (Davidson), in addition to the random ties
        of ``tie_rate``.
    n_clusters : int
        With ``clustered flip``, clusters of pairs by their features.
    tastes : Tastes, optional
        Families, camps, copies, own tastes and covariates of the votes; needs ``truth="vote"`` and the noise ``flip``
        or ``none``. Covariates are further columns of ``frame``.
    grades : array-like, optional
        Thresholds between grades, for all annotators or a row for each: decided votes say how clearly an item won.
    soft : float, optional
        Votes are probabilities, with an error of this deviation in the log-odds; a flip reverses one.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation
    """
    scorer = scorer or ("linear+objects" if n_features else "objects")
    _validate(n_items, n_annotators, n_votes, spread, n_features, tie_rate, truth, scorer)
    if tastes is not None:
        tastes.check(n_annotators)
        if truth != "vote" or noise not in ("flip", "none"):
            raise ParameterError(
                "families, camps, copies and covariates need truth 'vote' and noise 'flip' or 'none'"
            )
    rng = np.random.default_rng(random_state)
    clusters = n_clusters if noise == "clustered flip" else 0
    rates = _flips(flips, n_annotators, clusters, rng)
    scores, features, coef = _scores(n_items, n_features, spread, scorer, rng)
    left, right, who = _design(n_items, n_annotators, n_votes, tastes, rng)
    n_votes = len(left)
    margin = scores[left] - scores[right]
    drawn, covariates = None, np.empty((n_votes, 0))
    if tastes is not None:
        drawn = tastes.draw(scores, n_annotators, spread, rng)
        covariates = tastes.covariates(left, right, n_items, rng)
        margin = drawn.scores[who, left] - drawn.scores[who, right] + (covariates * drawn.effects[who]).sum(axis=1)
    left_better = _truths(left, right, margin, scores, truth, rng)
    lean = sharp = None
    if noise == "discrimination":
        sharp = _sharpness(discrimination, n_annotators, rng)
        says_left = rng.random(n_votes) < expit(sharp[who] * margin)
    elif noise == "two-coin":
        lean = _each("bias", bias, n_annotators) if bias is not None else 0.5 * rng.standard_normal(n_annotators)
        wrong = expit(logit(rates[who]) + np.where(left_better, -1.0, 1.0) * lean[who])
        says_left = left_better ^ (rng.random(n_votes) < wrong)
    elif noise == "difficulty":
        ease = _eases(left, right, n_items, difficulty, rng)
        says_left = left_better ^ (rng.random(n_votes) < expit(logit(rates[who]) * ease))
        rates = expit(np.exp(difficulty * NODES)[:, None] * logit(rates)).T @ WEIGHTS
    elif noise == "clustered flip":
        says_left = left_better ^ (rng.random(n_votes) < rates[who, _clusters(left, right, features, clusters)])
    elif noise in ("flip", "none"):
        says_left = left_better ^ (rng.random(n_votes) < (rates[who] if noise == "flip" else 0.0))
    else:
        raise ParameterError(f"noise is {noise!r}; expected one of {', '.join(_NOISES)}")
    said = np.where(says_left, "left", "right")
    said[rng.random(n_votes) < tie_rate] = "tie"
    thresholds = None
    if ties is not None:
        thresholds = _each("ties", ties, n_annotators)
        tied = thresholds[who] / (np.cosh(margin / 2) + thresholds[who])
        said[rng.random(n_votes) < tied] = "tie"
    more: dict[str, Any] = {}
    if grades is not None:
        more["grade"] = draw_grades(grades, margin, says_left, who, n_annotators, rng)
    if soft is not None:
        more["p_left"] = draw_probabilities(margin, says_left != left_better, soft, rng)
        said[said != "tie"] = np.where(more["p_left"] > 0.5, "left", "right")[said != "tie"]
        more["p_left"][said == "tie"] = np.nan
    if tastes is not None and tastes.copies > 1:
        first = n_annotators - tastes.copies
        rates = np.concatenate([rates[:first], np.repeat(rates[first], tastes.copies)])
        again = np.concatenate([np.arange(n_votes), np.tile(np.flatnonzero(who == first), tastes.copies - 1)])
        copier = np.repeat(np.arange(first + 1, n_annotators), np.count_nonzero(who == first))
        left, right, said, covariates = left[again], right[again], said[again], covariates[again]
        who = np.concatenate([who, copier])
        more = {name: values[again] for name, values in more.items()}
    item, name = _names("item", n_items), _names("ann", n_annotators)
    columns = {"annotator": name[who], "left": item[left], "right": item[right], "winner": said}
    columns |= dict(zip(() if tastes is None else tastes.effects, covariates.T, strict=True))
    frame = pl.DataFrame({key: column.tolist() for key, column in (columns | more).items()}, nan_to_null=True)
    seen_items, seen_who = np.unique(np.concatenate([left, right])), np.unique(who)
    return Simulation(
        Comparisons.from_frame(frame),
        frame,
        scores[seen_items],
        rates[seen_who],
        None if features is None else features[seen_items],
        None if lean is None else lean[seen_who],
        None if sharp is None else sharp[seen_who],
        None if thresholds is None else thresholds[seen_who],
        coef,
        None
        if drawn is None
        else DrawnTastes(drawn.scores[np.ix_(seen_who, seen_items)], drawn.family[seen_who], drawn.effects[seen_who]),
    )


def _design(
    n_items: int, n_annotators: int, n_votes: int, tastes: Tastes | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Return left, right and annotator of each vote; of copies only the first one's."""
    if tastes is not None and tastes.copies > 1:
        n_votes = n_votes * (n_annotators - tastes.copies + 1) // n_annotators
        n_annotators = n_annotators - tastes.copies + 1
    if tastes is not None and tastes.same_pairs:
        return tastes.design(n_items, n_annotators, rng)
    # Every item and annotator appears, if there are votes enough.
    left = np.concatenate([np.arange(n_items), rng.integers(0, n_items, max(n_votes - n_items, 0))])[:n_votes]
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    who = np.concatenate([np.arange(n_annotators), rng.integers(0, n_annotators, n_votes)])[:n_votes]
    rng.shuffle(who)
    return left, right, who


def _validate(
    n_items: int,
    n_annotators: int,
    n_votes: int,
    spread: float,
    n_features: int,
    tie_rate: float,
    truth: str,
    scorer: str,
) -> None:
    if n_items < 2 or n_annotators < 1 or n_votes < 1:
        raise ParameterError("a simulation needs at least 2 items, 1 annotator and 1 vote")
    sizes = {"n_items": n_items, "n_annotators": n_annotators, "n_votes": n_votes}
    for name, size in {**sizes, "n_items times n_features": n_items * n_features}.items():
        if size >= 2**31:
            raise ParameterError(f"{name} is {str(size)[:20]}; expected less than 2³¹, about two billion")
    if not 0 <= tie_rate <= 1:
        raise ParameterError(f"tie_rate is {tie_rate!r}; expected a share, between 0 and 1")
    if not (np.isfinite(spread) and spread >= 0):
        raise ParameterError(f"spread is {spread!r}; expected a number of at least 0")
    if n_features < 0:
        raise ParameterError(f"n_features is {n_features!r}; expected at least 0")
    if truth not in ("pair", "vote"):
        raise ParameterError(f"truth is {truth!r}; expected 'pair' or 'vote'")
    if scorer not in _SCORERS:
        raise ParameterError(f"scorer is {scorer!r}; expected one of {', '.join(_SCORERS)}")
    if scorer != "objects" and not n_features:
        raise ParameterError(f"scorer is {scorer!r}, which needs features; give n_features")


def _eases(left: IntArray, right: IntArray, n_items: int, difficulty: float, rng: np.random.Generator) -> FloatArray:
    """Return the ease of each vote's pair."""
    if not (np.isfinite(difficulty) and difficulty >= 0):
        raise ParameterError(f"difficulty is {difficulty!r}; expected a number of at least 0")
    pairs, of_vote = np.unique(np.minimum(left, right) * n_items + np.maximum(left, right), return_inverse=True)
    return np.asarray(np.exp(difficulty * rng.standard_normal(len(pairs)))[of_vote])


def _names(prefix: str, count: int) -> NDArray[Any]:
    return np.array([f"{prefix}{k:0{len(str(count - 1))}d}" for k in range(count)], dtype=object)


def _truths(
    left: IntArray,
    right: IntArray,
    margin: FloatArray,
    scores: FloatArray,
    truth: str,
    rng: np.random.Generator,
) -> BoolArray:
    """Draw whether left is truly better, once for each vote or once for each pair."""
    if truth == "vote":
        return np.asarray(rng.random(len(left)) < expit(margin))
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, of_vote = np.unique(first * len(scores) + second, return_inverse=True)
    margin = scores[pairs // len(scores)] - scores[pairs % len(scores)]
    first_better = rng.random(len(pairs)) < expit(margin)
    return np.asarray(first_better[of_vote] ^ (left > right))


def _flips(flips: ArrayLike | None, n_annotators: int, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return the flip of each annotator, or of each annotator and cluster."""
    shape = (n_annotators, n_clusters) if n_clusters else (n_annotators,)
    if flips is None:
        drawn = rng.beta(2, 8, shape)
        drawn[9::10] = 0.8
        return drawn
    rates = np.asarray(flips, dtype=np.float64)
    if rates.shape != shape:
        raise ParameterError(f"{rates.size} flips for {n_annotators} annotators; expected one each")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ParameterError("a flip is a probability, between 0 and 1")
    return rates


def _each(name: str, values: ArrayLike, n_annotators: int) -> FloatArray:
    own = np.asarray(values, dtype=np.float64)
    if own.shape != (n_annotators,) or not np.isfinite(own).all():
        raise ParameterError(f"{name} has {own.size} values for {n_annotators} annotators; expected one number each")
    if name == "ties" and not (own >= 0).all():
        raise ParameterError("a threshold for ties is a number of at least 0")
    return own


def _sharpness(discrimination: ArrayLike | None, n_annotators: int, rng: np.random.Generator) -> FloatArray:
    if discrimination is None:
        drawn = np.exp(0.5 * rng.standard_normal(n_annotators))
        drawn[9::10] *= -1.0
    else:
        drawn = _each("discrimination", discrimination, n_annotators)
    size = float(np.abs(drawn).mean())
    if not size > 0:
        raise ParameterError("discrimination is 0 for every annotator; expected at least one other value")
    return drawn / size


def _clusters(left: IntArray, right: IntArray, features: FloatArray | None, n_clusters: int) -> Int32Array:
    """Return the cluster of each vote's pair, as VRJAM finds it."""
    if features is None:
        raise ParameterError("clustered flips need features; give n_features")
    matrix = Features.of(features, [str(f) for f in range(features.shape[1])]).standardise(features)
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, of_vote = np.unique(first * len(features) + second, return_inverse=True)
    ends = (pairs // len(features)).astype(np.int32), (pairs % len(features)).astype(np.int32)
    found = cluster_pairs(*ends, matrix, n_clusters)
    if found.n_clusters != n_clusters:
        raise ParameterError(f"n_clusters is {n_clusters}; there are fewer different pairs")
    return np.asarray(found.cluster[of_vote])


def _scores(
    n_items: int, n_features: int, spread: float, scorer: str, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return the scores, the features, and their weights if scores are linear in them."""
    features = rng.standard_normal((n_items, n_features)) if n_features else None
    if features is None or scorer == "objects":
        return spread * rng.standard_normal(n_items), features, None
    kind, _, objects = scorer.partition("+")
    coef = None
    if kind == "linear":
        coef = rng.standard_normal(n_features)
        raw = features @ coef
        coef = coef * (spread * np.sqrt(_EXPLAINED if objects else 1.0) / max(float(raw.std()), 1e-300))
    else:
        raw = _smooth(features, rng)
    explained = _standard(raw)
    if not objects:
        return spread * explained, features, coef
    own = rng.standard_normal(n_items)
    own = own - explained * (own * explained).mean()
    scores = spread * (np.sqrt(_EXPLAINED) * explained + np.sqrt(1 - _EXPLAINED) * _standard(own))
    return scores, features, coef


def _smooth(features: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a smooth function of the features: random waves that approximate a Gaussian process of bandwidth 1."""
    waves = rng.standard_normal((_WAVES, features.shape[1]))
    phase, size = rng.uniform(0, 2 * np.pi, _WAVES), rng.standard_normal(_WAVES)
    return np.asarray(np.cos(features @ waves.T + phase) @ size)


def _standard(values: FloatArray) -> FloatArray:
    centred = values - values.mean()
    deviation = float(np.sqrt((centred**2).mean()))
    return np.asarray(centred / deviation if deviation > 0 else centred)
