"""Inference from a fit: ranks, standard errors, intervals, draws, verdicts on annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.inference.clusters import describe_cluster
    from jamrank.inference.error_correlation import Links, correlated
    from jamrank.inference.rank_groups import GroupShare, group_share
    from jamrank.inference.ranks import order_accuracy
    from jamrank.inference.response_bias import ResponseBias, habits
    from jamrank.inference.uncertainty import (
        Uncertainty,
        draw_ranks,
        independent,
        laplace,
    )
    from jamrank.inference.verdicts import VERDICTS, best_first, evidence, flip_intervals

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
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            "clusters": "describe_cluster",
            "error_correlation": "Links correlated",
            "rank_groups": "GroupShare group_share",
            "ranks": "order_accuracy",
            "response_bias": "ResponseBias habits",
            "uncertainty": "Uncertainty draw_ranks independent laplace",
            "verdicts": "VERDICTS best_first evidence flip_intervals",
        },
    )
