"""Scores to ranks, and how sure to be of them."""

from jamrank.ranking.groups import GroupShare, group_share
from jamrank.ranking.order import order_accuracy, ranks
from jamrank.ranking.scale import rescaled
from jamrank.ranking.uncertainty import Uncertainty, independent, laplace, needs_links

__all__ = [
    "GroupShare",
    "Uncertainty",
    "group_share",
    "independent",
    "laplace",
    "needs_links",
    "order_accuracy",
    "ranks",
    "rescaled",
]
