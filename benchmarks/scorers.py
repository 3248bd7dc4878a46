"""Accuracy of the scorers: on red wine, on pen-written digits, with flips that vary, and on votes drawn from models.

``make benchmark-scorers`` writes ``scorers.md`` and ``scorers.json`` beside this file. Each trial's result is kept in
``build/scorers`` with the commit it was made on, so that a run that was killed goes on where it was; the report tells
the commits. Delete that folder to begin anew.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import jamrank as jr
from benchmarks import report
from benchmarks.machine import about, commit, cores
from benchmarks.wine import items
from jamrank.noise.kmeans import cluster_pairs, nearest_centroid
from jamrank.paper.data import Data
from jamrank.paper.digits import DigitVotes, pen_digit_votes
from jamrank.paper.wine import different_pairs, noisy_votes, wine_flips
from jamrank.scorers import Features

SCORERS = ("linear", "objects", "linear+objects")
PAIRS: tuple[int | None, ...] = (1500, 3000, 10_000, 50_000, None)
NOISES = (1.0, 1.7)
# Variances of the effects among which the best is chosen with the truth.
GRID = np.logspace(-1, 1.5, 8)
WINE_SEEDS, DIGIT_SEEDS, RECOVERY_SEEDS = range(5), range(10), range(10)
# Asked of linear+objects at the lower noise; and how far it may stay behind the best of the others.
ASKED, SLACK = {3000: 99.0, 10_000: 99.6, 50_000: 99.9}, 0.3
ASKED_OF_DIGITS = 3.0
QUICK_IMAGES = 120
# With sums, which nothing is asked of there, digits take several times as long.
SUM_SEEDS = range(2)
# How far VRJAM may fall behind JAM on digits; by how much it must lead where flips vary, and how near find them.
BEHIND, AHEAD, FLIP_ERROR = 0.1, 1.5, 0.06
VARYING_SEEDS, VARYING_PAIRS, CLUSTERS, GOOD, BAD = range(5), 20_000, 4, 0.1, 0.4
# In which clusters each of six annotators is good: all in the same two, or in each choice of two out of four.
SKILLS = {"the same two": [(0, 1)] * 6, "two of their own": list(combinations(range(CLUSTERS), 2))}
KEPT = report.HERE.parent / "build" / "scorers"


def accuracy(model: jr.models.RankingModel, truth: np.ndarray) -> dict[str, Any]:
    first, second = model.pairs_["left"].to_numpy(), model.pairs_["right"].to_numpy()
    at = np.searchsorted(model.items_, first), np.searchsorted(model.items_, second)
    right = (model.scores_[at[0]] > model.scores_[at[1]]) == (truth[at[0]] > truth[at[1]])
    return {
        "recommended": 100 * model.score(truth, by="recommended"),
        "by": model.result_.recommended(),
        "posterior": 100 * model.score(truth),
        "order": 100 * float(right.mean()),
        "order of all": 100 * model.score(truth, by="scores"),
        "variance": model.result_.scores.score_variance,
    }


def on_wine(noise: float, n_pairs: int | None, seed: int) -> dict[str, dict[str, Any]]:
    features, quality, _ = items("red")
    rng = np.random.default_rng(seed)
    left, right = different_pairs(quality, n_pairs, rng)
    votes = noisy_votes(left, right, quality, wine_flips(noise=noise), rng)
    known, truth = features[votes.items], quality[votes.items]
    found = {name: accuracy(jr.JAM(scorer=name).fit(votes, known), truth) for name in SCORERS}
    best = [
        accuracy(jr.JAM(scorer="linear+objects", prior=jr.Prior(score_variance=v)).fit(votes, known), truth)
        for v in GRID
    ]
    found["best variance"] = max(best, key=lambda one: one["recommended"])
    return found


def _digits(seed: int, n_images: int) -> dict[str, DigitVotes]:
    data = Data(Path(os.environ.get("JAMRANK_DATA") or report.HERE.parents[1] / "shared" / "data"))
    return pen_digit_votes(data, seed, n_images)[0]


def on_digits(seed: int, n_images: int) -> dict[str, dict[str, float]]:
    found = {}
    for setting, drawn in _digits(seed, n_images).items():
        truth, told = drawn.digits.astype(np.float64), (drawn.votes, drawn.features)
        found[setting] = {
            "MV": 100 * jr.MajorityVote().fit(drawn.votes).score(truth),
            "JAM": 100 * jr.JAM().fit(*told).score(truth),
            "VRJAM": 100 * jr.VRJAM().fit(*told).score(truth),
            "KernelJAM": 100 * jr.KernelJAM().fit(*told).score(truth, by="recommended"),
        }
    return found


def on_digits_by_sums(seed: int, n_images: int) -> dict[str, dict[str, float]]:
    found = {}
    for setting, drawn in _digits(seed, n_images).items():
        truth, told = drawn.digits.astype(np.float64), (drawn.votes, drawn.features)
        found[setting] = {
            "linear+objects": 100 * jr.JAM(scorer="linear+objects").fit(*told).score(truth, by="recommended"),
            "kernel+objects": 100 * jr.KernelJAM(scorer="kernel+objects").fit(*told).score(truth, by="recommended"),
        }
    return found


def where_flips_vary(skills: str, seed: int, n_pairs: int = VARYING_PAIRS) -> dict[str, Any]:
    """Draw votes of annotators who are good in some of VRJAM's own clusters of pairs and bad in the others."""
    features, quality, _ = items("red")
    rng = np.random.default_rng(seed)
    left, right = different_pairs(quality, n_pairs, rng)
    # Clusters depend on the pairs and features alone: votes that are all left will do to find them.
    pairs = jr.Comparisons.from_matrix(left, right, np.ones((len(left), 1), np.int8))
    known, truth = features[pairs.items], quality[pairs.items]
    matrix = Features.of(known, [str(f) for f in range(known.shape[1])]).standardise(known)
    ends = pairs.pair_first, pairs.pair_second
    cluster = nearest_centroid(*ends, matrix, cluster_pairs(*ends, matrix, CLUSTERS).centroids)
    flips = np.full((6, CLUSTERS), BAD)
    for annotator, good in enumerate(SKILLS[skills]):
        flips[annotator, list(good)] = GOOD
    better = truth[ends[0]] > truth[ends[1]]
    said = (better[:, None] ^ (rng.random((pairs.n_pairs, 6)) < flips[:, cluster].T)).astype(np.int8)
    votes = jr.Comparisons.from_matrix(*(pairs.items[end] for end in ends), said)
    varying, plain = jr.VRJAM(n_clusters=CLUSTERS).fit(votes, known), jr.JAM().fit(votes, known)
    assert (varying.cluster_ == cluster).all()
    return {
        "MV": 100 * jr.MajorityVote().fit(votes).score(truth),
        "JAM": 100 * plain.score(truth),
        "VRJAM": 100 * varying.score(truth),
        "largest error of a flip": float(np.abs(varying.flip_ - flips).max()),
        "strength": varying.strength_,
        "smallest cluster": int(np.bincount(cluster).min()),
    }


