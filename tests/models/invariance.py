"""Votes written in another way that mean the same, and how far apart two fits of them are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import jamrank as jr


@dataclass(frozen=True)
class Written:
    """Votes as someone may have written them down, with features by item."""

    left: np.ndarray
    right: np.ndarray
    annotator: np.ndarray
    outcome: np.ndarray
    features: np.ndarray
    question: np.ndarray | None = None

    @property
    def votes(self) -> jr.Comparisons:
        return jr.Comparisons.from_arrays(self.left, self.right, self.annotator, self.outcome, question=self.question)

    @property
    def frame(self) -> pl.DataFrame:
        columns = {f"x{f}": self.features[:, f] for f in range(self.features.shape[1])}
        return pl.DataFrame({"item": np.arange(len(self.features)), **columns})

    def permuted(self, rng: np.random.Generator) -> Written:
        order = rng.permutation(len(self.left))
        question = None if self.question is None else self.question[order]
        return replace(
            self,
            left=self.left[order],
            right=self.right[order],
            annotator=self.annotator[order],
            outcome=self.outcome[order],
            question=question,
        )

    def swapped(self, rng: np.random.Generator) -> Written:
        turn = rng.random(len(self.left)) < 0.5
        return replace(
            self,
            left=np.where(turn, self.right, self.left),
            right=np.where(turn, self.left, self.right),
            outcome=np.where(turn, 1 - self.outcome, self.outcome),
        )

    def renamed(self, items: np.ndarray, annotators: np.ndarray) -> Written:
        return replace(
            self,
            left=items[self.left],
            right=items[self.right],
            annotator=annotators[self.annotator],
            features=self.features[np.argsort(items)],
        )


def draw(seed: int, n_items: int = 14, n_annotators: int = 5, n_votes: int = 300, whole: bool = False) -> Written:
    """Draw votes with an adversary, ties and features; whole-number features if wanted."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 3, (n_items, 3)).astype(float) if whole else rng.standard_normal((n_items, 3))
    features[:2] = [[0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    scores = features @ [1.0, -0.7, 0.4] + 0.5 * rng.standard_normal(n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    left[:n_items], right[:n_items] = np.arange(n_items), (np.arange(n_items) + 1) % n_items
    annotator = rng.integers(0, n_annotators, n_votes)
    annotator[:n_annotators] = np.arange(n_annotators)
    flips = np.linspace(0.05, 0.3, n_annotators)
    flips[-1] = 0.8
    better = rng.random(n_votes) < 1 / (1 + np.exp(scores[right] - scores[left]))
    outcome = (better ^ (rng.random(n_votes) < flips[annotator])).astype(float)
    outcome[rng.random(n_votes) < 0.05] = 0.5
    return Written(left, right, annotator, outcome, features)


def distance(a: jr.models.RankingModel, b: jr.models.RankingModel, items: np.ndarray, who: np.ndarray) -> float:
    """Return the largest difference of scores, flips, posterior and clusters.

    ``items[k]`` and ``who[k]`` are the names in ``b`` of item and annotator ``k`` of ``a``.
    """
    apart = [np.abs(a.scores_ - b.scores_[items]).max()]
    if a.flip_.shape != b.flip_.shape:
        return np.inf
    apart.append(np.abs(a.flip_ - b.flip_[who]).max())
    columns = zip(*(b.pairs_[name].to_list() for name in ("left", "right")), strict=True)
    place = {pair: p for p, pair in enumerate(columns)}
    left, right = items[a.pairs_["left"].to_numpy()].tolist(), items[a.pairs_["right"].to_numpy()].tolist()
    same = [(x, y) in place for x, y in zip(left, right, strict=True)]
    at = [place.get((x, y), place.get((y, x))) for x, y in zip(left, right, strict=True)]
    posterior = np.where(same, b.posterior_[at], 1 - b.posterior_[at])
    apart.append(np.abs(a.posterior_ - posterior).max())
    if hasattr(a, "cluster_"):
        apart.append(float((a.cluster_ != b.cluster_[at]).any()))
    return float(max(apart))
