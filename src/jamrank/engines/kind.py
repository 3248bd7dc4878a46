"""The registration of an engine: how votes get there, when it is chosen, why it may be unavailable."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Engine
from jamrank.errors import ParameterError
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.reader import read_comparisons

Path = str | os.PathLike[str]
Tick = Callable[[int, int], None]

# The most memory that reading and fitting a vote takes, and the share of the machine's memory that may be used.
_BYTES_A_VOTE, _SHARE = 160, 0.5
_UNKNOWN_MEMORY = 8 << 30


@dataclass(frozen=True)
class Load:
    """The votes of a fit, as far as known before they are read."""

    votes: Path | Votes
    n_votes: int | None
    """None where they have not been counted."""

    @property
    def in_memory(self) -> bool:
        """Whether the votes are in memory already."""
        return isinstance(self.votes, Comparisons)

    @property
    def in_parts(self) -> bool:
        """Whether the votes were encoded in parts already, on disk or on a cluster."""
        return isinstance(self.votes, PartedComparisons)

    @property
    def remote(self) -> bool:
        """Whether the votes are at an address and not in a file of this machine."""
        return is_address(self.votes)

    @property
    def elsewhere(self) -> bool:
        """Whether the votes are not to be read into memory: they are in parts, or on another machine."""
        return self.in_parts or self.remote

    @property
    def fits(self) -> bool:
        """Whether the votes fit into memory; assumed where their number is not known."""
        return self.n_votes is None or self.n_votes * _BYTES_A_VOTE <= _SHARE * _memory()

    @property
    def described(self) -> str:
        """How many votes there are, for messages."""
        return "the votes" if self.n_votes is None else f"{self.n_votes:,} votes"


@dataclass(frozen=True)
class Kind:
    """An engine in the registry.

    Attributes
    ----------
    bring : callable
        From a path or votes to the votes where the engine needs them.
    make : callable
        From these votes, what a row is (of ``ROWS_BY``), the number of threads and a progress callback to the engine.
    suits : callable
        From a :class:`Load` to the reason why ``engine="auto"`` should choose this engine; empty where it should not.
    missing : callable
        Returns why the engine cannot run here; empty where it can.
    fallback : str
        The engine that is used instead where this one is missing; empty: that is an error.
    """

    bring: Callable[[Path | Votes], Votes]
    make: Callable[[Any, str, int | None, Tick | None], Engine]
    suits: Callable[[Load], str]
    missing: Callable[[], str] = lambda: ""
    fallback: str = ""


def read_into_memory(votes: Path | Votes) -> Votes:
    """Return votes in memory, read from their file where they are not."""
    if isinstance(votes, PartedComparisons):
        raise ParameterError(
            f"votes are a {type(votes).__name__}, and the engine needs them in memory; give their file"
        )
    return votes if isinstance(votes, Comparisons) else read_comparisons(votes)


def is_address(votes: Path | Votes) -> bool:
    """Return whether votes are given by an address such as ``s3://…``."""
    return isinstance(votes, str) and "://" in votes


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on this system
        return _UNKNOWN_MEMORY
