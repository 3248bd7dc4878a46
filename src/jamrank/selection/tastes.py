"""Whether each annotator has a taste of their own: a quick test, and TasteBT where it finds one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.selection.cross_validation import HeldOut, hold_out
from jamrank.selection.trials import Candidate

OWN_TASTES = "votes of one annotator on an item agree more than independent votes would"
# Held-out losses need fewer digits than results, and no draws.
_TOL, _MOST_ITERATIONS, _DRAWS = 1e-2, 60, 2


def try_tastes(found: HeldOut, forward: bool = False, changes: Mapping[str, Any] | None = None) -> HeldOut:
    """Hold votes out from TasteBT, too: the most complex of the models, chosen only if it is significantly better.

    changes: Parameters, for those that it has.
    """
    model = find_model("TasteBT")()
    known = model.get_params()
    model.set_params(**{name: value for name, value in (changes or {}).items() if name in known})

    def make() -> RankingModel:
        own = {**model.get_params(), "n_draws": _DRAWS, "tol": _TOL, "max_iter": _MOST_ITERATIONS}
        return type(model)(**own)

    candidate = Candidate("TasteBT", make, annotators=True, model=model)
    alone = hold_out(found.votes, found.fold, [candidate], forward=forward)
    return replace(found, trials={**found.trials, **alone.trials})
