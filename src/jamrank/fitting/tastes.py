"""Fits scores, discriminations and own tastes of annotators: a Gaussian variational approximation.

Annotator ``k`` has the scores ``q_ki = a_k s_i + e_ki`` in mind, with normal discriminations ``a_k`` about 1 and
normal effects ``e_ki`` of deviation ``sd``. Slopes and curvatures of the likelihood are averaged over the posterior
of each margin, effects and discriminations are integrated out of the information on the scores, and the variances are
those that the posterior implies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from jamrank.fitting.taste_votes import Block, TasteVotes
from jamrank.typing import FloatArray, IntArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Largest step of a score, an effect or a discrimination.
_LARGEST = 1.5
# Variances start here; the least one, and the largest of tastes.
_START, _START_SLOPES, _LEAST, _MOST = 0.3, 0.1, 1e-6, 25.0
# Pseudo-annotators with a discrimination that differs by this variance, and pseudo-annotators of ties.
_PSEUDO, _PSEUDO_VARIANCE = 2.0, 0.1
# Shares of steps change by these factors after a larger and after a smaller step, down to the smallest.
_BACK, _ON, _SMALLEST = 0.7, 1.1, 0.2
# Steps of the logarithm of a variance: a share of what is implied, not to go to and fro, and the longest.
_DAMPED, _LONGEST = 0.7, 1.0
# Scores are returned on a scale on which the mean discrimination is 1, but are never turned.
_LEAST_MEAN = 0.1


class Variances(NamedTuple):
    """Prior variances of the scores, of own effects on items, of discriminations and of logarithms of thresholds."""

    score: float = 1.0
    own: float = _START
    slope: float = _START_SLOPES
    tie: float = _PSEUDO_VARIANCE


@dataclass(frozen=True)
class TasteFit:
    """Posterior means and variances; items and annotators as in the votes.

    covariance: Of the scores, with effects and discriminations integrated out.
    own, own_variance: By annotator and item of ``TasteVotes.cells``: the score that the annotator has in mind, and
        its variance, such that differences have the sum of both.
    threshold: Logarithm of each annotator's threshold of ties, in Davidson's model; None without ties.
    """

    scores: FloatArray
    covariance: FloatArray
    slopes: FloatArray
    own: FloatArray
    own_variance: FloatArray
    threshold: FloatArray | None
    variances: Variances
    converged: bool
    n_iter: int


@dataclass(frozen=True)
class _Part:
    """A block, with posterior means of its effects, and matrices of one iteration."""

    block: Block
    effects: FloatArray
    gradient: FloatArray
    given: FloatArray
    """Covariance of effects and discriminations given the scores."""
    with_scores: FloatArray
    """Their information with the scores."""

    def change(self, step: FloatArray) -> FloatArray:
        """Return the Newton step of effects and discriminations, given that of the scores and of padding."""
        left = self.gradient - (self.with_scores @ step[self.block.items][:, :, None])[..., 0]
        return np.asarray((self.given @ left[..., None])[..., 0])


@dataclass
class _State:
    votes: TasteVotes
    scores: FloatArray
    slopes: FloatArray
    effects: list[FloatArray]
    margin: FloatArray
    spread: FloatArray
    threshold: FloatArray | None
    tie_mean: float
    variances: Variances
    share: float = 1.0
    """Of a Newton step that is taken: less where steps go to and fro."""
    excess: float = 1.0
    """By how much larger the posterior implies the variances of tastes and scores to be than they may be."""


def fit_tastes(votes: TasteVotes, max_iter: int, tol: float) -> TasteFit:
    """Return the fit; see the module."""
    blocks = votes.blocks()
    state = _start(votes, blocks)
    cell, converged = votes.cells[0], False
    own, own_variance = np.zeros(len(cell)), np.zeros(len(cell))
    covariance = np.eye(len(votes.items))
    done, last = 0, np.inf
    while not converged and done < max_iter:
        done += 1
        before = state.variances
        covariance, step = _iterate(state, blocks, own, own_variance)
        moved = max(abs(np.log(now / then)) for now, then in zip(state.variances, before, strict=True))
        state.share = max(state.share * _BACK, _SMALLEST) if step > last else min(state.share * _ON, 1.0)
        last = step
        converged = step < 10 * tol * (1 + np.sqrt(state.variances.own)) and bool(moved < tol)
    if state.excess > 1:  # the bound must not make intervals too narrow
        known = state.variances
        state.variances = known._replace(own=known.own * state.excess, score=known.score * state.excess)
        covariance, _ = _iterate(state, blocks, own, own_variance)
    scores = state.scores - state.scores.mean()
    return TasteFit(
        scores, covariance, state.slopes, own, own_variance, state.threshold, state.variances, converged, done
    )


def _start(votes: TasteVotes, blocks: list[Block]) -> _State:
    n, k = len(votes.items), len(votes.annotators)
    threshold, mean = None, 0.0
    if votes.tied.any():
        mean = float(np.log(2 * votes.tied.sum() / max((votes.won + votes.lost).sum(), 1.0)))
        threshold = np.full(k, mean)
    zeros = [np.zeros(block.items.shape) for block in blocks]
    rows = len(votes.annotator)
    return _State(votes, np.zeros(n), np.ones(k), zeros, np.zeros(rows), np.ones(rows), threshold, mean, Variances())


def likelihood(
    margin: FloatArray, variance: FloatArray, won: FloatArray, lost: FloatArray, tied: FloatArray, odds: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return slope and curvature in the margin, averaged over its posterior, and how many ties are expected.

    odds: Odds of a tie against a decided vote between equal items, times 2; 0 without ties.

    Returns
    -------
    slope, curvature, expected, tie_curvature : ndarray
        The last is that in the logarithm of the odds.
    """
    total = won + lost + tied
    lean, square, tie, tie_square = (np.zeros(len(margin)) for _ in range(4))
    sd = np.sqrt(np.maximum(variance, 0.0))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        at = margin + node * sd
        decided = 1.0 / (1.0 + odds / (2.0 * np.cosh(np.minimum(np.abs(at) / 2, 300.0))))
        turn = decided * np.tanh(at / 2)
        lean += weight * turn
        square += weight * (decided - turn**2)
        tie += weight * (1 - decided)
        tie_square += weight * decided * (1 - decided)
    return 0.5 * (won - lost - total * lean), 0.25 * total * square, total * tie, total * tie_square


