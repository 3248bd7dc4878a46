"""Plots of a fitted model on matplotlib axes; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from jamrank.errors import ParameterError
from jamrank.inference import best_first
from jamrank.models import RankingModel
from jamrank.report.markup import plain, shorten
from jamrank.text import plot_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _SHORT_NAME = 30, 16
_MOST_NAMED = 25
# Of many annotators, those with these verdicts are not named.
_UNNAMED = ("reliable", "noisy", "tie-lazy", "too few votes", "alone", "unresolved", "opposed", "same votes")
# The palette of Okabe and Ito, as on the page.
_BLUE, _GREY = "#0072b2", "#7d8794"
_COLOURS = {
    "reliable": _BLUE,
    "noisy": "#56b4e9",
    "tie-lazy": "#56b4e9",
    "random": "#e69f00",
    "position-biased": "#e69f00",
    "one-sided": "#e69f00",
    "adversarial": "#d55e00",
    "too few votes": _GREY,
    "alone": _GREY,
    "unresolved": _GREY,
    "opposed": _GREY,
    "same votes": _GREY,
}


def plot(model: RankingModel, what: str = "ranking", ax: Axes | None = None, most: int | None = None) -> Axes:
    """Plot a part of the result; see :meth:`RankingModel.plot`."""
    kinds = {"ranking": plot_ranking, "annotators": plot_annotators, "reliability": plot_reliability_map}
    if what not in kinds:
        raise ParameterError(f"what is {what!r}; expected {', '.join(map(repr, kinds))}")
    return kinds[what](model, ax) if most is None else kinds[what](model, ax, most)


def plot_ranking(model: RankingModel, ax: Axes | None = None, most: int = 40) -> Axes:
    """Plot the scores of the best items with their 95 % intervals."""
    frame = pl.DataFrame(model.ranking_)
    shown = frame.head(_at_least_one(most))
    ax = _axes(ax, shown.height)
    score = shown["score"].to_numpy()
    ends = (shown[name].cast(pl.Float64).fill_null(shown["score"]) for name in ("score_low", "score_high"))
    low, high = (end.to_numpy() for end in ends)
    _dots(ax, score, np.stack([score - low, high - score]), [_BLUE] * shown.height)
    _names(ax, [f"{plain(item)}  {rank}" for item, rank in shown.select("item", "rank").iter_rows()])
    left_out = f", the first {shown.height} of {frame.height:,} items" if shown.height < frame.height else ""
    ax.set(xlabel="score (higher is better)")
    ax.set_title(f"Ranking, 95 % intervals{left_out}", loc="left", fontsize="medium")
    return ax


def plot_annotators(model: RankingModel, ax: Axes | None = None, most: int = 60) -> Axes:
    """Plot the flips with their 95 % intervals."""
    frame = best_first(pl.DataFrame(model.annotators_))
    half = _at_least_one(most) // 2
    shown = frame if frame.height <= most else pl.concat([frame.head(most - half), frame.tail(half)])
    ax = _axes(ax, shown.height)
    flip, low, high = (shown[name].to_numpy() for name in ("flip", "flip_low", "flip_high"))
    verdicts = shown["verdict"].to_list()
    _dots(ax, flip, np.stack([flip - low, high - flip]), [_COLOURS.get(v, _GREY) for v in verdicts])
    _names(ax, [plain(name) for name in shown["annotator"]])
    _random_voting(ax.axvline)
    left_out = f", {shown.height} of {frame.height:,}" if shown.height < frame.height else ""
    ax.set(xlabel="flip: 0 perfect, ½ random, 1 always wrong", xlim=(-0.02, 1.02))
    ax.set_title(f"Annotators, 95 % intervals{left_out}", loc="left", fontsize="medium")
    _legend(ax, verdicts)
    return ax


def plot_reliability_map(model: RankingModel, ax: Axes | None = None, most: int = 60) -> Axes:
    """Plot the flips by type of pair, or over the number of votes."""
    if model.flip_.ndim > 1 and model.flip_.shape[1] > 1:
        return _skill_matrix(model, ax, _at_least_one(most))
    frame = pl.DataFrame(model.annotators_)
    ax = _axes(ax, 20)
    verdicts = frame["verdict"].to_list()
    colours = [_COLOURS.get(verdict, _GREY) for verdict in verdicts]
    votes, flips = frame["votes"].to_numpy(), frame["flip"].to_numpy()
    ax.scatter(votes, flips, c=colours, s=28, edgecolors="white", linewidths=0.5)
    _random_voting(ax.axhline)
    ax.set(xlabel="votes", ylabel="flip", ylim=(-0.02, 1.02), xscale="log")
    _plain_numbers(ax, votes)
    # Of many annotators, only those to act upon are named.
    order = np.argsort(-np.abs(flips - np.median(flips)), kind="stable")
    few = len(verdicts) <= _MOST_NAMED
    named = [k for k in order if few or verdicts[k] not in _UNNAMED][:_MOST_NAMED]
    names = frame["annotator"].to_list()
    for k in named:
        ax.annotate(
            _name(names[k], _SHORT_NAME),
            (votes[k], flips[k]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=7,
        )
    ax.set_title("Annotators: flip and number of votes", loc="left", fontsize="medium")
    _legend(ax, verdicts)
    return ax


def _plain_numbers(ax: Axes, votes: Any) -> None:
    """Label the axis at 1, 2 and 5 times powers of ten with plain numbers."""
    from matplotlib.ticker import NullFormatter

    low, high = float(votes.min(initial=1.0)), float(votes.max(initial=1.0))
    marks = [m * 10.0**e for e in range(0, 13) for m in (1, 2, 5)]
    inside = [i for i, mark in enumerate(marks) if low <= mark <= high]
    below = max((i for i, mark in enumerate(marks) if mark <= low), default=0)
    above = min((i for i, mark in enumerate(marks) if mark >= high), default=len(marks) - 1)
    shown = [marks[i] for i in sorted({below, above, *inside})]
    ax.set_xticks(shown, [f"{mark:,.0f}" for mark in shown])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(shown[0] / 1.1, shown[-1] * 1.1)


def _skill_matrix(model: RankingModel, ax: Axes | None, most: int) -> Axes:
    gap = model.flip_.max(axis=1) - model.flip_.min(axis=1)
    shown = np.argsort(-gap, kind="stable")[:most]
    ax = _axes(ax, len(shown))
    flips = model.flip_[shown]
    image = ax.imshow(flips, cmap="RdYlBu_r", vmin=0.0, vmax=1.0, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="flip: lower is better")
    if flips.size <= 600:
        for (row, column), flip in np.ndenumerate(flips):
            dark = abs(flip - 0.5) > 0.38
            ax.text(
                column, row, f"{flip:.2f}", ha="center", va="center", fontsize=7, color="white" if dark else "black"
            )
    names = pl.DataFrame(model.annotators_)["annotator"].to_list()
    ax.set_yticks(range(len(shown)), [_name(names[k], _NAME) for k in shown], fontsize=8)
    ax.set_xticks(range(flips.shape[1]), [f"type {c + 1}" for c in range(flips.shape[1])])
    ax.set_title("Flip by type of pair (see clusters_)", loc="left", fontsize="medium")
    return ax


def _at_least_one(most: int) -> int:
    if most < 1:
        raise ParameterError(f"most is {most!r}; expected at least 1")
    return most


def _axes(ax: Axes | None, rows: int) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; pip install 'jamrank[figures]'") from None
    return plt.subplots(figsize=(7, 1.2 + 0.22 * max(rows, 6)), layout="constrained")[1]


def _dots(ax: Axes, values: Any, reach: Any, colours: list[str]) -> None:
    places = np.arange(len(values))
    ax.hlines(places, values - reach[0], values + reach[1], colors=colours, linewidth=2, alpha=0.5)
    ax.scatter(values, places, c=colours, s=22, zorder=3)


def _name(name: object, width: int) -> str:
    return plot_text(shorten(plain(name), width))


def _names(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), [_name(name, _NAME) for name in names], fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)


def _random_voting(line: Any) -> None:
    line(0.5, color=_GREY, linewidth=1, linestyle="--")


def _legend(ax: Axes, verdicts: list[str]) -> None:
    from matplotlib.lines import Line2D

    present = [verdict for verdict in _COLOURS if verdict in verdicts]
    dots = [
        Line2D(
            [], [], marker="o", linestyle="", color=_COLOURS[verdict], label=f"{verdict} ({verdicts.count(verdict)})"
        )
        for verdict in present
    ]
    ax.legend(handles=dots, fontsize=8, frameon=False, loc="best")
