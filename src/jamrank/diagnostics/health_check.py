"""Run every health check on a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import LEVELS, Finding, Health
from jamrank.diagnostics.registry import CHECKS
from jamrank.diagnostics.target import TARGET
from jamrank.errors import ParameterError
from jamrank.inference.result import RankingResult
from jamrank.io.any_votes import votes_in_memory
from jamrank.io.given import VoteSource
from jamrank.linalg.blas import blas_threads

if TYPE_CHECKING:
    from jamrank.models import RankingModel


def check(
    votes: Comparisons | VoteSource, model: RankingModel | RankingResult | None = None, *, target: float = TARGET
) -> Health:
    """Check votes for problems and risks.

    Parameters
    ----------
    votes : Comparisons, path-like, data frame, mapping or list
        The votes, or whatever :func:`jamrank.read_comparisons` reads; in memory.
    model : RankingModel or RankingResult, optional
        A model fitted to these votes, or its result. It provides the direction of the ranking and the expected
        accuracy; without it, a quick fit without features does.
    target : float
        Share of the pairs of items in the right order to plan votes for; by default .9, as in :class:`Chooser`, whose
        target is an error of .1.

    Returns
    -------
    Health

    Examples
    --------
    >>> import jamrank as jr
    >>> votes = jr.Comparisons.from_arrays(["a", "c"], ["b", "d"], ["x", "x"], [1, 0])
    >>> jr.check(votes).comparable
    False
    """
    if not 0.5 < target < 1:
        raise ParameterError(f"target is {target!r}; expected a share above 0.5 and below 1")
    votes = votes_in_memory(votes, "check")
    examination = Examination(votes, None if model is None else _result_of(model), target)
    findings: list[Finding] = []
    counts: dict[str, int | float] = {}
    measures: dict[str, float | None] = {}
    details: dict[str, list[Any]] = {}
    with blas_threads(votes.n_items + votes.n_annotators):
        for name in CHECKS:
            found = CHECKS[name](examination)
            findings += found.findings
            counts |= found.counts
            measures |= found.measures
            details |= found.details
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return Health(counts, findings, measures, details)


def _result_of(model: RankingModel | RankingResult) -> RankingResult:
    return model if isinstance(model, RankingResult) else model.result_
