"""How the score of an item arises: each scorer is one small file."""

from jamrank.scorers.base import Scorer
from jamrank.scorers.features import Features, align_features
from jamrank.scorers.linear import LinearScorer
from jamrank.scorers.none import NoScorer
from jamrank.scorers.objects import ObjectScorer

__all__ = ["Features", "LinearScorer", "NoScorer", "ObjectScorer", "Scorer", "align_features"]
