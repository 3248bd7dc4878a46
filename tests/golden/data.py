"""Small data sets for the golden file: drawn from uniform random numbers alone, so that they stay as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jamrank as jr

__all__ = ["DATA", "Data"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """Votes, and what else a fit may be given."""

    columns: dict[str, Any]
    features: dict[str, list[float]] | None = None
    gold: list[tuple[str, str]] | None = None

    @cached_property
    def votes(self) -> jr.Comparisons:
        make = jr.Comparisons.from_matrix if "outcomes" in self.columns else jr.Comparisons.from_arrays
        return make(**self.columns)

    @property
    def checksum(self) -> str:
        """A digest of everything: a generator that draws other votes would make every comparison pointless."""
        text = repr([self.columns, self.features, self.gold])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Draw:
    """Votes by annotators who flip, as parallel lists."""

    rng: np.random.Generator
    scores: Doubles
    flip: Doubles
    bias: Doubles | None = None
    tie: float = 0.0

    def __post_init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in ("left", "right", "annotator", "outcome")}

    def vote(self, a: int, b: int, annotator: int) -> float:
        """Return 1 for ``a``, shown on the left, 0 for ``b`` and 0.5 for a tie; keep the vote."""
        margin = self.scores[a] - self.scores[b]
        flipped = self.rng.random() < self.flip[annotator]
        left = self.rng.random() < 1.0 / (1.0 + np.exp(-margin))
        outcome = float(left != flipped)
        if self.bias is not None and self.rng.random() < abs(self.bias[annotator]):
            outcome = float(self.bias[annotator] > 0)
        if self.rng.random() < self.tie / (1.0 + abs(margin)):
            outcome = 0.5
        values = (item_id(a), item_id(b), annotator_id(annotator), outcome)
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)
        return outcome


def item_id(item: int) -> str:
    return f"i{item:02d}"


def annotator_id(annotator: int) -> str:
    return f"a{annotator:02d}"


def spread(rng: np.random.Generator, n: int, low: float, high: float) -> Doubles:
    return np.asarray(np.round(low + (high - low) * rng.random(n), 3))


def two_items(rng: np.random.Generator, n_items: int) -> tuple[int, int]:
    a = int(rng.random() * n_items)
    b = (a + 1 + int(rng.random() * (n_items - 1))) % n_items
    return a, b


def jury(rng: np.random.Generator) -> Data:
    """Six annotators on all pairs of ten items, one vote in ten missing, one annotator worse than chance."""
    draw = Draw(rng, spread(rng, 10, -2, 2), np.array([0.05, 0.1, 0.15, 0.3, 0.45, 0.7]))
    pairs = list(combinations(range(10), 2))
    outcomes = np.array([[draw.vote(a, b, k) for k in range(6)] for a, b in pairs])
    outcomes[rng.random(outcomes.shape) < 0.1] = np.nan
    left, right = ([item_id(pair[side]) for pair in pairs] for side in (0, 1))
    annotators = [annotator_id(k) for k in range(6)]
    return Data({"left": left, "right": right, "outcomes": outcomes.tolist(), "annotators": annotators})


def crowd(rng: np.random.Generator) -> Data:
    """Thirty annotators with few votes each on random pairs of twenty items; votes have weights."""
    draw = Draw(rng, spread(rng, 20, -2, 2), spread(rng, 30, 0.0, 0.4))
    for _ in range(360):
        draw.vote(*two_items(rng, 20), int(30 * rng.random() ** 2))
    return Data(draw.columns | {"weight": np.where(rng.random(360) < 0.2, 2.0, 1.0).tolist()})


def features(rng: np.random.Generator) -> Data:
    """Items with three features that explain most of their scores."""
    matrix = np.stack([spread(rng, 16, -1, 1) for _ in range(3)], axis=1)
    scores = matrix[:, 0] * 2.0 - matrix[:, 1] + spread(rng, 16, -0.5, 0.5)
    draw = Draw(rng, scores, spread(rng, 8, 0.0, 0.45))
    for _ in range(240):
        draw.vote(*two_items(rng, 16), int(8 * rng.random()))
    return Data(draw.columns, {item_id(i): row.tolist() for i, row in enumerate(matrix)})


def ties(rng: np.random.Generator) -> Data:
    """A vote in five or so is a tie, more often between close items."""
    draw = Draw(rng, spread(rng, 10, -2, 2), spread(rng, 5, 0.0, 0.3), tie=0.4)
    for _ in range(200):
        draw.vote(*two_items(rng, 10), int(5 * rng.random()))
    return Data(draw.columns)


def questions(rng: np.random.Generator) -> Data:
    """The same pairs under several questions, each with a truth of its own."""
    draw, asked = Draw(rng, spread(rng, 8, -1.5, 1.5), spread(rng, 6, 0.0, 0.4)), []
    for _ in range(220):
        draw.vote(*two_items(rng, 8), int(6 * rng.random()))
        asked.append(f"q{int(4 * rng.random())}")
    return Data(draw.columns | {"question": asked})


def gold(rng: np.random.Generator) -> Data:
    """Most annotators prefer the worse item: only pairs of known truth say which way is up."""
    scores = spread(rng, 10, -2, 2)
    draw = Draw(rng, scores, np.array([0.75, 0.8, 0.85, 0.1, 0.9]))
    for _ in range(200):
        draw.vote(*two_items(rng, 10), int(5 * rng.random()))
    order = np.argsort(-scores, kind="stable")
    known = [(item_id(order[i]), item_id(order[i + 3])) for i in range(6)]
    return Data(draw.columns, gold=known)


def sides(rng: np.random.Generator) -> Data:
    """Annotators lean to the item on the left, or to that on the right; a baseline is always on the left."""
    bias = np.array([0.5, -0.5, 0.3, 0.0, -0.2])
    draw = Draw(rng, spread(rng, 9, -2, 2), np.full(5, 0.1), bias)
    for _ in range(220):
        a, b = two_items(rng, 9)
        draw.vote(min(a, b) if 0 in (a, b) else a, max(a, b) if 0 in (a, b) else b, int(5 * rng.random()))
    return Data(draw.columns)


def two(rng: np.random.Generator) -> Data:
    """Two items, one annotator, all votes alike."""
    left, right = ["a", "a", "b"], ["b", "b", "a"]
    return Data({"left": left, "right": right, "annotator": ["ann"] * 3, "outcome": [1, 1, 0]})


_GENERATORS: dict[str, Callable[[np.random.Generator], Data]] = {
    "jury": jury,
    "crowd": crowd,
    "features": features,
    "ties": ties,
    "questions": questions,
    "gold": gold,
    "sides": sides,
    "two": two,
}
DATA = {
    name: generate(np.random.default_rng(2026 + seed)) for seed, (name, generate) in enumerate(_GENERATORS.items())
}
