"""What the benchmark of choosing found: where mean curves cross a level, as a page and a picture."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.crowds import COST_FLIPS

RESAMPLES = 1000
INTRODUCTION = [
    "Votes (or cost) until the mean curve over some seeds, from 1000 on, crosses a level, and the ratio of jamrank's",
    "chooser to another way to collect; intervals by drawing seeds with replacement, the same for both. The crowds",
    "are in `benchmarks/crowds.py`: 30 items with normal scores (standard deviation 1.5), 20 annotators; `bad` has",
    "30 % coins and 10 % adversaries; `features` has 150 items. A method is followed up to a number of votes;",
    "`never` where its curve ends below the level, and then the ratio is at most what is shown.",
    "",
]
REASONS = [
    "## Why some lines do not hold",
    "",
    "- 85 % in order: a chooser that knows all flips and the variance of the scores needs fewer votes, but only if",
    "  the fit knows them too. Its votes are on close pairs, by few annotators, and say little about how often these",
    "  err: `CrowdBT` makes less of them than of the votes chosen now. Choices that suppose careful annotators, that",
    "  lower the expected number of pairs out of order by most with the next vote, that weigh questions otherwise,",
    "  explore nothing or learn nothing about annotators were tried with other seeds: no clear gain.",
    "- Costs: before there are some hundred cheap votes, flips of 0.3 and of 0.4 look alike, but one needs the cheap",
    "  annotators and the other the expensive ones. What it costs to tell them apart is above the twentieth that is",
    "  allowed.",
    "",
]
SECTIONS = {
    "At every budget": ("budget bad", "budget clean", "budget families"),
    "Honest under adaptivity": ("coins", "covered", "stops"),
}


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


def write(
    folder: Path, runs: list[dict[str, Any]], times: dict[str, float], about: dict[str, str], everything: bool = True
) -> None:
    """Write next.md, next.json and, where matplotlib is there, next.png.

    everything: Whether all of the benchmark was to run. Otherwise what is not in these runs stays as it was.
    """
    stored = folder / "next.json"
    before = json.loads(stored.read_text()) if stored.exists() and not everything else {}
    curves = _curves(runs)
    ratios = {_key(one): one for one in before.get("ratios", [])} | {_key(one): one for one in _ratios(runs, curves)}
    said = before.get("sentences", {}) | _worst(runs, curves) | _honest(runs)
    numbers = {
        "ratios": [ratios[key] for key in (_key(asdict(asked)) for asked in ASKED) if key in ratios],
        "sentences": said,
        "milliseconds": before.get("milliseconds", {}) | times,
        "about": before.get("about", {}) | about,
    }
    head = ["what", "against", "jamrank", "theirs", "ratio (95 % interval)", "asked", "seeds", "commit"]
    lines = ["# The next comparison worth buying", "", *INTRODUCTION]
    lines += report.table(head, [_row(one) for one in numbers["ratios"]])
    for title, keys in SECTIONS.items():
        found = [said[key] for key in keys if key in said]
        lines += ["", f"## {title}", "", *(f"- {one['text']} ({one['commit']})" for one in found)] if found else []
    lines += ["", *REASONS, "## Time", ""]
    times = numbers["milliseconds"]
    lines += report.table(["what", "milliseconds, median"], [[name, f"{value:.1f}"] for name, value in times.items()])
    lines += report.made_with(numbers["about"])
    report.write(folder, "next", "\n".join(lines), numbers)
    if everything:
        _draw(folder / "next.png", curves)


def _key(ratio: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(ratio[name] for name in ("own", "other", "measure", "level"))


def _ratios(runs: list[dict[str, Any]], curves: Any) -> list[dict[str, Any]]:
    """Return what was asked and found; null for what was never reached, since JSON has no infinity."""
    found = []
    for asked in ASKED:
        sides = [tuple(side[:2]) for side in asked.sides]
        if not all(side in curves for side in sides):
            continue
        ratio, low, high, here, there = _ratio(curves, asked)
        numbers = {"ours": here, "theirs": there, "ratio": ratio, "low": low, "high": high}
        finite = {key: value if np.isfinite(value) else None for key, value in numbers.items()}
        seeds = min(len(curves[side]) for side in sides)
        found.append({**asdict(asked), **finite, "seeds": seeds, "commit": _commits(runs, *sides)})
    return found


def _commits(runs: list[dict[str, Any]], *kinds: tuple[str, ...]) -> str:
    """Return the commits at which runs of a crowd and a method were made."""
    used = (one for one in runs if (one["case"]["crowd"], one["case"]["method"]) in kinds)
    return ", ".join(sorted({one.get("commit", "unknown") for one in used}))


def _row(one: dict[str, Any]) -> list[str]:
    other = one["other"].split("/")
    only = f", {other[0].split('-')[-1]} only" if one["unit"] == "cost" else ""
    against = f"{other[1]} + {other[2]}" + only.replace(", both only", "")
    row = [one["title"], against, _count(one["ours"]), _count(one["theirs"])]
    row.append(("" if one["theirs"] is not None else "< ") + _share(one["ratio"], one["low"], one["high"]))
    return [*row, f"≤ {one['bound']}", str(one["seeds"]), one["commit"]]


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


def _worst(runs: list[dict[str, Any]], curves: Any) -> dict[str, dict[str, str]]:
    """Say how far the chooser is ever below random pairs, from where both have been measured on."""
    said = {}
    for crowd in ("bad", "clean", "families"):
        if (crowd, "chosen") not in curves or (crowd, "random") not in curves:
            continue
        grid, mine = _grid(curves[crowd, "chosen"], "CrowdBT order", "votes")
        others, theirs = _grid(curves[crowd, "random"], "CrowdBT order", "votes")
        common = grid[(grid >= others[0]) & (grid <= others[-1])]
        leads = 100 * np.stack(
            [
                np.interp(common, grid, own) - np.interp(common, others, other)
                for own, other in zip(mine, theirs, strict=False)
            ]
        )
        at = int(leads.mean(axis=0).argmin())
        least, error = leads[:, at].mean(), leads[:, at].std() / np.sqrt(len(leads))
        text = (
            f"{crowd}, from {common[0]:.0f} votes on: least lead over random pairs {least:+.1f} points, at "
            f"{common[at]:.0f} votes (standard error {error:.1f}; asked: -1 or more)."
        )
        said[f"budget {crowd}"] = {"text": text, "commit": _commits(runs, (crowd, "chosen"), (crowd, "random"))}
    return said


def _honest(runs: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    said = {}
    coins = [one for one in runs if one["case"]["crowd"] == "coins"]
    if coins:
        apart = 100 * np.mean([one["apart"] for one in coins])
        states = sorted({one["state"] for one in coins})
        text = f"Coin tosses, {len(coins)} runs: {apart:.2f} % of pairs told apart (asked: ≤ 2.5), states {states}."
        said["coins"] = {"text": text, "commit": _commits(runs, ("coins", "chosen"))}
    covered = [one["covered"] for one in runs if one["case"]["crowd"] == "bad" and "covered" in one]
    if covered:
        share, error = 100 * np.mean(covered), 100 * np.std(covered) / np.sqrt(len(covered))
        text = (
            f"Intervals of scores after adaptive collection, bad crowd, {len(covered)} runs, cover {share:.1f} % "
            f"(standard error {error:.1f}; asked: 93 to 97)."
        )
        said["covered"] = {"text": text, "commit": _commits(runs, ("bad", "chosen"))}
    stops = [one for one in runs if one["case"]["method"] == "stop" and one["state"] == "reached"]
    everything = sum(one["case"]["method"] == "stop" for one in runs)
    if stops:
        stated, true = (100 * float(np.mean([one[key] for one in stops])) for key in ("stated", "true"))
        votes = float(np.mean([one["votes"] for one in stops]))
        told = f"stated error {stated:.1f} %, true error {true:.1f} % (asked: within 2 points)"
        text = f"Stopped in {len(stops)} of {everything} runs, after {votes:,.0f} votes on average: {told}."
        said["stops"] = {"text": text, "commit": _commits(runs, ("bad", "stop"))}
    return said


def _count(value: float | None) -> str:
    return "never" if value is None else f"{value:,.0f}"


def _share(ratio: float | None, low: float | None, high: float | None) -> str:
    ends = ("inf" if end is None else f"{end:.2f}" for end in (low, high))
    return "never" if ratio is None else f"{ratio:.2f} ({' to '.join(ends)})"


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
