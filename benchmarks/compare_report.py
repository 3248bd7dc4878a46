"""The comparison as text and a picture."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from benchmarks.report import made_with, seconds, table
from benchmarks.trials import Trial

# Okabe and Ito's colours, told apart by the colour-blind: one a package. Markers tell its models apart.
COLOURS = {
    "jamrank": "#0072B2",
    "numpy": "#000000",
    "evalica": "#E69F00",
    "choix": "#56B4E9",
    "crowd-kit": "#CC79A7",
    "arena-rank": "#009E73",
    "evaluatorq": "#D55E00",
}
MARKERS = "osD"
INTRODUCTION = """\
# jamrank and competing packages on the same votes

Each row is one package, given the same arrays of items, annotators and outcomes. *Cold* is its first fit in a new
process, with all its imports (except numpy's) and its preparation; *warm* is the median of later fits, including
preparation. *Preparation* turns the arrays into the input of the package, for jamrank the encoded votes; *fit* is the
rest. *Peak* is the memory of the cold fit beyond that of a process with numpy and the arrays of votes, so imports
count. τ is Kendall's τ with the true scores. Packages marked "no" weight every annotator equally and solve an easier
problem.
"""
PICTURE = "![Seconds and memory against the number of votes, for jamrank and its rivals](compare.png)"


def as_markdown(trials: list[Trial], about: dict[str, str], ours: str) -> str:
    lines = [INTRODUCTION, PICTURE, ""]
    times = f"times {ours.split()[-1]}"
    header = ["contender", "annotators", "cold s", "warm s", times, "preparation s", "fit s", "peak MiB", "τ"]
    for n_votes, at_size in groupby(trials, key=lambda trial: trial.n_votes):
        here = list(at_size)
        unit = next((trial.seconds for trial in here if trial.name == ours), None)
        lines += [f"## {n_votes:,} votes", "", *table(header, [_cells(trial, unit) for trial in here])]
    return "\n".join([*lines, *made_with(about)])


def _cells(trial: Trial, unit: float | None) -> list[str]:
    row = trial.as_row()
    warm = row["seconds_warm"]
    cells = [trial.name, trial.contender.annotators, seconds(row["seconds_cold"]), seconds(warm)]
    cells.append(f"{warm / unit:.3g}" if warm and unit else "")
    cells += [seconds(row["seconds_prepare"]), seconds(row["seconds_fit"])]
    cells.append("" if row["peak_mib"] is None else f"{row['peak_mib']:.0f}")
    cells.append(f"{trial.tau:.3f}" if trial.tau is not None else "undefined" if trial.cold else "")
    if trial.trouble:
        cells[3 if trial.cold else 2] = trial.trouble
    return cells


def plot(trials: list[Trial], path: Path) -> None:
    """Draw time and memory against votes; whole lines for contenders that model annotators."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (time, memory) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for name, style in _styles(trials).items():
        mine = [trial.as_row() for trial in trials if trial.name == name]
        for axes, what in ((time, "seconds_warm"), (memory, "peak_mib")):
            points = [(row["votes"], row[what]) for row in mine if row[what]]
            label = name if points else f"{name} ({mine[0]['trouble']})"
            axes.plot([x for x, _ in points], [y for _, y in points], label=label, **style)
    time.set(xlabel="votes", ylabel="seconds, warm, preparation included")
    memory.set(xlabel="votes", ylabel="peak MiB beyond the votes")
    for axes in (time, memory):
        axes.set(xscale="log", yscale="log")
        axes.grid(True, which="major", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*time.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _styles(trials: list[Trial]) -> dict[str, dict[str, str | float]]:
    styles: dict[str, dict[str, str | float]] = {}
    used: dict[str, int] = {}
    for contender in {trial.name: trial.contender for trial in trials}.values():
        marker = MARKERS[used.get(contender.package, 0) % len(MARKERS)]
        used[contender.package] = used.get(contender.package, 0) + 1
        styles[contender.name] = {
            "color": COLOURS[contender.package],
            "marker": marker,
            "markersize": 4,
            "linestyle": "--" if contender.annotators == "no" else "-",
            "linewidth": 2.2 if contender.package == "jamrank" else 1.2,
        }
    return styles
