"""The named models: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.errors import ParameterError
from jamrank.registry import Registry

if TYPE_CHECKING:
    from jamrank.fitting.spec import ModelSpec
    from jamrank.models.base import RankingModel

MODELS: Registry[type[RankingModel]] = Registry(
    "model",
    {
        "MajorityVote": "jamrank.models.majority:MajorityVote",
        "IAM": "jamrank.models.iam:IAM",
        "JAM": "jamrank.models.jam:JAM",
        "VRJAM": "jamrank.models.vrjam:VRJAM",
        "KernelJAM": "jamrank.models.jam:KernelJAM",
        "BradleyTerry": "jamrank.models.bradley_terry:BradleyTerry",
        "CovariateBT": "jamrank.models.bradley_terry:CovariateBT",
        "MixedBT": "jamrank.models.mixed_bt:MixedBT",
        "CrowdBT": "jamrank.models.crowd_bt:CrowdBT",
        "FamilyBT": "jamrank.models.family_bt:FamilyBT",
        "TasteBT": "jamrank.models.family_bt:TasteBT",
        "AmElo": "jamrank.models.am_elo:AmElo",
        "DawidSkene": "jamrank.models.dawid_skene:DawidSkene",
        "Borda": "jamrank.models.counting:Borda",
        "Copeland": "jamrank.models.counting:Copeland",
        "HodgeRank": "jamrank.models.hodge_rank:HodgeRank",
        "RankCentrality": "jamrank.models.rank_centrality:RankCentrality",
        "WinRate": "jamrank.models.counting:WinRate",
        "Auto": "jamrank.selection.auto:Auto",
    },
)
_ALIASES = {"mv": "MajorityVote", "bt": "BradleyTerry"}


def find_model(name: str) -> type[RankingModel]:
    """Return the class of a model by its name, ignoring case."""
    wanted = _ALIASES.get(name.lower(), name).lower()
    for known in MODELS:
        if known.lower() == wanted:
            return MODELS[known]
    raise ParameterError(f"unknown model {name}; expected one of {', '.join(MODELS)}")


def spec_of(model: RankingModel | type[RankingModel]) -> ModelSpec:
    """Return the specification of a model, fitted or not."""
    return model._spec
