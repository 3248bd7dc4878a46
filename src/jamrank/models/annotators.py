"""What a noise says of each annotator beside flips, how surely, and which votes to expect of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.data.ids import as_column, as_objects, locate
from jamrank.errors import ParameterError
from jamrank.fitting.em import Point, Problem
from jamrank.inference.information import annotator_covariance, interval
from jamrank.models.base import RankingModel
from jamrank.noise import Noise, Tied
from jamrank.typing import FloatArray

__all__ = ["AnnotatorResults"]


class AnnotatorResults(RankingModel):
    """Results of models with a noise: bias and thresholds for ties where it has them, and votes foretold."""

    _extra_state: ClassVar[tuple[str, ...]] = ("bias_", "bias_interval_", "side_flip_", "tie_", "tie_interval_")

    bias_: FloatArray | None = None
    side_flip_: FloatArray | None = None
    tie_: FloatArray | None = None
    noise: str = "flip"
    ties: str = "leave out"
    _fitted: tuple[Problem, Point]

    def _finish_annotators(self, noise: Noise, params: FloatArray) -> None:
        """Take what the noise says of each annotator beside flips."""
        own, logs = noise.split(params) if isinstance(noise, Tied) else (params, np.empty(0))
        self.bias_ = self.side_flip_ = self.tie_ = None
        if self.noise == "two-coin":
            flip, self.bias_ = own.reshape(2, -1)
            self.side_flip_ = expit(np.stack([flip - self.bias_, flip + self.bias_], axis=1))
        if self.ties == "davidson":
            self.tie_ = np.exp(logs) if len(logs) else np.zeros(len(self._annotators))

    @cached_property
    def _noise_covariance(self) -> FloatArray:
        """Covariance of each annotator's parameters, by kind, kind and annotator."""
        return annotator_covariance(*self._fitted, len(self._annotators))

    @cached_property
    def bias_interval_(self) -> FloatArray | None:
        """95 % interval of each annotator's bias, from low to high; None where the noise knows no sides."""
        self._require_fit()
        return None if self.bias_ is None else interval(self.bias_, self._noise_covariance[1, 1])

    @cached_property
    def tie_interval_(self) -> FloatArray | None:
        """95 % interval of each annotator's threshold for ties, from low to high; None where ties are left out."""
        self._require_fit()
        if self.tie_ is None:
            return None
        if not self.tie_.any():
            # No tie in n votes: at most about three would have been called in as many.
            return np.stack([self.tie_, 3.0 / (self._annotator_votes + 1.0)], axis=1)
        return np.asarray(np.exp(interval(np.log(self.tie_), self._noise_covariance[-1, -1])))

    def _annotator_columns(self) -> dict[str, FloatArray]:
        known = {"bias": (self.bias_, self.bias_interval_), "tie": (self.tie_, self.tie_interval_)}
        columns: dict[str, FloatArray] = {}
        for name, (value, reach) in known.items():
            if value is not None and reach is not None:
                columns |= {name: value, f"{name}_low": reach[:, 0], f"{name}_high": reach[:, 1]}
        return columns

    def predict_votes(self, left: Any, right: Any, annotator: Any) -> FloatArray:
        """Return how likely an annotator is to vote for left, for right, and to call a tie, from the scores.

        Parameters
        ----------
        left, right : id or array-like of ids
            Items of the fit, on the sides on which they are shown.
        annotator : id or array-like of ids
            Annotators of the fit.

        Returns
        -------
        ndarray of shape (votes, 3)
            Where the model leaves ties out, the last column is 0.
        """
        self._require_fit()
        names = as_objects(as_column([annotator] if np.ndim(annotator) == 0 else annotator))
        who = locate(self._annotators, names)
        if (who < 0).any():
            raise ParameterError(f"annotator {names[who < 0][0]!s} has cast no vote")
        better = self.predict_proba(left, right)
        says_left = self._says_left(better, who)
        tied = np.zeros(len(better))
        if self.tie_ is not None:
            odds = 2.0 * self.tie_[who] * np.sqrt(better * (1 - better))
            tied = odds / (1.0 + odds)
        return np.stack([says_left * (1 - tied), (1 - says_left) * (1 - tied), tied], axis=1)

    def _says_left(self, better: FloatArray, who: NDArray[np.intp]) -> FloatArray:
        """Return how likely decided votes are for left, which is better as likely as said."""
        flip = self._overall_flip()
        on_left, on_right = (flip, flip) if self.side_flip_ is None else self.side_flip_.T
        return np.asarray(better * (1 - on_left[who]) + (1 - better) * on_right[who])
