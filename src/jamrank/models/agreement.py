"""How often annotators vote against a given opinion on each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import FIRST, TIE, Comparisons

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
    decided = votes.vote_result != TIE if votes.n_ties else slice(None)
    who, weight = votes.vote_annotator[decided], votes.vote_weight[decided]
    said = np.where(votes.vote_result[decided] == FIRST, 1.0, -1.0)
    against = (1 - said * opinion[votes.vote_pair[decided]]) / 2
    total = np.bincount(who, weight, votes.n_annotators)
    wrong = np.bincount(who, weight * against, votes.n_annotators)
    return np.asarray(np.divide(wrong, total, out=np.full(len(total), 0.5), where=total > 0))
