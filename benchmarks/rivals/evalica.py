"""evalica: Bradley–Terry in Rust.

It is given what it takes fastest: arrays of items and unsigned bytes for the winners (``Winner.X`` is 1,
``Winner.Y`` is 2; other integer arrays it refuses). Its documented ``index`` saves it a pass in Python over all
items; who knows the items beforehand would give it, so it is there both ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rivals.contender import Contender, Scores, by_item
from benchmarks.votes import Votes


def prepare(votes: Votes) -> tuple[dict[str, Any], int]:
    import evalica  # noqa: F401

    winners = np.where(votes.left_won, np.uint8(1), np.uint8(2))
    return {"xs": votes.left, "ys": votes.right, "winners": winners}, votes.n_items


def prepare_with_index(votes: Votes) -> tuple[dict[str, Any], int]:
    import pandas as pd

    arguments, n_items = prepare(votes)
    return {**arguments, "index": pd.RangeIndex(n_items)}, n_items


def fit(prepared: tuple[dict[str, Any], int]) -> Scores:
    import evalica

    arguments, n_items = prepared
    scores = evalica.bradley_terry(**arguments).scores
    return by_item(scores.index, scores, n_items)


CONTENDERS = (
    Contender("evalica BT", "evalica", "evalica", "no", prepare, fit),
    Contender("evalica BT, index given", "evalica", "evalica", "no", prepare_with_index, fit),
)
