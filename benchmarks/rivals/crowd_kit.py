"""crowd-kit: Bradley–Terry, its noisy sister, and one-coin Dawid–Skene on pairs.

``tol=0`` for Bradley–Terry: its convergence check compares an array with itself and would stop at iteration 2. The
gradient of NoisyBradleyTerry is wrong for annotators (it keeps only the last vote of each), which shows in its τ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rivals.contender import Contender, Scores, by_item
from benchmarks.votes import Votes

N_ITER = 100


def prepare_votes(votes: Votes) -> tuple[Any, int]:
    import crowdkit.aggregation  # noqa: F401
    import pandas as pd

    columns = {"worker": votes.annotator, "left": votes.left, "right": votes.right}
    return pd.DataFrame({**columns, "label": np.where(votes.left_won, votes.left, votes.right)}), votes.n_items


def fit_bradley_terry(prepared: tuple[Any, int]) -> Scores:
    from crowdkit.aggregation import BradleyTerry

    frame, n_items = prepared
    scores = BradleyTerry(n_iter=N_ITER, tol=0).fit_predict(frame)
    return by_item(scores.index, scores, n_items)


def fit_noisy(prepared: tuple[Any, int]) -> Scores:
    from crowdkit.aggregation import NoisyBradleyTerry

    frame, n_items = prepared
    scores = NoisyBradleyTerry(n_iter=N_ITER).fit_predict(frame)
    return by_item(scores.index, scores, n_items)


def prepare_tasks(votes: Votes) -> tuple[Any, int]:
    """One task a pair, ``first * n_items + second`` with first < second; label 1 where the first won."""
    import crowdkit.aggregation  # noqa: F401
    import pandas as pd

    first, second = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    label = (votes.left_won == (votes.left == first)).astype(np.int64)
    tasks = pd.DataFrame({"task": first * votes.n_items + second, "worker": votes.annotator, "label": label})
    return tasks, votes.n_items


def fit_dawid_skene(prepared: tuple[Any, int]) -> Scores:
    """Score each item by its mean probability to win, over the pairs that it is in."""
    from crowdkit.aggregation import OneCoinDawidSkene

    tasks, n_items = prepared
    probabilities = OneCoinDawidSkene(n_iter=N_ITER).fit_predict_proba(tasks)
    first, second = np.divmod(probabilities.index.to_numpy(), n_items)
    won = probabilities[1].to_numpy()
    wins = np.bincount(first, won, n_items) + np.bincount(second, 1 - won, n_items)
    pairs = np.bincount(first, minlength=n_items) + np.bincount(second, minlength=n_items)
    return np.divide(wins, pairs, out=np.full(n_items, np.nan), where=pairs > 0)


_PACKAGE = ("crowd-kit", "crowdkit")
CONTENDERS = (
    Contender("crowd-kit BradleyTerry", *_PACKAGE, "no", prepare_votes, fit_bradley_terry),
    Contender("crowd-kit NoisyBradleyTerry", *_PACKAGE, "skill, bias", prepare_votes, fit_noisy),
    Contender("crowd-kit OneCoinDawidSkene, win rate", *_PACKAGE, "accuracy", prepare_tasks, fit_dawid_skene),
)
