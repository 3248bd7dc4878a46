"""A fit of the votes so far for admin page and exports, with the sections of the report."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jamrank.errors import JamrankError, JamrankWarning
from jamrank.studio.study import Study

if TYPE_CHECKING:
    import polars as pl

    from jamrank.models import RankingModel

# Of the report's sections, those on the admin page.
_SECTIONS = ("ranking", "next", "uncertain", "annotators")
# The report sets the print size of a chart as an inline style, which the policy of these pages blocks.
_STYLE = re.compile(r' style="--fit:[0-9.]+"')


@dataclass(frozen=True)
class Analysis:
    """The results for one criterion.

    Parameters
    ----------
    criterion : str
    model : RankingModel or None
        Fitted; None if there are too few votes.
    why : str
        Why there is none.
    sections : tuple of str
        Markup of the report's sections.
    ranking, annotators, report : str
        The files to export.
    verdicts : mapping of str to (str, str)
        Verdict and evidence by judge.
    """

    criterion: str
    model: RankingModel | None = None
    why: str = ""
    sections: tuple[str, ...] = ()
    ranking: str = ""
    annotators: str = ""
    report: str = ""
    verdicts: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def fit_votes(frame: pl.DataFrame, gold: Sequence[tuple[str, str]], start: Any = None) -> tuple[RankingModel, Any]:
    """Fit the votes; return the model and the votes as it takes them."""
    from jamrank.data.comparisons import Comparisons
    from jamrank.models import CrowdBT

    votes = Comparisons.from_frame(frame)
    known = set(votes.items.tolist())
    usable = [(better, worse) for better, worse in gold if {better, worse} <= known]
    model = CrowdBT(engine="memory")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        model.fit(votes, gold=usable or None, start=start)
    return model, votes


def analyse(model: RankingModel, votes: Any, study: Study, criterion: str, seconds: float) -> Analysis:
    """Return the displayed results of a fit."""
    import polars as pl

    from jamrank import report as reports

    title = f"{study.title}: {criterion}" if criterion else study.title
    facts = {"Model": repr(model), "Versions": reports.versions(), "Seconds": f"{seconds:.2f}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        analysis = reports.Analysis(model.result_, votes)
        report = reports.describe(analysis, title, facts)
    shown = tuple(_STYLE.sub("", markup) for name in _SECTIONS if (markup := reports.section_markup(name, report)))
    judges = pl.DataFrame(model.annotators_)
    evidence = judges["evidence"].to_list() if "evidence" in judges.columns else [""] * judges.height
    verdicts = dict(
        zip(judges["annotator"].cast(pl.String), zip(judges["verdict"], evidence, strict=True), strict=True)
    )
    return Analysis(
        criterion,
        model,
        sections=shown,
        ranking=_csv(analysis.written_ranking, criterion),
        annotators=_csv(judges, criterion),
        report=reports.render(report),
        verdicts=verdicts,
    )


def _csv(frame: pl.DataFrame, criterion: str) -> str:
    import polars as pl

    named = frame.with_columns(criterion=pl.lit(criterion)) if criterion else frame
    return str(named.write_csv())


def failed(criterion: str, error: JamrankError) -> Analysis:
    """Return results without a fit, with the reason."""
    return Analysis(criterion, why=str(error))
