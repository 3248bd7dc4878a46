"""The interface, the one EM loop, the named models and the closed-form baselines."""

from jamrank.models.am_elo import AmElo
from jamrank.models.auto import Auto
from jamrank.models.base import RankingModel, load
from jamrank.models.bradley_terry import BradleyTerry
from jamrank.models.counting import Borda, Copeland, WinRate
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.dawid_skene import DawidSkene
from jamrank.models.groups import fit_groups, side_by_side
from jamrank.models.hodge_rank import HodgeRank
from jamrank.models.iam import IAM
from jamrank.models.jam import JAM
from jamrank.models.kernel_jam import KernelJAM
from jamrank.models.majority import MajorityVote
from jamrank.models.mixed_bt import MixedBT
from jamrank.models.prior import Prior
from jamrank.models.rank_centrality import RankCentrality
from jamrank.models.vrjam import VRJAM

_NAMED: tuple[type[RankingModel], ...] = (
    MajorityVote,
    IAM,
    JAM,
    VRJAM,
    KernelJAM,
    BradleyTerry,
    MixedBT,
    CrowdBT,
    AmElo,
    DawidSkene,
    Borda,
    Copeland,
    HodgeRank,
    RankCentrality,
    WinRate,
    Auto,
)
MODELS = {model.__name__: model for model in _NAMED}

__all__ = [
    "IAM",
    "JAM",
    "MODELS",
    "VRJAM",
    "AmElo",
    "Auto",
    "Borda",
    "BradleyTerry",
    "Copeland",
    "CrowdBT",
    "DawidSkene",
    "HodgeRank",
    "KernelJAM",
    "MajorityVote",
    "MixedBT",
    "Prior",
    "RankCentrality",
    "RankingModel",
    "WinRate",
    "fit_groups",
    "load",
    "side_by_side",
]
