"""Scores to ranks, and how sure to be of them."""

from jamrank.ranking.groups import GroupShare, group_share
from jamrank.ranking.order import order_accuracy, ranks
from jamrank.ranking.uncertainty import Uncertainty, independent, laplace

__all__ = ["GroupShare", "Uncertainty", "group_share", "independent", "laplace", "order_accuracy", "ranks"]
