"""The normal posterior of scores and effects given what explains them: its mean, covariances and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jamrank.fitting.family_search import Below, Explanation
from jamrank.linalg.normal_effects import Normal, absorb_columns
from jamrank.typing import Float32Array, FloatArray


@dataclass(frozen=True)
class Conditional:
    """The normal posterior of scores and effects given an explanation and all standard deviations.

    said, below, sums, up, top: Likelihoods of annotators and families, each before and after their own effects are
        integrated out, and of the common scores.
    """

    said: Normal
    below: Normal
    sums: Normal
    up: Normal
    top: Normal
    explanation: Explanation
    family_sd: float
    score_sd: float
    own_sd: float

    @classmethod
    def of(
        cls, said: Normal, below: Below, explanation: Explanation, family_sd: float, score_sd: float, own_sd: float
    ) -> Conditional:
        """Pass likelihoods up the tree."""
        sums, sign = below.gathered(explanation), explanation.sign[:, None]
        top, sums = sums[-1:], sums[:-1]
        up = absorb_columns(sums, np.asarray(family_sd)) if explanation.n_families else sums
        top = top + up.sum(axis=0)
        return cls(
            said.signed(sign), below.likelihood.signed(sign), sums, up, top, explanation, family_sd, score_sd, own_sd
        )

    def mean(self, away: float) -> tuple[FloatArray, FloatArray]:
        """Return the means of the scores, and of those that each annotator votes by; ``away`` as in ``draw``."""
        far, family = np.array([away]), self.explanation.family
        at_top = self.top.precision[0] + np.eye(self.top.precision.shape[-1]) / self.score_sd**2
        scores = np.linalg.solve(at_top, _shift(self.top, far)[0, 0])
        own = np.repeat(scores[None], len(family), axis=0)
        for g in range(self.explanation.n_families):
            own[family == g] += self.family_sd**2 * (_shift(self.up, far)[0, g] - self.up.precision[g] @ scores)
        moved = (self.below.precision @ own[..., None])[..., 0]
        own += self.own_sd**2 * (_shift(self.below, far)[0] - moved)
        return scores, own * self.explanation.sign[:, None]

    def draw(
        self, away: FloatArray, rng: np.random.Generator, root: Float32Array | None = None
    ) -> tuple[FloatArray, Float32Array]:
        """Draw scores, by draw, and those that each annotator votes by, by annotator and draw.

        away: How far the mean of the logits of lapses is from where the likelihoods are given, for each draw.
        root: As :func:`inverse_root` returns for own effects.
        """
        family = self.explanation.family
        scores = _draw(self.top.precision, _shift(self.top, away), self.score_sd, rng)
        tastes = scores.transpose(1, 0, 2)
        if self.explanation.n_families:
            shift = _shift(self.sums, away) - np.einsum("gij,dj->dgi", self.sums.precision, scores[:, 0])
            effects = _draw(self.sums.precision, shift, self.family_sd, rng).transpose(1, 0, 2)
            tastes = np.concatenate([tastes + effects, tastes])
        own = tastes[family].astype(np.float32) if root is None else self._draw_own(tastes, away, root, rng)
        own *= self.explanation.sign.astype(np.float32)[:, None, None]
        return scores[:, 0], own

    def _draw_own(
        self, tastes: FloatArray, away: FloatArray, root: Float32Array, rng: np.random.Generator
    ) -> Float32Array:
        """Draw the scores that annotators vote by about those of their families, and last of those without one."""
        family, further = self.explanation.family, away.astype(np.float32)[:, None]
        shift = (root @ self.said.shift)[:, None].astype(np.float32)
        # Single precision is enough for draws.
        drawn: Float32Array = rng.standard_normal((len(family), *tastes.shape[1:]), dtype=np.float32)
        drawn += shift[..., 1]
        drawn += further * (np.float32(0.5) * (shift[..., 2] - shift[..., 0]))
        turned, given = root.transpose(0, 2, 1) / np.float32(self.own_sd**2), tastes.astype(np.float32)
        for g in np.unique(family):
            inside = np.flatnonzero(family == g)
            drawn[inside] += np.matmul(given[g], turned[inside])
        return np.asarray(np.matmul(drawn, root))

    def covariance(self, of_mean: float) -> FloatArray:
        """Return the covariance of the scores each annotator votes by; given the variance of the mean of lapses."""
        one, family = np.eye(self.top.precision.shape[-1]), self.explanation.family
        common = np.linalg.inv(self.top.precision[0] + one / self.score_sd**2)
        kept = one - self.family_sd**2 * self.up.precision
        found = np.concatenate([self.family_sd**2 * kept + kept @ common @ kept, common[None]])
        moved = self.mean(0.5)[1] - self.mean(-0.5)[1]
        # Single precision is enough for points that are averaged over.
        known, away = found.astype(np.float32)[family], moved.astype(np.float32)
        if self.own_sd > 0:
            through = -(self.own_sd**2) * self.below.precision.astype(np.float32)
            through += np.eye(len(one), dtype=np.float32)
            known = through @ known @ through
            through *= self.own_sd**2
            known += through
        known += (of_mean * away)[:, :, None] * away[:, None, :]
        return known.astype(np.float64)


def _shift(likelihood: Normal, away: FloatArray) -> FloatArray:
    """Return the shifts for each draw, which come first."""
    shift = likelihood.shift
    return np.asarray(shift[..., 1] + away[:, None, None] * (0.5 * (shift[..., 2] - shift[..., 0])))


def _draw(precision: FloatArray, shift: FloatArray, sd: float, rng: np.random.Generator) -> FloatArray:
    """Draw normal effects from stacked likelihoods: precisions (stack, n, n), shifts (draws, stack, n)."""
    inverse = inverse_root(precision, sd)
    noise = rng.standard_normal(shift.shape).transpose(1, 2, 0)
    found = np.matmul(inverse.transpose(0, 2, 1), np.matmul(inverse, shift.transpose(1, 2, 0)) + noise)
    return np.asarray(found.transpose(2, 0, 1))


def inverse_root(precision: FloatArray, sd: float, dtype: Any = np.float64) -> Any:
    """Return the inverses of the lower Cholesky factors of precisions with normal effects."""
    root = np.linalg.cholesky(precision + np.eye(precision.shape[-1]) / sd**2)
    return np.linalg.inv(root.astype(dtype, copy=False))