def recover(seed: int, variance: float, noise: bool, n_items: int = 300, n_pairs: int = 3000) -> dict[str, float]:
    """Draw votes from ``linear+objects``, with flips or without, and see what the model makes of them."""
    rng = np.random.default_rng(seed)
    features, weights = rng.standard_normal((n_items, 4)), np.array([1.0, -0.5, 0.25, 0.0])
    scores = features @ weights + np.sqrt(variance) * rng.standard_normal(n_items)
    left = rng.integers(0, n_items, n_pairs)
    right = (left + rng.integers(1, n_items, n_pairs)) % n_items
    flips = np.array([0.05, 0.1, 0.2, 0.3]) if noise else np.zeros(1)
    better = rng.random(n_pairs) < expit(scores[left] - scores[right])
    said = (better[:, None] ^ (rng.random((n_pairs, len(flips))) < flips)).astype(np.float64)
    who = np.tile(np.arange(len(flips)), n_pairs)
    pair = np.repeat(np.arange(n_pairs), len(flips))
    # Each pair is a question of its own: two draws of the same pair do not share a truth.
    votes = jr.Comparisons.from_arrays(left[pair], right[pair], who, said.ravel(), question=pair if noise else None)
    model = (jr.JAM(scorer="linear+objects") if noise else jr.MixedBT()).fit(votes, features[votes.items])
    return {
        "variance": model.result_.scores.score_variance,
        "largest error of a weight": float(np.abs(model.coef_ - weights).max()),
        "largest error of a flip": float(np.abs(model.flip_ - flips).max()) if noise else 0.0,
        "correlation of scores": float(np.corrcoef(model.scores_, scores[votes.items])[0, 1]),
    }


def quietly(work: tuple[Path, str, Callable[..., Any], tuple[Any, ...]]) -> dict[str, Any]:
    """Run a trial, or take its result from where an earlier run left it; return it with its commit."""
    folder, begun_at, function, arguments = work
    kept = folder / f"{function.__name__}-{'-'.join(str(argument) for argument in arguments)}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    report.say(f"{function.__name__}{arguments}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.errors.JamrankWarning)
        found = {"commit": begun_at, "found": function(*arguments)}
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


