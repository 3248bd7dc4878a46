"""Votes in any form that a fit takes, for functions that look at votes."""

from __future__ import annotations

from jamrank.data.comparisons import Comparisons
from jamrank.errors import ParameterError
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.reader import read_comparisons


def as_votes(votes: Votes | VoteSource) -> Votes:
    """Return votes as they are, or those of a path, a data frame, columns by name or a list.

    Raises ParameterError: If they cannot be votes.
    """
    return votes if isinstance(votes, Comparisons | PartedComparisons) else read_comparisons(votes)


def votes_in_memory(votes: Votes | VoteSource, user: str) -> Comparisons:
    """Return votes as :func:`as_votes` does, for a function that needs them in memory.

    user: The name of the function, for an error.
    Raises ParameterError: If they are on disk or on a cluster.
    """
    found = as_votes(votes)
    if isinstance(found, Comparisons):
        return found
    raise ParameterError(f"{user} needs the votes in memory; these are {found.place}")
