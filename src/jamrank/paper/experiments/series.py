"""What the two experiments over a grid of synthetic annotators share: records, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jamrank.paper import published
from jamrank.paper.figures import canvas, draw_paper, draw_series, grouped
from jamrank.paper.methods import METHODS
from jamrank.paper.tables import markdown
from jamrank.paper.theory import best_rule_accuracy, majority_accuracy
from jamrank.paper.trials import Record, Results, estimate, pick
from jamrank.paper.wine import COLOURS, WineTrial, wine_flips
from jamrank.typing import FloatArray

# So many of the white wines' eight million pairs are enough for a curve.
N_PAIRS = {"red": None, "white": 600_000}
MAJORITY, BEST = "theory: majority vote", "theory: best rule"
GIVEN = "accuracy, sign given"


def at(record: Record) -> float:
    """Return the place of a record on the grid."""
    return float(record.setting.split("=")[1])


def gap(records: Sequence[Record], colour: str, place: float) -> float:
    """Return by how many points JAM is above majority vote."""
    here = [record for record in pick(records, dataset=colour, metric="accuracy") if at(record) == place]
    return estimate(pick(here, model="JAM")).mean - estimate(pick(here, model="MV")).mean


def series_records(name: str, results: Results, setting: Callable[[WineTrial], str]) -> list[Record]:
    """Return the accuracies of each trial, and of theory for each place on the grid."""
    records = []
    trials = [trial for trial in results if isinstance(trial, WineTrial)]
    for colour, where, n_annotators, noise in dict.fromkeys(
        (t.colour, setting(t), t.n_annotators, t.noise) for t in trials
    ):
        flips = wine_flips(n_annotators, noise)
        for model, rule in ((MAJORITY, majority_accuracy), (BEST, best_rule_accuracy)):
            records.append(Record(name, colour, model, "accuracy", where, None, 100 * rule(flips)))
    for trial in trials:
        where = setting(trial)
        records += [
            Record(name, trial.colour, m.model, m.metric, where, trial.seed, m.value)
            for m in results[trial]
            if m.metric in ("pairs", "accuracy", GIVEN)
        ]
    return records


def series_table(records: Sequence[Record], label: Callable[[float], str], head: str, given: bool) -> str:
    """Return a table for each wine: a row for each place on the grid, ours beside theory."""
    text = []
    for colour in COLOURS:
        mine = pick(records, dataset=colour)
        rows = []
        for place in sorted({at(record) for record in mine}):
            here = [record for record in mine if at(record) == place]
            cells = [estimate(pick(here, model=model, metric="accuracy")).text() for model in METHODS]
            if given:
                cells.append(estimate(pick(here, model="JAM", metric=GIVEN)).text())
            cells += [f"{pick(here, model=model)[0].value:.2f}" for model in (MAJORITY, BEST)]
            rows.append([label(place), *cells])
        header = [
            head,
            *METHODS,
            *(["JAM, sign given"] if given else []),
            "majority in theory",
            "best rule in theory",
        ]
        text.append(f"{_describe(mine, colour)}:\n\n" + markdown(header, rows))
    return "\n".join(text)


def _describe(mine: Sequence[Record], colour: str) -> str:
    pairs = int(estimate(pick(mine, metric="pairs")).mean)
    return f"{colour.capitalize()} wine, {_sample(colour, pairs)}"


def _sample(colour: str, pairs: int) -> str:
    every = {"red": 821_581, "white": 8_102_166}[colour]
    return f"all {pairs:,} pairs" if pairs == every else f"{pairs:,} random pairs"


def draw_curves(
    records: Sequence[Record],
    xlabel: str,
    flips: Callable[[float], FloatArray],
    *,
    windows: Sequence[tuple[float, float]],
    table_at: float,
    given: bool = False,
    smooth: bool = False,
) -> tuple[Any, Any]:
    """Draw accuracy against the grid for both wines, with the curves of theory, in windows one above the other."""
    tall = {"height_ratios": [3.0, *[1.0] * (len(windows) - 1)]}
    figure, axes = canvas(2, len(windows), 3.9, sharex="col", sharey="row", gridspec_kw=tall)
    for column, colour in enumerate(COLOURS):
        mine = pick(records, dataset=colour)
        for axis, window in zip(axes[:, column], windows, strict=True):
            _draw_methods(axis, mine, flips, given, smooth)
            _draw_table(axis, published.ACCURACY[colour], table_at, window)
            axis.set(ylim=window)
        axes[0, column].set_title(_describe(mine, colour))
        axes[-1, column].set(xlabel=xlabel)
    axes[0, 0].set_ylabel("pairs decided correctly (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, axes


def _draw_table(axis: Any, printed: Mapping[str, float], place: float, window: tuple[float, float]) -> None:
    """Mark the numbers of the paper's table where they belong; it prints none of its curves."""
    seen = [value for value in printed.values() if window[0] < value < window[1]]
    draw_paper(axis, [place] * len(seen), seen, "paper's table")


def _draw_methods(
    axis: Any, mine: Sequence[Record], flips: Callable[[float], FloatArray], given: bool, smooth: bool
) -> None:
    grid = sorted({at(record) for record in mine})
    fine = np.linspace(grid[0], grid[-1], 200) if smooth else np.array(grid)
    for rule, style, label in ((majority_accuracy, "--", MAJORITY), (best_rule_accuracy, ":", BEST)):
        curve = [100 * rule(flips(x)) for x in fine]
        axis.plot(fine, curve, linestyle=style, color="#555555", linewidth=1.1, label=label, zorder=1)
    for model in METHODS:
        draw_series(axis, grouped(pick(mine, model=model, metric="accuracy"), at), model)
    if given:
        points = grouped(pick(mine, model="JAM", metric=GIVEN), at)
        draw_series(axis, points, "JAM", "JAM, sign given", linestyle="-.", markerfacecolor="white")
