"""The four methods that the paper compares, by the names that it gives them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jamrank.data.comparisons import Comparisons
from jamrank.models import IAM, JAM, VRJAM, MajorityVote, RankingModel

METHODS: dict[str, Callable[[], RankingModel]] = {
    "MV": MajorityVote,
    "IAM": IAM,
    "JAM": partial(JAM, ties="leave out"),  # the paper's votes have a winner
    "VRJAM": partial(VRJAM, n_clusters="gap", max_clusters=8),  # the paper's rule
}


def fit_methods(votes: Comparisons, features: Any) -> dict[str, RankingModel]:
    """Return each method, fitted as in the paper."""
    return {name: method().fit(votes, features) for name, method in METHODS.items()}