def summed_up(found: list[dict[str, dict[str, Any]]], noise: float, n_pairs: int | None) -> dict[str, Any]:
    measured = ("recommended", "posterior", "order", "order of all", "variance")
    mean = {
        name: {what: float(np.mean([one[name][what] or 0.0 for one in found])) for what in measured}
        for name in found[0]
    }
    by = {name: sorted({one[name]["by"] for one in found}) for name in found[0]}
    return {"noise": noise, "pairs": n_pairs, "mean": mean, "by": by}


def judged(
    points: list[dict[str, Any]], drawn: dict[str, dict[str, list[float]]], varying: dict[str, list[dict[str, Any]]]
) -> list[list[str]]:
    rows = []
    for point in points:
        mean, where = point["mean"], _where(point)
        ours = mean["linear+objects"]["recommended"]
        for rival, name in (
            (max(mean["linear"]["recommended"], mean["objects"]["recommended"]), "the better of linear and objects"),
            (mean["best variance"]["recommended"], "the best variance"),
        ):
            rows.append([f"{where}: behind {name}", f"{rival - ours:.2f}", f"≤ {SLACK}", _met(rival - ours <= SLACK)])
        if point["noise"] == 1.0 and point["pairs"] in ASKED:
            asked = ASKED[point["pairs"]]
            rows.append([f"{where}: accuracy", f"{ours:.2f}", f"≥ {asked}", _met(ours >= asked)])
    for setting, own in drawn.items():
        gain = float(np.mean(own["KernelJAM"]) - np.mean(own["MV"]))
        asked_of = f"≥ {ASKED_OF_DIGITS}"
        rows.append(
            [f"digits, {setting}: KernelJAM before MV", f"{gain:.2f}", asked_of, _met(gain >= ASKED_OF_DIGITS)]
        )
        lag = float(np.mean(own["JAM"]) - np.mean(own["VRJAM"]))
        rows.append([f"digits, {setting}: VRJAM behind JAM", f"{lag:.2f}", f"≤ {BEHIND}", _met(lag <= BEHIND)])
    for skills, trials in varying.items():
        lead = float(np.mean([one["VRJAM"] - one["JAM"] for one in trials]))
        error = max(one["largest error of a flip"] for one in trials)
        where = f"flips that vary, good in {skills}"
        rows.append([f"{where}: VRJAM before JAM", f"{lead:.2f}", f"≥ {AHEAD}", _met(lead >= AHEAD)])
        rows.append(
            [f"{where}: largest error of a flip", f"{error:.3f}", f"≤ {FLIP_ERROR}", _met(error <= FLIP_ERROR)]
        )
    return rows


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _where(point: dict[str, Any]) -> str:
    pairs = f"{point['pairs']:,}" if point["pairs"] else "all"
    return f"noise {point['noise']}, {pairs} pairs"


def as_markdown(found: dict[str, Any], made_with: dict[str, str]) -> str:
    points, drawn = found["wine"], found["digits"]
    lines = ["# Scorers", "", "## Required figures", ""]
    lines += report.table(["", "found", "asked", ""], judged(points, drawn, found["varying"]))
    lines += [
        "## Red wine",
        "",
        "Six annotators flip with probability noise · k/20. Percent of voted pairs decided correctly by what",
        "the model recommends, in brackets by posterior / by the order of the scores; then percent of all pairs that",
        "the scores order correctly. *Best variance*: that of the effects, chosen for every seed by the truth from",
        f"{', '.join(f'{v:.2g}' for v in GRID)}.",
        "",
    ]
    header = ["", *SCORERS, "best variance", "all pairs by linear+objects", "variance found", "recommended"]
    lines += report.table(header, [_wine_cells(point) for point in points])
    lines += [
        "## Digits",
        "",
        "Percent of pairs decided correctly; mean over seeds, and the smallest gain over MV.",
        "",
    ]
    header = ["", *next(iter(drawn.values())), "KernelJAM - MV", "smallest"]
    rows = []
    for setting, own in drawn.items():
        gains = np.array(own["KernelJAM"]) - np.array(own["MV"])
        means = [f"{np.mean(values):.2f}" for values in own.values()]
        rows.append([setting, *means, f"{gains.mean():.2f}", f"{gains.min():.2f}"])
    lines += report.table(header, rows)
    lines += [f"With sums, seeds {SUM_SEEDS[0]} to {SUM_SEEDS[-1]} of all:", ""]
    rows = []
    for setting, own in found["digits by sums"].items():
        of_all = {name: values[: len(SUM_SEEDS)] for name, values in drawn[setting].items()}
        rows.append([setting, *(f"{np.mean(values):.2f}" for values in (of_all | own).values())])
    lines += report.table(["", *next(iter(drawn.values())), "linear+objects", "kernel+objects"], rows)
    lines += [
        "## Flips that vary",
        "",
        f"{VARYING_PAIRS:,} random pairs of red wine in VRJAM's own {CLUSTERS} clusters; six annotators flip with "
        f"chance {GOOD} in two of them and {BAD} in the others. Percent of pairs decided correctly, by seed.",
        "",
    ]
    trials = [(f"good in {skills}", one) for skills, own in found["varying"].items() for one in own]
    lines += report.table(
        ["", *trials[0][1]], [[name, *(_number(value) for value in one.values())] for name, one in trials]
    )
    lines += [
        "## Votes drawn from the model",
        "",
        "300 items with four features, 3,000 pairs; *JAM* with scorer linear+objects and four annotators per pair,",
        "*MixedBT* with one vote per pair that is the truth. Means over seeds.",
        "",
    ]
    header = list(found["recovery"][0])
    rows = [[v if isinstance(v, str) else f"{v:.3f}" for v in row.values()] for row in found["recovery"]]
    return "\n".join([*lines, *report.table(header, rows), *report.made_with(made_with)])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if value < 1 else f"{value:.2f}"


