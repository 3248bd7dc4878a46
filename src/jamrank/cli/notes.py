"""Notes of a fit on its features, its gold pairs and its warm start."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jamrank.cli.messages import note
from jamrank.errors import JamrankWarning, ParameterError
from jamrank.text import in_percent, many, safe_text

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

_FEW = 3
# Of more groups, notes of one kind are shown once.
_FEW_GROUPS = 5


@contextmanager
def grouped_notes(n_groups: int, quiet: bool) -> Iterator[None]:
    """Tell what is noted of many groups once for each kind of note, with the number of groups."""
    if n_groups <= _FEW_GROUPS:
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    kinds: dict[type[Warning], list[str]] = {}
    for one in caught:
        kinds.setdefault(one.category, []).append(str(one.message))
    for kind, lines in kinds.items():
        if issubclass(kind, JamrankWarning):
            more = len(lines) - 1
            note(lines[0] + (f" (and {many(more, 'note')} of this kind on other groups)" if more else ""), quiet)


def start_note(earlier: RankingModel, votes: Votes, source: str, same_model: bool) -> str:
    """Return how much of these votes an earlier model covers.

    Raises ParameterError: If it has none of the items: the fit would not be a warm start.
    """
    from jamrank.data.ids import locate

    result = earlier.result_
    shared = int((locate(result.items, votes.items) >= 0).sum())
    total = many(len(votes.items), "item")
    if not shared:
        raise ParameterError(
            f"--start: {source} has none of the {total} in the votes; leave it out, or give the model of an earlier "
            "fit of these items"
        )
    text = f"{source} has all {total}" if shared == len(votes.items) else f"{source} has {shared:,} of {total}"
    if same_model:
        text += f"; the model is {result.model} as there"
    if votes.n_votes < result.votes.n_votes:
        text += (
            f"; it was fitted to {result.votes.n_votes:,} votes, and only the {votes.n_votes:,} votes given now "
            "count: give the earlier files too"
        )
    return text


def features_note(features: Any, votes: Votes, source: str) -> str:
    """Return which items have features and no votes; empty without."""
    from jamrank.data.ids import locate

    items = features["item"].to_list()
    others = [safe_text(item) for item, at in zip(items, locate(votes.items, items), strict=True) if at < 0]
    if not others:
        return ""
    named = ", ".join([*others[:_FEW], *(["…"] if others[_FEW:] else [])])
    return (
        f"{source} has features of {many(len(others), 'item')} without votes ({named}), which are not ranked; in "
        "Python, model.predict_proba(left, right, features) compares them with others"
    )


def gold_note(result: RankingResult) -> str:
    """Return how many pairs of known truth a fit used, and how they agree with the votes; empty without any."""
    import numpy as np

    from jamrank.data.storage import FIRST, SECOND

    gold = result.votes.gold
    if gold is None:
        return ""
    votes, together = gold.votes, gold.with_truths
    sign = np.where(votes.vote_result == FIRST, 1.0, np.where(votes.vote_result == SECOND, -1.0, 0.0))
    sign = sign * votes.vote_weight
    balance = np.bincount(votes.vote_pair, sign, votes.n_pairs)
    by_gold = together.vote_annotator == together.n_annotators - 1
    pair, truth = together.vote_pair[by_gold], np.where(together.vote_result[by_gold] == FIRST, 1.0, -1.0)
    agree, against = int((balance[pair] * truth > 0).sum()), int((balance[pair] * truth < 0).sum())
    counts = {"agrees with": agree, "contradicts": against, "is undecided on": gold.n_pairs - agree - against}
    parts = [f"{verb} {count:,}" for verb, count in counts.items() if count]
    text = f"{many(gold.n_pairs, 'gold pair')} used; the majority of votes {' and '.join(parts)}"
    scores = result.scores.scores
    better = np.sign(scores[votes.pair_first] - scores[votes.pair_second])[votes.vote_pair]
    decided = np.abs(sign).sum()
    share = float((np.maximum(sign * better, 0.0)).sum() / decided) if decided else 1.0
    if share < 0.5:
        text += f"; gold reversed the ranking, which contradicts {in_percent(1 - share, 0)} of the decided votes"
    return text
