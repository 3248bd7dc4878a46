"""Bradley–Terry with covariates of votes: a coefficient for each annotator, shrunk towards their mean.

Variances are estimated: that of the scores is its most likely value, and the standard deviation of each covariate's
coefficients over annotators is integrated over a grid, so that intervals allow for what is not known of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, ndtr

from jamrank.fitting.covariate_flips import estimate_flips
from jamrank.fitting.covariate_mode import CovariateVotes, Mode, Variances, find_mode
from jamrank.typing import BoolArray, FloatArray

# Standard deviations for a covariate of mean square 1, with a half-normal prior of scale 1.
_GRID = np.geomspace(0.02, 3.0, 13)
_COARSE = _GRID[2::3]
_FIRST_SD, _FIRST_VARIANCE = 0.4, 1.0
# Numbers of steps are fixed, so that rounding decides nothing.
_VARIANCE_STEPS, _FURTHER_STEPS = 8, 4
_NEGLIGIBLE, _NO_VARIANCE = 1e-6, 1e-30
# Levels of the flips, as shifts of their log-odds; prior probability that there are any.
_SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_FLIPS_LIKELY = 0.25
# The largest flip, and the weight below which a level is left out.
_MOST_FLIP, _NEGLIGIBLE_LEVEL = 0.45, 1e-3
# Share of a covariate's variation that items leave unexplained, below which they explain all of it.
_RESIDUAL, _ROUNDING = 1e-8, 1e-10


def item_constants(votes: CovariateVotes) -> tuple[FloatArray, FloatArray]:
    """Regress the covariates on differences of items.

    Returns: Constants of items, of shape (items, covariates), and what they leave of the covariates of each vote.
    """
    # The common level of connected items is not determined; of its eigenvalue, which is 0, only rounding is left.
    inverse = np.linalg.pinv(votes.laplacian(votes.weight), rcond=_ROUNDING, hermitian=True)
    pulls = [votes.by_item(votes.weight * column) for column in votes.x.T]
    constants = inverse @ np.stack(pulls, axis=1) if pulls else np.empty((votes.n_items, 0))
    return np.asarray(constants), votes.x - (constants[votes.first] - constants[votes.second])


def find_identified(votes: CovariateVotes, residual: FloatArray) -> BoolArray:
    """Return which covariates are more than a difference of constants of the items."""
    total, left = (np.einsum("v,vc->c", votes.weight, values**2) for values in (votes.x, residual))
    return np.asarray(left > _RESIDUAL * total)


def first_dependent(votes: CovariateVotes, residual: FloatArray, identified: BoolArray) -> int | None:
    """Return the first covariate that follows from the items and the covariates before it; None if there is none."""
    gram = np.einsum("v,vc,vd->cd", votes.weight, residual, residual)
    kept: list[int] = []
    for c in np.flatnonzero(identified):
        own = gram[c, c]
        if kept:
            inside, across = gram[np.ix_(kept, kept)], gram[kept, c]
            own = own - across @ np.linalg.solve(inside, across)
        if own <= _RESIDUAL * gram[c, c]:
            return int(c)
        kept.append(int(c))
    return None


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with a standard error and a 95 % interval."""

    value: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class CovariateFit:
    """Scores and coefficients with their uncertainty.

    scores, covariance: Of the items.
    coef, of shape (annotators, covariates): Of each annotator; where a covariate cannot be separated from the scores,
        differences from the mean over annotators. NaN where the covariate is 0 in all votes of an annotator.
    mean, of shape (covariates,): Means over annotators; NaN where they cannot be separated from the scores.
    sd: Standard deviation of each covariate's coefficients over annotators.
    identified: Whether each covariate can be separated from the scores.
    score_variance: Of the prior.
    flip: Of each annotator, the mean of the posterior.
    """

    scores: FloatArray
    covariance: FloatArray
    coef: Estimates
    mean: Estimates
    sd: FloatArray
    identified: BoolArray
    score_variance: float
    flip: FloatArray


