"""The interface, the one EM loop, the named models and the closed-form baselines."""

from jamrank.models.base import RankingModel, load
from jamrank.models.bradley_terry import BradleyTerry
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.iam import IAM
from jamrank.models.jam import JAM
from jamrank.models.kernel_jam import KernelJAM
from jamrank.models.majority import MajorityVote
from jamrank.models.mixed_bt import MixedBT
from jamrank.models.prior import Prior
from jamrank.models.vrjam import VRJAM

MODELS = {
    model.__name__: model for model in (MajorityVote, IAM, JAM, VRJAM, KernelJAM, BradleyTerry, MixedBT, CrowdBT)
}

__all__ = [
    "IAM",
    "JAM",
    "MODELS",
    "VRJAM",
    "BradleyTerry",
    "CrowdBT",
    "KernelJAM",
    "MajorityVote",
    "MixedBT",
    "Prior",
    "RankingModel",
    "load",
]
