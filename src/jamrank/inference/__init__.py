"""Inference from a fit: ranks, standard errors, intervals, draws, verdicts on annotators."""

from jamrank.inference.clusters import describe_cluster
from jamrank.inference.error_correlation import Links, correlated
from jamrank.inference.rank_groups import GroupShare, group_share
from jamrank.inference.ranks import order_accuracy, ranks
from jamrank.inference.response_bias import ResponseBias, habits
from jamrank.inference.scale import rescaled
from jamrank.inference.uncertainty import (
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
from jamrank.inference.verdicts import ACTIONS, VERDICTS, best_first, evidence, flip_intervals, verdicts

__all__ = [
    "ACTIONS",
    "VERDICTS",
    "GroupShare",
    "Links",
    "ResponseBias",
    "Uncertainty",
    "best_first",
    "correlated",
    "describe_cluster",
    "draw_ranks",
    "evidence",
    "flip_intervals",
    "from_information",
    "group_share",
    "habits",
    "independent",
    "laplace",
    "needs_links",
    "normal_draws",
    "order_accuracy",
    "pooled_quantiles",
    "ranks",
    "rescaled",
    "sandwich",
    "verdicts",
]