def fit_covariates(votes: CovariateVotes, *, flips: bool = True) -> CovariateFit:
    """Fit scores and coefficients; covariates may have any scale, none may be 0 in all votes.

    flips: Whether annotators may err, beside what sways them.
    """
    size = typical_size(votes)
    unit = replace(votes, x=votes.x / size)
    constants, residual = item_constants(unit)
    identified = find_identified(unit, residual)
    constants[:, identified] = 0.0
    swayed = np.zeros((votes.n_annotators, votes.n_covariates))
    for c, column in enumerate(unit.x.T):
        swayed[:, c] = unit.by_annotator(unit.weight * np.abs(column)) > 0
    axes, variances = _axes(unit, identified, swayed, flips)
    points = [
        [_Point.of(mode, swayed, constants, stretch) for mode, stretch in zip(axis.modes, axis.stretch, strict=True)]
        for axis in axes
    ]
    # Each axis allows for what is not known of one covariate's coefficients.
    share = np.concatenate([axis.weight for axis in axes]) / len(axes)
    scores, covariance = _mixed_normal([point for axis in points for point in axis], share)
    coef = [
        _mixture([p.coef[:, c] for p in own], [p.coef_var[:, c] for p in own], axis.weight)
        for c, (own, axis) in enumerate(zip(points, axes, strict=True))
        if votes.n_covariates
    ]
    mean = [
        _mixture([p.mean[c] for p in own], [p.mean_var[c] for p in own], axis.weight)
        for c, (own, axis) in enumerate(zip(points, axes, strict=True))
        if votes.n_covariates
    ]
    sd = [float(axis.weight @ axis.sd) for axis in axes if votes.n_covariates]
    return CovariateFit(
        scores,
        covariance,
        _in_units(coef, size, (votes.n_annotators, 0), np.where(swayed > 0, 1.0, np.nan)),
        _in_units(mean, size, (0,), np.where(identified, 1.0, np.nan)),
        np.array(sd) / size,
        identified,
        variances.score,
        np.mean([axis.flip for axis in axes], axis=0),
    )


def typical_size(votes: CovariateVotes) -> FloatArray:
    """Return the root mean square of each covariate over votes where it is not 0."""
    total = np.einsum("v,vc->c", votes.weight, votes.x**2)
    return np.asarray(np.sqrt(total / np.maximum(np.einsum("v,vc->c", votes.weight, votes.x != 0), 1e-300)))


@dataclass(frozen=True, eq=False)
class _Level:
    """A level of the annotators' flips: votes with these flips, the most likely variances, and the mode there.

    flip_variance: Of the log-odds of each annotator's flip, given the level.
    """

    votes: CovariateVotes
    variances: Variances
    mode: Mode
    log_prior: float
    flip_variance: FloatArray | float = 0.0

    @property
    def log_weight(self) -> float:
        return self.mode.log_evidence + self.log_prior

    @property
    def flip(self) -> FloatArray:
        return np.zeros(self.votes.n_annotators) if self.votes.flip is None else self.votes.flip

    @property
    def stretch(self) -> FloatArray:
        """Variance of the logarithm of the coefficients that comes from that of each flip."""
        return np.asarray((2 * self.flip * (1 - self.flip) / (1 - 2 * self.flip)) ** 2 * self.flip_variance)


