"""Votes with a known truth, drawn alike for every contender."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SCORE_SPREAD = 1.5
RANDOM, ADVERSARIAL = 0.3, 0.1
RIGHT_RANDOM, RIGHT_ADVERSARIAL, RIGHT_CAREFUL = 0.5, 0.15, 0.92


@dataclass(frozen=True)
class Votes:
    """What every contender is given: four parallel arrays, and how many items and annotators there are."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    annotator: NDArray[np.int64]
    left_won: NDArray[np.bool_]
    n_items: int
    n_annotators: int

    def save(self, folder: Path) -> None:
        for field in fields(self):
            np.save(folder / f"{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path) -> Votes:
        saved = {field.name: np.load(folder / f"{field.name}.npy") for field in fields(cls)}
        return cls(**{name: value if value.ndim else int(value) for name, value in saved.items()})


def draw(n_items: int, n_annotators: int, n_votes: int, seed: int) -> tuple[Votes, NDArray[np.float64]]:
    """Return votes on random pairs, and the true scores.

    The truth of each vote is drawn anew by Bradley–Terry; its annotator then says it, or the opposite.
    """
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, SCORE_SPREAD, n_items)
    says_truth = rng.permutation(_chances_to_be_right(n_annotators))
    left = rng.integers(n_items, size=n_votes)
    right = rng.integers(n_items - 1, size=n_votes)
    right += right >= left
    annotator = rng.integers(n_annotators, size=n_votes)
    truth = rng.random(n_votes) < 1 / (1 + np.exp(scores[right] - scores[left]))
    is_right = rng.random(n_votes) < says_truth[annotator]
    return Votes(left, right, annotator, truth == is_right, n_items, n_annotators), scores


def _chances_to_be_right(n_annotators: int) -> NDArray[np.float64]:
    n_random, n_adversarial = round(RANDOM * n_annotators), round(ADVERSARIAL * n_annotators)
    chances = np.full(n_annotators, RIGHT_CAREFUL)
    chances[:n_random] = RIGHT_RANDOM
    chances[n_random : n_random + n_adversarial] = RIGHT_ADVERSARIAL
    return chances


def draw_jury(
    n_items: int, n_pairs: int | None, n_features: int, flips: NDArray[np.float64], seed: int
) -> dict[str, NDArray[np.generic]]:
    """Return every annotator's vote on some random pairs of items (None: on all), and the items' features.

    Every item is in at least one pair. Scores are a linear function of the features; the truth of each pair is drawn
    once, by Bradley–Terry.
    """
    rng = np.random.default_rng(seed)
    if n_pairs is None:
        first, second = np.triu_indices(n_items, 1)
    else:
        drawn = rng.integers(n_items, size=(2, 2 * n_pairs + 100))
        low, high = drawn.min(axis=0), drawn.max(axis=0)
        neighbours = np.arange(n_items - 1) * (n_items + 1) + 1
        others = rng.permutation(np.setdiff1d((low * n_items + high)[low < high], neighbours))
        pairs = np.concatenate([neighbours, others[: n_pairs - len(neighbours)]])
        first, second = np.divmod(np.sort(pairs), n_items)
    features = rng.standard_normal((n_items, n_features))
    scores = features @ rng.normal(0.0, SCORE_SPREAD / np.sqrt(n_features), n_features)
    truth = rng.random(len(first)) < 1 / (1 + np.exp(scores[second] - scores[first]))
    said = np.empty((len(first), len(flips)), dtype=np.int8)
    for k, flip in enumerate(flips):
        said[:, k] = truth ^ (rng.random(len(first)) < flip)
    return {"first": first.astype(np.int32), "second": second.astype(np.int32), "said": said, "features": features}
