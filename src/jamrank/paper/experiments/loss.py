"""The appendix: the hinge loss beside the logistic one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jamrank.paper.figures import canvas, grouped
from jamrank.paper.losses import CURVES, LossTrial
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Record, Results, Trial, estimate, pick

_MARGINS = np.linspace(-4, 4, 33)
_LOOKS = {"log of the logistic": ("#0072B2", "-"), "negative hinge": ("#D55E00", "--")}
_LOOKS["negative smooth hinge"] = ("#009E73", "-.")


class Loss:
    """The appendix's figure, and what the choice of loss costs."""

    name = "loss"
    title = "Negative hinge loss, Rennie's smooth hinge and the log of the logistic"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return JAM with either loss on random pairs of red wine."""
        return [LossTrial(seed, 20_000 if quick else 100_000) for seed in range(seeds)]

    def records(self, results: Results) -> list[Record]:
        """Return the curves, and the accuracy of JAM with either loss."""
        records = [
            Record(self.name, "none", model, "value", f"margin={margin:g}", None, float(value))
            for model, curve in CURVES.items()
            for margin, value in zip(_MARGINS, curve(_MARGINS), strict=True)
        ]
        return records + [
            Record(self.name, "red", m.model, m.metric, f"pairs={trial.n_pairs}", trial.seed, m.value)
            for trial, found in results.items()
            for m in found
        ]

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the accuracy of JAM with either loss."""
        mine = pick(records, dataset="red")
        models = list(dict.fromkeys(r.model for r in mine))
        ours = " / ".join(f"{estimate(pick(mine, model=model)).mean:.2f}" for model in models)
        return [("JAM with logistic / hinge loss, red", ours, "similar")]

    def table(self, records: Sequence[Record]) -> str:
        """Return the accuracy of JAM with either loss."""
        mine = pick(records, dataset="red")
        pairs = float(mine[0].setting.split("=")[1])
        models = list(dict.fromkeys(r.model for r in mine))
        cells = [estimate(pick(mine, model=model)).text() for model in models]
        return markdown(["", *models], [[f"accuracy, {pairs:,.0f} random pairs of red wine", *cells]])

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw the three curves against the margin."""
        figure, ((axis,),) = canvas(1, width=4.4)
        for model, (colour, style) in _LOOKS.items():
            points = grouped(pick(records, model=model), lambda r: float(r.setting.split("=")[1]))
            x, y = zip(*[(x, value.mean) for x, value in points], strict=True)
            axis.plot(x, y, color=colour, linestyle=style, label=model)
        axis.set(xlabel="margin, w·(xᵢ − xⱼ)", ylabel="what the M-step raises")
        axis.legend(loc="lower right")
        return {self.name: figure}
