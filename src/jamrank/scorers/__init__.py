"""How the score of an item arises: each scorer is one small file."""

from jamrank.scorers.base import Scorer
from jamrank.scorers.features import Features, align_features
from jamrank.scorers.linear import LinearScorer
from jamrank.scorers.objects import ObjectScorer

__all__ = ["Features", "LinearScorer", "ObjectScorer", "Scorer", "align_features"]
