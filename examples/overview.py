"""The picture of the README: what modelling the annotators gains, on simulated votes with a known truth.

``make figure`` runs it; it prints the numbers and writes docs/images/overview.png. Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jamrank as jr

HERE = Path(__file__).parents[1] / "docs" / "images"
MODELS = {"win rate": jr.MajorityVote, "Bradley–Terry": jr.BradleyTerry, "jamrank (CrowdBT)": jr.CrowdBT}
COLOURS = {"win rate": "#999999", "Bradley–Terry": "#E69F00", "jamrank (CrowdBT)": "#0072B2"}
# Twenty annotators: twelve careful, six who vote at random, two who report the opposite.
FLIPS = np.array([0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, *[0.5] * 6, 0.85, 0.9])
SIZES, SEEDS = [500, 1000, 2000, 4000, 8000, 16000], range(20)


def draw(n_votes: int, seed: int) -> jr.simulation.Simulation:
    return jr.simulate(100, len(FLIPS), n_votes, flips=FLIPS, spread=1.5, truth="vote", random_state=seed)


def accuracies() -> dict[str, np.ndarray]:
    """Share of all pairs of items in the right order, by model, number of votes and seed."""
    table = {name: np.empty((len(SIZES), len(SEEDS))) for name in MODELS}
    for row, size in enumerate(SIZES):
        for column, seed in enumerate(SEEDS):
            drawn = draw(size, seed)
            for name, model in MODELS.items():
                table[name][row, column] = model().fit(drawn.votes).score(drawn.scores, by="scores")
    return table


def plot(table: dict[str, np.ndarray]) -> None:
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, values in table.items():
        mean, spread = values.mean(axis=1), values.std(axis=1)
        left.fill_between(SIZES, mean - spread, mean + spread, color=COLOURS[name], alpha=0.15, linewidth=0)
        left.plot(SIZES, mean, "o-", color=COLOURS[name], label=name)
    left.set(xscale="log", xlabel="votes", ylabel="pairs of items in the right order", xticks=SIZES)
    left.set_xticklabels([f"{size:,}" for size in SIZES])
    left.xaxis.minorticks_off()
    left.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    left.legend(frameon=False)
    left.set_title("A better ranking from the same votes", loc="left", fontsize=11)

    found = jr.CrowdBT().fit(draw(16000, 0).votes).annotators_
    low, high, flip = (found[name].to_numpy() for name in ("flip_low", "flip_high", "flip"))
    right.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    right.errorbar(
        FLIPS, flip, yerr=[flip - low, high - flip], fmt="o", color="#0072B2", elinewidth=1.2, markersize=5
    )
    for place, text in (((0.1, 0.27), "reliable"), ((0.5, 0.62), "random"), ((0.875, 0.76), "adversarial")):
        right.annotate(text, place, ha="center", color="#555555")
    right.set(xlabel="true error rate", ylabel="estimated error rate, 95 % interval", xlim=(0, 1), ylim=(0, 1.05))
    right.set_title("and the reliability of each annotator", loc="left", fontsize=11)
    HERE.mkdir(parents=True, exist_ok=True)
    figure.savefig(HERE / "overview.png", dpi=150)


if __name__ == "__main__":
    measured = accuracies()
    print("votes    " + "  ".join(f"{name:>18}" for name in measured))
    for row, size in enumerate(SIZES):
        print(f"{size:>7,}  " + "  ".join(f"{100 * values[row].mean():>16.1f} %" for values in measured.values()))
    plot(measured)