def _levels(votes: CovariateVotes, free: BoolArray, flips: bool) -> list[_Level]:
    """Return no flips and several levels of flips: votes hardly tell frequent flips from close scores."""
    variances = Variances(_FIRST_VARIANCE, np.full(votes.n_covariates, _FIRST_SD))
    mode, variances = _estimate_variance(votes, variances, free, None, _VARIANCE_STEPS)
    levels = [_Level(votes, variances, mode, np.log(1 - _FLIPS_LIKELY))]
    if not flips:
        return levels
    flip, spread = estimate_flips(votes, variances, free, mode)
    near = levels[0]
    for shift in _SHIFTS:
        moved = replace(votes, flip=np.minimum(expit(logit(flip) + shift), _MOST_FLIP))
        own, most_likely = _estimate_variance(moved, near.variances, free, near.mode, _FURTHER_STEPS)
        near = _Level(moved, most_likely, own, np.log(_FLIPS_LIKELY / len(_SHIFTS)), spread)
        levels.append(near)
    best = max(level.log_weight for level in levels)
    return [level for level in levels if level.log_weight > best + np.log(_NEGLIGIBLE_LEVEL)]


@dataclass(frozen=True, eq=False)
class _Axis:
    """Modes for some levels of flips and standard deviations of one covariate's coefficients, with weights."""

    sd: FloatArray
    modes: list[Mode]
    weight: FloatArray
    flip: FloatArray
    stretch: FloatArray


def _axes(votes: CovariateVotes, free: BoolArray, swayed: FloatArray, flips: bool) -> tuple[list[_Axis], Variances]:
    """Return the modes over which each covariate's coefficients are averaged; a single axis without covariates."""
    levels = _levels(votes, free, flips)
    best = max(levels, key=lambda level: round(level.log_weight, 9))
    if not votes.n_covariates:
        return [_axis(levels, free, None, swayed, np.ones(1))], best.variances
    variances = best.variances
    for _ in range(2 if votes.n_covariates > 1 else 1):
        for c in range(votes.n_covariates):
            axis = _axis([replace(best, variances=variances)], free, c, swayed, _COARSE)
            variances = replace(variances, sd=_with(variances.sd, c, axis.sd[np.argmax(np.round(axis.weight, 9))]))
    levels = [_settled(replace(level, variances=replace(level.variances, sd=variances.sd)), free) for level in levels]
    grid = _GRID if len(levels) == 1 else _GRID[::2]
    return [_axis(levels, free, c, swayed, grid) for c in range(votes.n_covariates)], best.variances


def _settled(level: _Level, free: BoolArray) -> _Level:
    mode, variances = _estimate_variance(level.votes, level.variances, free, level.mode, _FURTHER_STEPS)
    return replace(level, mode=mode, variances=variances)


def _estimate_variance(
    votes: CovariateVotes, variances: Variances, free: BoolArray, mode: Mode | None, steps: int
) -> tuple[Mode, Variances]:
    """Take some EM steps towards the most likely variance of the scores."""
    for _ in range(steps):
        mode = find_mode(votes, variances, free, mode)
        variances = replace(variances, score=mode.score_variance)
    return find_mode(votes, variances, free, mode), variances


def _axis(levels: list[_Level], free: BoolArray, c: int | None, swayed: FloatArray, grid: FloatArray) -> _Axis:
    """Return the modes along the standard deviations of one covariate's coefficients, with posterior weights."""
    if c is not None and swayed[:, c].sum() < 2:
        # The deviation of a single annotator from the mean is 0, whatever its variance.
        grid = np.array([_FIRST_SD])
    modes: list[Mode] = []
    for level in levels:
        near = level.mode
        for sd in grid:
            own = level.variances if c is None else replace(level.variances, sd=_with(level.variances.sd, c, sd))
            near = find_mode(level.votes, own, free, near)
            modes.append(near)
    each = np.tile(grid, len(levels))
    log = np.array([mode.log_evidence for mode in modes]) + np.log(each) - 0.5 * each**2
    log += np.repeat([level.log_prior for level in levels], len(grid))
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    kept = weight > _NEGLIGIBLE
    flip, stretch = (
        np.repeat([getattr(level, name) for level in levels], len(grid), axis=0) for name in ("flip", "stretch")
    )
    modes = [mode for mode, keep in zip(modes, kept, strict=True) if keep]
    return _Axis(each[kept], modes, weight[kept], weight @ flip, stretch[kept])


