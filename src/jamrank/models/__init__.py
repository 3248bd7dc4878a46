"""The interface of every model, and the named models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.registry import importing

if TYPE_CHECKING:
    from jamrank.fitting.prior import Prior
    from jamrank.models.am_elo import AmElo
    from jamrank.models.base import RankingModel
    from jamrank.models.bradley_terry import BradleyTerry, CovariateBT
    from jamrank.models.counting import Borda, Copeland, WinRate
    from jamrank.models.crowd_bt import CrowdBT
    from jamrank.models.dawid_skene import DawidSkene
    from jamrank.models.family_bt import FamilyBT, TasteBT
    from jamrank.models.files import load
    from jamrank.models.hodge_rank import HodgeRank
    from jamrank.models.iam import IAM
    from jamrank.models.jam import JAM, KernelJAM
    from jamrank.models.majority import MajorityVote
    from jamrank.models.mixed_bt import MixedBT
    from jamrank.models.rank_centrality import RankCentrality
    from jamrank.models.registry import MODELS, find_model, spec_of
    from jamrank.models.vrjam import VRJAM

__all__ = [
    "IAM",
    "JAM",
    "MODELS",
    "VRJAM",
    "AmElo",
    "Borda",
    "BradleyTerry",
    "Copeland",
    "CovariateBT",
    "CrowdBT",
    "DawidSkene",
    "FamilyBT",
    "HodgeRank",
    "KernelJAM",
    "MajorityVote",
    "MixedBT",
    "Prior",
    "RankCentrality",
    "RankingModel",
    "TasteBT",
    "WinRate",
    "find_model",
    "load",
    "spec_of",
]

if not TYPE_CHECKING:
    __getattr__ = importing(
        __name__,
        {
            ".fitting.prior": "Prior",
            "am_elo": "AmElo",
            "base": "RankingModel",
            "bradley_terry": "BradleyTerry CovariateBT",
            "counting": "Borda Copeland WinRate",
            "crowd_bt": "CrowdBT",
            "dawid_skene": "DawidSkene",
            "family_bt": "FamilyBT TasteBT",
            "files": "load",
            "hodge_rank": "HodgeRank",
            "iam": "IAM",
            "jam": "JAM KernelJAM",
            "majority": "MajorityVote",
            "mixed_bt": "MixedBT",
            "rank_centrality": "RankCentrality",
            "registry": "MODELS find_model spec_of",
            "vrjam": "VRJAM",
        },
    )
