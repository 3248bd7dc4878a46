"""arena-rank: LMArena's Bradley–Terry in JAX, without its intervals, which jamrank computes only when asked, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rivals.contender import Contender, Scores, by_item
from benchmarks.votes import Votes


def prepare(votes: Votes) -> tuple[Any, int]:
    """Outcomes as numbers: quicker for it than the words model_a and model_b.

    The model is imported first because that sets JAX to double precision.
    """
    import arena_rank.models.bradley_terry  # noqa: F401
    import pandas as pd
    from arena_rank.utils.data_utils import PairDataset

    columns = {"model_a": votes.left, "model_b": votes.right, "winner": votes.left_won.astype(np.float64)}
    return PairDataset.from_pandas(pd.DataFrame(columns), outcome_map=float), votes.n_items


def fit(prepared: tuple[Any, int]) -> Scores:
    from arena_rank.models.bradley_terry import BradleyTerry

    dataset, n_items = prepared
    ratings = BradleyTerry(n_competitors=len(dataset.competitors)).fit(dataset).params["ratings"]
    return by_item(dataset.competitors, ratings, n_items)


CONTENDERS = (Contender("arena-rank BradleyTerry", "arena-rank", "arena_rank", "no", prepare, fit),)
