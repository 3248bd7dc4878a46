"""Whether the comparison of models finds the true one, and the chosen one foretells real votes.

Simulated votes come from a known cell of the grid: the comparison should pick it, or one that is as good. Real votes
are held out in outer folds, the model being chosen inside the other folds alone, and compared with Bradley-Terry.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import jamrank as jr
from benchmarks import report
from benchmarks.machine import about, commit
from jamrank.noise.kmeans import cluster_pairs
from jamrank.scorers import Features
from jamrank.selection import compare
from jamrank.selection.cross_validation import hold_out
from jamrank.selection.folds import split
from jamrank.selection.trials import Candidate

SEED, ROUNDS, QUICK_ROUNDS = 0, 13, 1
# As asked: a pick other than the true cell counts if its interval against it holds 0 and its loss is this near.
NEAR, ASKED_SHARE = 0.003, 0.9
FOLDS = 5
SHARED = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Cell:
    """A cell of the grid from which votes are drawn."""

    name: str
    truth: str
    flips: bool
    linear: bool = False
    clusters: int = 1
    bias: float = 0.0
    """Spread of the biases towards a side, in log-odds."""
    sharpness: bool = False
    """Whether annotators tell items apart more or less sharply."""


CELLS = [
    Cell("BradleyTerry", "vote", flips=False),
    Cell("CrowdBT", "vote", flips=True),
    Cell("CrowdBT two-coin", "vote", flips=True, bias=1.0),
    Cell("AmElo", "vote", flips=False, sharpness=True),
    Cell("JAM without features", "pair", flips=True),
    Cell("JAM two-coin without features", "pair", flips=True, bias=1.0),
    Cell("JAM", "pair", flips=True, linear=True),
    Cell("VRJAM", "pair", flips=True, linear=True, clusters=3),
]


def draw(cell: Cell, rng: np.random.Generator) -> tuple[jr.Comparisons, Any]:
    """Draw a study of random size from a cell: votes, and features that mean something only where it is linear."""
    n_items, n_annotators = int(rng.integers(20, 60)), int(rng.integers(5, 30))
    n_votes = int(rng.integers(3_000, 8_000))
    features = rng.standard_normal((n_items, 4))
    scores = 1.5 * rng.standard_normal(n_items)
    if cell.linear:
        explained = features @ rng.standard_normal(4)
        scores = 1.5 * (explained - explained.mean()) / explained.std()
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    who = rng.integers(0, n_annotators, n_votes)
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, at = np.unique(first * n_items + second, return_inverse=True)
    a, b = pairs // n_items, pairs % n_items
    better, of_vote = rng.random(len(pairs)) < expit(scores[a] - scores[b]), at
    if cell.truth == "vote":
        sharp = np.abs(rng.normal(1.0, 0.7, n_annotators))[who] if cell.sharpness else 1.0
        better, of_vote = rng.random(n_votes) < expit(sharp * (scores[first] - scores[second])), slice(None)
    rates = rng.beta(2, 6, (n_annotators, cell.clusters)) * cell.flips
    cluster = np.zeros(len(pairs), dtype=int)
    if cell.clusters > 1:
        # Easy for some and hard for others, in regions of pairs.
        rates = rng.beta(0.7, 1.5, rates.shape) * 0.6
        matrix = Features.of(features, [f"x{f}" for f in range(4)]).standardise(features)
        cluster = cluster_pairs(a.astype(np.int32), b.astype(np.int32), matrix, cell.clusters).cluster
    left_is_better = better[of_vote] ^ (left > right)
    rate = rates[who, cluster[at]]
    if cell.bias:
        lean = rng.normal(0.0, cell.bias, n_annotators)[who]
        rate = expit(logit(rate) + np.where(left_is_better, -lean, lean))
    outcome = (left_is_better ^ (rng.random(n_votes) < rate)).astype(float)
    votes = jr.Comparisons.from_arrays(left, right, who, outcome)
    return votes, {item: features[item] for item in range(n_items)}


def simulate(cell: Cell, seed: int) -> dict[str, Any]:
    """Compare models on votes from a cell; tell which is picked, and how it stands to the true one."""
    votes, features = draw(cell, np.random.default_rng([SEED, CELLS.index(cell), seed]))
    found = compare(votes, features, splits=["vote"], folds=FOLDS)
    behind = found.difference(found.choice, cell.name)
    as_good = bool(behind.low <= 0 <= behind.high and abs(behind.value) <= NEAR)
    return {
        "cell": cell.name,
        "seed": seed,
        "votes": votes.n_votes,
        "picked": found.choice,
        "behind": behind.value,
        "behind_low": behind.low,
        "behind_high": behind.high,
        "ok": found.choice == cell.name or as_good,
    }


# -- real votes -------------------------------------------------------------------------------------------------


def llmfao(folder: Path) -> tuple[jr.Comparisons, Any]:
    import polars as pl

    table = pl.read_csv(folder / "llmfao" / "crowd-comparisons.csv")
    named = table.select("left", "right", "winner", annotator="worker", question="prompt")
    return jr.Comparisons.from_frame(named), None


def arguments(folder: Path) -> tuple[jr.Comparisons, Any]:
    """Return the votes, and the lengths of the arguments (rank_score is made from the votes, and no feature)."""
    import polars as pl

    table = pl.read_csv(folder / "arguments" / "comparisons.csv")
    winner = {"a1": "left", "a2": "right", "equal": "tie"}
    named = table.select(
        annotator="worker",
        left=pl.col("topic") + "/" + pl.col("arg1"),
        right=pl.col("topic") + "/" + pl.col("arg2"),
        winner=pl.col("label").replace_strict(winner),
        question="topic",
    )
    texts = pl.read_csv(folder / "arguments" / "arguments.csv")
    lengths = texts.select(
        item=pl.col("topic") + "/" + pl.col("arg"), words=pl.col("n_words").log1p(), chars=pl.col("n_chars").log1p()
    )
    return jr.Comparisons.from_frame(named), lengths.unique("item", maintain_order=True)


def light_fields(folder: Path) -> tuple[jr.Comparisons, Any]:
    import polars as pl

    table = pl.read_csv(folder / "light_fields" / "lf_quality_pwcmps.csv")

    def condition(side: int) -> pl.Expr:
        return pl.concat_str(["scene", f"dist_type{side}", f"dist_level{side}"], separator="/")

    chosen = pl.when(pl.col("selected") == 1).then(pl.lit("left")).otherwise(pl.lit("right"))
    named = table.select(annotator="observer", left=condition(1), right=condition(2), winner=chosen)
    return jr.Comparisons.from_frame(named.filter(pl.col("left") != pl.col("right"))), None


@dataclass(frozen=True)
class Real:
    """Real votes, and by how many nats a vote the chosen model must beat Bradley-Terry."""

    name: str
    read: Callable[[Path], tuple[jr.Comparisons, Any]]
    asked: float | None = None


REAL = [Real("llmfao", llmfao, 0.03), Real("arguments", arguments), Real("light_fields", light_fields, 0.001)]


class Watched(jr.Auto):
    """Auto that remembers what it chose, fold by fold."""

    chosen: list[str] = []  # noqa: RUF012

    def fit(self, votes: Any, features: Any = None) -> Watched:
        super().fit(votes, features)
        Watched.chosen.append(self.chosen_)
        return self


def measure_real(real: Real, folder: Path, by: str) -> dict[str, Any]:
    """Hold real votes out in outer folds, from Auto and from Bradley-Terry."""
    votes, features = real.read(folder)
    Watched.chosen = []
    candidates = [
        Candidate("BradleyTerry", jr.BradleyTerry),
        Candidate("Auto", Watched, features=features is not None),
    ]
    held_out = hold_out(votes, split(votes, FOLDS, by), candidates, features)
    gain = held_out.difference("BradleyTerry", "Auto")
    return {
        "data": real.name,
        "split": by,
        "votes": float(held_out.weight.sum()),
        "chosen": list(Watched.chosen),
        "log_loss": held_out.log_loss("Auto").value,
        "bradley_terry": held_out.log_loss("BradleyTerry").value,
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "asked": real.asked,
        "ok": gain.high >= 0 and (real.asked is None or gain.value >= real.asked),
    }


def data_folder() -> Path:
    return Path(os.environ.get("JAMRANK_DATA", SHARED))


def as_markdown(
    runs: list[dict[str, Any]], real: list[dict[str, Any]], absent: list[str], told: dict[str, str]
) -> str:
    ok = sum(run["ok"] for run in runs)
    exact = sum(run["picked"] == run["cell"] for run in runs)
    share = ok / len(runs)
    lines = [
        "# Does the comparison of models pick the right one?",
        "",
        "## Simulated votes",
        "",
        f"`compare` picks the model that generated the votes, or one that is as good, in {ok} of {len(runs)} "
        f"simulations ({share:.0%}; required: at least {ASKED_SHARE:.0%}; "
        f"{'met' if share >= ASKED_SHARE else 'missed'}), and exactly that model in {exact}. A model is as good if "
        f"the 95 % interval of the difference includes 0 and the loss is within {NEAR} nats per vote.",
        "",
    ]
    rows = []
    for cell in CELLS:
        own = [run for run in runs if run["cell"] == cell.name]
        picks = {name: sum(run["picked"] == name for run in own) for name in {run["picked"]: 0 for run in own}}
        named = ", ".join(f"{name} {count}" for name, count in sorted(picks.items(), key=lambda one: -one[1]))
        worst = max(run["behind"] for run in own)
        rows.append([cell.name, f"{sum(run['ok'] for run in own)} of {len(own)}", named, f"{worst:.4f}"])
    lines += report.table(["votes drawn from", "right or as good", "picked", "most nats a vote behind it"], rows)
    lines += [
        "## Real votes",
        "",
        f"There are {FOLDS} outer folds, by vote and by pair. `auto` chooses within the other folds only. Losses are "
        "in nats per decided vote.",
        "",
    ]
    cells = [
        [
            run["data"],
            run["split"],
            ", ".join(f"{name} {run['chosen'].count(name)}" for name in dict.fromkeys(run["chosen"])),
            f"{run['log_loss']:.4f}",
            f"{run['bradley_terry']:.4f}",
            f"{run['gain']:.4f} ({run['gain_low']:.4f} to {run['gain_high']:.4f})",
            "not worse" if run["asked"] is None else f"≥ {run['asked']}",
            "yes" if run["ok"] else "no",
        ]
        for run in real
    ]
    header = ["votes", "held out", "chosen in each fold", "loss of auto", "Bradley–Terry", "gain", "asked", "met"]
    lines += report.table(header, cells)
    lines += [f"{name}: not there, left out." for name in absent]
    return "\n".join([*lines, *([""] if absent else []), *report.made_with(told)])


def main() -> None:
    given = report.arguments(report.parser("heldout", __doc__ or ""))
    begun_at = commit()
    rounds = QUICK_ROUNDS if given.quick else ROUNDS
    runs = []
    for cell in CELLS:
        for seed in range(rounds):
            report.say(f"\r{cell.name}: {seed + 1} of {rounds}   ")
            runs.append(simulate(cell, seed))
        report.say("\n")
    folder, real, absent = data_folder(), [], []
    for one in REAL:
        if not (folder / one.name).is_dir():
            report.say(f"{folder / one.name}: not there, left out\n")
            absent.append(one.name)
            continue
        for by in ("vote",) if given.quick else ("vote", "pair"):
            report.say(f"{one.name}, by {by}\n")
            real.append(measure_real(one, folder, by))
    told = {"seed": str(SEED), "simulations": f"{rounds} of each of {len(CELLS)} cells", **about(begun_at)}
    text = as_markdown(runs, real, absent, told)
    report.write(given.out, "heldout", text, {"about": told, "simulated": runs, "real": real, "absent": absent})


if __name__ == "__main__":
    main()
