"""What votes can identify, before any fit: annotators, sides, repeated pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import names_annotators
from jamrank.data.sides import sides_identified

# With fewer decided votes the choice of a model would be random.
FEWEST_TO_COMPARE = 100
# Votes on a pair, on average, that tell how hard it is for everyone, and pairs beyond which that takes long.
_VOTES_A_PAIR, _MANY_PAIRS = 3.0, 10_000


@dataclass(frozen=True)
class Design:
    """What the votes can identify.

    n_items: Items.
    n_decided: Decided votes by weight: a folded vote of weight 3 is three votes.
    n_annotators: Annotators with decided votes.
    named: Whether the votes name their annotators.
    sides: Whether a position bias can be separated from the effects of the items.
    repeats: Whether any pair has several votes within a question, so that they may share one truth.
    one_pair: Whether all votes are on one pair: its closeness and errors of annotators then look alike.
    asked: Whether votes name more than one question.
    lists: Whether pairs have enough votes each to tell how hard they are, and are few enough to try it.
    """

    n_items: int
    n_decided: float
    n_annotators: int
    sides: bool
    repeats: bool
    named: bool = True
    lists: bool = False
    one_pair: bool = False
    asked: bool = False


def examine_design(votes: Comparisons) -> Design:
    """Return what the votes can identify."""
    per_annotator = votes.annotator_decided
    return Design(
        votes.n_items,
        float(per_annotator.sum()),
        int(np.count_nonzero(per_annotator > 0)),
        sides_identified(votes),
        bool((votes.pair_weight > 1).any()),
        names_annotators(votes.annotators),
        votes.n_pairs <= _MANY_PAIRS and float(votes.pair_weight.sum()) >= _VOTES_A_PAIR * votes.n_pairs,
        votes.n_pairs == 1,
        votes.has_questions,
    )
