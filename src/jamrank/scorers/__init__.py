"""Where scores come from: each scorer is one file and one line in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.scorers.base import Scorer
    from jamrank.scorers.features import Features, align_features
    from jamrank.scorers.kernel import KernelMap, typical_distance
    from jamrank.scorers.linear import LinearScorer
    from jamrank.scorers.none import NoScorer
    from jamrank.scorers.objects import ObjectScorer
    from jamrank.scorers.registry import SCORERS, ScorerSpec
    from jamrank.scorers.sum import SumScorer

__all__ = [
    "SCORERS",
    "Features",
    "KernelMap",
    "LinearScorer",
    "NoScorer",
    "ObjectScorer",
    "Scorer",
    "ScorerSpec",
    "SumScorer",
    "align_features",
    "typical_distance",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "base": "Scorer",
            "features": "Features align_features",
            "kernel": "KernelMap typical_distance",
            "linear": "LinearScorer",
            "none": "NoScorer",
            "objects": "ObjectScorer",
            "registry": "SCORERS ScorerSpec",
            "sum": "SumScorer",
        },
    )
