"""Accuracy as the annotators become noisier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jamrank.paper.experiments.series import N_PAIRS, at, draw_curves, gap, series_records, series_table
from jamrank.paper.trials import Record, Results, Trial
from jamrank.paper.wine import COLOURS, WineTrial, wine_flips

# Mean flip below which the sign is safe; it passes 1/2 at alpha = 20/7.
_SAFE = 0.48
# Ten percent more at each step.
_ALPHAS = tuple(round(1.1**step, 4) for step in range(14))


class Noise:
    """The paper's figure of performance against noise: b = alpha · k/20."""

    name = "noise"
    title = "Accuracy against the annotators' noise, six annotators who flip with probability alpha · k/20"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return both wines at every alpha."""
        alphas = _ALPHAS[::4] if quick else _ALPHAS
        return [
            WineTrial(colour, seed, noise=alpha, n_pairs=20_000 if quick else N_PAIRS[colour])
            for seed in range(seeds)
            for colour in COLOURS
            for alpha in alphas
        ]

    def records(self, results: Results) -> list[Record]:
        """Return the accuracies at each alpha."""
        return series_records(self.name, results, lambda trial: f"alpha={trial.noise:g}")

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the gap between JAM and majority vote at the ends of the range in which the sign is safe."""
        alphas = sorted({at(record) for record in records if wine_flips(6, at(record)).mean() < _SAFE})
        return [
            (f"JAM minus MV at alpha {alpha:.2f}, red", f"{gap(records, 'red', alpha):+.2f}", says)
            for alpha, says in ((alphas[0], "+2.0"), (alphas[-1], "they converge"))
        ]

    def table(self, records: Sequence[Record]) -> str:
        """Return a table for each wine."""
        text = series_table(records, _label, "alpha (mean b)", given=True)
        return text + (
            "\n*Sign given*: the same fit, reversed if it estimates annotator 1 to be worse than random. No "
            "annotator flips with a probability above 0.95, which matters only in the last row.\n"
        )

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw accuracy against alpha."""
        figure, axes = draw_curves(
            records,
            "noise, alpha",
            lambda alpha: wine_flips(6, alpha),
            windows=[(0, 101)],
            table_at=1,
            given=True,
            smooth=True,
        )
        for axis in axes.flat:
            axis.axvline(20 / 7, color="#BBBBBB", linewidth=1, zorder=0)
            axis.text(20 / 7 - 0.03, 4, "mean b = 1/2", rotation=90, ha="right", va="bottom")
        return {self.name: figure}


def _label(alpha: float) -> str:
    return f"{alpha:.2f} ({wine_flips(6, alpha).mean():.3f})"
