"""What ties and grades share: further parameters, beside those of the noise of the decided votes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from jamrank.noise.base import Noise
from jamrank.typing import FloatArray

_LARGEST = 30.0


class WrappedNoise(Noise):
    """A noise of the decided votes, and further parameters of which votes say something given the margin alone.

    Parameters are those of the noise, then the further ones, then those of the noise that all annotators share.
    Expected counts are those of the noise, then slope and
    information of each further parameter. These have a normal prior around the mean of their kind and one around 0.

    noise: Of the decided votes.
    n_confusion_groups: Rows of the expected counts that belong to it.
    shape: Kinds of further parameters, and how many there are of each.
    to_mean, to_zero: Precisions of the priors; 0 for plain maximum likelihood.
    caution: Factor of the information: the number of parameters that enter a vote's log-odds together, so that a
        Newton step in each cannot go too far.
    """

    def __init__(
        self,
        noise: Noise,
        n_confusion_groups: int,
        shape: tuple[int, int],
        to_mean: float,
        to_zero: float = 0.0,
        caution: float = 1.0,
    ) -> None:
        self.noise, self.n_confusion_groups = noise, n_confusion_groups
        self.shape, self.n_further = shape, shape[0] * shape[1]
        self._to_mean, self._to_zero, self._caution = to_mean, to_zero, caution
        self.n_shared = noise.n_shared

    @abstractmethod
    def initial(self) -> FloatArray:
        """Return the further parameters at the start of a fit."""

    def split(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the noise, and the further ones by kind."""
        end = len(params) - self.noise.n_shared
        own, further = params[: end - self.n_further], params[end - self.n_further : end]
        return np.concatenate([own, params[end:]]), further.reshape(self.shape)

    def join(self, own: FloatArray, further: FloatArray) -> FloatArray:
        """Return all parameters: those of the noise that annotators share come last."""
        end = len(own) - self.noise.n_shared
        return np.concatenate([own[:end], further.ravel(), own[end:]])

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the tables of the noise, flattened, then the further parameters."""
        own, further = self.split(params)
        return np.concatenate([self.noise.log_emission(own).ravel(), further.ravel()])

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return updated parameters: for the further ones a Newton step, short enough not to lower the objective."""
        own_counts = expected_counts[: self.n_confusion_groups]
        if params is None:
            return self.join(self.noise.update(own_counts), self.initial())
        own, further = self.split(params)
        slope = self._slope(further, expected_counts)
        information = self._caution * self._of_votes(expected_counts, 1) + self._to_zero
        held = information + self._to_mean
        give = np.divide(1.0, held, out=np.zeros_like(held), where=held > 0)
        step = give * slope
        # The prior is centred at the common mean, which adds a rank-one term to the inverse of the precision.
        free = (give * information).sum(axis=1, keepdims=True)
        pull = self._to_mean * step.sum(axis=1, keepdims=True)
        step = step + give * np.divide(pull, free, out=np.zeros_like(free), where=free > 0)
        length = float(np.abs(step).max(initial=0.0))
        step = step * (np.log1p(length) / length) if length > 0 else step
        further = np.clip(further + step, -_LARGEST, _LARGEST)
        return self.join(self.noise.update(own_counts, own), further)

    def _of_votes(self, expected_counts: FloatArray, column: int) -> FloatArray:
        return expected_counts[self.n_confusion_groups :, column].reshape(self.shape)

    def _slope(self, further: FloatArray, expected_counts: FloatArray) -> FloatArray:
        away = further - further.mean(axis=1, keepdims=True)
        of_votes = self._of_votes(expected_counts, 0)
        return np.asarray(of_votes - self._to_mean * away - self._to_zero * further)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the derivative in all parameters."""
        own, further = self.split(params)
        of_noise = self.noise.slope(own, expected_counts[: self.n_confusion_groups])
        return self.join(of_noise, self._slope(further, expected_counts))

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the missing information of the noise; for the further parameters it is 0."""
        own, further = self.split(params)
        return self.join(self.noise.missing_information(own, truth_variance), np.zeros(further.size))

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return what the parameters of the noise suggest."""
        own = self.split(params)[0]
        return self.noise.estimated_prior(own, expected_counts[: self.n_confusion_groups], truth_variance)

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density of all parameters, up to a constant."""
        own, further = self.split(params)
        away = float(((further - further.mean(axis=1, keepdims=True)) ** 2).sum())
        return self.noise.log_prior(own) - 0.5 * (self._to_mean * away + self._to_zero * float((further**2).sum()))

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters of the noise for a random start, with the usual further ones."""
        return self.join(self.noise.random(rng), self.initial())

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return those of the noise, with the usual further ones."""
        own = self.noise.with_trust(trust)
        return None if own is None else self.join(own, self.initial())

    def orientation(self, params: FloatArray) -> float:
        """Return the orientation of the decided votes."""
        return self.noise.orientation(self.split(params)[0])

    @property
    def flip_kind(self) -> str:  # type: ignore[override]
        """How flips follow from the noise of the decided votes."""
        return self.noise.flip_kind

    @property
    def sided(self) -> bool:  # type: ignore[override]
        """Whether the noise of the decided votes has sides."""
        return self.noise.sided

    @property
    def can_draw(self) -> bool:  # type: ignore[override]
        """Whether the posterior of the noise of the decided votes can be sampled."""
        return self.noise.can_draw

    def shared_traits(self, params: FloatArray) -> dict[str, float]:
        """Return those of the noise of the decided votes."""
        return self.noise.shared_traits(self.split(params)[0])

    def decided(self, params: FloatArray) -> tuple[Noise, FloatArray]:
        """Return the noise of the decided votes, and its parameters."""
        return self.noise.decided(self.split(params)[0])
