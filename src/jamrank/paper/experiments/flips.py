"""How well the annotators' chances to flip are found, and from how many pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jamrank.paper import published
from jamrank.paper.figures import canvas, draw_paper, draw_series, grouped
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Record, Results, Trial, estimate, pick, value_of
from jamrank.paper.wine import COLOURS, WineTrial, wine_flips

_MODELS = ("JAM", "VRJAM")
_ANNOTATORS = range(1, 7)
_SIZES = (300, 1000, 3000, 10_000, 30_000, 100_000)
_TRUE = wine_flips()
_OFF = {model: float(np.abs(np.array(flips) - _TRUE).mean()) for model, flips in published.FLIPS.items()}


class Flips:
    """The paper's table of flips: six annotators with b = k/20."""

    name = "flips"
    title = "Estimated flips of six annotators who flip with probability k/20"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return every pair of both wines, and fewer and fewer pairs of red wine."""
        every, sizes = (20_000, _SIZES[:3]) if quick else (None, _SIZES)
        wanted = [(colour, every) for colour in COLOURS] + [("red", size) for size in sizes]
        return [WineTrial(colour, seed, n_pairs=size) for seed in range(seeds) for colour, size in wanted]

    def records(self, results: Results) -> list[Record]:
        """Return the flips of each annotator from the most pairs, and their mean error from any number."""
        sizes = {trial: int(value_of(found, "data", "pairs")) for trial, found in results.items()}
        most = {colour: max(sizes[t] for t in results if t.colour == colour) for colour in COLOURS}
        records = [
            Record(self.name, colour, "theory", "flip", f"annotator={k}", None, float(flip))
            for colour in COLOURS
            for k, flip in zip(_ANNOTATORS, _TRUE, strict=True)
        ]
        for trial, found in results.items():
            colour, size = trial.colour, sizes[trial]
            whole = size == most[colour]
            for model in ("MV", "JAM"):
                accuracy = value_of(found, model, "accuracy")
                records.append(Record(self.name, colour, model, "accuracy", f"pairs={size}", trial.seed, accuracy))
            for model in _MODELS:
                flips = [value_of(found, model, "flip", f"annotator={k}") for k in _ANNOTATORS]
                paper = published.FLIPS[model] if whole and colour == "red" else None
                error, off = float(np.abs(flips - _TRUE).mean()), _OFF[model] if paper else None
                records.append(
                    Record(self.name, colour, model, "flip error", f"pairs={size}", trial.seed, error, off)
                )
                for k, flip in zip(_ANNOTATORS, flips if whole else [], strict=whole):
                    printed = paper[k - 1] if paper else None
                    records.append(
                        Record(self.name, colour, model, "flip", f"annotator={k}", trial.seed, flip, printed)
                    )
        return records

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the mean error of the flips."""
        rows = []
        for colour in COLOURS:
            error = grouped(pick(records, dataset=colour, model="JAM", metric="flip error"), _size)[-1][1]
            rows.append(
                (
                    f"mean error of JAM's flips, {colour}",
                    error.text(5),
                    f"{_OFF['JAM']:.4f}" if colour == "red" else "",
                )
            )
        return rows

    def table(self, records: Sequence[Record]) -> str:
        """Return the flips of each annotator, then the error by the number of pairs."""
        rows = [["*b = k/20*", *[f"{flip:.3f}" for flip in _TRUE], ""]]
        for colour in COLOURS:
            for model in _MODELS:
                mine = pick(records, dataset=colour, model=model)
                flips = [estimate(pick(mine, metric="flip", setting=f"annotator={k}")).text(4) for k in _ANNOTATORS]
                error = grouped(pick(mine, metric="flip error"), _size)[-1][1]
                rows.append([f"{colour}, {model}", *flips, error.text(5)])
                if colour == "red":
                    printed = [f"{flip:.3f}" for flip in published.FLIPS[model]]
                    rows.append([f"red, {model}, paper", *printed, f"{_OFF[model]:.4f}"])
        errors = [dict(grouped(self._errors(records, model), _size)) for model in _MODELS]
        by_size = [
            [
                f"{size:,.0f}",
                *[each[size].text(4) for each in errors],
                *[self._spread(records, m, size) for m in ("MV", "JAM")],
            ]
            for size in errors[0]
        ]
        return (
            markdown(["wine, model", *[f"k = {k}" for k in _ANNOTATORS], "mean error"], rows)
            + "\nRed wine by the number of pairs that were voted on: mean error of the flips, and the range of "
            "accuracies over seeds.\n\n"
            + markdown(
                ["pairs", *[f"{model}'s flips" for model in _MODELS], "accuracy of MV", "accuracy of JAM"], by_size
            )
        )

    def _spread(self, records: Sequence[Record], model: str, size: float) -> str:
        mine = pick(records, metric="accuracy", dataset="red", model=model, setting=f"pairs={size:.0f}")
        values = [record.value for record in mine]
        return f"{min(values):.1f} to {max(values):.1f}"

    def _errors(self, records: Sequence[Record], model: str) -> list[Record]:
        return pick(records, metric="flip error", dataset="red", model=model)

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw found against true flips, and the error against the number of pairs."""
        figure, ((left, right),) = canvas(2)
        left.plot([0, 0.35], [0, 0.35], color="#999999", linewidth=1, label="found = true")
        for model, shift in zip(_MODELS, (-0.004, 0.004), strict=True):
            found = pick(records, dataset="red", model=model, metric="flip")
            points = grouped(found, lambda r: _TRUE[int(r.setting.split("=")[1]) - 1])
            draw_series(left, [(x + shift, value) for x, value in points], model, linestyle="none")
        draw_paper(left, _TRUE, published.FLIPS["JAM"], "JAM in the paper")
        left.set(xlabel="true probability of a flip, k/20", ylabel="found", xlim=(0, 0.35), ylim=(0, 0.35))
        points = grouped(self._errors(records, "JAM"), _size)
        draw_series(right, points, "JAM")
        right.axhline(_OFF["JAM"], color="black", linewidth=1, linestyle=":")
        right.text(points[-1][0], _OFF["JAM"] * 1.06, "JAM in the paper", ha="right", va="bottom")
        right.set(xscale="log", yscale="log", xlabel="pairs voted on", ylabel="mean error of the flips")
        left.set_title(f"Red wine, {points[-1][0]:,.0f} pairs")
        right.set_title("Red wine, from fewer pairs")
        for axis in (left, right):
            axis.legend(loc="upper left" if axis is left else "lower left")
        return {self.name: figure}


def _size(record: Record) -> float:
    return float(record.setting.split("=")[1])