def _iterate(
    state: _State, blocks: list[Block], own: FloatArray, own_variance: FloatArray
) -> tuple[FloatArray, float]:
    """Make a Newton step, then set the variances to what it implies. Return covariance and largest step."""
    votes, prior, n = state.votes, state.variances, len(state.scores)
    odds = np.zeros(len(votes.annotator)) if state.threshold is None else np.exp(state.threshold)[votes.annotator]
    slope, curve, tie, tie_curve = likelihood(state.margin, state.spread, votes.won, votes.lost, votes.tied, odds)
    parts = [_part(state, block, e, slope, curve) for block, e in zip(blocks, state.effects, strict=True)]
    information, gradient = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for part in parts:
        _add(part, state.slopes, slope, curve, information, gradient)
    precise = information[:n, :n] + np.eye(n) / prior.score
    covariance = np.linalg.inv(precise)
    covariance = 0.5 * (covariance + covariance.T)
    step = np.append(covariance @ (gradient[:n] - state.scores / prior.score), 0.0)
    changes = [part.change(step) for part in parts]
    longest = max(float(np.abs(one).max()) for one in (step, *changes))
    share = min(state.share, _LARGEST / max(longest, 1e-300))
    sums, of_slopes, largest = np.zeros(3), 0.0, 0.0
    wide = np.zeros((n + 1, n + 1))
    wide[:n, :n] = covariance
    old = np.append(state.scores, 0.0)
    state.scores = state.scores + share * step[:n]
    for at, (part, change) in enumerate(zip(parts, changes, strict=True)):
        block, there = part.block, part.block.there
        effects = part.effects + share * change[:, :-1] * there
        slopes = state.slopes[block.annotators] + share * change[:, -1]
        mind, variance, of_slope = _posterior(part, state.slopes[block.annotators], old, wide)
        state.effects[at] = effects
        state.slopes[block.annotators] = slopes
        scores = np.append(state.scores, 0.0)[block.items]
        said = slopes[:, None] * scores + effects
        margin = said[block.who, block.first] - said[block.who, block.second]
        largest = max(largest, float(np.abs(margin - state.margin[block.rows]).max()))
        state.margin[block.rows] = margin
        state.spread[block.rows] += state.share * (block.of_votes(mind) - state.spread[block.rows])
        sums += [float((effects**2 * there).sum()), float((variance * there).sum()), float(there.sum())]
        of_slopes += float(of_slope.sum())
        _keep(block, said, mind, votes, own, own_variance)
    voted = np.concatenate([block.annotators for block in blocks])
    _thresholds(state, tie, tie_curve, voted)
    squares = float(((state.slopes[voted] - 1) ** 2).sum())
    of_scores = _Squares(float((state.scores**2).sum()), float(np.trace(covariance)), float(n))
    _variances(state, _Squares(*sums), _Squares(squares, of_slopes, float(len(voted))), of_scores, voted)
    return covariance, largest


