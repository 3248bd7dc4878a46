"""A fitted model as a report, and the report as a file."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.pairs import SETTLED
from jamrank.inference import best_first
from jamrank.inference.ranks import ranks
from jamrank.io import write_atomically
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.parted import Votes
from jamrank.models import RankingModel
from jamrank.report.analysis import Analysis
from jamrank.report.judges import family_sentences, same_votes
from jamrank.report.leaving_out import leave_out
from jamrank.report.narrative import planning, story
from jamrank.report.page import render
from jamrank.report.pictures import ItemViews
from jamrank.report.record import Report, WinProbabilities
from jamrank.report.sections.win_probabilities import SHOWN
from jamrank.typing import FloatArray, IntArray


def write_report(
    model: RankingModel,
    votes: Votes | VoteSource,
    path: str | Path,
    title: str | None = None,
    *,
    scale: str = "logit",
    anchor: Any = None,
) -> None:
    """Write the report of a fitted model: one HTML file that loads nothing from elsewhere.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons, StoredComparisons, path-like, data frame, mapping or list
        What it was fitted to, or whatever :func:`jamrank.read_comparisons` reads.
    path : str or Path
        The file.
    title : str, optional
        The title of the page; by default the name of the model.
    scale, anchor
        As in :meth:`RankingModel.ranking_on`.
    """
    analysis = Analysis(model.result_, votes, scale=scale, anchor=anchor)
    facts = {"Model": repr(model), "Versions": versions()}
    write_atomically(path, render(describe(analysis, title or f"{type(model).__name__} ranking", facts)))


def versions() -> str:
    """Return the versions of jamrank and the libraries that it computes with."""
    import scipy

    from jamrank import __version__

    return (
        f"jamrank {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, polars {pl.__version__}, "
        f"Python {platform.python_version()}"
    )


def describe(
    analysis: Analysis,
    title: str,
    facts: Mapping[str, str],
    *,
    by: tuple[str, pl.DataFrame] | None = None,
    jury: pl.DataFrame | None = None,
    views: ItemViews | None = None,
    spreadsheet_safe: bool = False,
) -> Report:
    """Return the report of a fitted model.

    Parameters
    ----------
    analysis : Analysis
        The model and its votes.
    title : str
        The title of the page.
    facts : mapping of str to str
        How it was computed.
    by : (str, polars.DataFrame), optional
        A column, and what :func:`side_by_side` makes of the rankings of its values.
    jury : polars.DataFrame, optional
        The audit of LLM judges, where votes come from a ledger that has some.
    views : ItemViews, optional
        Pictures or texts of the items.
    spreadsheet_safe : bool
        Whether the CSV files that can be saved from the page must be safe to open in a spreadsheet.

    Returns
    -------
    Report
    """
    contested = analysis.contested
    return Report(
        title=title,
        summary=story(analysis),
        ranking=analysis.shown_ranking,
        annotators=best_first(analysis.annotators),
        pairs=analysis.pairs if analysis.in_memory else None,
        n_pairs=analysis.votes.n_pairs,
        n_questions=len(analysis.votes.questions),
        log_likelihoods=analysis.result.convergence.log_likelihoods.tolist(),
        facts=facts,
        wins=_win_probabilities(analysis),
        uncertain=_uncertain(analysis) if analysis.in_memory else None,
        ask_next=_ask_next(analysis),
        one_truth=analysis.result.spec.unit == "pair",
        contested=_contested(analysis),
        n_overruled=0 if contested is None else contested.n_overruled,
        n_decided=0 if contested is None else contested.n_pairs,
        skills=analysis.skills,
        features=analysis.features,
        effects=analysis.effects,
        with_effects=analysis.with_effects,
        correlated=analysis.correlated,
        agreement=analysis.agreement,
        effective_judges=analysis.effective_judges,
        families=family_sentences(analysis),
        same_votes=same_votes(analysis),
        n_judges=analysis.n_judges,
        left_out=leave_out(analysis),
        health=_health_lines(analysis),
        counts={} if analysis.health is None else dict(analysis.health.counts),
        meaning=analysis.score_meaning,
        within=analysis.group_ranking,
        by=None if by is None else by[1],
        by_column="" if by is None else by[0],
        jury=jury,
        views=views,
        spreadsheet_safe=spreadsheet_safe,
    )


def _health_lines(analysis: Analysis) -> list[tuple[str, str]]:
    lines = []
    for finding in [] if analysis.health is None else analysis.health.findings:
        expected = finding.about == "planning"
        sentence = planning(analysis, finding.sentence) if expected else finding.sentence
        lines.append(("note" if sentence != finding.sentence else finding.level, sentence))
    return lines


# -- win probabilities ----------------------------------------------------------------------------------------------


def _win_probabilities(analysis: Analysis) -> WinProbabilities | None:
    """Return the matrix of the first items, and the log-odds of all; None where items cannot be compared."""
    if analysis.order.group is not None:
        return None
    order = np.argsort(-analysis.scores, kind="stable")
    shown = order[:SHOWN]
    rows, columns = np.meshgrid(shown, shown, indexing="ij")
    chance = _chance(analysis, rows.ravel(), columns.ravel()).reshape(len(shown), len(shown))
    with_errors = not analysis.result.spec.capabilities.annotators
    return WinProbabilities(analysis.items[order].tolist(), chance, _log_odds(analysis, order), with_errors)


def _chance(analysis: Analysis, first: NDArray[Any], second: NDArray[Any]) -> FloatArray:
    if not len(first):
        return np.empty(0)
    return analysis.result.predictor.truth(analysis.items[first], analysis.items[second])


def _log_odds(analysis: Analysis, order: IntArray) -> FloatArray | None:
    """Return a number for each item such that differences are the log-odds of winning, if there are such numbers."""
    middle = np.full(len(order), order[len(order) // 2])
    with np.errstate(divide="ignore"):
        odds = np.asarray(logit(_chance(analysis, order, middle)))
    ascending = np.arange(len(order))
    descending = ascending[::-1]
    chance = _chance(analysis, order[ascending], order[descending])
    fits = np.isfinite(odds).all() and np.allclose(expit(odds[ascending] - odds[descending]), chance, atol=1e-6)
    return odds if fits else None


# -- pairs ----------------------------------------------------------------------------------------------------------


def _uncertain(analysis: Analysis) -> pl.DataFrame:
    found = analysis.uncertain
    votes = pl.Series(_votes_so_far(analysis, found.upper, found.lower), dtype=pl.Float64)
    return _named_pairs(analysis, found.upper, found.lower, found.above).with_columns(votes=votes)


def _ask_next(analysis: Analysis) -> pl.DataFrame | None:
    found = analysis.ask_next
    if found is None:
        return None
    return (
        _named_pairs(analysis, found.upper, found.lower, found.above)
        .with_columns(
            votes=pl.Series(_votes_so_far(analysis, found.upper, found.lower), dtype=pl.Float64),
            gain=pl.Series(found.gain),
            # Where annotators differ in taste, more votes of the same ones make no order certain.
            to_settle=pl.Series(np.full(len(found.gain), np.nan) if analysis.result.can.tastes else found.to_settle),
        )
        .filter(pl.col("above").is_nan() | pl.col("above").is_between(1 - SETTLED, SETTLED, closed="none"))
    )


def _votes_so_far(analysis: Analysis, upper: NDArray[Any], lower: NDArray[Any]) -> list[float]:
    pairs, n_items = analysis.votes, len(analysis.items)
    assert isinstance(pairs, Comparisons)
    voted = np.minimum(pairs.pair_first, pairs.pair_second).astype(np.int64) * n_items
    voted += np.maximum(pairs.pair_first, pairs.pair_second)
    keys = np.minimum(upper, lower) * n_items + np.maximum(upper, lower)
    return [float(pairs.pair_weight[voted == key].sum()) for key in keys.tolist()]


def _contested(analysis: Analysis) -> pl.DataFrame | None:
    found = analysis.contested
    if found is None:
        return None
    # The item that is ranked higher comes first.
    turned = analysis.scores[found.first] < analysis.scores[found.second]
    upper, lower = np.where(turned, (found.second, found.first), (found.first, found.second))
    for_upper, for_lower = np.where(turned, (found.for_second, found.for_first), (found.for_first, found.for_second))
    return _named_pairs(analysis, upper, lower, analysis.order.above(upper, lower)).with_columns(
        for_left=pl.Series(for_upper), for_right=pl.Series(for_lower)
    )


def _named_pairs(analysis: Analysis, upper: NDArray[Any], lower: NDArray[Any], above: FloatArray) -> pl.DataFrame:
    """Return pairs of items with their ranks, within their group where there are several."""
    within = analysis.order.within_groups
    rank = np.empty(len(analysis.items), dtype=np.int64)
    if within is None:
        rank[:] = ranks(analysis.scores, within=1e-9)
    else:
        rank[within["place"].to_numpy()] = within["rank"].to_numpy()
    return pl.DataFrame(
        {
            "left": analysis.items[upper].tolist(),
            "left_rank": rank[upper],
            "right": analysis.items[lower].tolist(),
            "right_rank": rank[lower],
            "above": above,
        },
        schema_overrides={"above": pl.Float64},
        strict=False,
    )
