"""What a report tells, apart from how it looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from jamrank.typing import FloatArray

__all__ = ["Beats", "Report", "Skills"]


@dataclass(frozen=True)
class Beats:
    """Who beats whom.

    Parameters
    ----------
    items : sequence
        Best first; the first of them head the rows and columns of `chance`.
    chance : ndarray
        Probability that the item of the row beats the one of the column.
    log_odds : ndarray or None
        One number for each of `items`, whose differences are the log-odds of winning; None for a model that has none.
    """

    items: Sequence[object]
    chance: FloatArray
    log_odds: FloatArray | None = None


@dataclass(frozen=True)
class Skills:
    """Who is good at what.

    Parameters
    ----------
    clusters : polars.DataFrame
        Columns cluster, pairs, votes, description.
    annotators : sequence
        Their ids.
    flip : ndarray
        By annotator and cluster.
    votes : ndarray
        Likewise.
    interval : ndarray or None
        By annotator and cluster, from low to high.
    """

    clusters: pl.DataFrame
    annotators: Sequence[object]
    flip: FloatArray
    votes: FloatArray
    interval: FloatArray | None = None


@dataclass(frozen=True)
class Report:
    """What a report tells; frames come best first and are shown in their order.

    Parameters
    ----------
    title : str
        The name of the page.
    summary : mapping of str to sequence of str
        Plain sentences by topic, shown first.
    ranking : polars.DataFrame
        Columns item, rank, score, score_se, rank_low, rank_high; the last three may be null.
    annotators : polars.DataFrame
        Columns annotator, votes, flip, flip_low, flip_high, verdict; low and high may be null. Columns evidence and
        action, where there, are shown too.
    pairs : polars.DataFrame or None
        Columns left, right, votes, p_left and, where there are questions, question; None where they stay on disk.
    n_pairs : int
        How many there are.
    log_likelihoods : sequence of float
        By iteration; empty for models that have none.
    facts : mapping of str to str
        How it was computed: model, command, versions, seconds.
    beats : Beats, optional
        Probabilities that one item beats another.
    unsettled : polars.DataFrame, optional
        Columns left, left_rank, right, right_rank, votes, above (the probability that left is truly above right; may
        be null): pairs to ask about next.
    contested : polars.DataFrame, optional
        Columns left, left_rank, right, right_rank, for_left, for_right, above: pairs on which votes are split.
    n_overruled, n_decided : int
        Pairs of items whose order in the ranking is against the majority of their votes, of how many.
    skills : Skills, optional
        Who is good at what.
    features : polars.DataFrame, optional
        Columns feature, coef, effect.
    links : polars.DataFrame, optional
        Columns first, second, pairs, correlation: judges who err together.
    effective_judges : float, optional
        How many independent judges the annotators are worth.
    health : sequence of (str, str)
        What is known of the data: level (problem, warning, note, good) and a sentence.
    counts : mapping of str to float
        Numbers of the data.
    meaning : str
        What scores are: their unit, what is 0, and what their errors are relative to.
    within : polars.DataFrame, optional
        As `ranking` with a column group, group by group and with the ranks within each: where items fall into groups
        that were never compared.
    by : polars.DataFrame, optional
        Columns item, rank and, for each value of `by_column`, ``rank VALUE``; others are not shown.
    by_column : str
        The column whose values were ranked side by side.
    n_judges : int
        Annotators with decided votes.
    """

    title: str
    summary: Mapping[str, Sequence[str]]
    ranking: pl.DataFrame
    annotators: pl.DataFrame
    pairs: pl.DataFrame | None
    n_pairs: int
    log_likelihoods: Sequence[float]
    facts: Mapping[str, str]
    beats: Beats | None = None
    unsettled: pl.DataFrame | None = None
    contested: pl.DataFrame | None = None
    n_overruled: int = 0
    n_decided: int = 0
    skills: Skills | None = None
    features: pl.DataFrame | None = None
    links: pl.DataFrame | None = None
    effective_judges: float | None = None
    health: Sequence[tuple[str, str]] = ()
    counts: Mapping[str, float] = field(default_factory=dict)
    meaning: str = ""
    within: pl.DataFrame | None = None
    by: pl.DataFrame | None = None
    by_column: str = ""
    n_judges: int = 0
