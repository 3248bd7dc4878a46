"""The interface of every model, and the named models."""

from jamrank.fitting.prior import Prior
from jamrank.models.am_elo import AmElo
from jamrank.models.base import RankingModel
from jamrank.models.bradley_terry import BradleyTerry, CovariateBT
from jamrank.models.counting import Borda, Copeland, WinRate
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.dawid_skene import DawidSkene
from jamrank.models.family_bt import FamilyBT
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
    "WinRate",
    "find_model",
    "load",
    "spec_of",
]
