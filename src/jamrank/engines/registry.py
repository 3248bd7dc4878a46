"""The choice of the engine: the named one, or the first that suits the votes and the machine."""

from __future__ import annotations

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Choice, Engine
from jamrank.engines.kind import Kind, Load, Path, Tick, is_address
from jamrank.errors import GpuError, GpuFallbackWarning, ParameterError, warn
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.parquet import count_rows, is_parquet
from jamrank.registry import Registry

# In the order in which "auto" tries them. A new engine is a file with a KIND, and a line here.
ENGINES: Registry[Kind] = Registry(
    "engine",
    {
        "gpu": "jamrank.engines.gpu:KIND",
        "memory": "jamrank.engines.memory:KIND",
        "dask": "jamrank.engines.dask:KIND",
        "disk": "jamrank.engines.disk:KIND",
    },
)


def choose(engine: str, votes: Path | Votes, in_parts: bool = True) -> Choice:
    """Choose the engine of a fit.

    engine: A name of ``ENGINES``, or ``"auto"``.
    votes: The votes; only their number is used.
    in_parts: Whether the model can fit votes that come part by part.
    Returns: An engine that can run here. Where the named one cannot, its fallback, with a warning that says why.
    """
    if engine not in (*ENGINES, "auto"):
        raise ParameterError(f"engine is {engine!r}; expected 'auto', {', '.join(map(repr, ENGINES))}")
    if engine != "auto":
        reason = ENGINES[engine].missing()
        return _fall_back(engine, reason) if reason else Choice(engine, "it was requested")
    if not in_parts:
        return Choice("memory", "the model needs the votes in memory")
    load = Load(votes, _count(votes))
    for name, kind in ENGINES.items():
        if why := kind.suits(load):
            return Choice(name, why)
    return Choice("memory", "no other engine is available")


def bring(choice: Choice, votes: Path | Votes) -> Votes:
    """Return the votes where the engine needs them."""
    return ENGINES[choice.name].bring(votes)


def make_engine(choice: Choice, votes: Votes, row: str, threads: int | None, tick: Tick | None) -> Engine:
    """Return the engine over rows of some votes; its ``choice`` says which one runs, and why."""
    try:
        engine = ENGINES[choice.name].make(votes, row, threads, tick)
    except GpuError as error:  # there is a GPU, but not for these votes
        choice = _fall_back(choice.name, str(error))
        engine = ENGINES[choice.name].make(votes, row, threads, tick)
    engine.choice = choice
    return engine


def _fall_back(engine: str, reason: str) -> Choice:
    fallback = ENGINES[engine].fallback
    if not fallback:
        raise ParameterError(f"engine {engine!r} cannot be used: {reason}")
    warn(f"engine={engine!r}: {reason}; the fit runs in {fallback} instead", GpuFallbackWarning)
    return Choice(fallback, f"engine {engine} cannot be used: {reason}")


def _count(votes: Path | Votes) -> int | None:
    """Count the votes of Parquet files from their footers; those of other files fit into memory or nowhere."""
    if isinstance(votes, Comparisons | PartedComparisons):
        return votes.n_votes
    return count_rows(votes) if not is_address(votes) and is_parquet(votes) else None
