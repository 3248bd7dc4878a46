"""The options of ``jamrank fit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from jamrank.cli.files import VotesRequest, named
from jamrank.errors import ParameterError

_MODEL_OPTIONS = ("scorer", "noise", "ties", "max_iter", "tol", "reference")


@dataclass(frozen=True)
class FitRequest(VotesRequest):
    """The options of ``jamrank fit``, checked as far as that is possible without reading a file."""

    # What goes with the votes.
    features: str | None = None
    gold: str | None = None
    by: str | None = None
    # The model.
    model_name: str = "auto"
    scorer: str | None = None
    noise: str | None = None
    ties: str | None = None
    max_iter: int | None = None
    tol: float | None = None
    families: str | None = None
    covariates: str | None = None
    reference: str | None = None
    start: str | None = None
    # Where it runs.
    engine: str | None = None
    scheduler: str | None = None
    workers: int | None = None
    memory: str | None = None
    scratch: str | None = None
    keep_scratch: bool = False
    # Output.
    out: str | None = None
    exports: tuple[str, ...] = ()
    spreadsheet_safe: bool = False
    scale: str = "logit"
    anchor: str | None = None
    show: str | None = None
    as_json: bool = False
    quiet: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """Return the request of parsed options; a :class:`ParameterError` where they exclude each other."""
        request = cls(
            exports=export_kinds(options["export"]),
            **{field.name: options[field.name] for field in fields(cls) if field.name in options},
        )
        if request.covariates is not None and not request.covariate_names:
            raise ParameterError("--covariates names no column; expected names such as len_diff,same_family")
        if request.show is not None and request.out is None:
            raise ParameterError("--show needs --out DIR, where the report is written")
        if request.exports and request.out is None:
            raise ParameterError("--export needs --out DIR to write to")
        if (request.scheduler or request.workers) and request.wanted_engine != "dask":
            raise ParameterError(f"--scheduler and --workers are for --engine dask, not for {request.engine}")
        return request

    @property
    def title(self) -> str:
        """The files of votes, for a title."""
        from jamrank.io.sources import source_name

        return named((Path(source_name(self.votes[0])).name, *self.votes[1:]))

    @property
    def covariate_names(self) -> list[str]:
        """The covariates that were named."""
        return [name.strip() for name in (self.covariates or "").split(",") if name.strip()]

    def _how(self) -> dict[str, Any]:
        return super()._how() | {"covariates": self.covariate_names}

    @property
    def model_options(self) -> dict[str, Any]:
        """The options of the model that were given."""
        given = {name: getattr(self, name) for name in _MODEL_OPTIONS} | {"covariates": self.covariate_names or None}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def wanted_engine(self) -> str:
        """The requested engine, by name or by one of its options."""
        of_dask, of_disk = self.scheduler or self.workers, self.memory or self.scratch
        return self.engine or ("dask" if of_dask else "disk" if of_disk else "auto")

    @property
    def needs_memory(self) -> str:
        """The option that only votes in memory can have; empty without."""
        if self.by is not None:
            return "--by"
        if self.covariates is not None:
            return "--covariates"
        return super().needs_memory or ("several files" if len(self.votes) > 1 else "")


def export_kinds(text: str | None) -> tuple[str, ...]:
    """Return the exports that a comma-separated option names."""
    from jamrank.report.exports import EXPORTS

    kinds = tuple(kind.strip().lower() for kind in (text or "").split(",") if kind.strip())
    unknown = [kind for kind in kinds if kind not in EXPORTS]
    if unknown or (text is not None and not kinds):
        raise ParameterError(f"export is {unknown[0] if unknown else text!r}; expected {', '.join(EXPORTS)}")
    return kinds
