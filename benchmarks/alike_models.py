"""Lines of the benchmark alike with independent annotators, where scores or flips are not what plain models assume.

Scores that features explain in part, scores with heavy tails, flips that depend on the margin. The oracle knows flips
and variances: it draws scores from their posterior by Hamiltonian trajectories that start at the truth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

import jamrank as jr
from jamrank.inference.uncertainty import Uncertainty

SEED, N_ANNOTATORS, N_VOTES, N_FEATURES = 40_000, 8, 1000, 4
# Weight of each feature: four explain scores of deviation 1.5. Scale of heavy-tailed scores. Margin of ease 1.
WEIGHT, TAIL_SCALE, USUAL_MARGIN = 0.75, 1.0, 1.7
CHAINS, TRAJECTORIES, BURN_IN, STEPS, STEP = 16, 130, 30, 4, 0.4
_SMALL = 1e-4

Array = NDArray[Any]
Posterior = Callable[[Array], Array]


@dataclass(frozen=True)
class ModelLine:
    """What is drawn, and the model that is fitted to it.

    residual: Deviation of what four features leave unexplained; None for scores without features.
    degrees: Of freedom of scores with a t distribution; None for normal scores of deviation 1.5.
    by_margin: Whether flips depend on the margin: their logit is proportional to it.
    """

    name: str
    model: Callable[[], Any]
    truth: str = "pair"
    residual: float | None = None
    degrees: float | None = None
    by_margin: bool = False
    n_items: int = 20
    n_votes: int = N_VOTES
    independent: bool = False
    """Whether CrowdBT is the oracle."""


MODEL_LINES = [
    ModelLine("linear features, residual .5", lambda: jr.JAM(scorer="linear"), residual=0.5),
    ModelLine("linear features, residual 1", lambda: jr.JAM(scorer="linear"), residual=1.0),
    ModelLine("linear+objects, residual 1", lambda: jr.JAM(scorer="linear+objects"), residual=1.0),
    ModelLine("kernel, residual 1, 40 items", lambda: jr.JAM(scorer="kernel"), residual=1.0, n_items=40),
    ModelLine("t2 scores", jr.CrowdBT, truth="vote", degrees=2.0),
    ModelLine("t2 scores, a truth per pair", jr.JAM, degrees=2.0),
    ModelLine("flips depend on the margin", lambda: jr.JAM(noise="difficulty"), by_margin=True),
]


@dataclass(frozen=True)
class Drawn:
    """Votes, and what they were drawn from.

    first, second, of shape (pairs,): The pairs with votes.
    won, lost, of shape (annotators, pairs): How many votes were for the first and for the second item.
    flips: Of each annotator, over all pairs; base: where flips depend on the margin, those at a usual one.
    """

    votes: jr.Comparisons
    features: Array | None
    scores: Array
    flips: Array
    base: Array
    first: Array
    second: Array
    won: Array
    lost: Array


def draw(line: ModelLine, seed: int) -> Drawn:
    """Draw one set."""
    rng = np.random.default_rng([SEED + seed, sum(map(ord, line.name))])
    n, features = line.n_items, None
    if line.residual is not None:
        features = rng.standard_normal((n, N_FEATURES))
        scores = WEIGHT * features @ rng.standard_normal(N_FEATURES) + line.residual * rng.standard_normal(n)
    elif line.degrees is not None:
        scores = TAIL_SCALE * rng.standard_t(line.degrees, n)
    else:
        scores = 1.5 * rng.standard_normal(n)
    base = rng.beta(2.0, 8.0, N_ANNOTATORS)
    left = rng.integers(n, size=line.n_votes)
    right = (left + rng.integers(1, n, line.n_votes)) % n
    who = rng.integers(N_ANNOTATORS, size=line.n_votes)
    low, high = np.minimum(left, right), np.maximum(left, right)
    chance = rng.random((n, n))[low, high] if line.truth == "pair" else rng.random(line.n_votes)
    better = chance < expit(scores[low] - scores[high])
    flips = _flips(line, base, scores[low] - scores[high])[who, np.arange(line.n_votes)]
    says_low = better ^ (rng.random(line.n_votes) < flips)
    votes = jr.Comparisons.from_arrays(left, right, who, (says_low == (left < right)).astype(int))
    first, second = np.triu_indices(n, 1)
    mean = _flips(line, base, scores[first] - scores[second]).mean(axis=1)
    counts = np.zeros((2, N_ANNOTATORS, n, n))
    np.add.at(counts, (np.where(says_low, 0, 1), who, low, high), 1.0)
    first, second = np.nonzero(counts.sum(axis=(0, 1)))
    return Drawn(votes, features, scores, mean, base, first, second, *counts[:, :, first, second])


def _flips(line: ModelLine, base: Array, margins: Array) -> Array:
    """Return flips by annotator and margin."""
    ease = np.abs(margins) / USUAL_MARGIN if line.by_margin else np.ones_like(margins)
    return np.asarray(expit(logit(base)[:, None] * ease[None]))


def oracle(line: ModelLine, drawn: Drawn, seed: int) -> Uncertainty:
    """Return what is uncertain of the scores where flips and variances are known."""

    def of_margins(margins: Array) -> Array:
        """Return log-likelihoods, of margins of shape (chains, pairs)."""
        # Where flips do not depend on it, one margin stands for all.
        flat = margins.reshape(-1) if line.by_margin else np.zeros(1)
        shape = margins.shape if line.by_margin else (1, 1)
        flips = np.clip(_flips(line, drawn.base, flat), 1e-9, 1 - 1e-9).reshape(N_ANNOTATORS, *shape)
        won, lost = drawn.won[:, None], drawn.lost[:, None]
        if line.truth == "vote":
            says_first = flips + (1 - 2 * flips) * expit(margins)
            return np.asarray((won * np.log(says_first) + lost * np.log1p(-says_first)).sum(axis=0))
        right, wrong = np.log1p(-flips), np.log(flips)
        above, below = ((a * right + b * wrong).sum(axis=0) for a, b in ((won, lost), (lost, won)))
        return np.asarray(np.logaddexp(log_expit(margins) + above, log_expit(-margins) + below))

    n, at = line.n_items, drawn.scores
    incidence = np.zeros((len(drawn.first), n))
    rows = np.arange(len(drawn.first))
    incidence[rows, drawn.first], incidence[rows, drawn.second] = 1.0, -1.0
    precision = np.eye(n)
    if line.residual is not None:
        assert drawn.features is not None
        precision = np.linalg.inv(WEIGHT**2 * drawn.features @ drawn.features.T + line.residual**2 * np.eye(n))
    elif line.degrees is None:
        precision = np.eye(n) / 1.5**2

    def value_and_slope(scores: Array) -> tuple[Array, Array]:
        margins = scores @ incidence.T
        up, down = of_margins(margins + _SMALL), of_margins(margins - _SMALL)
        slope = ((up - down) / (2 * _SMALL)) @ incidence
        value = ((up + down) / 2).sum(axis=1)
        if line.degrees is None:
            pulled = scores @ precision
            return value - (scores * pulled).sum(axis=1) / 2, slope - pulled
        nu, unit = line.degrees, scores / TAIL_SCALE
        return (
            value - (nu + 1) / 2 * np.log1p(unit**2 / nu).sum(axis=1),
            slope - (nu + 1) * unit / (nu + unit**2) / TAIL_SCALE,
        )

    wide = 0.05
    margins = (incidence @ at)[None]
    bend = (of_margins(margins + wide) - 2 * of_margins(margins) + of_margins(margins - wide))[0] / wide**2
    curvature = incidence.T @ (np.maximum(-bend, 0.01)[:, None] * incidence) + 0.3 * precision
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    rng = np.random.default_rng([seed, 1])
    place = at + rng.standard_normal((CHAINS, n)) @ root.T
    value, slope = value_and_slope(place)
    kept = []
    for number in range(TRAJECTORIES):
        speed = rng.standard_normal((CHAINS, n))
        energy, new, new_value, new_slope = value - (speed**2).sum(axis=1) / 2, place, value, slope
        step = STEP * rng.uniform(0.7, 1.3)
        speed = speed + step / 2 * new_slope @ root
        for k in range(STEPS):
            new = new + step * speed @ root.T
            new_value, new_slope = value_and_slope(new)
            speed = speed + (step if k < STEPS - 1 else step / 2) * new_slope @ root
        taken = np.log(rng.random(CHAINS)) < new_value - (speed**2).sum(axis=1) / 2 - energy
        place, slope = (np.where(taken[:, None], a, b) for a, b in ((new, place), (new_slope, slope)))
        value = np.where(taken, new_value, value)
        if number >= BURN_IN:
            kept.append(place - place.mean(axis=1, keepdims=True))
    draws = np.concatenate(kept)
    return Uncertainty.of_draws(draws.mean(axis=0), draws, "posterior")


def measure_model(name: str, seed: int) -> dict[str, float]:
    """Draw one set, fit the model of the line, and draw from the oracle's posterior."""
    line = next(line for line in MODEL_LINES if line.name == name)
    drawn = draw(line, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = line.model().fit(drawn.votes, drawn.features)
        unsure = model.uncertainty()
        low, high = model.result_.annotators.flip_range
    known = oracle(line, drawn, seed)
    done = held(unsure, drawn.scores)
    done["flips"] = float(((np.round(low, 3) <= drawn.flips) & (drawn.flips <= high)).mean())
    best = held(known, drawn.scores)
    return {**done, "oracle": best["ranks"], "oracle_width": best["width"], "oracle_scores": best["scores"]}


def held(unsure: Uncertainty, true: Array) -> dict[str, float]:
    """Return how often intervals hold the true ranks and scores, and how wide they are."""
    rank, centred = 1 + (true[None, :] > true[:, None]).sum(axis=1), true - true.mean()
    return {
        "ranks": float(((unsure.rank_low <= rank) & (rank <= unsure.rank_high)).mean()),
        "width": float((unsure.rank_high - unsure.rank_low).mean()),
        "scores": float(((unsure.score_low <= centred) & (centred <= unsure.score_high)).mean()),
    }
