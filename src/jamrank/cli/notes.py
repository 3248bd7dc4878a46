"""What a fit says of what it was given: features, pairs of known truth, an earlier model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jamrank.errors import ParameterError
from jamrank.text import many

if TYPE_CHECKING:
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["features_note", "gold_note", "kept_options", "other_votes_note", "start_note"]

_FEW = 3


def start_note(
    earlier: RankingModel, votes: Votes, source: str, chosen: bool, kept: Mapping[str, Any] | None = None
) -> str:
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
    model = f"; the model is {earlier.result_.model}, as there" if chosen else ""
    if kept:
        model += f", with {', '.join(f'{name} {value!r}' for name, value in kept.items())}"
    if shared == len(votes.items):
        return f"{source} knows all {many(shared, 'item')}{model}"
    return f"{source} knows {shared:,} of {many(len(votes.items), 'item')}; the others start anew{model}"


def kept_options(earlier: RankingModel | None, model_name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return noise, ties and scorer of the model to start from, where it is the same and no option says other."""
    if earlier is None or earlier.result_.model.lower() != model_name.lower():
        return {}
    inner = getattr(earlier, "model_", earlier)
    had, usual = inner.get_params(), type(inner)().get_params()
    return {
        name: had[name]
        for name in ("noise", "ties", "scorer")
        if options.get(name) is None and had.get(name) != usual.get(name)
    }


def other_votes_note(earlier: RankingModel, votes: Votes) -> list[str]:
    """Return a note where the votes cannot have those of the earlier fit among them; empty where they may."""
    from jamrank.data.ids import locate

    known = earlier.result_.votes
    lost = int((locate(votes.items, known.items) < 0).sum())
    gone = int((locate(votes.annotators, known.annotators) < 0).sum())
    if not lost and not gone and votes.n_votes >= known.n_votes:
        return []
    reason = (
        f"{many(lost, 'item')} and {many(gone, 'annotator')} of the earlier fit are not in them"
        if lost or gone
        else f"they are {votes.n_votes:,}, the earlier fit had {known.n_votes:,}"
    )
    return [f"the votes of the earlier fit are not all among these ({reason}): only these votes are ranked"]


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

    known = model.result_.votes.gold
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
