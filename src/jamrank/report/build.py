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
from jamrank.diagnostics import Health, contested_pairs
from jamrank.inference import best_first, ranks
from jamrank.io import write_atomically
from jamrank.io.out_of_core.parted import Votes
from jamrank.models import VRJAM, RankingModel
from jamrank.report.narrative import find_unsettled, health_of, planning, score_meaning, story
from jamrank.report.order_probability import Sureness
from jamrank.report.page import render
from jamrank.report.record import Beats, Report, Skills
from jamrank.report.sections.beats import SHOWN
from jamrank.typing import FloatArray, IntArray

__all__ = ["describe", "versions", "write_report"]


def write_report(
    model: RankingModel,
    votes: Votes,
    path: str | Path,
    title: str | None = None,
    *,
    scale: str = "logit",
    anchor: Any = None,
) -> None:
    """Write the report of a fitted model: one HTML file that loads nothing from anywhere.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.
    path : str or Path
        The file.
    title : str, optional
        The name of the page; the model's unless given.
    scale, anchor
        As in :meth:`RankingModel.ranking_on`.
    """
    facts = {"Model": repr(model), "Versions": versions()}
    name = title or f"{type(model).__name__} ranking"
    write_atomically(path, render(describe(model, votes, name, facts, scale=scale, anchor=anchor)))


def versions() -> str:
    """Return the versions of what computes."""
    import scipy

    from jamrank import __version__

    return (
        f"jamrank {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, polars {pl.__version__}, "
        f"Python {platform.python_version()}"
    )


def describe(
    model: RankingModel,
    votes: Votes,
    title: str,
    facts: Mapping[str, str],
    *,
    scale: str = "logit",
    anchor: Any = None,
    by: tuple[str, pl.DataFrame] | None = None,
) -> Report:
    """Return the report of a fitted model.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.
    title : str
        The name of the page.
    facts : mapping of str to str
        How it was computed.
    scale, anchor
        As in :meth:`RankingModel.ranking_on`.
    by : (str, polars.DataFrame), optional
        A column, and what :func:`side_by_side` makes of the rankings of its values.

    Returns
    -------
    Report
    """
    in_memory = isinstance(votes, Comparisons)
    sure = Sureness(model, votes)
    contested, n_overruled, n_decided = (
        _contested(model, votes, sure) if isinstance(votes, Comparisons) else (None, 0, 0)
    )
    health = health_of(model, votes)
    plain = (scale, anchor) == ("logit", None)
    ranking = pl.DataFrame(model.ranking_ if plain else model.ranking_on(scale, anchor))
    judges = pl.DataFrame(model.annotators_)
    within = sure.within_groups
    return Report(
        title=title,
        summary=story(model, votes, health, sure),
        ranking=ranking,
        annotators=best_first(judges),
        pairs=pl.DataFrame(model.pairs_) if in_memory else None,
        n_pairs=votes.n_pairs,
        log_likelihoods=model.log_likelihoods_.tolist(),
        facts=facts,
        beats=_beats(model, sure),
        unsettled=_unsettled(model, sure) if in_memory else None,
        contested=contested,
        n_overruled=n_overruled,
        n_decided=n_decided,
        skills=_skills(model),
        features=None if model.features_ is None else pl.DataFrame(model.features_),
        links=pl.DataFrame(model.correlated_),
        effective_judges=model.effective_judges_,
        n_judges=int(np.count_nonzero(model._decided_votes > 0)),
        health=_health_lines(model, health),
        counts={} if health is None else dict(health.counts),
        meaning=score_meaning(model, scale, anchor),
        within=None if within is None else _with_items(within, model, ranking),
        by=None if by is None else by[1],
        by_column="" if by is None else by[0],
    )


def _health_lines(model: RankingModel, health: Health | None) -> list[tuple[str, str]]:
    lines = []
    for finding in [] if health is None else health.findings:
        foretold = finding.about == "planning"
        sentence = planning(model, finding.sentence) if foretold else finding.sentence
        lines.append(("note" if sentence != finding.sentence else finding.level, sentence))
    return lines


