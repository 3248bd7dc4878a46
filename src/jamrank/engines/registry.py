"""Which engine runs a fit: the one that is named, or what suits the votes and what is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Engine
from jamrank.engines.disk import DiskEngine
from jamrank.engines.memory import MemoryEngine
from jamrank.errors import ParameterError
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.out_of_core.store import StoredComparisons, store_comparisons
from jamrank.io.parquet import count_rows, is_parquet
from jamrank.io.reader import read_comparisons
from jamrank.rows.rows import ROWS_BY

__all__ = ["ENGINES", "Choice", "Kind", "bring", "choose", "make_engine"]

Path = str | os.PathLike[str]
Tick = Callable[[int, int], None]

# What reading and fitting a vote in memory takes at most, and which share of the machine's memory may be used.
_BYTES_A_VOTE, _SHARE = 160, 0.5
_UNKNOWN_MEMORY = 8 << 30
# With fewer votes a fit in memory ends before a card has been woken up.
_MANY_FOR_A_CARD = 5_000_000


@dataclass(frozen=True)
class Load:
    """What there is to fit, as far as it is known before any vote is read."""

    votes: Path | Votes
    n_votes: int | None
    """None where nobody has counted them."""

    @property
    def in_memory(self) -> bool:
        """Whether the votes are in memory already."""
        return isinstance(self.votes, Comparisons)

    @property
    def fits(self) -> bool:
        """Whether the votes will fit into memory; a table that only memory can take is given the chance."""
        return self.n_votes is None or self.n_votes * _BYTES_A_VOTE <= _SHARE * _memory()

    @property
    def told(self) -> str:
        """How many votes there are, for people."""
        return "the votes" if self.n_votes is None else f"{self.n_votes:,} votes"


@dataclass(frozen=True)
class Kind:
    """An engine as it is chosen: how votes get there, what runs the passes, and when it is the best."""

    bring: Callable[[Path | Votes], Votes]
    make: Callable[[Any, str, int | None, Tick | None], Engine]
    suits: Callable[[Load], str]
    """Why it is the one for a load; empty where it is not."""


@dataclass(frozen=True)
class Choice:
    """The engine of a fit, by name, and why it is that."""

    name: str
    why: str


# -- memory -----------------------------------------------------------------------------------------------------


def _to_memory(votes: Path | Votes) -> Votes:
    if isinstance(votes, PartedComparisons):
        raise ParameterError(
            f"votes are a {type(votes).__name__}, and the engine needs them in memory; give their file"
        )
    return votes if isinstance(votes, Comparisons) else read_comparisons(votes)


def _memory_engine(votes: Comparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    return MemoryEngine(ROWS_BY[row](votes, threads), threads)


def _memory_suits(load: Load) -> str:
    if load.in_memory:
        return "the votes are in memory"
    elsewhere = isinstance(load.votes, PartedComparisons) or _is_address(load.votes)
    return f"{load.told} fit into memory" if load.fits and not elsewhere else ""


# -- gpu --------------------------------------------------------------------------------------------------------


def _gpu_engine(votes: Comparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    from jamrank.engines.gpu import on_gpu

    return on_gpu(ROWS_BY[row](votes, threads), threads)


def _gpu_suits(load: Load) -> str:
    elsewhere = isinstance(load.votes, PartedComparisons) or _is_address(load.votes)
    if elsewhere or not load.fits or load.n_votes is None or load.n_votes < _MANY_FOR_A_CARD:
        return ""
    from jamrank.kernels.card import gpu_available

    return f"{load.told} are many, and there is a GPU" if gpu_available() else ""


# -- disk -------------------------------------------------------------------------------------------------------


def _to_disk(votes: Path | Votes) -> Votes:
    if isinstance(votes, StoredComparisons):
        return votes
    if isinstance(votes, Comparisons | PartedComparisons):
        raise ParameterError(f"engine is 'disk', and the votes are a {type(votes).__name__}; give a Parquet file")
    return store_comparisons(votes)


def _disk_engine(votes: StoredComparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    return DiskEngine(votes, row, threads, tick)


def _disk_suits(load: Load) -> str:
    if isinstance(load.votes, StoredComparisons):
        return "the votes are on disk"
    given = isinstance(load.votes, Comparisons | PartedComparisons)
    return f"{load.told} may not fit into memory" if not given and not load.fits else ""


# -- dask -------------------------------------------------------------------------------------------------------


def _to_dask(votes: Path | Votes) -> Votes:
    from jamrank.io.out_of_core.distributed import DistributedComparisons, distribute_comparisons

    if isinstance(votes, DistributedComparisons):
        return votes
    if isinstance(votes, PartedComparisons):
        raise ParameterError(f"engine is 'dask', and the votes are a {type(votes).__name__}; give their file")
    return distribute_comparisons(votes)


def _dask_engine(votes: Any, row: str, threads: int | None, tick: Tick | None) -> Engine:
    from jamrank.engines.dask import DaskEngine

    return DaskEngine(votes, row, tick)


def _dask_suits(load: Load) -> str:
    if isinstance(load.votes, PartedComparisons):
        return "" if isinstance(load.votes, StoredComparisons) else "the votes are on a cluster"
    if load.in_memory or (load.fits and not _is_address(load.votes)):
        return ""
    from jamrank.io.out_of_core.cluster import cluster_at_hand

    if (address := cluster_at_hand()) is not None:
        return f"{load.told} may not fit into memory, and there is a dask scheduler at {address}"
    return "the votes are not on this machine" if _is_address(load.votes) else ""


# In the order in which "auto" asks them. An engine more is a line more.
ENGINES: dict[str, Kind] = {
    "gpu": Kind(_to_memory, _gpu_engine, _gpu_suits),
    "memory": Kind(_to_memory, _memory_engine, _memory_suits),
    "dask": Kind(_to_dask, _dask_engine, _dask_suits),
    "disk": Kind(_to_disk, _disk_engine, _disk_suits),
}


def choose(engine: str, votes: Path | Votes, in_parts: bool = True) -> Choice:
    """Choose the engine of a fit.

    Parameters
    ----------
    engine : str
        A name of ``ENGINES``, or ``"auto"``.
    votes : path-like, Comparisons or PartedComparisons
        What is to be fitted; only its size is looked at.
    in_parts : bool
        Whether the model can fit votes that come part by part.
    """
    if engine not in (*ENGINES, "auto"):
        raise ParameterError(f"engine is {engine!r}; expected 'auto', {', '.join(map(repr, ENGINES))}")
    if engine != "auto":
        return Choice(engine, "it was asked for")
    if not in_parts:
        return Choice("memory", "the model needs the votes in memory")
    load = Load(votes, _count(votes))
    for name, kind in ENGINES.items():
        if why := kind.suits(load):
            return Choice(name, why)
    return Choice("memory", "nothing else is there")


def bring(choice: Choice, votes: Path | Votes) -> Votes:
    """Return the votes where the engine wants them."""
    return ENGINES[choice.name].bring(votes)


def make_engine(choice: Choice, votes: Votes, row: str, threads: int | None, tick: Tick | None) -> Engine:
    """Return the engine over rows of some votes."""
    return ENGINES[choice.name].make(votes, row, threads, tick)


def _count(votes: Path | Votes) -> int | None:
    """Count the votes of Parquet files from their footers; those of other files fit into memory or nowhere."""
    if isinstance(votes, Comparisons | PartedComparisons):
        return votes.n_votes
    return count_rows(votes) if not _is_address(votes) and is_parquet(votes) else None


def _is_address(votes: Path | Votes) -> bool:
    return isinstance(votes, str) and "://" in votes


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on this system
        return _UNKNOWN_MEMORY
