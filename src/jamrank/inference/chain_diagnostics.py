"""Convergence diagnostics of Markov chains: R-hat and effective sample size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.typing import FloatArray


@dataclass(frozen=True)
class ChainDiagnostics:
    """Diagnostics of the draws of the scores.

    Attributes
    ----------
    n_chains, n_draws : int
        Chains, and draws of all of them together.
    rhat : float
        The largest split R-hat of any score: 1 where chains agree, above 1.05 they do not.
    ess : float
        The smallest effective sample size of any score.
    """

    n_chains: int
    n_draws: int
    rhat: float
    ess: float


def diagnose(draws: FloatArray, n_chains: int) -> ChainDiagnostics:
    """Return the diagnostics of draws; row ``i`` is of chain ``i % n_chains``."""
    length = len(draws) // n_chains
    chains = draws[: length * n_chains].reshape(length, n_chains, -1)
    return ChainDiagnostics(
        n_chains, len(draws), float(split_rhat(chains).max(initial=1.0)), float(effective_size(chains).min())
    )


def split_rhat(chains: FloatArray) -> FloatArray:
    """Return the split R-hat of each parameter: Gelman et al., *Bayesian Data Analysis*, 3rd edition.

    chains, of shape (draws, chains, parameters).
    """
    halves = _halves(chains)
    length = len(halves)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    between = length * halves.mean(axis=0).var(axis=0, ddof=1)
    pooled = (length - 1) / length * within + between / length
    return np.asarray(np.sqrt(np.divide(pooled, within, out=np.ones_like(within), where=within > 0)))


def effective_size(chains: FloatArray) -> FloatArray:
    """Return the effective sample size of each parameter, autocorrelations summed as Geyer's initial sequence."""
    halves = _halves(chains)
    length, n_halves, _ = halves.shape
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    pooled = (length - 1) / length * within + halves.mean(axis=0).var(axis=0, ddof=1)
    centred = halves - halves.mean(axis=0)
    size = 1 << (2 * length - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:length].mean(axis=1) / length
    safe = np.where(pooled > 0, pooled, 1.0)
    rho = 1.0 - (within - covariance) / safe
    rho[0] = 1.0
    pairs = rho[: length // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * monotone.sum(axis=0) - 1.0, 1.0 / np.log10(length * n_halves + 10.0))
    return np.asarray(length * n_halves / time)


def _halves(chains: FloatArray) -> FloatArray:
    half = len(chains) // 2
    return np.concatenate([chains[:half], chains[half : 2 * half]], axis=1)
