"""Rankings to trust, and a reliability for every annotator, from noisy pairwise votes.

Start here::

    import jamrank as jr

    model = jr.fit("votes.csv")
    model.ranking_, model.annotators_
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jamrank.acquisition import Assignment, Chooser, Status
    from jamrank.data.comparisons import Comparisons
    from jamrank.diagnostics import check
    from jamrank.io import (
        StoredComparisons,
        read_comparisons,
        read_families,
        read_features,
        read_gold,
        read_groups,
        store_comparisons,
    )
    from jamrank.io.out_of_core.distributed import DistributedComparisons, distribute_comparisons
    from jamrank.models import (
        IAM,
        JAM,
        VRJAM,
        AmElo,
        Borda,
        BradleyTerry,
        Copeland,
        CovariateBT,
        CrowdBT,
        DawidSkene,
        FamilyBT,
        HodgeRank,
        KernelJAM,
        MajorityVote,
        MixedBT,
        Prior,
        RankCentrality,
        TasteBT,
        WinRate,
        load,
    )
    from jamrank.report import write_report
    from jamrank.report.exports import preference_pairs
    from jamrank.selection import Auto, fit, fit_groups, side_by_side
    from jamrank.simulation import simulate

__version__ = "0.1.0"

# Names are imported when first used, so that `jamrank --help` does not wait for numpy.
_HOMES = {
    "Comparisons": "data.comparisons",
    "read_comparisons": "io",
    "read_features": "io",
    "read_families": "io",
    "read_gold": "io",
    "read_groups": "io",
    "preference_pairs": "report.exports",
    "check": "diagnostics",
    "StoredComparisons": "io",
    "store_comparisons": "io",
    "DistributedComparisons": "io.out_of_core.distributed",
    "distribute_comparisons": "io.out_of_core.distributed",
    "MajorityVote": "models",
    "IAM": "models",
    "JAM": "models",
    "VRJAM": "models",
    "Auto": "selection",
    "fit": "selection",
    "BradleyTerry": "models",
    "CrowdBT": "models",
    "KernelJAM": "models",
    "MixedBT": "models",
    "Borda": "models",
    "Copeland": "models",
    "CovariateBT": "models",
    "HodgeRank": "models",
    "RankCentrality": "models",
    "WinRate": "models",
    "TasteBT": "models",
    "AmElo": "models",
    "FamilyBT": "models",
    "DawidSkene": "models",
    "Prior": "models",
    "load": "models",
    "fit_groups": "selection",
    "side_by_side": "selection",
    "simulate": "simulation",
    "Chooser": "acquisition",
    "Assignment": "acquisition",
    "Status": "acquisition",
    "write_report": "report",
}

__all__ = [
    "IAM",
    "JAM",
    "VRJAM",
    "AmElo",
    "Assignment",
    "Auto",
    "Borda",
    "BradleyTerry",
    "Chooser",
    "Comparisons",
    "Copeland",
    "CovariateBT",
    "CrowdBT",
    "DawidSkene",
    "DistributedComparisons",
    "FamilyBT",
    "HodgeRank",
    "KernelJAM",
    "MajorityVote",
    "MixedBT",
    "Prior",
    "RankCentrality",
    "Status",
    "StoredComparisons",
    "TasteBT",
    "WinRate",
    "check",
    "distribute_comparisons",
    "fit",
    "fit_groups",
    "load",
    "preference_pairs",
    "read_comparisons",
    "read_families",
    "read_features",
    "read_gold",
    "read_groups",
    "side_by_side",
    "simulate",
    "store_comparisons",
    "write_report",
]


# Rooms that are used by their own name, as in ``jr.jury.Judge``.
_ROOMS = ("collect", "jury")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"jamrank.{name}")
    if name in _HOMES:
        return getattr(import_module(f"jamrank.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'jamrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