def _wine_cells(point: dict[str, Any]) -> list[str]:
    mean = point["mean"]
    cells = [
        f"{mean[name]['recommended']:.2f} ({mean[name]['posterior']:.2f} / {mean[name]['order']:.2f})"
        for name in (*SCORERS, "best variance")
    ]
    ours = mean["linear+objects"]
    found = [f"{ours['order of all']:.2f}", f"{ours['variance']:.2f}", ", ".join(point["by"]["linear+objects"])]
    return [_where(point), *cells, *found]


def measure(quick: bool, processes: int, kept: Path, begun_at: str) -> dict[str, Any]:
    points = [(noise, n) for noise in NOISES for n in PAIRS] if not quick else [(1.0, 300)]
    wine_seeds, digit_seeds = (WINE_SEEDS, DIGIT_SEEDS) if not quick else (range(1), range(1))
    cells = [(noise, variance) for noise in (True, False) for variance in (0.25, 1.0, 4.0)]
    drawn_seeds = RECOVERY_SEEDS if not quick else range(1)
    sum_seeds, varying_seeds = (SUM_SEEDS, VARYING_SEEDS) if not quick else (range(1), range(1))
    images, varying_pairs = (1000, VARYING_PAIRS) if not quick else (QUICK_IMAGES, 1000)
    work: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        *[(where_flips_vary, (skills, seed, varying_pairs)) for skills in SKILLS for seed in varying_seeds],
        *[(on_digits, (seed, images)) for seed in digit_seeds],
        *[(on_wine, (*point, seed)) for point in points for seed in wine_seeds],
        *[(recover, (seed, variance, noise)) for noise, variance in cells for seed in drawn_seeds],
        *[(on_digits_by_sums, (seed, images)) for seed in sum_seeds],
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        done = list(pool.map(quietly, [(kept, begun_at, *task) for task in work]))
    found = iter([one["found"] for one in done])
    varying = {skills: [next(found) for _ in varying_seeds] for skills in SKILLS}
    digits = _by_setting([next(found) for _ in digit_seeds])
    wine = [summed_up([next(found) for _ in wine_seeds], *point) for point in points]
    recovery = []
    for noise, variance in cells:
        own = [next(found) for _ in drawn_seeds]
        mean = {what: float(np.mean([one[what] for one in own])) for what in own[0]}
        recovery.append({"model": "JAM" if noise else "MixedBT", "true variance": variance, **mean})
    sums = _by_setting([next(found) for _ in sum_seeds])
    commits = {one["commit"]: sum(other["commit"] == one["commit"] for other in done) for one in done}
    return {
        "wine": wine,
        "digits": digits,
        "digits by sums": sums,
        "varying": varying,
        "recovery": recovery,
        "trials by commit": commits,
    }


def _by_setting(by_seed: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    return {
        setting: {name: [one[setting][name] for one in by_seed] for name in by_seed[0][setting]}
        for setting in by_seed[0]
    }


def main() -> None:
    asked = report.parser("scorers", __doc__)
    asked.add_argument("--processes", type=int, default=cores(), help="how many fits at a time")
    given = report.arguments(asked)
    begun_at = commit()
    found = measure(given.quick, given.processes, given.out / "trials" if given.quick else KEPT, begun_at)
    seeds = "0 to 4 for wine and flips that vary, 0 to 9 for digits and drawn votes" if not given.quick else "0"
    made_with = {"seeds": seeds, **about(begun_at, "scikit-learn")}
    made_with["trials by commit"] = ", ".join(f"{name}: {count}" for name, count in found["trials by commit"].items())
    report.write(given.out, "scorers", as_markdown(found, made_with), {"about": made_with, "results": found})


if __name__ == "__main__":
    main()
