"""Twins of the kernels of the families model."""

from __future__ import annotations

import numpy as np

from jamrank.typing import FloatArray, IntArray


def absorb_effects(
    precision: FloatArray,
    shift: FloatArray,
    variance: FloatArray,
    left: FloatArray,
    moved: FloatArray,
    gained: FloatArray,
    items: int,
) -> None:
    """Integrate normal effects out of likelihoods ``exp(h x - x P x / 2)``; see ``absorb`` in effects.hpp."""
    count = len(precision) // items**2
    each = len(variance) // count
    own = precision.reshape(count, items, items).repeat(each, axis=0)
    shifts, spread = shift.reshape(count, items, -1).repeat(each, axis=0), variance[:, None, None]
    matrix = np.eye(items) + spread * own
    inverse = np.linalg.inv(matrix)
    through = inverse @ shifts
    log_det = np.linalg.slogdet(matrix)[1]
    gained[:] = (0.5 * variance[:, None] * (shifts * through).sum(axis=1) - 0.5 * log_det[:, None]).ravel()
    if len(left):
        # (I + v P)⁻¹ P = (I - (I + v P)⁻¹) / v
        some = np.where(spread > 0, spread, 1.0)
        left[:] = np.where(spread > 0, (np.eye(items) - inverse) / some, own).ravel()
        moved[:] = through.ravel()


def draw_effects(
    precision: FloatArray, shift: FloatArray, variance: FloatArray, noise: FloatArray, drawn: FloatArray, items: int
) -> None:
    """Draw normal effects given their likelihoods, from standard normal noise."""
    own, sd = precision.reshape(-1, items, items), np.sqrt(variance)[:, None, None]
    matrix = np.eye(items) + sd**2 * own
    lower, around = np.linalg.cholesky(matrix), noise.reshape(-1, items, 1)
    # lower noise has the covariance of the matrix, and its solution that of the inverse.
    drawn[:] = (sd * np.linalg.solve(matrix, sd * shift.reshape(-1, items, 1) + lower @ around)).ravel()


def lapse_likelihood(
    annotator: IntArray,
    winner: IntArray,
    loser: IntArray,
    weight: FloatArray,
    own: FloatArray,
    lapse: FloatArray,
    value: FloatArray,
    on_own: FloatArray,
    on_lapse: FloatArray,
    annotators: int,
    items: int,
) -> None:
    """Write log-likelihoods of votes by chain and annotator, and unless ``on_own`` is empty their gradients."""
    chains, cells = len(lapse) // annotators, annotators * items
    scores, rate = own.reshape(chains, annotators, items), lapse.reshape(chains, annotators)[:, annotator]
    # Scores that are much below an annotator's highest count as so far below.
    scores = np.maximum(scores, scores.max(axis=2, keepdims=True) - 300.0)
    margin = scores[:, annotator, winner] - scores[:, annotator, loser]
    better, worse = 1.0 / (1.0 + np.exp(-margin)), 1.0 / (1.0 + np.exp(margin))
    says = 0.5 * rate + (1 - rate) * better
    base = np.arange(chains)[:, None]

    def add_up(values: FloatArray, at: IntArray, size: int) -> FloatArray:
        return np.bincount((base * size + at).ravel(), values.ravel(), chains * size).astype(np.float64)

    value[:] = add_up(weight * np.log(says), annotator, annotators)
    if len(on_own):
        on_margin = weight * (1 - rate) * better * worse / says
        on_own[:] = add_up(on_margin, annotator * items + winner, cells)
        on_own -= add_up(on_margin, annotator * items + loser, cells)
        on_lapse[:] = add_up(weight * (0.5 - better) / says, annotator, annotators)


def expand_cells(
    annotator: IntArray,
    first: IntArray,
    second: IntArray,
    won: FloatArray,
    lost: FloatArray,
    scores: FloatArray,
    log_odds: FloatArray,
    covariance: FloatArray,
    both: FloatArray,
    variance: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    slope: FloatArray,
    information: FloatArray,
    pull: FloatArray,
    items: int,
) -> None:
    """Write normal likelihoods of votes by annotator and pair; see ``LapseCells`` and what follows in effects.hpp."""
    k, n, count = len(log_odds), items, won + lost
    upper, lower = annotator * n + first, annotator * n + second
    margin, odds = scores[upper] - scores[lower], log_odds[annotator]
    points = [(np.zeros_like(margin), np.zeros_like(margin))]
    if len(covariance):
        spread = covariance.reshape(k, n, n)
        own = np.diagonal(spread, axis1=1, axis2=2).ravel()
        sd = np.sqrt(np.maximum(own[upper] + own[lower] - 2 * spread[annotator, first, second], 1e-12))
        along = (both[upper] - both[lower]) / sd
        rest = np.sqrt(np.maximum(variance[annotator] - along**2, 0.0))
        root = np.sqrt(2.0)
        points = [
            (by * root * x, by * root * y) for x, y in ((sd, along), (points[0][0], rest)) for by in (1.0, -1.0)
        ]
    on_scores, on_odds, of_scores, of_both, of_odds = np.zeros((5, len(won)))
    for apart, more in points:
        better, lapse = (1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0))) for x in (margin + apart, odds + more))
        toss, by_margin = lapse * (0.5 - better), (1 - lapse) * better * (1 - better)
        proba, by_odds = better + toss, toss * (1 - lapse)
        weight = 1.0 / (len(points) * np.maximum(proba * (1 - proba), 1e-9))
        residual, weight = (won - count * proba) * weight, weight * count
        on_scores += residual * by_margin
        on_odds += residual * by_odds
        of_scores += weight * by_margin**2
        of_both += weight * by_margin * by_odds
        of_odds += weight * by_odds**2

    def by_item(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(upper, values, k * n) - np.bincount(lower, values, k * n), np.float64)

    found = -np.bincount(upper * n + second, of_scores, k * n * n).reshape(k, n, n)
    found = found + found.transpose(0, 2, 1)
    at = np.arange(n)
    found[:, at, at] = -found.sum(axis=2)
    precision[:] = found.ravel()
    shift[:] = by_item(on_scores + of_scores * margin + of_both * odds)
    slope[:] = by_item(of_both)
    information[:] = np.bincount(annotator, of_odds, k)
    pull[:] = np.bincount(annotator, on_odds + of_odds * odds + of_both * margin, k)
