"""Inference from a fit: ranks, standard errors, intervals, draws, verdicts on annotators."""

from jamrank.inference.clusters import describe_cluster
from jamrank.inference.error_correlation import Links, correlated
from jamrank.inference.rank_groups import GroupShare, group_share
from jamrank.inference.ranks import order_accuracy, ranks
from jamrank.inference.response_bias import ResponseBias, habits
from jamrank.inference.uncertainty import (
    Uncertainty,
    draw_ranks,
    independent,
    laplace,
)
from jamrank.inference.verdicts import VERDICTS, best_first, evidence, flip_intervals, verdicts

__all__ = [
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
    "group_share",
    "habits",
    "independent",
    "laplace",
    "order_accuracy",
    "ranks",
    "verdicts",
]
