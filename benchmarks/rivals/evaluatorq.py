"""evaluatorq: BT-sigma, in plain Python. As its documentation asks, equal votes are one record with a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rivals.contender import Contender, Scores, by_item
from benchmarks.votes import Votes


def prepare(votes: Votes) -> tuple[Any, int]:
    from evaluatorq.ranking import JudgedComparison

    first, second = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    first_won = votes.left_won == (votes.left == first)
    shape = (votes.n_annotators, votes.n_items, votes.n_items, 2)
    codes, counts = np.unique(
        np.ravel_multi_index((votes.annotator, first, second, first_won.astype(np.int64)), shape),
        return_counts=True,
    )
    columns = [column.tolist() for column in (*np.unravel_index(codes, shape), counts)]
    records = [
        JudgedComparison(judge=str(judge), item_a=str(a), item_b=str(b), p_a=float(won), weight=float(count))
        for judge, a, b, won, count in zip(*columns, strict=True)
    ]
    return records, votes.n_items


def fit(prepared: tuple[Any, int]) -> Scores:
    from evaluatorq.ranking import fit_bt

    records, n_items = prepared
    skills = fit_bt(records, judge_sigma=True).skills
    return by_item([int(item) for item in skills], list(skills.values()), n_items)


CONTENDERS = (Contender("evaluatorq BT-sigma", "evaluatorq", "evaluatorq", "sigma > 0", prepare, fit),)
