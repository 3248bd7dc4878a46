"""Whether annotators differ in taste, by a fit of a model that allows for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jamrank.typing import BoolArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

_LIKELY = 0.5


def likely_tastes(found: dict[str, Any], known: BoolArray) -> float:
    """Return how likely annotators do not all have one taste: any two of them differ, or each has an own one.

    found: What a result keeps of draws, see :func:`jamrank.inference.families.summarise`.
    known: Who has decided votes.
    """
    same = found["same_taste"][np.ix_(known, known)]
    return max(1.0 - float(same.min(initial=1.0)), float((found["sds"][:, 2] > 0).mean()))


def has_tastes(result: RankingResult) -> bool:
    """Return whether annotators differ in taste by a model that allows for it."""
    if not result.can.families:
        return result.can.tastes
    return likely_tastes(result.extras, result.votes.decided_votes > 0) > _LIKELY
