"""A fitted model as files for other programs and people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl

from jamrank.errors import ParameterError
from jamrank.report.csv_text import csv_text
from jamrank.report.result_tables import ResultTables
from jamrank.text import safe_text

if TYPE_CHECKING:
    from jamrank.models import RankingModel

# The exports and their files.
EXPORTS = {
    "parquet": ("ranking.parquet", "annotators.parquet", "pairs.parquet"),
    "json": ("results.json",),
    "preferences": ("preferences.csv",),
    "dpo": ("preferences.jsonl",),
    "markdown": ("leaderboard.md",),
}
_LEAST = 0.6
_LONGEST_NAME = 200


def preference_pairs(model: RankingModel, least: float = _LEAST) -> pl.DataFrame:
    """Return the pairs that were voted on as chosen and rejected, for training a reward model.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    least : float
        Smallest probability of the more likely side; pairs below it are left out.

    Returns
    -------
    polars.DataFrame
        ``chosen``, ``rejected``, ``question`` with several questions, ``votes``, ``confidence`` (``p_left``
        of ``pairs_`` for the chosen item, ``p``) and ``weight``, ``2 p - 1``: the factor by which the expected
        gradient of a pairwise loss shrinks if labels are wrong with probability ``1 - p``. Highest confidence first.
    """
    return _preferences(ResultTables(model.result_).pairs, least)


def _preferences(pairs: pl.DataFrame, least: float) -> pl.DataFrame:
    if not 0.5 <= least <= 1:
        raise ParameterError(f"least is {least!r}; expected a probability from 0.5 to 1")
    left_better = pl.col("p_left") >= 0.5
    kept = ["question"] if "question" in pairs.columns else []
    chosen = pairs.select(
        pl.when(left_better).then("left").otherwise("right").alias("chosen"),
        pl.when(left_better).then("right").otherwise("left").alias("rejected"),
        *kept,
        "votes",
        pl.max_horizontal("p_left", 1 - pl.col("p_left")).alias("confidence"),
    ).with_columns((2 * pl.col("confidence") - 1).alias("weight"))
    # An exactly balanced pair has no chosen side, whatever the threshold.
    confident = chosen.filter((pl.col("confidence") >= least) & (pl.col("weight") > 0))
    return confident.sort("confidence", descending=True, maintain_order=True)


def _dpo_lines(preferences: pl.DataFrame, texts: Mapping[str, str]) -> str:
    """Return preferences as JSON Lines, as trainers of DPO and of reward models read them."""
    lines = []
    for row in preferences.iter_rows(named=True):
        pair = {name: texts.get(str(row[name]), str(row[name])) for name in ("chosen", "rejected")}
        odds = row["confidence"] / max(1 - row["confidence"], 1e-12)
        content = {
            "prompt": str(row.get("question", "")),
            **pair,
            "probability": row["confidence"],
            "margin": math.log(odds),
            "votes": row["votes"],
        }
        lines.append(json.dumps(content, ensure_ascii=False, allow_nan=False))
    return "".join(f"{line}\n" for line in lines)


def leaderboard(ranking: Any, title: str = "Leaderboard") -> str:
    """Return a ranking as a table in Markdown.

    Parameters
    ----------
    ranking : data frame
        The ranking, such as ``model.ranking_`` or ``model.ranking_on("elo")``; with a column ``group``, that within
        groups of items.
    title : str
        The heading.
    """
    frame = pl.DataFrame(ranking)
    digits = 0 if frame["score"].abs().max() > 100 else 3  # type: ignore[operator]
    errors = frame["score_se"].null_count() < frame.height and not frame["score_se"].cast(pl.Float64).is_nan().all()
    group = ["Group"] if "group" in frame.columns else []
    header = [*group, "Rank", "Item", "Score", *(["± SE", "Rank interval"] if errors else [])]
    sides = [":---" if name == "Item" else "---:" for name in header]
    lines = [f"# {_cell(title)}", "", _line(header), _line(sides)]
    for row in frame.iter_rows(named=True):
        cells = [str(row["rank"]), _cell(str(row["item"])), f"{row['score']:.{digits}f}"]
        if group:
            cells.insert(0, str(row["group"]))
        if errors:
            ranks = "" if row["rank_low"] is None else f"{row['rank_low']:.0f}–{row['rank_high']:.0f}"
            cells += [f"{row['score_se']:.{digits}f}", ranks]
        lines.append(_line(cells))
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """Return an id for a cell: on one line, with the characters of Markdown escaped."""
    one_line = " ".join(safe_text(text, _LONGEST_NAME).split())
    return "".join(f"\\{c}" if c in "\\|*_`[]<>" else c for c in one_line)


def results(tables: ResultTables) -> dict[str, Any]:
    """Return the results of a fit as plain data for JSON."""
    fit, features = tables.result.convergence, tables.features
    return {
        "model": tables.result.model,
        "converged": fit.converged,
        "iterations": fit.n_iter,
        "log_likelihood": fit.log_likelihood,
        "ties_left_out": tables.excluded_ties,
        "ranking": tables.written_ranking.to_dicts(),
        "annotators": tables.annotators.to_dicts(),
        "features": None if features is None else features.to_dicts(),
        **({} if tables.effects is None else {"effects": tables.effects.to_dicts()}),
    }


def exported(
    tables: ResultTables,
    kinds: Sequence[str],
    *,
    title: str = "Leaderboard",
    least: float = _LEAST,
    texts: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
) -> dict[str, str | bytes]:
    """Return the files of some exports, by name; :func:`jamrank.io.write_together` writes them.

    Parameters
    ----------
    tables : ResultTables
        The tables of a fitted or loaded model.
    kinds : sequence of {"parquet", "json", "preferences", "dpo", "markdown"}
        What to export.
    title : str
        The heading of the leaderboard.
    least : float
        See :func:`preference_pairs`.
    texts : mapping of str to str, optional
        Texts of the items, by their ids, for the lines of ``dpo``; the ids themselves unless given.
    spreadsheet_safe : bool
        See :func:`jamrank.report.csv_text.csv_text`.
    """
    unknown = [kind for kind in kinds if kind not in EXPORTS]
    if unknown:
        raise ParameterError(f"export is {unknown[0]!r}; expected one of {', '.join(map(repr, EXPORTS))}")
    files: dict[str, str | bytes] = {}
    if "parquet" in kinds:
        frames = {"ranking": tables.written_ranking, "annotators": tables.annotators, "pairs": tables.pairs}
        files |= {f"{name}.parquet": parquet_bytes(frame) for name, frame in frames.items()}
    if "json" in kinds:
        content = {**results(tables), "pairs": tables.pairs.to_dicts()}
        files["results.json"] = json.dumps(content, indent=1, default=str, allow_nan=False) + "\n"
    if "preferences" in kinds:
        files["preferences.csv"] = csv_text(_preferences(tables.pairs, least), spreadsheet_safe)
    if "dpo" in kinds:
        files["preferences.jsonl"] = _dpo_lines(_preferences(tables.pairs, least), texts or {})
    if "markdown" in kinds:
        files["leaderboard.md"] = leaderboard(tables.written_ranking, title)
    return files


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return the content of a Parquet file."""
    content = BytesIO()
    frame.write_parquet(content)
    return content.getvalue()