def _part(state: _State, block: Block, effects: FloatArray, slope: FloatArray, curve: FloatArray) -> _Part:
    """Return the information on effects and discriminations, inverted, and that with the scores."""
    k, m = block.items.shape
    prior, slopes = state.variances, state.slopes[block.annotators]
    scores = np.append(state.scores, 0.0)[block.items]
    laplacian = block.laplacian(curve[block.rows])
    along = (laplacian @ scores[..., None])[..., 0]
    both = np.empty((k, m + 1, m + 1))
    both[:, :m, :m] = laplacian
    both[:, :m, m] = both[:, m, :m] = along
    both[:, m, m] = (along * scores).sum(axis=1)
    with_scores = slopes[:, None, None] * both[:, :, :m]
    with_scores[:, m] = slopes[:, None] * along
    at = np.arange(m)
    both[:, at, at] += 1.0 / prior.own
    both[:, m, m] += 1.0 / prior.slope
    on_items = block.by_item(slope[block.rows])
    gradient = np.empty((k, m + 1))
    gradient[:, :m] = on_items - effects / prior.own
    gradient[:, m] = (on_items * scores).sum(axis=1) - (slopes - 1.0) / prior.slope
    return _Part(block, effects, gradient, np.linalg.inv(both), with_scores)


def _add(
    part: _Part,
    slopes: FloatArray,
    slope: FloatArray,
    curve: FloatArray,
    information: FloatArray,
    gradient: FloatArray,
) -> None:
    """Add the information on the scores, without what effects and discriminations could explain, and the gradient."""
    block, n = part.block, len(gradient)
    own = slopes[block.annotators]
    crossed = part.with_scores.transpose(0, 2, 1) @ part.given
    left = own[:, None, None] ** 2 * block.laplacian(curve[block.rows]) - crossed @ part.with_scores
    at = (block.items[:, :, None] * n + block.items[:, None, :]).ravel()
    information += np.bincount(at, left.ravel(), n * n).reshape(n, n)
    pull = own[:, None] * block.by_item(slope[block.rows]) - (crossed @ part.gradient[..., None])[..., 0]
    gradient += np.bincount(block.items.ravel(), pull.ravel(), n)


