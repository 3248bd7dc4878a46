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

from jamrank.comparisons import Comparisons
from jamrank.diagnostics import best_first, contested_pairs, unsettled_pairs
from jamrank.io import write_atomically
from jamrank.io.parted import Votes
from jamrank.models import VRJAM, RankingModel
from jamrank.report.page import render
from jamrank.report.record import Beats, Report, Skills
from jamrank.report.sections.beats import SHOWN, WHOLE
from jamrank.report.telling import health_of, story

__all__ = ["describe", "versions", "write_report"]

Doubles = NDArray[np.float64]


def write_report(model: RankingModel, votes: Votes, path: str | Path, title: str | None = None) -> None:
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
    """
    facts = {"Model": repr(model), "Versions": versions()}
    write_atomically(path, render(describe(model, votes, title or f"{type(model).__name__} ranking", facts)))


def versions() -> str:
    """Return the versions of what computes."""
    import scipy

    from jamrank import __version__

    return (
        f"jamrank {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, polars {pl.__version__}, "
        f"Python {platform.python_version()}"
    )


def describe(model: RankingModel, votes: Votes, title: str, facts: Mapping[str, str]) -> Report:
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

    Returns
    -------
    Report
    """
    in_memory = isinstance(votes, Comparisons)
    pairs = pl.DataFrame(model.pairs_) if in_memory else None
    unsettled = _unsettled(model) if in_memory else None
    contested, n_overruled = _contested(model, votes) if isinstance(votes, Comparisons) else (None, 0)
    health = health_of(model, votes)
    said = [] if health is None else [(finding.level, finding.sentence) for finding in health.findings]
    return Report(
        title=title,
        summary=story(model, votes, health, unsettled),
        ranking=pl.DataFrame(model.ranking_),
        annotators=best_first(pl.DataFrame(model.annotators_)),
        pairs=pairs,
        n_pairs=votes.n_pairs,
        log_likelihoods=model.log_likelihoods_.tolist(),
        facts=facts,
        beats=_beats(model),
        unsettled=unsettled,
        contested=contested,
        n_overruled=n_overruled,
        skills=_skills(model),
        features=None if model.features_ is None else pl.DataFrame(model.features_),
        links=pl.DataFrame(model.correlated_),
        effective_judges=model.effective_judges_,
        health=said,
        counts={} if health is None else dict(health.counts),
    )


def _chance(model: RankingModel, first: NDArray[Any], second: NDArray[Any]) -> Doubles:
    return model.predict_proba(model.items_[first], model.items_[second]) if len(first) else np.empty(0)


def _beats(model: RankingModel) -> Beats:
    """Return the matrix of the first items, and what makes any other cell of it."""
    order = np.argsort(-model.scores_, kind="stable")
    shown = order[: len(order) if len(order) <= WHOLE else SHOWN]
    rows, columns = np.meshgrid(shown, shown, indexing="ij")
    chance = _chance(model, rows.ravel(), columns.ravel()).reshape(len(shown), len(shown))
    return Beats(model.items_[order].tolist(), chance, _log_odds(model, order))


def _log_odds(model: RankingModel, order: NDArray[np.int64]) -> Doubles | None:
    """Return one number for each item whose differences are log-odds, if the model's probabilities have such."""
    middle = np.full(len(order), order[len(order) // 2])
    with np.errstate(divide="ignore"):
        odds = np.asarray(logit(_chance(model, order, middle)))
    there = np.arange(len(order))
    back = there[::-1]
    told = _chance(model, order[there], order[back])
    alike = np.isfinite(odds).all() and np.allclose(expit(odds[there] - odds[back]), told, atol=1e-6)
    return odds if alike else None


def _unsettled(model: RankingModel) -> pl.DataFrame:
    found = unsettled_pairs(model.scores_, model._uncertainty.score_se, lambda a, b: _chance(model, a, b))
    rank = dict(pl.DataFrame(model.ranking_).select("item", "rank").iter_rows())
    left, right = model.items_[found.upper].tolist(), model.items_[found.lower].tolist()
    low, high = np.minimum(found.upper, found.lower), np.maximum(found.upper, found.lower)
    n_items = len(model.items_)
    asked, wanted = model._pair_first.astype(np.int64) * n_items + model._pair_second, low * n_items + high
    at, end = np.searchsorted(asked, wanted), np.searchsorted(asked, wanted, side="right")
    return pl.DataFrame(
        {
            "left": left,
            "left_rank": [rank[item] for item in left],
            "right": right,
            "right_rank": [rank[item] for item in right],
            "votes": [float(model._pair_votes[a:b].sum()) for a, b in zip(at, end, strict=True)],
            "p_left": found.chance,
            "doubt": found.doubt,
        },
        strict=False,
    )


def _contested(model: RankingModel, votes: Comparisons) -> tuple[pl.DataFrame, int]:
    found = contested_pairs(votes, model.posterior_)
    columns: dict[str, Any] = {
        "left": votes.items[votes.pair_first[found.pair]].tolist(),
        "right": votes.items[votes.pair_second[found.pair]].tolist(),
        "for_left": found.for_first,
        "for_right": found.for_second,
        "p_left": model.posterior_[found.pair],
    }
    if len(votes.questions) > 1:
        columns["question"] = votes.questions[votes.pair_question[found.pair]].tolist()
    return pl.DataFrame(columns, strict=False), found.n_overruled


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
