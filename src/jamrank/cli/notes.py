"""What a fit says of what it was given: features, pairs of known truth, an earlier model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jamrank.errors import ParameterError
from jamrank.text import many

if TYPE_CHECKING:
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["features_note", "gold_note", "start_note"]

_FEW = 3


def start_note(earlier: RankingModel, votes: Votes, source: str, chosen: bool) -> str:
    """Return what an earlier model knows of these votes.

    Raises
    ------
    ParameterError
        If it knows none of the items: the fit would begin with nothing, and look as if it had not.
    """
    from jamrank.data.ids import locate

    shared = int((locate(earlier.items_, votes.items) >= 0).sum())
    if not shared:
        told = f"{source} knows none of the {many(len(votes.items), 'item')} in the votes"
        raise ParameterError(f"--start: {told}; leave it out, or give the model of an earlier fit of these items")
    model = f"; the model is {type(earlier).__name__}, as there" if chosen else ""
    if shared == len(votes.items):
        return f"{source} knows all {many(shared, 'item')}{model}"
    return f"{source} knows {shared:,} of {many(len(votes.items), 'item')}; the others start anew{model}"


def features_note(features: Any, votes: Votes, source: str) -> str:
    """Return which items have features and no votes; empty without."""
    from jamrank.data.ids import locate

    items = features["item"].to_list()
    others = [str(item) for item, at in zip(items, locate(votes.items, items), strict=True) if at < 0]
    if not others:
        return ""
    named = ", ".join([*others[:_FEW], *(["…"] if others[_FEW:] else [])])
    return (
        f"{source} has features of {many(len(others), 'item')} without votes ({named}), which are not ranked; "
        "in Python model.predict_proba(left, right, features) compares them with others"
    )


def gold_note(model: RankingModel) -> str:
    """Return how many pairs of known truth a fit used, and how they agree with the votes; empty without any."""
    import numpy as np

    from jamrank.data.storage import FIRST, SECOND

    known = model._gold
    if known is None:
        return ""
    votes, told = known.votes, known.told
    sign = np.where(votes.vote_result == FIRST, 1.0, np.where(votes.vote_result == SECOND, -1.0, 0.0))
    sign = sign * votes.vote_weight
    balance = np.bincount(votes.vote_pair, sign, votes.n_pairs)
    by_gold = told.vote_annotator == told.n_annotators - 1
    pair, truth = told.vote_pair[by_gold], np.where(told.vote_result[by_gold] == FIRST, 1.0, -1.0)
    agree, against = int((balance[pair] * truth > 0).sum()), int((balance[pair] * truth < 0).sum())
    open_ones = known.n_pairs - agree - against
    parts = [
        f"{told} {count:,}"
        for told, count in (("agrees with", agree), ("is against", against), ("gives no answer to", open_ones))
        if count
    ]
    note = f"{many(known.n_pairs, 'gold pair')} used; the majority of votes {' and '.join(parts)}"
    better = np.sign(model.scores_[votes.pair_first] - model.scores_[votes.pair_second])[votes.vote_pair]
    decided = np.abs(sign).sum()
    share = float((np.maximum(sign * better, 0.0)).sum() / decided) if decided else 1.0
    if share < 0.5:
        note += f"; gold turned the ranking round: it goes against {1 - share:.0%} of the decided votes"
    return note
