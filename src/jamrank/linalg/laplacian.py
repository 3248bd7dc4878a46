"""Least squares on a graph, and linear systems that are singular on each component."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import cg, gmres

from jamrank.rows import PairCounts
from jamrank.typing import FloatArray, Int32Array

# Up to this size systems are solved directly, beyond it by Krylov methods.
_MOST_ITEMS_DENSE = 2000
_RTOL, _ATOL = 1e-10, 1e-14
_RESTART, _MOST_RESTARTS = 60, 100


def potentials(counts: PairCounts, flow: FloatArray, weight: FloatArray) -> tuple[FloatArray, bool]:
    """Return the scores whose differences fit a flow on each pair best, by weighted least squares.

    counts: The pairs.
    flow: How far the first item of each pair should be above the second.
    weight: Weight of each pair, above 0.
    Returns scores (with mean 0 in each component), converged.
    """
    degree = counts.by_item(weight, weight)
    between = coo_array((weight, (counts.first, counts.second)), (counts.n_items,) * 2).tocsr()
    matrix = csr_array(diags_array(degree) - between - between.T)
    pull = counts.by_item(weight * flow, -weight * flow)
    scores, converged = solve_singular(matrix, pull, counts.component, symmetric=True)
    # A second solve reduces the rounding error.
    correction, _ = solve_singular(matrix, pull - matrix @ scores, counts.component, symmetric=True)
    return counts.centred(scores + correction), converged


def solve_singular(
    matrix: csr_array, right_side: FloatArray, component: Int32Array, symmetric: bool
) -> tuple[FloatArray, bool]:
    """Solve a consistent system whose solution is determined up to a constant in each component.

    matrix: Its rows add up to 0, or nearly so; the diagonal is not negative.
    right_side: In the range of the matrix.
    component: The component of each row.
    symmetric: Whether the matrix is symmetric.
    Returns solution, converged.
    """
    if matrix.shape[0] <= _MOST_ITEMS_DENSE:
        # Where weights differ by more orders of magnitude than a float64 has, it may be singular in other ways too.
        with suppress(np.linalg.LinAlgError):
            return _solve_directly(matrix, right_side, component), True
    diagonal = matrix.diagonal()
    scale = diags_array(1.0 / np.where(diagonal > 0, diagonal, 1.0))
    atol = _ATOL * float(np.linalg.norm(diagonal))
    how = {"rtol": _RTOL, "atol": atol, "M": scale}
    with np.errstate(all="ignore"):
        if symmetric:
            solution, failed = cg(matrix, right_side, **how)
        else:
            solution, failed = gmres(matrix, right_side, restart=_RESTART, maxiter=_MOST_RESTARTS, **how)
    return np.asarray(solution), failed == 0


def _solve_directly(matrix: csr_array, right_side: FloatArray, component: Int32Array) -> FloatArray:
    """Solve directly, with mean 0 in each component."""
    level = max(float(matrix.diagonal().mean()), np.finfo(float).tiny) / np.bincount(component)[component]
    dense = matrix.toarray()
    dense += np.where(component[:, None] == component, level, 0.0)
    return np.asarray(np.linalg.solve(dense, right_side))
