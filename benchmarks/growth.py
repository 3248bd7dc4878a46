"""How time and peak memory grow with votes, items, annotators, features and clusters.

``make benchmark-growth`` prints fitted exponents, and writes ``growth.md``, ``growth.json`` and ``growth.png`` beside
this file. An exponent of 1 is linear growth, of 0 none. Every measurement is in a process of its own: the arrays are
loaded, a small fit has everything imported, then one fit is measured for its memory and another for its time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jamrank as jr
from benchmarks import report
from benchmarks.machine import about, commit
from benchmarks.measure import alone, memory
from benchmarks.votes import draw, draw_jury

SEED, ROUNDS = 0, 3
FLIPS = np.arange(1, 7) / 20
# A quick run has so many times fewer votes, pairs and annotators, and fewer of the rest.
QUICK_ROUNDS, QUICK_MANY, QUICK_FEW = 1, 20, 4
# What has everything imported before anything is measured.
TINY = {"votes": 500, "pairs": 100, "items": 20, "annotators": 5, "features": 3, "clusters": 2}
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Growth:
    """One thing that grows, and what stays.

    Attributes
    ----------
    model, what : str
        Name of the model; what grows.
    smallest, doublings : int
        First size, and how often it is doubled.
    fixed : dict
        What stays, by name.
    """

    model: str
    what: str
    smallest: int
    doublings: int
    fixed: dict[str, int]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.what}"

    @property
    def sizes(self) -> list[int]:
        return [self.smallest << k for k in range(self.doublings + 1)]

    def draw(self, size: int) -> Arrays:
        return draw_arrays({**self.fixed, self.what: size})

    def draw_tiny(self) -> Arrays:
        return draw_arrays({name: TINY[name] for name in (*self.fixed, self.what)})


def draw_arrays(numbers: dict[str, int]) -> Arrays:
    if "pairs" in numbers:
        arrays = draw_jury(numbers["items"], numbers["pairs"], numbers["features"], FLIPS, SEED)
        return {**arrays, "clusters": np.array(numbers.get("clusters", 0))}
    votes, _ = draw(numbers["items"], numbers["annotators"], numbers["votes"], SEED)
    return {"left": votes.left, "right": votes.right, "annotator": votes.annotator, "won": votes.left_won}


# Where more than one thing could dominate, what is fixed is small: few pairs beside many features, and votes on
# nearly as many pairs, so that none can be folded.
GROWTHS = (
    Growth("CrowdBT", "votes", 250_000, 5, {"items": 5_000, "annotators": 1_000}),
    Growth("JAM", "votes", 250_000, 5, {"items": 5_000, "annotators": 1_000}),
    Growth("JAM", "items", 16_000, 5, {"votes": 1_000_000, "annotators": 100}),
    Growth("CrowdBT", "annotators", 8_000, 5, {"votes": 2_000_000, "items": 5_000}),
    Growth("JAM", "features", 64, 5, {"pairs": 100_000, "items": 5_000}),
    Growth("VRJAM", "clusters", 8, 4, {"pairs": 500_000, "items": 2_000, "features": 10}),
)


def quicker(growth: Growth) -> Growth:
    def fewer(name: str, number: int) -> int:
        return max(number // (QUICK_MANY if name in ("votes", "pairs", "annotators") else QUICK_FEW), 2)

    fixed = {name: fewer(name, number) for name, number in growth.fixed.items()}
    return Growth(growth.model, growth.what, fewer(growth.what, growth.smallest), growth.doublings, fixed)


def encode(arrays: Arrays) -> Any:
    if "said" in arrays:
        return jr.Comparisons.from_matrix(arrays["first"], arrays["second"], arrays["said"])
    return jr.Comparisons.from_arrays(arrays["left"], arrays["right"], arrays["annotator"], arrays["won"])


def fit(model: str, arrays: Arrays, votes: Any) -> Any:
    clusters = int(arrays.get("clusters", 0))
    made = getattr(jr, model)(n_clusters=clusters) if clusters else getattr(jr, model)()
    return made.fit(votes, arrays.get("features"))


def measure(model: str, tiny: Path, folder: Path) -> dict[str, float]:
    """Measure one size, in this process: peak memory beyond the arrays of one fit, time of the next."""
    warm = load(tiny)
    fit(model, warm, encode(warm))
    arrays = load(folder)
    before = memory("VmRSS")
    fit(model, arrays, encode(arrays))
    peak = memory("VmHWM") - before
    begin = time.perf_counter()
    votes = encode(arrays)
    middle = time.perf_counter()
    fitted = fit(model, arrays, votes)
    end = time.perf_counter()
    return {
        "seconds": end - begin,
        "fit": end - middle,
        "passes": fitted.result_.convergence.n_passes,
        "peak_mib": peak,
    }


def save(arrays: Arrays, folder: Path) -> Path:
    folder.mkdir()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def load(folder: Path) -> Arrays:
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def measure_growth(growth: Growth, rounds: int) -> list[dict[str, float]]:
    """Return one row a size, medians of the rounds, in each of which every size has its turn."""
    with tempfile.TemporaryDirectory() as name:
        folders = {size: save(growth.draw(size), Path(name) / str(size)) for size in growth.sizes}
        tiny = save(growth.draw_tiny(), Path(name) / "tiny")
        found: dict[int, list[dict[str, float]]] = {size: [] for size in growth.sizes}
        for turn in range(rounds):
            for size, folder in folders.items():
                report.say(f"{growth.name}, round {turn + 1} of {rounds}: {size:,} … ")
                found[size].append(alone(measure, growth.model, tiny, folder))
                report.say(f"{found[size][-1]['seconds']:.3g} s\n")
    rows = []
    for size, measured in found.items():
        row = {what: statistics.median(one[what] for one in measured) for what in measured[0]}
        rows.append({"size": size, **row, "per_pass": row["fit"] / max(row["passes"], 1)})
    return rows


def exponent(rows: list[dict[str, float]], what: str) -> tuple[float, float] | None:
    """Return the slope of log(what) on log(size) by least squares, and its standard error.

    None where something is not positive: memory that fits into what earlier fits had freed.
    """
    sizes, values = (np.array([row[key] for row in rows]) for key in ("size", what))
    if not (values > 0).all():
        return None
    x, y = np.log(sizes) - np.log(sizes).mean(), np.log(values) - np.log(values).mean()
    slope = float((x * y).sum() / (x**2).sum())
    residual = float(((y - slope * x) ** 2).sum())
    return slope, float(np.sqrt(residual / (len(rows) - 2) / (x**2).sum()))


FITTED = {"seconds": "whole fit", "per_pass": "fit, per pass", "peak_mib": "peak memory"}


def as_markdown(
    growths: list[Growth], log_emission: dict[str, list[dict[str, float]]], made_with: dict[str, str]
) -> str:
    lines = [
        "# How time and memory grow",
        "",
        "Time and peak memory as powers of the size: the slope of a straight line through the logarithms, by least",
        "squares, with its standard error; 1 is linear growth, 0 is none. *Whole fit* is from arrays to results,",
        "with the encoding of the votes. Because the number of passes varies with the data, *per pass* is the fit",
        "without the encoding, divided by the number of passes. *Peak memory* is beyond the caller's arrays. One",
        "size grows at a time, over a range where it matters.",
        "",
        "![Time and memory against size, with the fitted lines](growth.png)",
        "",
    ]
    header = ["model", "what grows", "range", "fixed", *FITTED.values()]
    rows = [
        [g.model, g.what, f"{g.sizes[0]:,} to {g.sizes[-1]:,}", as_text(g.fixed), *exponents(log_emission[g.name])]
        for g in growths
    ]
    lines += report.table(header, rows)
    for growth in growths:
        lines += [f"## {growth.name}", "", *points(growth, log_emission[growth.name])]
    return "\n".join([*lines, *report.made_with(made_with)])


def as_text(fixed: dict[str, int]) -> str:
    with_jury = {**fixed, "annotators": len(FLIPS)} if "pairs" in fixed else fixed
    return ", ".join(f"{value:,} {name}" for name, value in with_jury.items())


def exponents(rows: list[dict[str, float]]) -> list[str]:
    found = [exponent(rows, what) for what in FITTED]
    return ["" if one is None else f"{one[0]:.2f} ± {one[1]:.2f}" for one in found]


def points(growth: Growth, rows: list[dict[str, float]]) -> list[str]:
    header = [growth.what, "whole fit s", "fit s", "passes", "ms per pass", "peak MiB"]
    return report.table(
        header,
        [
            [
                f"{row['size']:,}",
                report.seconds(row["seconds"]),
                report.seconds(row["fit"]),
                f"{row['passes']:.0f}",
                f"{1e3 * row['per_pass']:.3g}",
                f"{row['peak_mib']:.0f}",
            ]
            for row in rows
        ],
    )


def plot(growths: list[Growth], log_emission: dict[str, list[dict[str, float]]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(len(FITTED), len(growths), figsize=(2.4 * len(growths), 6.6), layout="constrained")
    for column, growth in enumerate(growths):
        rows = log_emission[growth.name]
        for axes, (what, label) in zip(grid[:, column], FITTED.items(), strict=True):
            draw_points(axes, rows, what)
            axes.set_ylabel({"seconds": "s", "per_pass": "s", "peak_mib": "MiB"}[what], fontsize=8)
            found = exponent(rows, what)
            power = "" if found is None else f": {found[0]:.2f}"
            title = f"{label}{power}"
            axes.set_title(f"{growth.model}\n{title}" if axes is grid[0, column] else title, fontsize=9)
        grid[-1, column].set_xlabel(growth.what)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_points(axes: Any, rows: list[dict[str, float]], what: str) -> None:
    """Draw the measured sizes and the line fitted to them, one decade or more of height."""
    sizes, values = (np.array([row[key] for row in rows]) for key in ("size", what))
    axes.plot(sizes, values, "o", color="#0072B2", markersize=4)
    found = exponent(rows, what)
    if found is not None:
        middle = np.exp(np.log(values).mean())
        axes.plot(sizes, middle * (sizes / np.exp(np.log(sizes).mean())) ** found[0], "-", color="#0072B2", lw=1)
        spread = max(values.max() / values.min(), 30.0) ** 0.55
        axes.set(xscale="log", yscale="log", ylim=(middle / spread / 1.5, middle * spread * 1.5))
    axes.grid(True, which="major", alpha=0.25)
    axes.tick_params(labelsize=7, which="both")
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    given = report.arguments(report.parser("growth", __doc__))
    begun_at = commit()
    rounds = QUICK_ROUNDS if given.quick else ROUNDS
    growths = [quicker(growth) for growth in GROWTHS] if given.quick else list(GROWTHS)
    log_emission = {growth.name: measure_growth(growth, rounds) for growth in growths}
    made_with = {
        "votes": "drawn by data/storage.py; one truth per vote for crowds, one truth per pair for juries of six",
        "seed": str(SEED),
        "rounds": f"{rounds}, interleaved; a new process for each size; medians",
        **about(begun_at, "polars"),
    }
    numbers = {
        name: {"exponents": {what: exponent(rows, what) for what in FITTED}, "sizes": rows}
        for name, rows in log_emission.items()
    }
    fixed = {growth.name: growth.fixed for growth in growths}
    text = as_markdown(growths, log_emission, made_with)
    report.write(given.out, "growth", text, {"about": made_with, "fixed": fixed, "results": numbers})
    plot(growths, log_emission, given.out / "growth.png")


if __name__ == "__main__":
    main()
