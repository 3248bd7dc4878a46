"""What the benchmark of choosing found: where mean curves cross a level, as a page and a picture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.crowds import COST_FLIPS

RESAMPLES = 1000


@dataclass(frozen=True)
class Asked:
    """A ratio: where a method's mean curve crosses a level, against where another's does."""

    title: str
    own: str  # crowd and method
    other: str  # crowd, method and model
    measure: str
    level: float
    bound: float
    unit: str = "votes"

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        """Crowd, method and model of both."""
        return [*self.own.split("/"), "CrowdBT"], self.other.split("/")


def _cost(k: int, other: str, method: str, bound: float) -> Asked:
    title = "costs 1:10, flips {} and {}, 85 %".format(*COST_FLIPS[k])
    return Asked(title, f"costs-{k}-both/chosen", f"costs-{k}-{other}/{method}/CrowdBT", "order", 0.85, bound, "cost")


ASKED = [
    Asked("bad crowd, 85 % in order", "bad/chosen", "bad/asap/BT", "order", 0.85, 0.35),
    Asked("bad crowd, 85 % in order", "bad/chosen", "bad/random/CrowdBT", "order", 0.85, 0.85),
    Asked("bad crowd, 85 % in order", "bad/chosen", "bad/asap/CrowdBT", "order", 0.85, 1.0),
    Asked("bad crowd, 85 % in order", "bad/chosen", "bad/swiss/CrowdBT", "order", 0.85, 1.0),
    Asked("bad crowd, 90 % in order", "bad/chosen", "bad/random/CrowdBT", "order", 0.9, 0.7),
    Asked("bad crowd, 90 %, annotator given", "bad/given", "bad/random/CrowdBT", "order", 0.9, 0.9),
    Asked("bad crowd, top-5 recall .7", "bad/top-k", "bad/random/CrowdBT", "top", 0.7, 0.65),
    Asked("clean, 85 % in order", "clean/chosen", "clean/random/CrowdBT", "order", 0.85, 0.65),
    Asked("clean, 90 % in order", "clean/chosen", "clean/random/CrowdBT", "order", 0.9, 0.65),
    Asked("clean, 85 % in order", "clean/chosen", "clean/asap/BT", "order", 0.85, 1.05),
    Asked("clean, 90 % in order", "clean/chosen", "clean/asap/BT", "order", 0.9, 1.05),
    Asked("families, 80 % in order", "families/chosen", "families/random/CrowdBT", "order", 0.8, 1.0),
    Asked("features, 75 % in order", "features/chosen", "features/without features/CrowdBT", "order", 0.75, 0.5),
    Asked("light fields, Spearman .95", "light_fields/replay", "light_fields/random/CrowdBT", "spearman", 0.95, 1.0),
    Asked("llmfao, Spearman .9", "llmfao/replay", "llmfao/random/CrowdBT", "spearman", 0.9, 1.0),
    *(_cost(k, "cheap", "chosen", 1.05) for k in range(len(COST_FLIPS))),
    *(_cost(k, "dear", "chosen", 1.05) for k in range(len(COST_FLIPS))),
    *(_cost(k, "both", "random", 0.65) for k in range(len(COST_FLIPS))),
]


def write(folder: Path, runs: list[dict[str, Any]], times: dict[str, float], about: dict[str, str]) -> None:
    """Write next.md, next.json and, where matplotlib is there, next.png."""
    curves = _curves(runs)
    rows, numbers = [], []
    for asked in ASKED:
        own, other = asked.sides
        if (own[0], own[1]) not in curves or (other[0], other[1]) not in curves:
            continue
        ratio, low, high, here, there = _ratio(curves, asked)
        against = f"{other[1]} + {other[2]}" + (f", {other[0].split('-')[-1]} only" if asked.unit == "cost" else "")
        rows.append([asked.title, against.replace(", both only", ""), _count(here), _count(there)])
        rows[-1] += [("" if np.isfinite(there) else "< ") + _share(ratio, low, high), f"≤ {asked.bound}"]
        numbers.append({**asdict(asked), "ours": here, "theirs": there, "ratio": ratio})
    head = ["what", "against", "jamrank", "theirs", "ratio (95 % interval)", "asked"]
    lines = ["# The next comparison worth buying", "", *_intro(runs), *report.table(head, rows)]
    lines += ["", *_worst(curves), *_honest(runs), "## Time", ""]
    lines += report.table(["what", "milliseconds, median"], [[name, f"{value:.1f}"] for name, value in times.items()])
    lines += report.made_with(about)
    # Infinite where a level was never reached; JSON has no such number.
    clean = [
        {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in one.items()} for one in numbers
    ]
    report.write(folder, "next", "\n".join(lines), {"ratios": clean, "milliseconds": times, "about": about})
    _draw(folder / "next.png", curves)


def _intro(runs: list[dict[str, Any]]) -> list[str]:
    seeds = len({one["case"]["seed"] for one in runs if one["case"]["method"] != "stop"})
    return [
        f"Votes (or cost) until the mean curve over {seeds} seeds crosses a level, and the ratio of jamrank's",
        "chooser to another way to collect; intervals by drawing seeds with replacement, the same for both. The",
        "crowds are in `benchmarks/crowds.py`: 30 items with normal scores (standard deviation 1.5), 20 annotators;",
        "`bad` has 30 % coins and 10 % adversaries; `features` has 150 items. A method is followed up to a number of",
        "votes; `never` where its curve ends below the level, and then the ratio is at most what is shown.",
        "",
    ]


def _curves(runs: list[dict[str, Any]]) -> dict[tuple[str, str], list[list[dict[str, float]]]]:
    curves: dict[tuple[str, str], list[list[dict[str, float]]]] = defaultdict(list)
    for one in runs:
        if one.get("curve"):
            curves[one["case"]["crowd"], one["case"]["method"]].append(one["curve"])
    return curves


def _grid(curves: list[list[dict[str, float]]], key: str, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Return curves on a common grid: votes are the same for all, costs are not."""
    ends = [curve[-1][unit] for curve in curves]
    begins = [curve[0][unit] for curve in curves]
    grid = np.linspace(max(begins), min(ends), 60)
    return grid, np.stack([np.interp(grid, [p[unit] for p in curve], [p[key] for p in curve]) for curve in curves])