def _with_items(within: pl.DataFrame, model: RankingModel, ranking: pl.DataFrame) -> pl.DataFrame:
    items = model.items_[within["place"].to_numpy()].tolist()
    shown = {row[0]: row[1:] for row in ranking.select("item", "score", "score_se").iter_rows()}
    scores, errors = zip(*(shown[item] for item in items), strict=True)
    return within.drop("place").with_columns(
        pl.Series("item", items, strict=False),
        pl.Series("score", scores, pl.Float64),
        pl.Series("score_se", errors, pl.Float64),
    )


def _chance(model: RankingModel, first: NDArray[Any], second: NDArray[Any]) -> FloatArray:
    return model.predict_proba(model.items_[first], model.items_[second]) if len(first) else np.empty(0)


def _beats(model: RankingModel, sure: Sureness) -> Beats | None:
    """Return the matrix of the first items, and what makes any other cell of it; None where items are apart."""
    if sure.group is not None:
        return None
    order = np.argsort(-model.scores_, kind="stable")
    shown = order[:SHOWN]
    rows, columns = np.meshgrid(shown, shown, indexing="ij")
    chance = _chance(model, rows.ravel(), columns.ravel()).reshape(len(shown), len(shown))
    return Beats(model.items_[order].tolist(), chance, _log_odds(model, order))


def _log_odds(model: RankingModel, order: IntArray) -> FloatArray | None:
    """Return one number for each item whose differences are log-odds, if the model's probabilities have such."""
    middle = np.full(len(order), order[len(order) // 2])
    with np.errstate(divide="ignore"):
        odds = np.asarray(logit(_chance(model, order, middle)))
    there = np.arange(len(order))
    back = there[::-1]
    told = _chance(model, order[there], order[back])
    alike = np.isfinite(odds).all() and np.allclose(expit(odds[there] - odds[back]), told, atol=1e-6)
    return odds if alike else None


def _unsettled(model: RankingModel, sure: Sureness) -> pl.DataFrame:
    found = find_unsettled(model, sure)
    low, high = np.minimum(found.upper, found.lower), np.maximum(found.upper, found.lower)
    n_items = len(model.items_)
    asked, wanted = model._pair_first.astype(np.int64) * n_items + model._pair_second, low * n_items + high
    at, end = np.searchsorted(asked, wanted), np.searchsorted(asked, wanted, side="right")
    votes = [float(model._pair_votes[a:b].sum()) for a, b in zip(at, end, strict=True)]
    return _named_pairs(model, sure, found.upper, found.lower, found.above).with_columns(votes=pl.Series(votes))


def _contested(model: RankingModel, votes: Comparisons, sure: Sureness) -> tuple[pl.DataFrame, int, int]:
    found = contested_pairs(votes, model.scores_)
    # The item that is ranked higher comes first.
    turned = model.scores_[found.first] < model.scores_[found.second]
    upper, lower = np.where(turned, (found.second, found.first), (found.first, found.second))
    above = sure.above(upper, lower)
    for_upper, for_lower = np.where(turned, (found.for_second, found.for_first), (found.for_first, found.for_second))
    frame = _named_pairs(model, sure, upper, lower, above).with_columns(
        for_left=pl.Series(for_upper), for_right=pl.Series(for_lower)
    )
    return frame, found.n_overruled, found.n_pairs


def _named_pairs(
    model: RankingModel, sure: Sureness, upper: NDArray[Any], lower: NDArray[Any], above: FloatArray
) -> pl.DataFrame:
    """Return pairs of items with their ranks, within their group where there are several."""
    within = sure.within_groups
    rank = np.empty(len(model.items_), dtype=np.int64)
    if within is None:
        rank[:] = ranks(model.scores_, within=1e-9)
    else:
        rank[within["place"].to_numpy()] = within["rank"].to_numpy()
    return pl.DataFrame(
        {
            "left": model.items_[upper].tolist(),
            "left_rank": rank[upper],
            "right": model.items_[lower].tolist(),
            "right_rank": rank[lower],
            "above": above,
        },
        schema_overrides={"above": pl.Float64},
        strict=False,
    )


def _skills(model: RankingModel) -> Skills | None:
    if not isinstance(model, VRJAM):
        return None
    return Skills(
        pl.DataFrame(model.clusters_),
        pl.DataFrame(model.annotators_)["annotator"].to_list(),
        model.flip_,
        model._cluster_votes,
        model.flip_interval_,
    )
