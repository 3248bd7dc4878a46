"""Handwritten digits ranked by the value drawn, from the votes of weak classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.fitting.disagreement import disagreement
from jamrank.models import MajorityVote, RankingModel
from jamrank.paper.data import Data
from jamrank.paper.methods import fit_methods
from jamrank.paper.trials import Measurement
from jamrank.typing import BoolArray, FloatArray, IntArray

CLASSIFIERS = ("nearest neighbours", "logistic regression", "naive Bayes", "random forest", "perceptron")
# Which method against which, for McNemar's test.
RIVALS = (("JAM", "MV"), ("VRJAM", "MV"), ("VRJAM", "JAM"), ("JAM", "IAM"))
_FOLDS = 10


@dataclass(frozen=True)
class DigitVotes:
    """Votes of classifiers on pairs of images, with the truth.

    votes: One item per image, numbered from 0; a vote is a tie if the classifier reads the same digit twice.
    features, of shape (images, features): For the fusion; constant ones left out.
    digits: The digit truly drawn.
    """

    votes: Comparisons
    features: FloatArray
    digits: IntArray


def _classifiers(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, Perceptron
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    models = (
        KNeighborsClassifier(5),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        GaussianNB(),
        RandomForestClassifier(50, random_state=seed),
        make_pipeline(StandardScaler(), Perceptron(random_state=seed)),
    )
    return dict(zip(CLASSIFIERS, models, strict=True))


def machine_predictions(
    features: FloatArray,
    labels: IntArray,
    seed: int,
) -> IntArray:
    """Return the predictions of five classifiers, each from three or four features, by cross-validation.

    features, of shape (images, features).
    labels: What was drawn.
    seed: Of the choice of features, the folds and the classifiers.
    Returns an array, of shape (images, 5).
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rng = np.random.default_rng(seed)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    columns = []
    for classifier in _classifiers(seed).values():
        chosen = rng.choice(features.shape[1], rng.integers(3, 5), replace=False)
        columns.append(cross_val_predict(classifier, features[:, chosen], labels, cv=folds))
    return np.stack(columns, axis=1)


def _pairs_and_outcomes(digits: IntArray, read: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of images of different digits, and each classifier's vote: a tie where it reads the same."""
    left, right = np.triu_indices(len(digits), 1)
    different = digits[left] != digits[right]
    left, right = left[different], right[different]
    return left, right, np.where(read[left] == read[right], 0.5, read[left] > read[right])


def pen_digit_votes(data: Data, seed: int, n_images: int = 1000) -> tuple[dict[str, DigitVotes], float]:
    """Return the votes of machine annotators on pen-written digits, as in the paper, and the share of ties.

    There are two settings: ties go to a random side, or are left out.
    """
    features, digits = data.digits()
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(digits), n_images, replace=False))
    features, digits = features[chosen], digits[chosen]
    left, right, outcomes = _pairs_and_outcomes(digits, machine_predictions(features, digits, seed))
    tied = outcomes == 0.5
    random_ties = np.where(tied, rng.random(outcomes.shape) < 0.5, outcomes)
    # from_matrix sorts annotators by name; numbers keep them in the paper's order.
    settings = {"ties=random": random_ties, "ties=left out": np.where(tied, np.nan, outcomes)}
    drawn = {
        setting: DigitVotes(Comparisons.from_matrix(left, right, said), features, digits)
        for setting, said in settings.items()
    }
    return drawn, float(tied.mean())


@dataclass(frozen=True)
class DigitsTrial:
    """The four methods on the votes of machine annotators on pen-written digits.

    seed: Seed of the images, the features of each classifier, the folds and random ties.
    """

    seed: int
    n_images: int = 1000
    files: ClassVar[tuple[str, ...]] = ("pendigits.tra",)

    @property
    def cost(self) -> float:
        """Expected seconds."""
        return 4 + self.n_images**2 * 8e-6

    def run(self, data: Data) -> list[Measurement]:
        """Train the classifiers, turn what they read into votes, and fit each method to them."""
        drawn, ties = pen_digit_votes(data, self.seed, self.n_images)
        (one, *_) = drawn.values()
        found = [Measurement("data", "pairs", "", one.votes.n_pairs), Measurement("data", "ties", "", 100 * ties)]
        for setting, said in drawn.items():
            found += _compare(said.votes, said.features, said.digits.astype(np.float64), setting, self.seed)
        return found


def _compare(
    votes: Comparisons, features: FloatArray, digits: FloatArray, setting: str, seed: int
) -> list[Measurement]:
    """Measure the annotators, the methods, and each method against its rivals."""
    truth = digits[votes.pair_first] > digits[votes.pair_second]
    right = 1 - disagreement(votes, lambda votes: np.where(truth, 1.0, -1.0))
    found = [
        Measurement(name, "annotator", setting, 100 * value) for name, value in zip(CLASSIFIERS, right, strict=True)
    ]
    hits: dict[str, BoolArray] = {}
    for name, model in fit_methods(votes, features).items():
        found.append(Measurement(name, "accuracy", setting, 100 * model.score(digits)))
        found.append(Measurement(name, "order", setting, 100 * model.score(digits, by="scores")))
        hits[name] = _decisions(model, seed) == truth
    for one, other in RIVALS:
        better, worse = (hits[one] & ~hits[other]).sum(), (hits[other] & ~hits[one]).sum()
        found.append(Measurement(f"{one} - {other}", "difference", setting, 100 * (better - worse) / len(truth)))
        found.append(Measurement(f"{one} - {other}", "McNemar p", setting, _mcnemar(int(better), int(worse))))
    return found


def _decisions(model: RankingModel, seed: int) -> BoolArray:
    """Decide every pair, tied ones at random as in the paper."""
    if isinstance(model, MajorityVote):
        return model.decide(seed)
    return np.asarray(model.posterior_ > 0.5)


def _mcnemar(better: int, worse: int) -> float:
    """Return the p-value of McNemar's exact test: a binomial test on the pairs that the two decide differently."""
    from scipy.stats import binomtest

    return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
