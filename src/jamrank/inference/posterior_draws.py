"""Draws from the posterior of scores and noise, by Hamiltonian Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy, dsymv

from jamrank.engines import Engine
from jamrank.fitting.em import Problem
from jamrank.inference.chain_diagnostics import diagnose
from jamrank.inference.feature_prior import FeaturePrior
from jamrank.inference.flip_density import FlipDensity
from jamrank.inference.information import observed_information
from jamrank.inference.ridge import Density, Ridge, follow
from jamrank.linalg.blas import blas_threads
from jamrank.linalg.joint_information import factored
from jamrank.noise import Noise
from jamrank.scorers import ObjectScorer
from jamrank.typing import FloatArray, IntArray

# A point on the other side of a jump by a factor, and the logarithm of the Jacobian; None if there is none.
Jump = Callable[[FloatArray, float], tuple[FloatArray, float] | None]

# A chain takes thousands of passes: beyond these sizes the normal approximation is used, and is accurate.
_MOST_VOTES, _MOST_PARAMETERS = 100_000, 1000
# As in the estimate of the variance: pseudo-items of variance 1, and the largest variance.
_IMAGINED_ITEMS, _LARGEST_VARIANCE = 2.0, 9.0
_WARM_UP, _AFTER = 160, 50
# Chains after the warm-up, and draws that all but the first discard as burn-in.
N_CHAINS, _BURN_IN = 4, 15
_WANTED_ACCEPTANCE = 0.8
# In units of the posterior's spread: a quarter turn makes the next draw independent of the last.
_TRAJECTORY = 1.6
_MOST_STEPS = 16
# In units of the scores' prior precision: a lower bound on the information for the length of steps.
_LEAST_CURVED = 0.5
# Bend of the ridge from which chains jump along it, and the most parameters with which it is followed.
_BENT, _MOST_FOLLOWED = 0.4, 300
# R-hat beyond which chains are drawn again with jumps, their number in a step, and the scale of their log factors.
_DISAGREE, _JUMPS, _JUMP_SCALE = 1.1, 8, 0.5
# With fewer draws R-hat is too uncertain.
_FEW_DRAWS = 100
# Where the draws are worth fewer independent ones, chains go on, and every third draw is kept.
_FEW_EFFECTIVE, _THIN = 100.0, 3
_SAME = 9  # decimals in which exchangeable parameters agree


@dataclass(frozen=True)
class Spread:
    """A matrix that turns independent normals into steps about as wide as a density, and its square."""

    root: FloatArray

    @cached_property
    def square(self) -> FloatArray:
        """The matrix times its transpose, in the order of columns that BLAS reads without a copy."""
        return np.asfortranarray(self.root @ self.root.T)


def can_draw(engine: Engine, n_params: int) -> bool:
    """Return whether sampling from the posterior is fast enough."""
    few = max(float(engine.vote_counts.sum()), engine.n_rows) <= _MOST_VOTES
    return few and engine.n_items + n_params <= _MOST_PARAMETERS and engine.can_draw


@dataclass(frozen=True)
class Posterior:
    """The posterior of free scores and of the noise, near the fit.

    The noise has the prior of the fit, on the scale of its parameters. A variance of the scores that was not given is
    integrated out: with an inverse chi-squared prior of two pseudo-items the scores have a joint Student t
    distribution up to a variance of 9, and are normal with that variance beyond. Scores that features explain in part
    have a prior of their own.

    engine: Passes over the votes.
    noise: Its parameters are drawn too.
    theta, params: The end of the fit.
    variance: Prior variance of the scores; None if it was estimated.
    oriented: Exclude parameters of negative orientation. Negated scores with flips 1 - flip explain the votes nearly
        as well, and a fit assumes the positive orientation.
    prior: Of the scores, in place of one with a common variance.
    """

    engine: Engine
    noise: Noise
    theta: FloatArray
    params: FloatArray
    variance: float | None
    oriented: bool = False
    prior: FeaturePrior | None = None

    @cached_property
    def _engines(self) -> list[Engine]:
        """Engines for many short passes."""
        return self.engine.local_engines()

    @cached_property
    def _of_flips(self) -> FlipDensity | None:
        """The density of scores and flips by one call; None where it is another, or scores have another prior."""
        if self.prior is not None or len(self._engines) > 1:
            return None
        return FlipDensity.of(self._engines[0], self.noise, self._order, self.oriented)

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Parameters sorted by value, so that draws do not depend on names."""
        by_coin = self.noise.closed_form
        votes = self.engine.vote_counts.sum(axis=1) if by_coin else np.zeros(len(self.params))
        scores, params = np.round(self.theta, _SAME), np.round(self.params, _SAME)
        return np.argsort(scores, kind="stable"), np.lexsort((params, votes))

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        theta, params = np.empty(len(self.theta)), np.empty(len(self.params))
        theta[self._order[0]], params[self._order[1]] = x[: len(theta)], x[len(theta) :]
        return theta, params

    def _joined(self, theta: FloatArray, params: FloatArray) -> FloatArray:
        return np.concatenate([theta[self._order[0]], params[self._order[1]]])

    def density(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density, up to a constant, and its gradient."""
        found = None if self._of_flips is None else self._of_flips(x)
        if found is not None:
            of_votes, gradient = found
            scores = x[: len(self.theta)]
            value, slope = self._score_prior(scores)
            gradient[: len(scores)] += slope
            return of_votes + value, gradient
        theta, params = self._split(x)
        log_emission = self.noise.log_emission(params)
        passes = [engine.slopes(theta, log_emission) for engine in self._engines]
        value, slope = self._score_prior(theta)
        value += sum(at.value for at in passes) + self.noise.log_prior(params)
        gradient = reduce(np.add, [at.gradient for at in passes]) + slope
        expected_counts = reduce(np.add, [at.expected_counts for at in passes])
        if self.oriented and self.noise.orientation(params) < 0:
            value = -np.inf
        return value, self._joined(gradient, self.noise.slope(params, expected_counts))

    def _score_prior(self, theta: FloatArray) -> tuple[float, FloatArray]:
        if self.prior is not None:
            return self.prior.density(theta)
        squares, n = float(theta @ theta), len(theta)
        if self.variance is not None:
            return -0.5 * squares / self.variance, -theta / self.variance
        n_all, total = n + _IMAGINED_ITEMS, _IMAGINED_ITEMS + squares
        ratio = total / (n_all * _LARGEST_VARIANCE)
        if ratio < 1.0:
            return float(-0.5 * n_all * np.log(ratio)), -theta * (n_all / total)
        # For separated votes the variance stays at its largest value.
        return float(-0.5 * n_all * (ratio - 1.0)), -theta / _LARGEST_VARIANCE

    def _spread(self, x: FloatArray) -> Spread:
        """Return steps as wide as the posterior near a point."""
        return Spread(_wide(*self._precision(x)))

    def _precision(self, x: FloatArray) -> tuple[FloatArray, float]:
        """Return the observed information near a point, and a lower bound on its eigenvalues."""
        theta, params = self._split(x)
        n, squares = len(theta), float(theta @ theta)
        variance = (_IMAGINED_ITEMS + squares) / (n + _IMAGINED_ITEMS) if self.variance is None else self.variance
        problem = Problem(self.engine, ObjectScorer(n, variance), self.noise)
        observed = observed_information(problem, problem.evaluate(theta, params))
        assert observed is not None
        matrix = np.eye(n + len(params))
        inside = np.concatenate([np.arange(n), n + np.flatnonzero(observed.inside)])
        matrix[np.ix_(inside, inside)] = observed.matrix
        if self.prior is not None:
            matrix[:n, :n] += self.prior.precision(theta) - np.eye(n) / variance
            variance = _LARGEST_VARIANCE
        place = np.concatenate([self._order[0], n + self._order[1]])
        return matrix[np.ix_(place, place)], _LEAST_CURVED / variance

    def _stretched(self, spread: Spread, draws: FloatArray) -> Spread:
        """Return the spread, widened to that of some draws along the least normal direction, the scale.

        Larger scores with larger flips have nearly the likelihood of smaller scores with smaller flips.
        """
        centre = draws.mean(axis=0)
        scale = centre.copy()
        scale[: len(self.theta)] -= scale[: len(self.theta)].mean()
        scale[len(self.theta) :] = 0.0
        along = scale @ spread.root
        length = float(np.sqrt(along @ along))
        if length == 0:
            return spread
        wide = float(((draws - centre) @ scale).std()) / length
        return Spread(spread.root + np.outer(spread.root @ along, along) * (max(wide, 1.0) - 1.0) / length**2)

    def draw(self, n: int, random_state: Any = 0) -> Draws:
        """Return draws of the scores, each centred, and of the noise's parameters, from several chains."""
        with blas_threads(len(self.theta) + len(self.params)):
            return self._draw(n, random_state)

    def _jump(self, x: FloatArray, factor: float) -> tuple[FloatArray, float] | None:
        """Return larger scores with larger flips, or smaller with smaller, which predict close votes alike."""
        theta, params = self._split(x)
        moved = self.noise.rescaled(params, factor)
        if moved is None:
            return None
        return self._joined(factor * theta, moved[0]), len(theta) * float(np.log(factor)) + moved[1]

    def _draw(self, n: int, random_state: Any) -> Draws:
        ridge = self._ridge()
        if ridge is not None and ridge.bend >= _BENT:
            return self._chains(n, random_state, ridge.jump)
        found = self._chains(n, random_state, None)
        agree = n < _FEW_DRAWS or diagnose(found.scores, N_CHAINS).rhat <= _DISAGREE
        if agree or self.noise.rescaled(self.params, 1.0) is None:
            return found
        return self._chains(n, random_state, self._jump)

    def _ridge(self) -> Ridge | None:
        """Return the ridge along the scale of the scores; None where it takes as long as chains, or may be absent."""
        n_params = len(self.theta) + len(self.params)
        if n_params > _MOST_FOLLOWED or not self.noise.closed_form or self.prior is not None:
            return None
        along = self._joined(self.theta - self.theta.mean(), np.zeros(len(self.params)))
        return follow(self.density, lambda x: self._precision(x)[0], self._joined(self.theta, self.params), along)

    def _chains(self, n: int, random_state: Any, jump: Jump | None) -> Draws:
        rng = np.random.default_rng(random_state)
        x = self._joined(self.theta, self.params)
        warm, step = sample(self.density, x, self._spread(x), _WARM_UP, rng, learn=True, jump=jump)
        settled = warm[_WARM_UP // 4 :]
        spread = self._stretched(self._spread(settled.mean(axis=0)), settled)
        warm, step = sample(self.density, warm[-1], spread, _AFTER, rng, learn=True, step=step, jump=jump)
        # Chains start at draws of the warm-up that are far apart in time.
        starts = [warm[-1], *(settled[(k * len(settled)) // (N_CHAINS - 1)] for k in range(N_CHAINS - 1))]
        length = -(-n // N_CHAINS)
        chains = []
        for k, begin in enumerate(starts):
            n_own = length + (_BURN_IN if k else 0)
            own, _ = sample(self.density, begin, spread, n_own, rng, step=step, jump=jump)
            chains.append(own[-length:])
        if n >= _FEW_DRAWS and diagnose(_interleaved(chains), N_CHAINS).ess < _FEW_EFFECTIVE:
            more = (_THIN - 1) * length
            chains = [
                np.concatenate([own, sample(self.density, own[-1], spread, more, rng, step=step, jump=jump)[0]])
                for own in chains
            ]
            chains = [own[_THIN - 1 :: _THIN] for own in chains]
        kept = _interleaved(chains)[:n]
        parts = [self._split(x) for x in kept]
        scores = np.stack([theta - theta.mean() for theta, _ in parts])
        return Draws(scores, np.stack([params for _, params in parts]), N_CHAINS)


@dataclass(frozen=True)
class Draws:
    """Draws of scores and of the noise's parameters, one row each; row ``i`` is of chain ``i % n_chains``."""

    scores: FloatArray
    params: FloatArray
    n_chains: int


def _interleaved(chains: list[FloatArray]) -> FloatArray:
    """Return the draws of all chains in turn, so that the first ones include all chains."""
    return np.stack(chains, axis=1).reshape(-1, chains[0].shape[1])


def _wide(matrix: FloatArray, least: float) -> FloatArray:
    """Return a square root of the inverse of a matrix, with eigenvalues raised to a lower bound."""
    if not factored(matrix - least * np.eye(len(matrix))).raised:
        return factored(matrix).spread()
    values, vectors = np.linalg.eigh(matrix)
    raised = vectors * np.maximum(values, least) @ vectors.T
    return factored(raised).spread()


def sample(
    density: Density,
    x: FloatArray,
    spread: Spread,
    n: int,
    rng: np.random.Generator,
    *,
    learn: bool = False,
    step: float = 0.4,
    jump: Jump | None = None,
) -> tuple[FloatArray, float]:
    """Draw from a density by Hamiltonian Monte Carlo.

    density: Returns the log density and its gradient.
    x: Start of the chain.
    spread: Of its steps.
    n: Length of the chain.
    learn: Whether to adapt the step size; draws made meanwhile must be discarded.
    step: Step size, or its initial value.
    jump: Where the density is high again; tried after every draw.
    Returns draws, of shape (n, parameters), step.
    """
    value, slope = density(x)
    draws, log_step = np.empty((n, len(x))), np.log(step)
    for i in range(n):
        length = float(np.exp(log_step)) * rng.uniform(0.8, 1.2)
        begin = rng.standard_normal(len(x))
        n_steps = min(max(round(_TRAJECTORY / length), 1), _MOST_STEPS)
        y, new_value, new_slope, momentum = _moved(density, (x, slope), begin, spread, length, n_steps)
        gain = new_value - value - 0.5 * float(momentum @ momentum - begin @ begin)
        accepted = float(np.exp(min(gain, 0.0))) if np.isfinite(gain) else 0.0
        if learn:
            log_step += (accepted - _WANTED_ACCEPTANCE) / (i + 5) ** 0.6
        if rng.random() < accepted:
            x, value, slope = y, new_value, new_slope
        if jump is not None:
            for _ in range(_JUMPS):
                x, value, slope = _jumped(density, jump, (x, value, slope), rng)
        draws[i] = x
    return draws, float(np.exp(log_step))


def _moved(
    density: Density,
    begin: tuple[FloatArray, FloatArray],
    momentum: FloatArray,
    spread: Spread,
    length: float,
    n_steps: int,
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Return where leapfrog steps lead from a point and its gradient, the density there, and the momentum.

    The velocity is the spread times the momentum: kept in its place, it takes one product a step and not two.
    """
    y, slope = begin
    square, velocity = spread.square, spread.root @ momentum
    velocity = dsymv(0.5 * length, square, slope, 1.0, velocity, overwrite_y=True)
    pushes, value = 0.5 * slope, np.nan
    for left in reversed(range(n_steps)):
        y = y + length * velocity
        value, slope = density(y)
        share = 1.0 if left else 0.5
        velocity = dsymv(share * length, square, slope, 1.0, velocity, overwrite_y=True)
        pushes = daxpy(slope, pushes, a=share)
    return y, value, slope, momentum + length * (pushes @ spread.root)


def _jumped(
    density: Density,
    jump: Jump,
    here: tuple[FloatArray, float, FloatArray],
    rng: np.random.Generator,
) -> tuple[FloatArray, float, FloatArray]:
    """Return where a jump by a random factor leads, if it is accepted."""
    factor = float(np.exp(_JUMP_SCALE * 10.0 ** (-1.5 * rng.random()) * rng.standard_normal()))
    there = jump(here[0], factor)
    if there is None:
        return here
    value, slope = density(there[0])
    if not np.log(max(rng.random(), 1e-300)) < value - here[1] + there[1]:
        return here
    return there[0], value, slope
