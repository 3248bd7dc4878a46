"""The input of a fit, checked and moved to where the engine needs it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jamrank.data.comparisons import Comparisons
from jamrank.data.copies import set_aside_copies
from jamrank.data.gold import KnownTruths, known_truths
from jamrank.engines import Choice, bring, choose
from jamrank.errors import ParameterError
from jamrank.fitting.spec import ModelSpec
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.reader import read_comparisons

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# Engines that read the votes in parts.
_IN_PARTS = ("disk", "dask")


@dataclass(frozen=True)
class FitInput:
    """Votes, features, gold, earlier result and chosen engine of a fit."""

    votes: Votes
    features: Any
    gold: KnownTruths | None
    start: RankingResult | None
    choice: Choice

    @property
    def in_memory(self) -> Comparisons:
        """The votes, for a model that needs them in memory."""
        assert isinstance(self.votes, Comparisons)
        return self.votes


def bring_votes(model: str, spec: ModelSpec, engine: str, votes: Any) -> tuple[Choice, Votes]:
    """Choose the engine of a model and move the votes to where it needs them."""
    if not isinstance(votes, (Comparisons, PartedComparisons, str, os.PathLike)):
        votes = read_comparisons(votes)
    in_parts = spec.capabilities.out_of_core
    choice = choose(engine, votes, in_parts)
    if not in_parts and (isinstance(votes, PartedComparisons) or choice.name in _IN_PARTS):
        where = "JAM, CrowdBT and BradleyTerry fit from disk and on clusters"
        raise ParameterError(f"{model} needs the votes in memory; {where}")
    brought = bring(choice, votes)
    return choice, set_aside_copies(brought) if isinstance(brought, Comparisons) else brought


def match_gold(model: str, spec: ModelSpec, votes: Votes, gold: Any, only_voted: bool) -> KnownTruths:
    """Match gold pairs with the votes, for a model that uses them."""
    if not spec.capabilities.gold:
        raise ParameterError(f"{model} does not use gold; JAM, VRJAM, CrowdBT and DawidSkene do")
    if not isinstance(votes, Comparisons):
        raise ParameterError("gold needs the votes in memory; this fit is from disk")
    return known_truths(gold, votes, only_voted=only_voted)
