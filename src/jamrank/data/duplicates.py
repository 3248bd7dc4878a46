"""Votes that all occur several times, as if a file was included more than once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jamrank.data.storage import DenseVotes
from jamrank.errors import DuplicatesWarning, ParameterError, warn

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

# Of fewer distinct votes, all may occur several times by chance.
_FEWEST = 20
# Larger weights have no remainder in floating point.
_LARGEST = 2.0**53


def common_factor(votes: Comparisons, fewest: int = _FEWEST) -> int:
    """Return the largest number by which all weights can be divided; 1 for fewer distinct votes than `fewest`."""
    if isinstance(votes.storage, DenseVotes) or not len(votes.storage.weight):
        return 1
    weight = votes.vote_weight[votes.vote_weight > 0]
    if len(weight) < max(fewest, 1) or weight.max() > _LARGEST or (weight % 1 != 0).any():
        return 1
    return int(np.gcd.reduce(weight.astype(np.int64)))


def times_written(votes: Comparisons, fewest: int = _FEWEST) -> int:
    """Return how many times every vote was written, as far as can be seen; weights that were given do not count."""
    factor = common_factor(votes, fewest)
    most = min(factor, votes.n_votes // votes.n_folded) if factor > 1 else 1
    return max(times for times in range(1, max(most, 1) + 1) if factor % times == 0)


def divided(votes: Comparisons, times: int) -> Comparisons:
    """Return the votes, each as if written so many times less often."""
    if times == 1:
        return votes
    weight = votes.vote_weight / times
    return replace(
        votes,
        storage=replace(votes.storage.table, weight=np.empty(0) if (weight == 1).all() else weight),
        n_votes=votes.n_votes // times,
        n_missing=votes.n_missing // times,
    )


def independent(votes: Comparisons) -> Comparisons:
    """Return the votes for a test of independence, in which a vote that is only a copy of another must not count."""
    return divided(votes, common_factor(votes))


def as_if_included(times: int) -> str:
    """Return the beginning of a sentence on votes that were all written so many times."""
    if times == 2:
        return "Every vote occurs an even number of times, as if a file was included twice"
    return f"Every vote occurs {times} times or a multiple of it, as if a file was included {times} times"


def count_once(votes: Comparisons) -> Comparisons:
    """Count a file once that seems to be included several times, and warn of it."""
    times = times_written(votes)
    if times > 1:
        warn(f"{as_if_included(times)}: it is counted once", DuplicatesWarning)
    return divided(votes, times)


def times_in_file(votes: Comparisons) -> int:
    """Return how many times every vote was written, where the user says that it is so.

    Raises ParameterError: If not every vote occurs several times.
    """
    times = times_written(votes, fewest=1)
    if times == 1:
        raise ParameterError("--once: not every vote occurs several times; leave it out")
    return times
