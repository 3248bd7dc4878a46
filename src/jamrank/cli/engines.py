"""Choose the engine of a fit, and bring the votes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jamrank.cli.files import report_readings
from jamrank.cli.messages import note
from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.cli.request import FitRequest
    from jamrank.data.comparisons import Comparisons
    from jamrank.engines import Choice
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

_MEMORY = "2GB"


def open_votes(model: RankingModel, request: FitRequest, console: Console) -> tuple[Votes, dict[str, Comparisons]]:
    """Choose the engine, and bring the votes to it.

    Returns votes, groups (the votes of each group, where ``--by`` was given).
    """
    from jamrank.cli.display import stage

    choice = _choose(model, request)
    if request.engine is None and choice.name != "memory":
        note(f"engine {choice.name}: {choice.why}", request.quiet)
    if choice.name == "disk":
        return _store(request, console), {}
    if choice.name == "dask":
        return _distribute(request, console), {}
    groups: dict[str, Comparisons] = {}
    with stage(console, f"reading {request.source}", request.quiet):
        if request.by is None:
            votes = request.read()
        else:
            votes, groups = request.read_by(request.by)
    report_readings(votes, request.quiet)
    return votes, groups


def _choose(model: RankingModel, request: FitRequest) -> Choice:
    from jamrank.engines import Choice, choose
    from jamrank.models import spec_of

    wanted, in_memory = request.wanted_engine, request.needs_memory
    if in_memory and wanted == "auto":
        return Choice("memory", f"{in_memory} needs the votes in memory")
    out_of_core = spec_of(model).capabilities.out_of_core
    choice = choose(wanted, request.votes[0], out_of_core)
    if choice.name in ("disk", "dask"):
        if in_memory:
            raise ParameterError(
                f"{in_memory} needs the votes in memory; fits from disk and on clusters take one Parquet file or "
                "folder in jamrank's own format"
            )
        if not out_of_core:
            raise ParameterError(
                f"{type(model).__name__} needs the votes in memory; JAM, CrowdBT and BradleyTerry fit from disk and "
                "on clusters"
            )
    if request.engine is None and wanted != "auto":
        return Choice(wanted, "an option of it was given")
    return choice


def _note_questions(path: str, quiet: bool) -> None:
    """Note a column that votes in memory would take for the questions; this engine does not."""
    from jamrank.io.formats.table import QUESTIONS
    from jamrank.io.parquet import columns_of

    columns = [] if quiet else columns_of(path)
    similar = [name for name in columns if name.lower() in QUESTIONS]
    if similar and "question" not in columns:
        note(f"column {similar[0]!r} is not used as the question by this engine; rename it to question if it is one")


def _distribute(request: FitRequest, console: Console) -> Votes:
    """Encode votes on a cluster."""
    import logging

    from jamrank.cli.display import counting
    from jamrank.io.out_of_core.cluster import Cluster
    from jamrank.io.out_of_core.distributed import distribute
    from jamrank.text import many

    path = request.votes[0]
    with counting(console, request.quiet) as progress:
        cluster = Cluster.at(request.scheduler, request.workers, request.scratch)
        # A failure is reported in one line, not in the log of every connection.
        logging.disable(logging.CRITICAL)
        if not request.quiet:
            cluster.require_workers()
            workers = many(cluster.n_workers, "dask worker")
            note(f"{workers} at {cluster.address}" + (cluster.dashboard and f", dashboard at {cluster.dashboard}"))
        _note_questions(path, request.quiet)
        return distribute(cluster, path, progress=progress)


def _store(request: FitRequest, console: Console) -> Votes:
    """Encode votes to the scratch folder, after saying how much space that takes."""
    from jamrank.cli.display import counting
    from jamrank.io.out_of_core.storage_plan import plan_storage
    from jamrank.io.out_of_core.store import store

    path = request.votes[0]
    plan = plan_storage(path, request.scratch, request.memory or _MEMORY)
    if plan.done:
        note(f"{plan.folder} has these votes already and is used", request.quiet)
    else:
        size = f"{plan.scratch_bytes / 1e9:.2g} GB"
        note(f"{plan.n_rows:,} votes need about {size} in {plan.folder} during the fit", request.quiet)
    _note_questions(path, request.quiet)
    with counting(console, request.quiet) as progress:
        return store(plan, progress)
