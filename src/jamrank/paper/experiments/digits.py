"""Machine annotators rank pen-written digits by their value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jamrank.paper import published
from jamrank.paper.digits import CLASSIFIERS, RIVALS, DigitsTrial
from jamrank.paper.figures import COLOURS, MARKERS, canvas, draw_paper
from jamrank.paper.methods import METHODS
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Record, Results, Trial, estimate, pick
from jamrank.text import in_percent

_TIES = ("ties=random", "ties=left out")
_SIGNIFICANT = 0.05


class Digits:
    """The paper's tables of machine annotators and of fusion over them."""

    name = "digits"
    title = "Digits ranked by five machine annotators, each trained on three or four of sixteen features"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return 1,000 images for each seed."""
        return [DigitsTrial(seed, 300 if quick else 1000) for seed in range(seeds)]

    def records(self, results: Results) -> list[Record]:
        """Return accuracies of annotators and methods, and tests between methods."""
        # The paper leaves nothing out: where classifiers tie, it must have tossed a coin.
        annotators = zip(CLASSIFIERS, published.CLASSIFIERS, strict=True)
        printed = {(name, "annotator", _TIES[0]): value for name, value in annotators}
        printed |= {(name, "accuracy", _TIES[0]): value for name, value in published.DIGITS.items()}
        return [
            Record(self.name, "pendigits", *m[:3], trial.seed, m.value, printed.get(m[:3]))
            for trial, found in results.items()
            for m in found
        ]

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the accuracies of the four methods, ties at random."""
        mine = pick(records, metric="accuracy", setting=_TIES[0])
        ours = " / ".join(f"{estimate(pick(mine, model=model)).mean:.1f}" for model in METHODS)
        theirs = " / ".join(f"{value}" for value in published.DIGITS.values())
        return [(f"{' / '.join(METHODS)}, digits", ours, theirs)]

    def table(self, records: Sequence[Record]) -> str:
        """Return annotators, methods, and McNemar's tests."""
        pairs, ties = (estimate(pick(records, metric=metric)).mean for metric in ("pairs", "ties"))
        text = (
            f"{pairs:,.0f} pairs of images per seed on average; {ties:.0f} % of the votes are ties, because the "
            "classifier reads the same digit twice. *Random*: such a vote goes to a "
            "random side. *Left out*: it is left out.\n\n"
        )
        text += self._means(records, "annotator", CLASSIFIERS, published.CLASSIFIERS) + "\n"
        text += self._means(records, "accuracy", METHODS, tuple(published.DIGITS.values())) + "\n"
        text += (
            "Single ranking of the images (`scores_`), pairs in the right order:\n\n"
            + self._means(records, "order", METHODS, None)
            + "\nDifferences between methods, in points; the number of seeds that are better, and the number of "
            f"seeds in which McNemar's test calls the difference significant at {in_percent(_SIGNIFICANT, 0)}, in "
            "either direction:\n\n"
        )
        return text + self._tests(records) + "\n" + self._over_best(records)

    def _over_best(self, records: Sequence[Record]) -> str:
        mine = pick(records, setting=_TIES[0])
        best: dict[int | None, float] = {}
        for record in pick(mine, metric="annotator"):
            best[record.seed] = max(record.value, best.get(record.seed, 0.0))
        rows = []
        for model in METHODS:
            off = [replace(r, value=r.value - best[r.seed]) for r in pick(mine, model=model, metric="accuracy")]
            rows.append([model, estimate(off).text(), f"{sum(r.value > 0 for r in off)} of {len(off)}"])
        return markdown(["over the best annotator of the seed, random", "difference", "seeds better"], rows)

    def _means(self, records: Sequence[Record], metric: str, models: Any, paper: tuple[float, ...] | None) -> str:
        rows = []
        for setting in _TIES:
            mine = pick(records, metric=metric, setting=setting)
            spreads = [sorted(r.value for r in pick(mine, model=model)) for model in models]
            means = [estimate(pick(mine, model=model)).text(1) for model in models]
            rows.append([_name(setting), *means])
            rows.append([f"{_name(setting)}, range", *[f"{spread[0]:.1f} to {spread[-1]:.1f}" for spread in spreads]])
        if paper:
            rows.append(["paper", *[f"{value}" for value in paper]])
        return markdown(["annotator" if metric == "annotator" else "method", *models], rows)

    def _tests(self, records: Sequence[Record]) -> str:
        rows = []
        for setting in _TIES:
            for one, other in RIVALS:
                mine = pick(records, model=f"{one} - {other}", setting=setting)
                differences = {r.seed: r.value for r in pick(mine, metric="difference")}
                significant = {r.seed for r in pick(mine, metric="McNemar p") if r.value < _SIGNIFICANT}
                up = sum(value > 0 for value in differences.values())
                sure = sum(differences[seed] > 0 for seed in significant)
                rows.append(
                    [
                        f"{one} over {other}, {_name(setting)}",
                        estimate(pick(mine, metric="difference")).text(),
                        f"{up} of {len(differences)}",
                        f"{sure} better, {len(significant) - sure} worse",
                    ]
                )
        return markdown(["methods", "difference", "seeds better", "significant by McNemar"], rows)

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw every seed of every method, for both treatments of ties, and the differences to majority vote."""
        figure, ((left, right),) = canvas(2, width=7.6)
        for place, setting in enumerate(_TIES):
            mine = pick(records, setting=setting)
            for k, model in enumerate(METHODS):
                x = 5 * place + k
                values = pick(mine, model=model, metric="accuracy")
                self._dots(left, x, values, model)
                draw_paper(left, [x], [published.DIGITS[model]], "paper" if x == 0 else None)
            for k, (one, other) in enumerate((("JAM", "MV"), ("VRJAM", "MV"), ("VRJAM", "JAM"))):
                values = pick(mine, model=f"{one} - {other}", metric="difference")
                self._dots(right, 4 * place + k, values, one)
                paper = published.DIGITS[one] - published.DIGITS[other]
                draw_paper(right, [4 * place + k], [paper], "paper" if place + k == 0 else None)
        left.set_xticks([5 * p + k for p in range(2) for k in range(4)], [*METHODS, *METHODS], rotation=45)
        names = ["JAM\n− MV", "VRJAM\n− MV", "VRJAM\n− JAM"]
        right.set_xticks([4 * p + k for p in range(2) for k in range(3)], names * 2)
        right.axhline(0, color="#999999", linewidth=0.8)
        left.set_ylabel("pairs decided correctly (%)")
        right.set_ylabel("difference (points)")
        for axis, width, title in ((left, 5, "Each seed and the mean"), (right, 4, "Differences by seed")):
            axis.set_title(title, pad=18)
            for place, setting in enumerate(_TIES):
                middle, text = width * place + (width - 2) / 2, setting.replace("=", " ")
                axis.text(middle, 1.01, text, ha="center", transform=axis.get_xaxis_transform())
            axis.legend(loc="lower right")
        return {self.name: figure}

    def _dots(self, axis: Any, x: float, values: Sequence[Record], model: str) -> None:
        axis.plot([x - 0.12] * len(values), [r.value for r in values], ".", color=COLOURS[model], alpha=0.45)
        mean = estimate(values)
        axis.errorbar(x + 0.12, mean.mean, yerr=mean.half, fmt=MARKERS[model], color=COLOURS[model], capsize=3)


def _name(setting: str) -> str:
    return setting.removeprefix("ties=")
