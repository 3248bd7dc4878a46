"""How often annotators vote against a given opinion on each pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.io.out_of_core.parted import Votes
from jamrank.rows import Rows
from jamrank.typing import FloatArray


def disagreement(votes: Votes, opinion_on: Callable[[Comparisons], FloatArray]) -> FloatArray:
    """Return the share of each annotator's decided votes that go against an opinion.

    votes: The votes.
    opinion_on: Returns 1 for each pair where the first item is better, -1 for the second, 0 for neither (counts one
        half).
    Returns: One value per annotator; 1/2 for an annotator without decided votes.
    """
    wrong, total = np.zeros(votes.n_annotators), np.zeros(votes.n_annotators)
    for part in [votes] if isinstance(votes, Comparisons) else votes.parts():
        rows = Rows.per_pair(part)
        lean = opinion_on(part)
        lean = lean if len(rows) == part.n_pairs else lean[rows.pair]
        against, cast = rows.over_votes(lean), rows.vote_counts
        wrong += (cast.sum(axis=1) + against[:, 0] - against[:, 1]) / 2
        total += rows.vote_counts.sum(axis=1)
    return np.asarray(np.divide(wrong, total, out=np.full(len(total), 0.5), where=total > 0))