def _posterior(
    part: _Part, slopes: FloatArray, scores: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the covariance of the scores that annotators have in mind, and variances of effects and slopes."""
    items = part.block.items
    m = items.shape[1]
    known = scores[items]
    of_scores = covariance[items[:, :, None], items[:, None, :]]
    pushed = part.given @ part.with_scores
    # What the scores in mind are of effects and slopes, and, through these and by themselves, of the scores.
    through = slopes[:, None, None] * np.eye(m) - pushed[:, :m] - known[:, :, None] * pushed[:, m : m + 1]
    mixed = part.given[:, :m] + known[:, :, None] * part.given[:, m : m + 1]
    mind = mixed[:, :, :m] + mixed[:, :, m : m + 1] * known[:, None, :]
    mind = mind + through @ of_scores @ through.transpose(0, 2, 1)
    spread = np.diagonal(part.given, axis1=1, axis2=2) + ((pushed @ of_scores) * pushed).sum(axis=2)
    return mind, spread[:, :m], spread[:, m]


def _keep(
    block: Block, said: FloatArray, mind: FloatArray, votes: TasteVotes, own: FloatArray, variance: FloatArray
) -> None:
    """Store means and variances of the scores in mind, the latter without what all of an annotator have in common."""
    there, n = block.there, len(votes.items)
    at = np.searchsorted(votes.cells[0], (block.annotators[:, None] * n + block.items)[there])
    own[at] = said[there]
    size = there.sum(axis=1)
    inside = mind * (there[:, :, None] & there[:, None, :])
    rows = inside.sum(axis=2) / size[:, None]
    total = rows.sum(axis=1) / size
    centred = np.diagonal(inside, axis1=1, axis2=2) - 2 * rows + total[:, None]
    variance[at] = (centred * (size / np.maximum(size - 1, 1))[:, None])[there]


def _thresholds(state: _State, tie: FloatArray, curve: FloatArray, voted: IntArray) -> None:
    """Move the logarithms of the thresholds of ties by a Newton step, and set their mean and variance."""
    if state.threshold is None:
        return
    k, votes = len(state.threshold), state.votes
    slope = (
        np.bincount(votes.annotator, votes.tied - tie, k) - (state.threshold - state.tie_mean) / state.variances.tie
    )
    information = np.bincount(votes.annotator, curve, k) + 1.0 / state.variances.tie
    state.threshold = state.threshold + np.clip(slope / information, -1.0, 1.0)
    state.tie_mean = float(state.threshold[voted].mean())
    squares = float(((state.threshold - state.tie_mean)[voted] ** 2 + 1.0 / information[voted]).sum())
    variance = (squares + _PSEUDO * _PSEUDO_VARIANCE) / (len(voted) + _PSEUDO)
    state.variances = state.variances._replace(tie=variance)


def _variances(state: _State, own: _Squares, slope: _Squares, score: _Squares, voted: IntArray) -> None:
    """Set the variances, and move scores and discriminations along the scale that they share."""
    prior = state.variances
    # The likelihood does not change along it.
    factor = max(float(state.slopes[voted].mean()), _LEAST_MEAN)
    state.slopes[voted] /= factor
    state.scores = state.scores * factor
    score = replace(score, squares=score.squares * factor**2)
    squares = float(((state.slopes[voted] - 1) ** 2).sum())
    slope = replace(slope, squares=squares, spread=slope.spread / factor**2)
    taste = own.variance(prior.own)
    # Where annotators never contradict themselves, as with votes from ratings, nothing else bounds the scale.
    share = min(1.0, _MOST / taste)
    state.excess = 1.0 / share
    state.variances = prior._replace(
        own=taste * share,
        slope=slope.variance(prior.slope, _PSEUDO * _PSEUDO_VARIANCE, _PSEUDO),
        score=score.variance(prior.score, 1.0, 1.0) * share,
    )


@dataclass(frozen=True)
class _Squares:
    """Squares of posterior means, variances about them, and the number of effects, added up."""

    squares: float
    spread: float
    number: float

    def variance(self, before: float, squares: float = 0.0, number: float = 0.0) -> float:
        """Return the variance that is implied, with pseudo-effects: squares over the degrees of freedom of the means.

        It has the same fixed point as the step of EM, which is slow where votes say little of each effect.
        """
        free = max(self.number - self.spread / before, 0.05 * self.number)
        wanted = max((self.squares + squares) / (free + number), _LEAST)
        step = np.clip(_DAMPED * np.log(wanted / before), -_LONGEST, _LONGEST)
        return max(float(before * np.exp(step)), _LEAST)


def tie_share(margin: FloatArray, threshold: FloatArray) -> FloatArray:
    """Return how likely a tie is in Davidson's model, given the logarithm of the threshold."""
    return np.asarray(expit(threshold - np.logaddexp(margin / 2, -margin / 2)))
