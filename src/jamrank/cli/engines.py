"""Where a fit runs, and how the votes get there, on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from jamrank.cli.files import named, parse_map, parse_words, read_votes, tell
from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.data.comparisons import Comparisons
    from jamrank.engines import Choice
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["Source", "open_votes"]

_MEMORY = "2GB"


@dataclass(frozen=True)
class Source:
    """The files of votes, and what was asked of the engine."""

    files: tuple[str, ...]
    form: str | None = None
    mapping: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    by: str | None = None
    engine: str | None = None
    scheduler: str | None = None
    workers: int | None = None
    memory: str | None = None
    scratch: str | None = None

    @property
    def of_dask(self) -> bool:
        """Whether an option of dask was given."""
        return bool(self.scheduler or self.workers)

    @property
    def of_disk(self) -> bool:
        """Whether an option of fits from disk was given."""
        return bool(self.memory or self.scratch)

    @property
    def needs_memory(self) -> str:
        """What only votes in memory can have, as it is written on the command line; empty without."""
        if self.by is not None:
            return "--by"
        for option, given in (("--format", self.form), ("--map", self.mapping), ("--winner", self.words)):
            if given:
                return option
        return "several files" if len(self.files) > 1 else ""


def open_votes(
    model: RankingModel, source: Source, console: Console, quiet: bool
) -> tuple[Choice, Votes, dict[str, Comparisons]]:
    """Choose the engine, and bring the votes to where it wants them.

    Returns
    -------
    choice : Choice
        The engine.
    votes : Comparisons or PartedComparisons
    groups : dict of str to Comparisons
        Those of each group, where ``--by`` was given.
    """
    from jamrank.cli.display import stage
    from jamrank.io import read_groups

    choice = _choose(model, source)
    if source.engine is None and choice.name != "memory" and not quiet:
        click.echo(f"note: engine {choice.name}: {choice.why}", err=True)
    if choice.name == "disk":
        return choice, _store(source, console, quiet), {}
    if choice.name == "dask":
        return choice, _distribute(source, console, quiet), {}
    groups: dict[str, Comparisons] = {}
    with stage(console, f"reading {named(source.files)}", quiet):
        if source.by is None:
            votes = read_votes(source.files, source.form, source.mapping, source.words)
        else:
            said = parse_map(source.mapping), parse_words(source.words)
            votes, groups = read_groups(source.files, source.by, source.form, *said)
    tell(votes, quiet)
    return choice, votes, groups


def _choose(model: RankingModel, source: Source) -> Choice:
    """Return the engine that was asked for, by name or by one of its options, or else that suits."""
    from jamrank.engines import Choice, choose

    options = source.engine or ("dask" if source.of_dask else "disk" if source.of_disk else "auto")
    if source.of_dask and options != "dask":
        raise ParameterError(f"--scheduler and --workers are for --engine dask, not for {options}")
    if source.needs_memory and options == "auto":
        return Choice("memory", f"{source.needs_memory} needs the votes in memory")
    choice = choose(options, source.files[0], model._from_disk)
    if choice.name in ("disk", "dask"):
        if source.needs_memory:
            told = "fits from disk and on clusters take one Parquet file or folder in jamrank's own form"
            raise ParameterError(f"{source.needs_memory} needs the votes in memory; {told}")
        if not model._from_disk:
            told = "JAM, CrowdBT and BradleyTerry fit from disk and on clusters"
            raise ParameterError(f"{type(model).__name__} needs the votes in memory; {told}")
    return Choice(options, "an option of it was given") if source.engine is None and options != "auto" else choice


def _tell_of_questions(path: str, quiet: bool) -> None:
    """Say that a column which votes in memory would have for questions is none here: that takes all of its values."""
    from jamrank.io.formats.table import QUESTIONS
    from jamrank.io.parquet import columns_of

    columns = [] if quiet else columns_of(path)
    alike = [name for name in columns if name.lower() in QUESTIONS]
    if alike and "question" not in columns:
        told = f"{alike[0]!r} is not taken for the questions by this engine; call the column question if it is"
        click.echo(f"note: {told}", err=True)


def _distribute(source: Source, console: Console, quiet: bool) -> Votes:
    """Encode votes on a cluster, after saying where to watch it."""
    import logging

    from jamrank.cli.display import counting
    from jamrank.io.out_of_core.cluster import Cluster
    from jamrank.io.out_of_core.distributed import distribute
    from jamrank.text import many

    with counting(console, quiet) as progress:
        cluster = Cluster.at(source.scheduler, source.workers, source.scratch)
        # What goes wrong is told in one line, not in the log of every connection.
        logging.disable(logging.CRITICAL)
        if not quiet:
            cluster.require_workers()
            told = f"{many(cluster.n_workers, 'dask worker')} at {cluster.address}, dashboard at {cluster.dashboard}"
            click.echo(f"note: {told}", err=True)
        _tell_of_questions(source.files[0], quiet)
        return distribute(cluster, source.files[0], progress=progress)


def _store(source: Source, console: Console, quiet: bool) -> Votes:
    """Encode votes to the scratch folder, after saying how much room that takes."""
    from jamrank.cli.display import counting
    from jamrank.io.out_of_core.store import plan_storage, store

    plan = plan_storage(source.files[0], source.scratch, source.memory or _MEMORY)
    if not quiet and plan.done:
        click.echo(f"note: {plan.folder} has these votes already; going on from there", err=True)
    elif not quiet:
        size = f"{plan.scratch_bytes / 1e9:.2g} GB"
        click.echo(f"note: {plan.n_rows:,} votes need about {size} in {plan.folder}, until the fit is done", err=True)
    _tell_of_questions(source.files[0], quiet)
    with counting(console, quiet) as progress:
        return store(plan, progress)
