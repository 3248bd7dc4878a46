"""How often 95 % intervals hold the truth, on votes drawn from the model.

Normal scores, flips from Beta(2, 8), one annotator in ten at 0.8 (``jamrank.simulate``). CrowdBT gets votes with a
truth each, JAM votes with one truth per pair. Scores are compared about their mean. Every set that is done is kept in
build/coverage.jsonl, and a run that was stopped goes on from there; delete that file to begin anew.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy.special import logit

import jamrank as jr
from benchmarks import machine, report
from jamrank.inference import Uncertainty, flip_intervals
from jamrank.inference.latent import N_DRAWS
from jamrank.inference.posterior_draws import Posterior
from jamrank.inference.ranks import ranks
from jamrank.noise.none import FixedNoise

SIZES = [(30, 20, 1000), (100, 50, 5000), (300, 100, 50_000)]
QUICK_SIZES = [(10, 5, 200)]
SETS, QUICK_SETS, SPREAD = 500, 4, 2.0
# What is left with the truth known is drawn for the first sets only: it is the same for all, but for chance.
KNOWN = 50
MODELS = {"CrowdBT": "vote", "JAM": "pair"}
SHOWN, NORMAL = ("scores", "score_intervals", "flips", "ranks"), ("normal_scores", "normal_flips", "normal_ranks")
HEADS = {3: ["scores", "flips", "ranks"], 4: ["scores", "`score_intervals()`", "flips", "ranks"]}
DONE = report.HERE.parent / "build" / "coverage.jsonl"
CHUNK = 20


@dataclass(frozen=True)
class Case:
    """One simulated set of votes, and the model for it."""

    model: str
    n_items: int
    n_annotators: int
    n_votes: int
    spread: float
    seed: int


def measure(case: Case) -> dict[str, float]:
    """Return shares of intervals that hold the truth, and widths of rank intervals."""
    drawn = jr.simulate(
        case.n_items,
        case.n_annotators,
        case.n_votes,
        truth=MODELS[case.model],
        spread=case.spread,
        random_state=case.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.errors.JamrankWarning)
        model = getattr(jr, case.model)(n_jobs=1).fit(drawn.votes)
        normal, ranking, annotators = model.uncertainty("information"), model.ranking_, model.annotators_
        unsure = model.uncertainty()
    # The tables are in an order of their own.
    place, rank = np.searchsorted(model.items_, ranking["item"].to_numpy()), ranks(drawn.scores)
    assert (model.items_[place] == ranking["item"].to_numpy()).all()
    true, score = (drawn.scores - drawn.scores.mean())[place], ranking["score"].to_numpy()
    reach = 1.96 * ranking["score_se"].to_numpy()
    by_information = flip_intervals(
        model.flip_, model.result_.annotators.flip_information, model.result_.votes.decided_votes
    )
    found = {
        "scores": _held(score - reach, true, score + reach),
        "score_intervals": _held(unsure.score_low[place], true, unsure.score_high[place]),
        "flips": _held(annotators["flip_low"].to_numpy(), drawn.flips, annotators["flip_high"].to_numpy()),
        "ranks": _held(ranking["rank_low"].to_numpy(), rank[place], ranking["rank_high"].to_numpy()),
        "normal_scores": _held(normal.score_low[place], true, normal.score_high[place]),
        "normal_flips": _held(by_information[0], drawn.flips, by_information[1]),
        "normal_ranks": _held(normal.rank_low, rank, normal.rank_high),
        "raised": float(normal.raised > 0),
    }
    if case.seed < KNOWN:
        known = _with_the_truth_known(model, drawn, case.spread)
        found |= {"width": _width(unsure), "normal_width": _width(normal), "known_width": _width(known)}
    return found


def _with_the_truth_known(model: Any, drawn: jr.simulation.Simulation, spread: float) -> Uncertainty:
    """Return the uncertainty that is left with the true flips and variance given."""
    problem, point = model.result_.fit.fitted.problem, model.result_.fit.fitted.point
    noise = FixedNoise.of(problem.noise, logit(np.clip(drawn.flips, 1e-6, 1 - 1e-6)))
    posterior = Posterior(problem.engine, noise, point.theta, np.empty(0), spread**2)
    draws = posterior.draw(N_DRAWS).scores
    return Uncertainty.of_draws(draws.mean(axis=0), draws, "posterior")


def _held(low: Any, truth: Any, high: Any) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


def _width(unsure: Uncertainty) -> float:
    return float((unsure.rank_high - unsure.rank_low + 1).mean())


def run(cases: list[Case], done: Path | None, jobs: int, minutes: float = np.inf) -> dict[Case, dict[str, Any]]:
    """Measure cases that are not done yet, for so long; return what is known of them."""
    found, now, end = _read(done), machine.commit(), monotonic() + 60 * minutes
    todo = [case for case in cases if case not in found]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for begin in range(0, len(todo), CHUNK):
            if monotonic() > end:
                break
            chunk = todo[begin : begin + CHUNK]
            lines = []
            for case, numbers in zip(chunk, pool.map(measure, chunk), strict=True):
                found[case] = {**numbers, "commit": now}
                lines.append(json.dumps({"case": asdict(case), **found[case]}) + "\n")
            if done is not None:
                done.parent.mkdir(exist_ok=True)
                with done.open("a") as kept:
                    kept.writelines(lines)
            report.say(f"{begin + len(chunk)} of {len(todo)} sets\n")
    return {case: found[case] for case in cases if case in found}


def _read(done: Path | None) -> dict[Case, dict[str, Any]]:
    lines = done.read_text().splitlines() if done is not None and done.exists() else []
    kept = [json.loads(line) for line in lines]
    return {Case(**one.pop("case")): one for one in kept}


def cases_of(sizes: list[tuple[int, int, int]], n_sets: int, spread: float) -> list[Case]:
    """Return every case, of a model all sizes side by side: a run that is stopped has some of each."""
    order = [(seed, size, model) for model in MODELS for seed in range(n_sets) for size in sizes]
    return [Case(model, *size, spread, seed) for seed, size, model in order]


def summary(found: dict[Case, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each model and size."""
    rows = []
    for key in sorted({(case.n_votes, case.model) for case in found}):
        own = [(case, one) for case, one in found.items() if (case.n_votes, case.model) == key]
        case, known = own[0][0], [one for _, one in own if "known_width" in one]
        shares = {name: [one[name] for _, one in own] for name in (*SHOWN, *NORMAL, "raised")}
        width = {name: sum(one[name] for one in known) for name in ("width", "normal_width", "known_width")}
        rows.append(
            {
                "model": case.model,
                "items": case.n_items,
                "annotators": case.n_annotators,
                "votes": case.n_votes,
                "sets": len(own),
                **{name: float(np.mean(values)) for name, values in shares.items()},
                # Intervals of a set hang together: sets, not intervals, are counted.
                **{f"{name}_error": float(np.std(shares[name]) / np.sqrt(len(own))) for name in (*SHOWN, *NORMAL)},
                "ratio": width["width"] / width["known_width"],
                "normal_ratio": width["normal_width"] / width["known_width"],
            }
        )
    return rows


