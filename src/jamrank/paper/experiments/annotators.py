"""Accuracy as annotators are added, each worse than the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jamrank.paper.experiments.series import N_PAIRS, draw_curves, gap, series_records, series_table
from jamrank.paper.trials import Record, Results, Trial
from jamrank.paper.wine import COLOURS, WineTrial, wine_flips
from jamrank.typing import FloatArray

_NUMBERS = range(3, 10)


class Annotators:
    """The paper's figure of performance against the number of annotators."""

    name = "annotators"
    title = "Accuracy against the number of annotators, who flip with probability k/20"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return both wines with 3 to 9 annotators."""
        numbers = _NUMBERS[::3] if quick else _NUMBERS
        return [
            WineTrial(colour, seed, n_annotators=number, n_pairs=20_000 if quick else N_PAIRS[colour])
            for seed in range(seeds)
            for colour in COLOURS
            for number in numbers
        ]

    def records(self, results: Results) -> list[Record]:
        """Return the accuracies for each number."""
        return series_records(self.name, results, lambda trial: f"K={trial.n_annotators}")

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the gap between JAM and majority vote with the fewest and the most annotators."""
        return [
            (f"JAM minus MV with {number} annotators, red", f"{gap(records, 'red', number):+.2f}", says)
            for number, says in ((_NUMBERS[0], "the same"), (_NUMBERS[-1], "more than with fewer"))
        ]

    def table(self, records: Sequence[Record]) -> str:
        """Return a table for each wine."""
        return series_table(records, lambda number: f"{number:.0f}", "annotators", given=False)

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw accuracy against the number of annotators, IAM on an axis of its own scale."""
        figure, _ = draw_curves(records, "annotators, K", _flips, windows=[(95.5, 99.3), (74, 82)], table_at=6)
        return {self.name: figure}


def _flips(number: float) -> FloatArray:
    return wine_flips(int(number))
