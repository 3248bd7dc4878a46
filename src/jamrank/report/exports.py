"""A fitted model in the forms that other programs and people take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl

from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from jamrank.models import RankingModel

__all__ = ["EXPORTS", "exported", "leaderboard", "parquet_bytes", "preference_pairs", "results"]

# What may be asked for, and the files that it becomes.
EXPORTS = {
    "parquet": ("ranking.parquet", "annotators.parquet", "pairs.parquet"),
    "json": ("results.json",),
    "preferences": ("preferences.csv",),
    "markdown": ("leaderboard.md",),
}
_LEAST = 0.6


def preference_pairs(model: RankingModel, least: float = _LEAST) -> pl.DataFrame:
    """Return the pairs that were voted on as chosen and rejected, for training a reward model.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    least : float
        Leave out pairs of which neither side is so likely the better one.

    Returns
    -------
    polars.DataFrame
        ``chosen``, ``rejected``, ``question`` where there are several, ``votes``, ``confidence`` (the posterior
        probability ``p`` that chosen is truly better) and ``weight``, ``2 p - 1``: 0 for a coin toss, 1 for
        certainty, and the factor by which the expected gradient of a pairwise loss shrinks where labels are wrong
        with probability ``1 - p``. Surest first.
    """
    if not 0.5 <= least <= 1:
        raise ParameterError(f"least is {least!r}; expected a probability from 0.5 to 1")
    pairs = pl.DataFrame(model.pairs_)
    left_better = pl.col("p_left") >= 0.5
    kept = ["question"] if "question" in pairs.columns else []
    told = pairs.select(
        pl.when(left_better).then("left").otherwise("right").alias("chosen"),
        pl.when(left_better).then("right").otherwise("left").alias("rejected"),
        *kept,
        "votes",
        pl.max_horizontal("p_left", 1 - pl.col("p_left")).alias("confidence"),
    ).with_columns((2 * pl.col("confidence") - 1).alias("weight"))
    # A pair in exact balance has no chosen side, whatever the threshold.
    sure = told.filter((pl.col("confidence") >= least) & (pl.col("weight") > 0))
    return sure.sort("confidence", descending=True, maintain_order=True)


def leaderboard(model: RankingModel, title: str = "Leaderboard", ranking: Any = None) -> str:
    """Return the ranking as a table in Markdown.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    title : str
        The heading.
    ranking : data frame, optional
        The ranking to show, such as ``model.ranking_on("elo")``; that of the model unless given.
    """
    frame = pl.DataFrame(model.ranking_ if ranking is None else ranking)
    digits = 0 if frame["score"].abs().max() > 100 else 3  # type: ignore[operator]
    sure = frame["score_se"].null_count() < frame.height and not frame["score_se"].cast(pl.Float64).is_nan().all()
    header = ["Rank", "Item", "Score", *(["± SE", "Rank between"] if sure else [])]
    lines = [f"# {_cell(title)}", "", _line(header), _line(["---:", ":---", *["---:"] * (len(header) - 2)])]
    for row in frame.iter_rows(named=True):
        cells = [str(row["rank"]), _cell(str(row["item"])), f"{row['score']:.{digits}f}"]
        if sure:
            cells += [f"{row['score_se']:.{digits}f}", f"{row['rank_low']:.0f}–{row['rank_high']:.0f}"]
        lines.append(_line(cells))
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """Return an id as a cell can hold it: on one line, and with nothing that Markdown would take for its own."""
    one_line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|*_`[]<>" else c for c in one_line)


def results(model: RankingModel, ranking: Any = None) -> dict[str, Any]:
    """Return what a fit found as plain data for JSON."""

    def rows(frame: Any) -> list[dict[str, Any]]:
        return pl.DataFrame(frame).to_dicts()

    return {
        "model": type(model).__name__,
        "converged": model.converged_,
        "iterations": model.n_iter_,
        "log_likelihood": model.log_likelihood_,
        "ties_left_out": 0.0 if model._uses_ties else model.n_ties_,
        "ranking": rows(model.ranking_ if ranking is None else ranking),
        "annotators": rows(model.annotators_),
        "features": None if model.features_ is None else rows(model.features_),
    }


def exported(
    model: RankingModel,
    kinds: Sequence[str],
    *,
    title: str = "Leaderboard",
    ranking: Any = None,
    least: float = _LEAST,
) -> dict[str, str | bytes]:
    """Return the files of some exports, by name; :func:`jamrank.io.write_together` writes them.

    Parameters
    ----------
    model : RankingModel
        Fitted, or loaded.
    kinds : sequence of {"parquet", "json", "preferences", "markdown"}
        What to export.
    title : str
        Of the leaderboard.
    ranking : data frame, optional
        The ranking, where it is to be on another scale; see :meth:`RankingModel.ranking_on`.
    least : float
        See :func:`preference_pairs`.
    """
    unknown = [kind for kind in kinds if kind not in EXPORTS]
    if unknown:
        raise ParameterError(f"no export {unknown[0]!r}; there are {', '.join(EXPORTS)}")
    shown = model.ranking_ if ranking is None else ranking
    files: dict[str, str | bytes] = {}
    if "parquet" in kinds:
        for name, frame in {"ranking": shown, "annotators": model.annotators_, "pairs": model.pairs_}.items():
            files[f"{name}.parquet"] = parquet_bytes(pl.DataFrame(frame))
    if "json" in kinds:
        told = {**results(model, shown), "pairs": pl.DataFrame(model.pairs_).to_dicts()}
        files["results.json"] = json.dumps(told, indent=1, default=str, allow_nan=False) + "\n"
    if "preferences" in kinds:
        files["preferences.csv"] = preference_pairs(model, least).write_csv()
    if "markdown" in kinds:
        files["leaderboard.md"] = leaderboard(model, title, shown)
    return files


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return the content of a Parquet file."""
    content = BytesIO()
    frame.write_parquet(content)
    return content.getvalue()
