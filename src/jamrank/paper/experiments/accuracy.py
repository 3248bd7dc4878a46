"""How often each method infers the truth of a pair, on every pair of both wines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jamrank.paper import published
from jamrank.paper.experiments.series import BEST, MAJORITY
from jamrank.paper.figures import COLOURS as HUES
from jamrank.paper.figures import canvas, draw_paper
from jamrank.paper.methods import METHODS
from jamrank.paper.tables import markdown
from jamrank.paper.theory import best_rule_accuracy, majority_accuracy
from jamrank.paper.trials import Record, Results, Trial, estimate, pick
from jamrank.paper.wine import COLOURS, RankerTrial, WineTrial, wine_flips

_MACHINES = ("SVM, raw", "SVM, standardised")


class Accuracy:
    """The paper's table of accuracies, each annotator's own ranker, and what theory allows."""

    name = "accuracy"
    title = "Accuracy of each method on all pairs of different quality"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return every pair of both wines, and the plain support vector machines."""
        every = 20_000 if quick else None
        trials: list[Trial] = [WineTrial(colour, s, n_pairs=every) for s in range(seeds) for colour in COLOURS]
        return trials + [RankerTrial(colour, s, n_pairs=20_000) for s in range(seeds) for colour in COLOURS]

    def records(self, results: Results) -> list[Record]:
        """Return accuracies, orders and the annotators' own rankers."""
        flips = wine_flips()
        theory = {MAJORITY: majority_accuracy(flips), BEST: best_rule_accuracy(flips)}
        records = [
            Record(self.name, colour, model, "accuracy", "", None, 100 * value)
            for colour in COLOURS
            for model, value in theory.items()
        ]
        for trial, found in results.items():
            printed = published.ACCURACY[trial.colour] if isinstance(trial, WineTrial) else {}
            records += [
                Record(
                    self.name,
                    trial.colour,
                    m.model,
                    m.metric,
                    m.setting,
                    trial.seed,
                    m.value,
                    printed.get(m.model) if m.metric == "accuracy" else None,
                )
                for m in found
                if m.metric in ("pairs", "accuracy", "order", "ranker")
            ]
        return records

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the accuracies of the four methods on each wine."""
        rows = []
        for colour in COLOURS:
            mine = pick(records, dataset=colour, metric="accuracy")
            ours = " / ".join(f"{estimate(pick(mine, model=model)).mean:.2f}" for model in METHODS)
            theirs = " / ".join(f"{value}" for value in published.ACCURACY[colour].values())
            rows.append((f"{' / '.join(METHODS)}, {colour}", ours, theirs))
        return rows

    def table(self, records: Sequence[Record]) -> str:
        """Return accuracies beside the paper and theory, then the rankers."""
        rows, rankers = [], []
        for colour in COLOURS:
            mine = pick(records, dataset=colour)
            pairs = estimate(pick(mine, metric="pairs")).mean
            accuracy = [estimate(pick(mine, model=model, metric="accuracy")).text() for model in METHODS]
            bounds = [f"{pick(mine, model=model)[0].value:.2f}" for model in (MAJORITY, BEST)]
            rows.append([f"{colour}, {pairs:,.0f} pairs", *accuracy, *bounds])
            rows.append([f"{colour}, paper", *[f"{value}" for value in published.ACCURACY[colour].values()], "", ""])
            orders = [estimate(pick(mine, model=model, metric="order")).text() for model in METHODS]
            rows.append([f"{colour}, order of all items", *orders, "", ""])
            rankers += self._rankers(mine, colour)
        return (
            markdown(["wine", *METHODS, "majority vote in theory", "best rule in theory"], rows)
            + "\n*Order of all items*: pairs that the single ranking of the items (`scores_`) puts in the right "
            "order. *Best rule*: knows every flip, and decides each pair from the votes on this pair alone.\n"
            "\nEach annotator's own ranker, which IAM adds up: pairs in the right order, from the worst annotator to "
            "the best (means over seeds, and the range of single rankers), and of the sum.\n\n"
            + markdown(["wine, ranker", "worst to best annotator", "range over seeds", "sum"], rankers)
        )

    def _rankers(self, mine: Sequence[Record], colour: str) -> list[list[str]]:
        rows = []
        for model in ("IAM", *_MACHINES):
            own = pick(mine, model=model, metric="ranker")
            means = sorted(estimate(pick(own, setting=setting)).mean for setting in {r.setting for r in own})
            values = [r.value for r in own]
            total = estimate(pick(mine, model=model, metric="accuracy"))
            name = {"IAM": "jamrank's IAM"}.get(model, f"{model} features, one epoch")
            rows.append(
                [
                    f"{colour}, {name}",
                    f"{means[0]:.1f} to {means[-1]:.1f}",
                    f"{min(values):.1f} to {max(values):.1f}",
                    total.text(1),
                ]
            )
        if colour == "red":
            worst, best = published.RANKERS
            rows.append(["red, paper", f"{worst} to {best}", "", f"{published.ACCURACY['red']['IAM']}"])
        return rows

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw the accuracies beside the paper's and the bounds (IAM would be far below), and the rankers."""
        figure, ((left, right),) = canvas(2, width=7.6)
        ticks = []
        for place, colour in enumerate(COLOURS):
            mine = pick(records, dataset=colour)
            for k, model in enumerate(METHODS):
                if model == "IAM":
                    continue
                x = 5 * place + k
                ticks.append((x, model))
                value = estimate(pick(mine, model=model, metric="accuracy"))
                left.errorbar(x, value.mean, yerr=value.half, fmt="o", color=HUES[model], capsize=3)
                draw_paper(left, [x], [published.ACCURACY[colour][model]], None if ticks[1:] else "paper")
            left.text(5 * place + 1.5, 99.2, f"{colour} wine", ha="center", fontsize=9)
        for model, style in ((MAJORITY, "--"), (BEST, ":")):
            bound = pick(records, model=model)[0].value
            left.axhline(bound, color="#777777", linestyle=style, linewidth=1, label=model)
        left.set(ylabel="pairs decided correctly (%)", ylim=(95.5, 99.4))
        left.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
        left.set_title("Fusion")
        left.legend(loc="center", bbox_to_anchor=(0.55, 0.45))
        names = {"IAM": "jamrank's IAM,\nstandardised", "SVM, standardised": "SVM, one epoch,\nstandardised"}
        names["SVM, raw"] = "SVM, one epoch,\nraw features"
        for x, model in enumerate(names):
            own = [r.value for r in pick(records, dataset="red", model=model, metric="ranker")]
            right.plot([x] * len(own), own, "o", color=HUES["IAM"], alpha=0.35, markersize=4, markeredgewidth=0)
        right.axhspan(*published.RANKERS, color="#BBBBBB", alpha=0.5, linewidth=0)
        right.text(len(names) - 0.55, published.RANKERS[1] + 0.3, "in the paper", ha="right", va="bottom")
        right.set_xticks(range(len(names)), list(names.values()))
        right.set(ylabel="pairs in the right order (%)", xlim=(-0.5, len(names) - 0.5))
        right.set_title("Annotators' own rankers, red wine")
        return {self.name: figure}
