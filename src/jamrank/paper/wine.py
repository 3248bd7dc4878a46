"""Synthetic annotators on the wine data, with known flips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.inference import order_accuracy
from jamrank.models import IAM, JAM, RankingModel
from jamrank.paper.data import Data
from jamrank.paper.methods import fit_methods
from jamrank.paper.trials import Measurement
from jamrank.typing import FloatArray, Int32Array

COLOURS = ("red", "white")
_MOST_NOISE = 0.95
# Measured on two cores: seconds for a pair of wines, and for everything else.
_SECONDS_A_PAIR, _SECONDS = 3e-6, 1.0

Pairs = tuple[Int32Array, Int32Array]


def wine_flips(n_annotators: int = 6, noise: float = 1.0) -> FloatArray:
    """Return the annotators' flips: noise · k/20 for the k-th, at most 0.95."""
    return np.minimum(noise * np.arange(1, n_annotators + 1) / 20, _MOST_NOISE)


def different_pairs(quality: FloatArray, n_pairs: int | None, rng: np.random.Generator) -> Pairs:
    """Return pairs of different quality: all of them, or so many at random."""
    left, right = (side.astype(np.int32) for side in np.triu_indices(len(quality), 1))
    different = quality[left] != quality[right]
    left, right = left[different], right[different]
    if n_pairs is not None and n_pairs < len(left):
        chosen = np.sort(rng.choice(len(left), n_pairs, replace=False))
        left, right = left[chosen], right[chosen]
    return left, right


def noisy_votes(
    left: Int32Array,
    right: Int32Array,
    quality: FloatArray,
    flips: FloatArray,
    rng: np.random.Generator,
) -> Comparisons:
    """Return the votes of annotators who report the truth but for independent flips."""
    truth = quality[left] > quality[right]
    said = np.empty((len(left), len(flips)), dtype=np.int8)
    for k, flip in enumerate(flips):
        said[:, k] = truth ^ (rng.random(len(left)) < flip)
    return Comparisons.from_matrix(left, right, said)


@dataclass(frozen=True)
class WineTrial:
    """The four methods on the votes of synthetic annotators.

    colour: ``"red"`` or ``"white"``.
    noise: The paper's alpha.
    n_pairs: Number of random pairs of different quality; by default all.
    """

    colour: str
    seed: int
    n_annotators: int = 6
    noise: float = 1.0
    n_pairs: int | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the data files that it reads."""
        return (f"winequality-{self.colour}.csv",)

    @property
    def cost(self) -> float:
        """Expected seconds."""
        every = 821_581 if self.colour == "red" else 8_102_166
        return _SECONDS + _SECONDS_A_PAIR * (self.n_pairs or every)

    def run(self, data: Data) -> list[Measurement]:
        """Draw votes, fit each method, and compare it with the truth."""
        features, quality = data.wine(self.colour)
        rng = np.random.default_rng(self.seed)
        left, right = different_pairs(quality, self.n_pairs, rng)
        votes = noisy_votes(left, right, quality, wine_flips(self.n_annotators, self.noise), rng)
        truth, known = quality[votes.items], features[votes.items]
        found = [Measurement("data", "pairs", "", votes.n_pairs)]
        for name, fit in fit_methods(votes, known).items():
            found += _measure(name, fit, truth)
        return found


def _measure(name: str, model: RankingModel, truth: FloatArray) -> list[Measurement]:
    right = 100 * model.score(truth)
    found = [
        Measurement(name, "accuracy", "", right),
        Measurement(name, "order", "", 100 * model.score(truth, by="scores")),
    ]
    if isinstance(model, IAM):
        own = [100 * order_accuracy(scores, truth) for scores in model.annotator_scores_]
        return found + [Measurement(name, "ranker", f"annotator={k}", value) for k, value in enumerate(own, 1)]
    if isinstance(model, JAM):
        flips = model.flip_.reshape(len(model.flip_), -1).mean(axis=1)
        # With the sign flipped, (w, r) becomes (-w, 1 - r): the same likelihood, every decision reversed.
        given = right if flips[0] < 0.5 else 100 - right
        found.append(Measurement(name, "accuracy, sign given", "", given))
        found += [Measurement(name, "flip", f"annotator={k}", float(flip)) for k, flip in enumerate(flips, 1)]
    return found


@dataclass(frozen=True)
class RankerTrial:
    """The annotators' own rankers by a support vector machine, after one epoch of stochastic gradient descent.

    Shows how weak rankers are if training has not converged, with raw and with standardised features.
    """

    colour: str
    seed: int
    n_pairs: int

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the data files that it reads."""
        return (f"winequality-{self.colour}.csv",)

    @property
    def cost(self) -> float:
        """Expected seconds."""
        return _SECONDS + 1e-5 * self.n_pairs

    def run(self, data: Data) -> list[Measurement]:
        """Train a ranker for each annotator on differences of features."""
        from sklearn.linear_model import SGDClassifier

        features, quality = data.wine(self.colour)
        rng = np.random.default_rng(self.seed)
        left, right = different_pairs(quality, self.n_pairs, rng)
        truth = quality[left] > quality[right]
        said = [truth ^ (rng.random(len(left)) < flip) for flip in wine_flips()]
        found = []
        for name, known in (("raw", features), ("standardised", (features - features.mean(0)) / features.std(0))):
            apart, total = known[left] - known[right], np.zeros(len(quality))
            for k, votes in enumerate(said, 1):
                machine = SGDClassifier(
                    loss="hinge", fit_intercept=False, random_state=self.seed, max_iter=1, tol=None
                )
                scores = known @ machine.fit(apart, votes).coef_[0]
                total += scores
                value = 100 * order_accuracy(scores, quality)
                found.append(Measurement(f"SVM, {name}", "ranker", f"annotator={k}", value))
            found.append(Measurement(f"SVM, {name}", "accuracy", "", 100 * order_accuracy(total, quality)))
        return found
