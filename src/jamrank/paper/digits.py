"""Handwritten digits ranked by the value drawn, from the votes of weak classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import Comparisons

__all__ = ["CLASSIFIERS", "DigitVotes", "digit_votes", "machine_predictions"]

CLASSIFIERS = ("nearest neighbours", "logistic regression", "naive Bayes", "random forest", "perceptron")
_FOLDS = 10


@dataclass(frozen=True)
class DigitVotes:
    """Votes of classifiers on pairs of images, with the truth.

    Attributes
    ----------
    votes : Comparisons
        One item an image, numbered from 0; a vote is a tie where the classifier reads the same digit twice.
    features : ndarray of shape (images, features)
        For the fusion; constant ones left out.
    digits : ndarray
        The digit truly drawn.
    """

    votes: Comparisons
    features: NDArray[np.float64]
    digits: NDArray[np.int64]


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
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    seed: int,
    told: Callable[[str], None] = lambda name: None,
) -> NDArray[np.int64]:
    """Return the labels that five classifiers read, each from three or four features, by cross-validation.

    Parameters
    ----------
    features : ndarray of shape (images, features)
    labels : ndarray
        What was drawn.
    seed : int
        Of the choice of features, the folds and the classifiers.
    told : callable
        Called with each classifier's name before its turn.

    Returns
    -------
    ndarray of shape (images, 5)
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rng = np.random.default_rng(seed)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    columns = []
    for name, classifier in _classifiers(seed).items():
        told(name)
        chosen = rng.choice(features.shape[1], rng.integers(3, 5), replace=False)
        columns.append(cross_val_predict(classifier, features[:, chosen], labels, cv=folds))
    return np.stack(columns, axis=1)


def digit_votes(seed: int = 0, told: Callable[[str], None] = lambda name: None) -> DigitVotes:
    """Return the votes of five weak classifiers on all pairs of scikit-learn's 1,797 digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    features = data.data[:, data.data.std(axis=0) > 2.0]
    read = machine_predictions(features, data.target, seed, told)
    left, right = np.triu_indices(len(data.target), 1)
    different = data.target[left] != data.target[right]
    left, right = left[different], right[different]
    outcomes = np.where(read[left] == read[right], 0.5, read[left] > read[right])
    votes = Comparisons.from_matrix(left, right, outcomes, annotators=CLASSIFIERS)
    return DigitVotes(votes, features, data.target)
