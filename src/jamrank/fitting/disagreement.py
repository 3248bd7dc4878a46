"""How often annotators vote against a given opinion on each pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import DenseVotes
from jamrank.io.out_of_core.parted import Votes
from jamrank.kernels import default_threads, kernels
from jamrank.rows import Patterns, Rows, shares
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
        lean = np.asarray(opinion_on(part), dtype=np.float64)
        if isinstance(part.storage, DenseVotes):  # the votes of a jury are not listed for this
            rows = Rows.per_pair(part)
            against, cast = rows.over_votes(lean[rows.pair]), rows.vote_counts.sum(axis=1)
            own = (cast + against[:, 0] - against[:, 1]) / 2
        else:
            table, own, cast = part.storage, np.empty(len(wrong)), np.empty(len(wrong))
            kernels.count_against(
                table.start, table.annotator, table.result, table.weight, lean, own, cast, default_threads()
            )
        wrong += own
        total += cast
    return shares(wrong, total)


def disagreement_by_pattern(rows: Rows, patterns: Patterns, lean: FloatArray) -> FloatArray:
    """Return the same share, for an opinion that the votes on a pair decide: 1, -1 or 0 for each pattern of votes."""
    against, cast = patterns.over_patterns(lean * rows.pattern_weight), rows.vote_counts.sum(axis=1)
    return shares((cast + against[:, 0] - against[:, 1]) / 2, cast)