def crossing(grid: np.ndarray, curve: np.ndarray, level: float) -> float:
    """Return where a curve first reaches a level; infinity where it does not."""
    above = np.flatnonzero(curve >= level)
    if not len(above):
        return float("inf")
    at = int(above[0])
    if at == 0:
        return float(grid[0])
    share = (level - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(grid[at - 1] + share * (grid[at] - grid[at - 1]))


def _ratio(curves: Any, asked: Asked) -> tuple[float, ...]:
    level = asked.level
    (grid, mine), (others_grid, theirs) = (
        _grid(curves[side[0], side[1]], f"{side[2]} {asked.measure}", asked.unit) for side in asked.sides
    )
    here, there = crossing(grid, mine.mean(axis=0), level), crossing(others_grid, theirs.mean(axis=0), level)
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        at = rng.integers(0, len(mine), len(mine))
        top = crossing(grid, mine[at].mean(axis=0), level)
        below = crossing(others_grid, theirs[at % len(theirs)].mean(axis=0), level)
        drawn.append(top / min(below, float(others_grid[-1])) if np.isfinite(top) else float("inf"))
    low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
    # A curve that never gets there would have needed more than it was followed for.
    ratio = here / min(there, float(others_grid[-1])) if np.isfinite(here) else float("inf")
    return ratio, float(low), float(high), here, there


def _worst(curves: Any) -> list[str]:
    """Say how far the chooser is ever below random pairs, from where both have been measured on."""
    lines = []
    for crowd in ("bad", "clean", "families"):
        if (crowd, "chosen") not in curves or (crowd, "random") not in curves:
            continue
        grid, mine = _grid(curves[crowd, "chosen"], "CrowdBT order", "votes")
        others, theirs = _grid(curves[crowd, "random"], "CrowdBT order", "votes")
        common = grid[(grid >= others[0]) & (grid <= others[-1])]
        leads = 100 * np.stack(
            [
                np.interp(common, grid, own) - np.interp(common, others, other)
                for own, other in zip(mine, theirs, strict=True)
            ]
        )
        at = int(leads.mean(axis=0).argmin())
        least, error = leads[:, at].mean(), leads[:, at].std() / np.sqrt(len(leads))
        lines.append(
            f"- {crowd}, from {common[0]:.0f} votes on: least lead over random pairs {least:+.1f} points, at "
            f"{common[at]:.0f} votes (standard error {error:.1f}; asked: -1 or more)."
        )
    return ["## At every budget", "", *lines, ""] if lines else []


def _honest(runs: list[dict[str, Any]]) -> list[str]:
    lines = []
    coins = [one for one in runs if one["case"]["crowd"] == "coins"]
    if coins:
        apart = 100 * np.mean([one["apart"] for one in coins])
        states = sorted({one["state"] for one in coins})
        lines.append(
            f"- Coin tosses, {len(coins)} runs: {apart:.2f} % of pairs told apart (asked: ≤ 2.5), states {states}."
        )
    covered = [one["covered"] for one in runs if one["case"]["crowd"] == "bad" and "covered" in one]
    if covered:
        lines.append(f"- Intervals after adaptive collection cover {100 * np.mean(covered):.1f} % (asked: 93 to 97).")
    stops = [one for one in runs if one["case"]["method"] == "stop" and one["state"] == "reached"]
    everything = sum(one["case"]["method"] == "stop" for one in runs)
    if stops:
        stated, true = (100 * float(np.mean([one[key] for one in stops])) for key in ("stated", "true"))
        votes = float(np.mean([one["votes"] for one in stops]))
        told = f"stated error {stated:.1f} %, true error {true:.1f} % (asked: within 2 points)"
        lines.append(f"- Stopped in {len(stops)} of {everything} runs, after {votes:,.0f} votes on average: {told}.")
    return ["## Honest under adaptivity", "", *lines, ""] if lines else []


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _count(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "never"


def _share(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(ratio) else "never"


def _draw(path: Path, curves: Any) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = [crowd for crowd in ("bad", "clean", "families") if (crowd, "chosen") in curves]
    if not panels:
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False)
    for ax, crowd in zip(axes[0], panels, strict=True):
        for (name, method), found in sorted(curves.items()):
            for model in ("CrowdBT", "BT"):
                if name == crowd and f"{model} order" in found[0][0]:
                    grid, values = _grid(found, f"{model} order", "votes")
                    ax.plot(grid, values.mean(axis=0), label=f"{method} + {model}", lw=1.5)
        ax.set(title=crowd, xlabel="votes", ylabel="share of pairs in order")
        ax.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