def text(rows: list[dict[str, Any]], spread: float, about: dict[str, str]) -> str:
    """Return the page."""

    def lines(names: tuple[str, ...], ratio: str) -> list[str]:
        return report.table(
            ["model", "items", "annotators", "votes", "sets", *HEADS[len(names)], "width of rank intervals"],
            (
                [
                    row["model"],
                    str(row["items"]),
                    str(row["annotators"]),
                    f"{row['votes']:,}",
                    str(row["sets"]),
                    *(f"{100 * row[name]:.1f} ± {100 * row[name + '_error']:.1f} %" for name in names),
                    f"{row[ratio]:.2f}",
                ]
                for row in rows
            ),
        )

    return "\n".join(
        [
            "# Coverage of 95 % intervals",
            "",
            "Made by `make benchmark-coverage`. Votes drawn from the model: scores normal with standard deviation",
            f"{spread:g}, flips from Beta(2, 8), one annotator in ten at 0.8; CrowdBT with one truth per vote, JAM",
            "with one per pair. The tables have the share of intervals that contain the truth, with the standard",
            "error over data sets; scores are relative to their mean. Widths of rank intervals are relative to those",
            f"computed with the true flips and variance, in the first {KNOWN} sets. Required: scores and flips 93 to",
            "97 % (92 to 98 % at the smallest size), ranks at least 94 %, and at most 1.25 times as wide.",
            "",
            "## Intervals of `ranking_` and `annotators_`, from posterior draws",
            "",
            "For scores, the intervals are `score` ± 1.96 `score_se` and the quantiles of the posterior, which are",
            "seldom symmetric. ",
            *lines(SHOWN, "ratio"),
            "## Intervals from the normal approximation",
            "",
            "These are used if there are too many votes for draws.",
            "",
            *lines(NORMAL, "normal_ratio"),
            *report.made_with(about),
        ]
    )


def main() -> None:
    asked = report.parser("coverage", __doc__ or "")
    asked.add_argument("--sets", type=int, help=f"sets of each size (default: {SETS})")
    asked.add_argument("--spread", type=float, default=SPREAD, help="standard deviation of the true scores")
    asked.add_argument("--minutes", type=float, default=np.inf, help="begin no more sets after so long")
    asked.add_argument("--jobs", type=int, default=machine.cores(), help="processes")
    given = report.arguments(asked)
    sizes, n_sets = (QUICK_SIZES, QUICK_SETS) if given.quick else (SIZES, SETS)
    cases = cases_of(sizes, given.sets or n_sets, given.spread)
    found = run(cases, None if given.quick else DONE, given.jobs, given.minutes)
    rows = summary(found)
    commits = ", ".join(sorted({one["commit"] for one in found.values()}))
    about = {"seeds": "0 to the number of sets less 1", **machine.about(machine.commit()), "commit": commits}
    report.write(given.out, "coverage", text(rows, given.spread, about), {"rows": rows, "about": about})


if __name__ == "__main__":
    main()
