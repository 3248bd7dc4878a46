"""The content of a report, apart from how it looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from jamrank.report.pictures import ItemViews
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.report.leaving_out import LeftOut


@dataclass(frozen=True)
class WinProbabilities:
    """Probabilities of winning a comparison.

    Parameters
    ----------
    items : sequence
        Best first; rows and columns of `chance` are the first of them.
    chance : ndarray
        Probability that the item of the row beats the one of the column.
    log_odds : ndarray or None
        A number for each of `items` whose differences are the log-odds of winning; None where there is no such.
    with_errors : bool
        Whether it is the probability of a vote, errors of its annotator included, as in models without annotators.
    """

    items: Sequence[object]
    chance: FloatArray
    log_odds: FloatArray | None = None
    with_errors: bool = False


@dataclass(frozen=True)
class AgreementMatrix:
    """How often annotators agree.

    Parameters
    ----------
    annotators : sequence
        In the order of rows and columns: those who agree are neighbours.
    share : ndarray
        Share of common pairs on which two annotators agree; nan where they have too few.
    n_others : int
        Annotators who are not shown because there are too many.
    """

    annotators: Sequence[object]
    share: FloatArray
    n_others: int = 0


@dataclass(frozen=True)
class Skills:
    """Flips by cluster of pairs.

    Parameters
    ----------
    clusters : polars.DataFrame
        Columns cluster, pairs, votes, description.
    annotators : sequence
        Ids of the annotators.
    flip : ndarray
        By annotator and cluster.
    votes : ndarray
        Number of votes, by annotator and cluster.
    interval : ndarray or None
        95 % intervals, by annotator and cluster: low and high.
    """

    clusters: pl.DataFrame
    annotators: Sequence[object]
    flip: FloatArray
    votes: FloatArray
    interval: FloatArray | None = None


@dataclass(frozen=True)
class Report:
    """The content of a report. Frames are shown in their order, best first.

    Parameters
    ----------
    title : str
        The title of the page.
    summary : mapping of str to sequence of str
        Sentences by topic, shown first.
    ranking : polars.DataFrame
        Columns item, rank, score, score_se, score_low, score_high, rank_low, rank_high; the last five may be null.
    annotators : polars.DataFrame
        Columns annotator, votes, flip, flip_low, flip_high, verdict; low and high may be null. Columns evidence, bias
        and tie are optional.
    pairs : polars.DataFrame or None
        Columns left, right, votes, p_left and, with several questions, question; None where they stay on disk.
    n_pairs, n_questions : int
        The number of pairs, each counted once in every question, and of questions.
    log_likelihoods : sequence of float
        By iteration; empty for models that have none.
    facts : mapping of str to str
        How it was computed: model, command, versions, seconds.
    wins : WinProbabilities, optional
        Probabilities that one item beats another.
    uncertain : polars.DataFrame, optional
        Columns left, left_rank, right, right_rank, votes, above (the probability that the score of left is higher;
        may be null): the pairs whose order is least certain.
    ask_next : polars.DataFrame, optional
        Columns left, left_rank, right, right_rank, votes, above, gain, to_settle: pairs on which a vote tells most.
    one_truth : bool
        Whether the model assumes that all votes on a pair under one question share one truth.
    contested : polars.DataFrame, optional
        Columns left, left_rank, right, right_rank, for_left, for_right, above: pairs on which votes are split.
    n_overruled, n_decided : int
        Pairs whose order in the ranking contradicts the majority of their votes, and all pairs with decided votes.
    skills : Skills, optional
        Flips by cluster of pairs.
    features : polars.DataFrame, optional
        Columns feature, coef, effect.
    effects : polars.DataFrame, optional
        Columns covariate, annotator, coef, coef_low, coef_high, sentence: what sways annotators.
    with_effects : polars.DataFrame, optional
        The ranking with these effects left in; columns as in `ranking`.
    correlated : polars.DataFrame, optional
        Columns first, second, pairs, correlation: annotators whose errors are correlated.
    agreement : AgreementMatrix, optional
        Who agrees with whom.
    effective_judges : float, optional
        How many independent annotators they are equivalent to.
    families : sequence of str
        Sentences on annotators who share a taste, of a model that finds them.
    same_votes : sequence of str
        Sentences on annotators with the same votes, who may not be independent.
    health : sequence of (str, str)
        Findings of the data checks: level (problem, warning, note, good) and a sentence.
    counts : mapping of str to float
        Numbers of the data checks.
    meaning : str
        What the scores are: their unit, what is 0, and what the standard errors refer to.
    within : polars.DataFrame, optional
        As `ranking` with a column group, sorted by group and with ranks within each group: where groups of items were
        never compared.
    by : polars.DataFrame, optional
        Columns item, rank and, for each value of `by_column`, ``rank VALUE``; others are not shown.
    by_column : str
        The column whose values were ranked separately.
    n_judges : int
        Annotators with decided votes.
    left_out : sequence of LeftOut
        What changes without some of the annotators.
    jury : polars.DataFrame, optional
        The audit of LLM judges, as :func:`jamrank.jury.audit` returns it.
    views : ItemViews, optional
        Pictures or texts of the items.
    spreadsheet_safe : bool
        Whether the CSV files that can be saved from the page must be safe to open in a spreadsheet.
    """

    title: str
    summary: Mapping[str, Sequence[str]]
    ranking: pl.DataFrame
    annotators: pl.DataFrame
    pairs: pl.DataFrame | None
    n_pairs: int
    n_questions: int
    log_likelihoods: Sequence[float]
    facts: Mapping[str, str]
    wins: WinProbabilities | None = None
    uncertain: pl.DataFrame | None = None
    ask_next: pl.DataFrame | None = None
    one_truth: bool = False
    contested: pl.DataFrame | None = None
    n_overruled: int = 0
    n_decided: int = 0
    skills: Skills | None = None
    features: pl.DataFrame | None = None
    effects: pl.DataFrame | None = None
    with_effects: pl.DataFrame | None = None
    correlated: pl.DataFrame | None = None
    agreement: AgreementMatrix | None = None
    effective_judges: float | None = None
    families: Sequence[str] = ()
    same_votes: Sequence[str] = ()
    health: Sequence[tuple[str, str]] = ()
    counts: Mapping[str, float] = field(default_factory=dict)
    meaning: str = ""
    within: pl.DataFrame | None = None
    by: pl.DataFrame | None = None
    by_column: str = ""
    n_judges: int = 0
    left_out: Sequence[LeftOut] = ()
    jury: pl.DataFrame | None = None
    views: ItemViews | None = None
    spreadsheet_safe: bool = False