def _with(values: FloatArray, at: int, value: float) -> FloatArray:
    changed = values.copy()
    changed[at] = value
    return changed


@dataclass(frozen=True, eq=False)
class _Point:
    """Means and variances of scores and coefficients at a mode.

    If items explain a covariate, a common coefficient is part of the scores: the mean over annotators is moved there.
    """

    scores: FloatArray
    covariance: FloatArray
    coef: FloatArray
    coef_var: FloatArray
    mean: FloatArray
    mean_var: FloatArray

    @classmethod
    def of(cls, mode: Mode, swayed: FloatArray, constants: FloatArray, stretch: FloatArray) -> _Point:
        n, held = len(mode.scores), ~mode.free
        share = swayed / np.maximum(swayed.sum(axis=0), 1.0)
        # Coefficients as linear functions of scores and common part, and what varies beside these.
        linear = -mode.follow
        linear[:, np.flatnonzero(mode.free), n + np.arange(np.count_nonzero(mode.free))] += 1.0
        beside = np.einsum("kcc->kc", mode.inner)
        mean_linear = np.einsum("kc,kcm->cm", share, linear)
        mean_beside = np.einsum("kc,kd,kcd->cd", share, share, mode.inner)
        coef = mode.common + mode.own
        by_flips = coef**2 * stretch[:, None]
        mean = (share * coef).sum(axis=0)
        linear = linear - np.where(held[:, None], mean_linear, 0.0)
        beside = beside + np.where(held, np.diag(mean_beside) - 2 * share * beside, 0.0)
        to_scores = np.eye(n, len(mode.covariance)) + constants @ mean_linear
        return cls(
            mode.scores + constants @ mean,
            to_scores @ mode.covariance @ to_scores.T + constants @ mean_beside @ constants.T,
            coef - np.where(held, mean, 0.0),
            np.einsum("kcm,kcm->kc", linear @ mode.covariance, linear) + beside + by_flips,
            mean,
            np.einsum("cm,cm->c", mean_linear @ mode.covariance, mean_linear)
            + np.diag(mean_beside)
            + (share**2 * by_flips).sum(axis=0),
        )


def _mixed_normal(points: list[_Point], weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of the scores over points."""
    each = np.stack([point.scores for point in points])
    mean = weight @ each
    apart = each - mean
    covariance = sum(w * point.covariance for w, point in zip(weight, points, strict=True))
    return mean, np.asarray(covariance + (weight[:, None] * apart).T @ apart)


def _mixture(means: list[FloatArray], variances: list[FloatArray], weight: FloatArray) -> Estimates:
    """Return mean, standard deviation and 95 % interval of mixtures of normals."""
    mean = np.stack(means, axis=-1)
    # The difference of a single annotator from the mean is 0, and so is its variance.
    sd = np.sqrt(np.maximum(np.stack(variances, axis=-1), _NO_VARIANCE))
    value = mean @ weight
    se = np.sqrt((sd**2 + (mean - value[..., None]) ** 2) @ weight)
    low, high = (_quantile(mean, sd, weight, level) for level in (0.025, 0.975))
    return Estimates(value, se, low, high)


def _quantile(mean: FloatArray, sd: FloatArray, weight: FloatArray, level: float) -> FloatArray:
    """Return a quantile of mixtures of normals by bisection; components are along the last axis."""
    low, high = (mean - 8 * sd).min(axis=-1), (mean + 8 * sd).max(axis=-1)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = ndtr((middle[..., None] - mean) / sd) @ weight < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _in_units(found: list[Estimates], size: FloatArray, none: tuple[int, ...], known: FloatArray) -> Estimates:
    """Return the estimates of all covariates side by side in the user's units; NaN where they are not known."""

    def together(name: str) -> FloatArray:
        columns = [getattr(one, name) for one in found]
        return np.asarray(known * (np.stack(columns, axis=-1) / size)) if columns else np.empty(none)

    return Estimates(*(together(name) for name in ("value", "se", "low", "high")))
