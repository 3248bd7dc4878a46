"""JAM in plain numpy for votes that are missing or repeated: the loop of ``benchmarks/numpy_jam.py``, in two ways.

That file's own forms want one vote of every annotator on every pair (and patterns of 50 annotators would be 2⁵⁰), so
the votes are counted in a pairs × annotators matrix here, or kept one by one and run through in blocks. Every item
has a free score under a fixed prior; jamrank also estimates how wide that prior is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.rivals.contender import Contender, Scores
from benchmarks.votes import Votes

TOL = 1e-5


@dataclass(frozen=True)
class Pairs:
    """Votes by pair, first < second: ``row`` is the pair of each vote."""

    first: np.ndarray
    second: np.ndarray
    row: np.ndarray
    first_won: np.ndarray
    annotator: np.ndarray
    n_items: int
    n_annotators: int


def prepare_votes(votes: Votes) -> Pairs:
    import benchmarks.numpy_jam  # noqa: F401

    n = votes.n_items
    is_first = votes.left < votes.right
    code = np.where(is_first, votes.left * n + votes.right, votes.right * n + votes.left)
    seen = np.bincount(code, minlength=n * n) > 0
    first, second = np.divmod(np.flatnonzero(seen), n)
    row = (np.cumsum(seen) - 1)[code]
    return Pairs(first, second, row, votes.left_won == is_first, votes.annotator, n, votes.n_annotators)


def prepare_counts(votes: Votes) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Count the votes for the first and for the second item of each pair by each annotator."""
    pairs = prepare_votes(votes)
    shape = len(pairs.first), pairs.n_annotators
    cell = pairs.row * pairs.n_annotators + pairs.annotator
    sides = (cell[pairs.first_won], cell[~pairs.first_won])
    for_first, for_second = (np.bincount(side, minlength=shape[0] * shape[1]).reshape(shape) * 1.0 for side in sides)
    return pairs, for_first, for_second


def fit_counts(prepared: tuple[Pairs, np.ndarray, np.ndarray]) -> Scores:
    from benchmarks.numpy_jam import loop, whole_m_step

    pairs, for_first, for_second = prepared
    first, second, lead = pairs.first, pairs.second, for_first - for_second
    said = for_first + for_second

    def e_step(scores: np.ndarray, flips: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(scores[second] - scores[first] - lead @ np.log((1 - flips) / flips)))

    def errors(q: np.ndarray) -> np.ndarray:
        return (1 - q) @ for_first + q @ for_second

    share = (for_first.sum(axis=1) + 1) / (said.sum(axis=1) + 2)
    m_step = whole_m_step(first, second)
    return loop(np.eye(pairs.n_items), share, said.sum(axis=0), m_step, e_step, errors, TOL).weights


def fit_votes(pairs: Pairs) -> Scores:
    from benchmarks.numpy_jam import blocks_m_step, blocks_of, loop

    first, second, row, won, annotator = pairs.first, pairs.second, pairs.row, pairs.first_won, pairs.annotator
    n_pairs, blocks = len(first), blocks_of(len(row))
    per_pair = partial(np.bincount, minlength=n_pairs)
    per_annotator = partial(np.bincount, minlength=pairs.n_annotators)

    def e_step(scores: np.ndarray, flips: np.ndarray) -> np.ndarray:
        trust, lead = np.log((1 - flips) / flips), scores[first] - scores[second]
        for part in blocks:
            said = trust[annotator[part]]
            lead += per_pair(row[part], np.where(won[part], said, -said))
        return 1 / (1 + np.exp(-lead))

    def errors(q: np.ndarray) -> np.ndarray:
        wrong = np.zeros(pairs.n_annotators)
        for part in blocks:
            truth = q[row[part]]
            wrong += per_annotator(annotator[part], np.where(won[part], 1 - truth, truth))
        return wrong

    share = (per_pair(row, won) + 1) / (per_pair(row) + 2)
    m_step = blocks_m_step(first, second)
    return loop(np.eye(pairs.n_items), share, per_annotator(annotator), m_step, e_step, errors, TOL).weights


CONTENDERS = (
    Contender("numpy JAM, counted votes", "numpy", "numpy", "flip", prepare_counts, fit_counts),
    Contender("numpy JAM, votes in blocks", "numpy", "numpy", "flip", prepare_votes, fit_votes),
)
