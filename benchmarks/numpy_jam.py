"""JAM's EM loop in plain numpy, as a careful user would write it, in two ways.

Both start from the shrunken vote share, have jamrank's prior, maximise the logistic M-step by scipy's L-BFGS from
exact gradients, and stop when no weight and no flip moves by more than ``tol``. Neither forms the pairs × features
matrix, and neither goes on to score the single items, as jamrank does. Both need every annotator's vote on every
pair; ``rivals/numpy_jam.py`` has the same loop for missing and repeated votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Doubles = NDArray[np.float64]
MStep = Callable[[Doubles, Doubles], tuple[float, Doubles]]
WEIGHT_VARIANCE, FLIP_WRONG, FLIP_RIGHT = 6.25, 1.0, 2.0
BLOCK = 1 << 14


@dataclass(frozen=True)
class Result:
    """Where a loop ended."""

    weights: Doubles
    flips: Doubles
    posterior: Doubles
    n_iter: int
    n_evaluations: int


def whole_arrays(first, second, said, features, tol: float = 1e-5) -> Result:
    """Fit with whole float64 arrays and one ``np.where`` an annotator in the E-step."""

    def e_step(scores: Doubles, flips: Doubles) -> Doubles:
        left = 1 / (1 + np.exp(scores[second] - scores[first]))
        right = 1 - left
        for k, flip in enumerate(flips):
            left *= np.where(said[:, k] == 1, 1 - flip, flip)
            right *= np.where(said[:, k] == 1, flip, 1 - flip)
        return left / (left + right)

    def errors(q: Doubles) -> Doubles:
        return np.array([np.where(said[:, k] == 1, 1 - q, q).sum() for k in range(said.shape[1])])

    return loop(standardised(features), *_start(said), whole_m_step(first, second), e_step, errors, tol)


def blocks_and_patterns(first, second, said, features, tol: float = 1e-5) -> Result:
    """Fit in blocks that stay in cache, with one table entry for each pattern of votes."""
    n_annotators = said.shape[1]
    pattern = (said << np.arange(n_annotators)).sum(axis=1)
    bits = (np.arange(2**n_annotators)[:, None] >> np.arange(n_annotators)) & 1
    counts = np.bincount(pattern, minlength=2**n_annotators)
    blocks = blocks_of(len(first))

    def e_step(scores: Doubles, flips: Doubles) -> Doubles:
        odds = np.exp(np.where(bits == 1, np.log(flips / (1 - flips)), np.log((1 - flips) / flips)).sum(axis=1))
        q = np.empty(len(first))
        for part in blocks:
            q[part] = 1 / (1 + np.exp(scores[second[part]] - scores[first[part]]) * odds[pattern[part]])
        return q

    def errors(q: Doubles) -> Doubles:
        sums = np.bincount(pattern, q, 2**n_annotators)
        return np.where(bits == 1, (counts - sums)[:, None], sums[:, None]).sum(axis=0)

    return loop(standardised(features), *_start(said), blocks_m_step(first, second), e_step, errors, tol)


def whole_m_step(first, second) -> MStep:
    def m_step(q: Doubles, scores: Doubles) -> tuple[float, Doubles]:
        margin = scores[first] - scores[second]
        slope = 1 / (1 + np.exp(-margin)) - q
        value = float((np.logaddexp(0, margin) - q * margin).sum())
        n = len(scores)
        return value, np.bincount(first, slope, n) - np.bincount(second, slope, n)

    return m_step


def blocks_m_step(first, second) -> MStep:
    blocks = blocks_of(len(first))

    def m_step(q: Doubles, scores: Doubles) -> tuple[float, Doubles]:
        value, gradient, n = 0.0, np.zeros(len(scores)), len(scores)
        for part in blocks:
            margin = scores[first[part]] - scores[second[part]]
            slope = 1 / (1 + np.exp(-margin)) - q[part]
            value += float((np.logaddexp(0, margin) - q[part] * margin).sum())
            gradient += np.bincount(first[part], slope, n) - np.bincount(second[part], slope, n)
        return value, gradient

    return m_step


def blocks_of(length: int) -> list[slice]:
    return [slice(at, at + BLOCK) for at in range(0, length, BLOCK)]


def standardised(features) -> Doubles:
    return (features - features.mean(axis=0)) / features.std(axis=0)


def _start(said) -> tuple[Doubles, Doubles]:
    n_pairs, n_annotators = said.shape
    return (said.sum(axis=1) + 1) / (n_annotators + 2), np.full(n_annotators, float(n_pairs))


def loop(
    x: Doubles,
    q: Doubles,
    n_said: Doubles,
    m_step: MStep,
    e_step: Callable[[Doubles, Doubles], Doubles],
    errors: Callable[[Doubles], Doubles],
    tol: float,
) -> Result:
    """Run EM from the truths ``q``; items have features ``x``, annotators ``n_said`` votes each."""
    n_annotators = len(n_said)
    weights, flips, evaluations = np.zeros(x.shape[1]), np.full(n_annotators, np.nan), 0

    def loss(w: Doubles) -> tuple[float, Doubles]:
        nonlocal evaluations
        evaluations += 1
        value, gradient = m_step(q, x @ w)
        return value + 0.5 * float(w @ w) / WEIGHT_VARIANCE, x.T @ gradient + w / WEIGHT_VARIANCE

    iteration, moved = 0, np.inf
    while moved >= tol and iteration < 500:
        iteration += 1
        before, flips_before = weights, flips
        weights = minimize(loss, weights, jac=True, method="L-BFGS-B").x
        flips = (errors(q) + FLIP_WRONG) / (n_said + FLIP_WRONG + FLIP_RIGHT)
        q = e_step(x @ weights, flips)
        steps = np.concatenate([weights - before, flips - flips_before])
        moved = np.inf if iteration == 1 else float(np.abs(steps).max())
    return Result(weights, flips, q, iteration, evaluations)
