"""How often annotators vote against a given opinion on each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import Comparisons
from jamrank.rows import Rows

__all__ = ["disagreement"]

Doubles = NDArray[np.float64]


def disagreement(votes: Comparisons, opinion: Doubles) -> Doubles:
    """Return the share of each annotator's decided votes that go against the opinion.

    Parameters
    ----------
    votes : Comparisons
        The votes.
    opinion : ndarray
        For each pair: 1 for the first item, -1 for the second, 0 for neither, which counts half.

    Returns
    -------
    ndarray
        One an annotator; 1/2 for one without decided votes.
    """
    rows = Rows.per_pair(votes)
    lean = opinion[rows.pair]
    wrong = rows.over_votes((1 - lean) / 2)[:, 1] + rows.over_votes((1 + lean) / 2)[:, 0]
    total = rows.cast.sum(axis=1)
    return np.asarray(np.divide(wrong, total, out=np.full(len(total), 0.5), where=total > 0))
