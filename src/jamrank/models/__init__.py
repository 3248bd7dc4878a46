"""The interface, the one EM loop, the named models and the closed-form baselines."""

from jamrank.models.am_elo import AmElo
from jamrank.models.base import RankingModel, load
from jamrank.models.bradley_terry import BradleyTerry
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.dawid_skene import DawidSkene
from jamrank.models.iam import IAM
from jamrank.models.jam import JAM
from jamrank.models.majority import MajorityVote
from jamrank.models.prior import Prior
from jamrank.models.vrjam import VRJAM

MODELS = {
    model.__name__: model for model in (MajorityVote, IAM, JAM, VRJAM, BradleyTerry, CrowdBT, AmElo, DawidSkene)
}

__all__ = [
    "IAM",
    "JAM",
    "MODELS",
    "VRJAM",
    "AmElo",
    "BradleyTerry",
    "CrowdBT",
    "DawidSkene",
    "MajorityVote",
    "Prior",
    "RankingModel",
    "load",
]
