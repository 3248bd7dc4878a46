"""Effective degrees of freedom of each block of a scorer's parameters, by Laplace's approximation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from jamrank.engines import Engine, Maximisation
from jamrank.fitting.newton import conjugate_gradients
from jamrank.linalg.marginals import is_dense, score_variances
from jamrank.scorers import LinearScorer, ObjectScorer, Scorer, SumScorer
from jamrank.typing import FloatArray

# Tolerance of the conjugate gradients that project the features onto the effects.
_CLOSE = 1e-3
# Up to this number of items one dense solve is faster than passes for each column.
_FEW_ITEMS = 200


@dataclass(frozen=True)
class EffectiveDof:
    """Effective degrees of freedom and remaining uncertainty of the parameters.

    counts: The effective number of parameters of each block: ``Σ (1 - v / τ²)``, where ``v`` is the posterior and
        ``τ²`` the prior variance of a parameter.
    loose, of shape (items, weights): A factor of the covariance of the scores that is due to the weights: its product
        with its transpose is that covariance. It has no columns if there are no weights.
    weights: Variance of each feature's weight.
    """

    counts: tuple[float, ...]
    loose: FloatArray
    weights: FloatArray


def effective_dof(engine: Engine, scorer: Scorer, at: Maximisation) -> EffectiveDof:
    """Compute the effective degrees of freedom from the curvature of the votes and the scorer's prior."""
    if scorer.free:
        variance = _effect_variances(engine, cast(ObjectScorer, scorer), at)
        count = float((1.0 - variance * scorer.precision).sum())
        return EffectiveDof((count,), np.empty((scorer.n_params, 0)), np.empty(0))
    if scorer.effects() is None:
        weights = cast(LinearScorer, scorer)
        factor = _factor(weights, _curvature(engine, weights, at))
        root = _times_root(np.eye(weights.n_params), factor)
        count = _count(weights, (root**2).sum(axis=1))
        return EffectiveDof((count,), _times_root(weights.matrix, factor), weights.weight_variances(root))
    return _of_sum(engine, cast(SumScorer, scorer), at)


def _of_sum(engine: Engine, scorer: SumScorer, at: Maximisation) -> EffectiveDof:
    """Compute both blocks jointly by eliminating the effects."""
    features, precision = scorer.features, scorer.objects.precision
    variance = _effect_variances(engine, scorer.objects, at)
    if is_dense(engine.n_links, engine.n_items):
        # With evenly spread comparisons the variance is 1 / (d + t), and the effects absorb the centred part of a
        # column.
        share = 1.0 - precision * variance
        absorbed = _centred(features, share) * share[:, None]
    else:
        absorbed = _absorbed(engine, scorer, at)
    curvature = np.einsum("if,ig->fg", features.matrix * precision[:, None], absorbed)
    factor = _factor(features, (curvature + curvature.T) / 2)
    root = _times_root(np.eye(features.n_params), factor)
    through_weights = (_times_root(absorbed, factor) ** 2).sum(axis=1)
    of_effects = float((1.0 - precision * (variance + through_weights)).sum())
    count = _count(features, (root**2).sum(axis=1))
    loose = _times_root(features.matrix - absorbed, factor)
    return EffectiveDof((count, of_effects), loose, features.weight_variances(root))


def _effect_variances(engine: Engine, scorer: ObjectScorer, at: Maximisation) -> FloatArray:
    links = None if is_dense(engine.n_links, engine.n_items) else engine.links(at.curvature)
    return score_variances(at.degree, float(scorer.precision[0]), links)


def _curvature(engine: Engine, scorer: LinearScorer, at: Maximisation) -> FloatArray:
    """Return the curvature of the log-likelihood in the weights."""
    if is_dense(engine.n_links, engine.n_items):
        return np.asarray(np.einsum("if,ig->fg", scorer.matrix * at.degree[:, None], _centred(scorer, at.degree)))
    pushed = [engine.curvature_times(at.curvature, column) for column in scorer.matrix.T]
    return np.stack([scorer.adjoint(column) for column in pushed])


def _centred(scorer: LinearScorer, weight: FloatArray) -> FloatArray:
    return scorer.matrix - scorer.adjoint(weight) / max(float(weight.sum()), 1e-300)


def _absorbed(engine: Engine, scorer: SumScorer, at: Maximisation) -> FloatArray:
    """Return ``(L + T)⁻¹ L X``: the part of each feature column that the effects absorb."""
    if engine.n_items <= _FEW_ITEMS:
        laplacian = _laplacian(engine, at)
        held: FloatArray = cho_solve(
            cho_factor(laplacian + np.diag(scorer.objects.precision)), laplacian @ scorer.features.matrix
        )
        return held
    precision, precondition = scorer.objects.precision, scorer.objects.preconditioner(at.degree)

    def times(vector: FloatArray) -> FloatArray:
        return engine.curvature_times(at.curvature, vector) + precision * vector

    columns = (engine.curvature_times(at.curvature, column) for column in scorer.features.matrix.T)
    return np.stack([conjugate_gradients(times, column, precondition, _CLOSE) for column in columns], axis=1)


def _laplacian(engine: Engine, at: Maximisation) -> FloatArray:
    links = engine.links(at.curvature)
    between = np.zeros((engine.n_items, engine.n_items))
    np.add.at(between, (links.first, links.second), links.curvature)
    between += between.T
    return np.diag(between.sum(axis=1)) - between


def _factor(scorer: LinearScorer, curvature: FloatArray) -> FloatArray:
    """Return the upper Cholesky factor of the information on the weights."""
    least = 1e-12 * max(float(np.diag(curvature).max(initial=0.0)), 1e-12)
    factor: FloatArray = cholesky(curvature + np.diag(scorer.precision + least))
    return factor


def _count(scorer: LinearScorer, variances: FloatArray) -> float:
    return float((1.0 - variances * scorer.precision).sum())


def _times_root(matrix: FloatArray, factor: FloatArray) -> FloatArray:
    """Return a matrix times a square root of the covariance of the weights."""
    loose: FloatArray = solve_triangular(factor, matrix.T, trans="T").T
    return loose
