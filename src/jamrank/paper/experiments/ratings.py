"""Which of two populations is rated above the other, from ordinal ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jamrank.paper import published
from jamrank.paper.figures import COLOURS, MARKERS, canvas
from jamrank.paper.methods import METHODS
from jamrank.paper.ratings import ATTRIBUTES, EXPECTED, MEAN, SimulatedTrial, SpeakersTrial
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Record, Results, Trial, pick

_EFFECTS = (65.0, 80.0)
_SHOWN = (*METHODS, EXPECTED, MEAN)


class Ratings:
    """The paper's table of two populations of children, on a stand-in and on simulations of known truth."""

    name = "ratings"
    title = "Two populations compared by ratings: share of pairs in which the first ranks above the second"

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return the speakers, and ten simulations a seed of each effect."""
        real: list[Trial] = [SpeakersTrial(attribute) for attribute in ATTRIBUTES]
        return real + [
            SimulatedTrial(s, effect / 100) for effect in _EFFECTS for s in range(min(seeds, 2) if quick else seeds)
        ]

    def records(self, results: Results) -> list[Record]:
        """Return shares and the ends of their intervals."""
        records = []
        for trial, found in results.items():
            if isinstance(trial, SpeakersTrial):
                paper = published.SHARES[trial.attribute]
                records += [
                    Record(
                        self.name,
                        "speakers",
                        m.model,
                        m.metric,
                        f"attribute={trial.attribute}",
                        None,
                        m.value,
                        paper.get(m.model) if m.metric == "share" else None,
                    )
                    for m in found
                ]
            else:
                effect = f"effect={100 * trial.effect:g}"
                records += [
                    Record(self.name, "simulated", m.model, m.metric, f"{effect}, {m.setting}", trial.seed, m.value)
                    for m in found
                ]
        return records

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return how many of JAM's intervals cover the known effect."""
        rows = []
        for effect in _EFFECTS:
            covered = _covers(_by_simulation(records, effect, "JAM"), effect)
            rows.append(
                (f"JAM's intervals that cover a share of {effect:g} %", f"{covered.sum()} of {len(covered)}", "")
            )
        return rows

    def table(self, records: Sequence[Record]) -> str:
        """Return the stand-in beside the paper's own data, then bias and coverage on simulations."""
        real = pick(records, dataset="speakers")
        rows = []
        for model in _SHOWN:
            cells = []
            for attribute in ATTRIBUTES:
                share, low, high = _interval(pick(real, setting=f"attribute={attribute}", model=model))
                paper = published.SHARES[attribute].get(model)
                cells += [f"{share:.1f} ({low:.1f}–{high:.1f})", f"{paper}" if paper else ""]
            rows.append([model, *cells])
        votes, pairs, ties = (pick(real, metric=metric)[0].value for metric in ("votes", "pairs", "ties"))
        flips = " and ".join(
            f"{r.value:.2f} for {r.setting.removeprefix('attribute=')}" for r in pick(real, metric="median flip")
        )
        text = (
            "Speakers: 114 listeners rated 300 speakers; share of pairs in which a woman ranks above a man, with the "
            f"95 % bootstrap interval over speakers ({votes:,.0f} votes for {ATTRIBUTES[0]}, {ties:.0f} % of them "
            f"ties; {pairs:,.0f} pairs of a woman and a man; median flip of a listener {flips}). The paper's numbers "
            "are from its own, private recordings of two populations of children: the analysis is the same, the "
            "numbers are not comparable.\n\n"
        )
        text += markdown(["method", *[head for each in ATTRIBUTES for head in (each, "paper")]], rows)
        for effect in _EFFECTS:
            text += f"\n{self._simulated(records, effect)}"
        return text

    def _simulated(self, records: Sequence[Record], effect: float) -> str:
        truth = _by_simulation(records, effect, "truth")["share"]
        rows = []
        for model in (*_SHOWN, "truth"):
            found = _by_simulation(records, effect, model)
            off = found["share"] - truth
            covered = _covers(found, effect)
            rows.append(
                [
                    {"truth": "*true order of the items*"}.get(model, model),
                    f"{found['share'].mean():.1f}",
                    f"{off.mean():+.1f}" if model != "truth" else "",
                    f"{covered.sum()} of {len(covered)}",
                    f"{(found['high'] - found['low']).mean():.1f}",
                ]
            )
        head = ["method", "share", "bias", "intervals that cover", "mean width"]
        return (
            f"Simulated ratings, the first population truly above the second in {effect:g} % of pairs, {len(truth)} "
            "simulations (bias: against the true order of the same items):\n\n" + markdown(head, rows)
        )

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Draw the shares of the stand-in, and the error of each method on simulations."""
        figure, ((left, right),) = canvas(2, width=7.6)
        for place, attribute in enumerate(ATTRIBUTES):
            for k, model in enumerate(METHODS):
                mine = pick(records, setting=f"attribute={attribute}", model=model)
                share, low, high = _interval(mine)
                bar = [[share - low], [high - share]]
                label = model if place == 0 else None
                left.errorbar(
                    6 * place + k, share, yerr=bar, fmt=MARKERS[model], color=COLOURS[model], capsize=3, label=label
                )
            share, low, high = _interval(pick(records, setting=f"attribute={attribute}", model=MEAN))
            bar, label = [[share - low], [high - share]], MEAN if place == 0 else None
            left.errorbar(6 * place + 4, share, yerr=bar, fmt="_", color="#555555", capsize=3, label=label)
        left.axhline(50, color="#999999", linewidth=0.8)
        left.set_xticks([2, 8], [f"{attribute}\n(speakers)" for attribute in ATTRIBUTES])
        left.set(ylabel="women rank above men (% of pairs)")
        left.set_title("Stand-in data, bootstrap over speakers")
        left.legend(ncols=2)
        for place, effect in enumerate(_EFFECTS):
            truth = _by_simulation(records, effect, "truth")["share"]
            for k, model in enumerate(METHODS):
                off = _by_simulation(records, effect, model)["share"] - truth
                x = 6 * place + k
                right.plot(np.full(len(off), x - 0.12), off, ".", color=COLOURS[model], alpha=0.3, markeredgewidth=0)
                half = 1.96 * off.std(ddof=1) / np.sqrt(len(off))
                right.errorbar(x + 0.15, off.mean(), yerr=half, fmt=MARKERS[model], color=COLOURS[model], capsize=3)
        right.axhline(0, color="#999999", linewidth=0.8)
        right.set_xticks([1.5, 7.5], [f"true share {effect:g} %" for effect in _EFFECTS])
        right.set(ylabel="error of the share (points)")
        right.set_title("Simulated ratings of known truth")
        return {self.name: figure}


def _by_simulation(records: Sequence[Record], effect: float, model: str) -> dict[str, Any]:
    """Return arrays of share, low and high over simulations, aligned between models."""
    start = f"effect={effect:g}, "
    mine = [r for r in pick(records, dataset="simulated", model=model) if r.setting.startswith(start)]
    mine.sort(key=lambda r: (r.seed or 0, r.setting))
    return {metric: np.array([r.value for r in pick(mine, metric=metric)]) for metric in ("share", "low", "high")}


def _covers(found: dict[str, Any], effect: float) -> Any:
    return (found["low"] <= effect) & (effect <= found["high"])


def _interval(mine: Sequence[Record]) -> tuple[float, float, float]:
    share, low, high = (pick(mine, metric=metric)[0].value for metric in ("share", "low", "high"))
    return share, low, high
