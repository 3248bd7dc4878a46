"""Scores to ranks, and how sure to be of them."""

from jamrank.ranking.groups import GroupShare, group_share
from jamrank.ranking.order import order_accuracy, ranks
from jamrank.ranking.scale import rescaled
from jamrank.ranking.uncertainty import (
    Uncertainty,
    draw_ranks,
    from_information,
    independent,
    laplace,
    needs_links,
    normal_draws,
    pooled_quantiles,
    sandwich,
)

__all__ = [
    "GroupShare",
    "Uncertainty",
    "draw_ranks",
    "from_information",
    "group_share",
    "independent",
    "laplace",
    "needs_links",
    "normal_draws",
    "order_accuracy",
    "pooled_quantiles",
    "ranks",
    "rescaled",
    "sandwich",
]
