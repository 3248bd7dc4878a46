"""Whether the default is right on everyday jobs: `jamrank fit` beside the model that generated the votes and evalica.

Every set is drawn from a seed, written to a CSV file and read back as a user would. Sets that are done are kept in
build/everyday.jsonl; a run that was stopped goes on from there. Delete that file to begin anew.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import json
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks import machine, report
from benchmarks.everyday_jobs import JOBS, Drawn, Job

SEED, SETS, SLOW_SETS, QUICK_SETS = 20_000, 200, 20, 2
DONE = report.HERE.parent / "build" / "everyday.jsonl"
# Verdicts that advise to review an annotator, or to leave one out.
ACCUSED = ("leave out", "review")
LIMITS = {"order": 0.01, "evalica": 0.005, "ranks": 0.93, "width": 1.3, "flips": (0.93, 0.98), "accused": 0.01}


def measure(name: str, seed: int) -> dict[str, Any]:
    """Draw one set, fit it by default and by the oracle, and compare with the truth."""
    job = next(job for job in JOBS if job.name == name)
    drawn = job.draw(np.random.default_rng([SEED + seed, len(name), sum(map(ord, name))]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "votes.csv"
        drawn.frame.write_csv(path)
        try:
            votes = jr.read_comparisons(path)
            default = jr.Auto(n_jobs=1).fit(votes)
        except jr.errors.JamrankError as error:
            return {"job": name, "seed": seed, "refused": str(error).replace(str(folder), "")}
        oracle = drawn.oracle.fit(votes)
    ours, best = _ranking(default, drawn), _ranking(oracle, drawn)
    return {
        "job": name,
        "seed": seed,
        "model": default.chosen_,
        "order": ours["order"],
        "oracle": best["order"],
        "evalica": _order(_bradley_terry(votes), drawn),
        "ranks": ours["ranks"],
        "width": ours["width"],
        "oracle_width": best["width"],
        **_annotators(default, drawn),
    }


def _ranking(model: Any, drawn: Drawn) -> dict[str, float | None]:
    frame = model.ranking_
    items = [str(item) for item in frame["item"].to_list()]
    found = dict(zip(items, frame["score"].to_list(), strict=True))
    low, high = (dict(zip(items, frame[name].to_list(), strict=True)) for name in ("rank_low", "rank_high"))
    held, width = [], []
    for group in [] if drawn.groups else [frozenset(drawn.scores)]:
        true = np.array([drawn.scores[item] for item in group])
        rank = 1 + (true[None, :] > true[:, None]).sum(axis=1)
        for item, at in zip(group, rank, strict=True):
            if low.get(item) is not None:
                held.append(low[item] <= at <= high[item])
                width.append(high[item] - low[item])
    return {"order": _order(found, drawn), "ranks": _mean(held), "width": _mean(width)}


def _order(found: dict[str, float], drawn: Drawn) -> float:
    """Return the share of pairs in the right order, within groups where votes join no others; ties count half."""
    right = total = 0.0
    for group in drawn.groups or (frozenset(drawn.scores),):
        items = sorted(item for item in group if item in found)
        true, score = np.array([drawn.scores[i] for i in items]), np.array([found[i] for i in items])
        first, second = np.triu_indices(len(items), 1)
        agree = np.sign(true[first] - true[second]) * np.sign(np.round(score[first] - score[second], 9))
        right, total = right + float(((agree + 1) / 2).sum()), total + len(first)
    return right / total


def _annotators(model: Any, drawn: Drawn) -> dict[str, float | None]:
    frame = model.annotators_
    names = [str(name) for name in frame["annotator"].to_list()]
    held = [
        low <= drawn.flips[name] <= high
        for name, low, high, votes in zip(names, frame["flip_low"], frame["flip_high"], frame["votes"], strict=True)
        if name in drawn.flips and votes >= 20 and low is not None
    ]
    accused = [
        any(word in action for word in ACCUSED)
        for name, action in zip(names, frame["action"], strict=True)
        if name in drawn.honest
    ]
    return {"flips": _mean(held), "accused": _mean(accused)}


def _mean(values: list[Any]) -> float | None:
    return float(np.mean(values)) if values else None


def _bradley_terry(votes: jr.Comparisons) -> dict[str, float]:
    """Return evalica's Bradley-Terry scores; ties count half, as it has them."""
    import evalica

    pair, result = votes.vote_pair, votes.vote_result
    left = votes.items[votes.pair_first[pair]]
    right = votes.items[votes.pair_second[pair]]
    kinds = [evalica.Winner.Y, evalica.Winner.X, evalica.Winner.Draw]
    said = [kinds[code] for code in result]
    found = evalica.bradley_terry(left.tolist(), right.tolist(), said, weights=votes.vote_weight.tolist())
    return {str(item): float(score) for item, score in found.scores.items()}


def run(cases: list[tuple[str, int]], done: Path | None, jobs: int, minutes: float) -> list[dict[str, Any]]:
    """Measure what is not done yet, for so long; return all that is known of the cases."""
    lines = done.read_text().splitlines() if done is not None and done.exists() else []
    found = {(one["job"], one["seed"]): one for one in map(json.loads, lines)}
    todo, end = [case for case in cases if case not in found], monotonic() + 60 * minutes
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for begin in range(0, len(todo), 4 * jobs):
            if monotonic() > end:
                break
            chunk = todo[begin : begin + 4 * jobs]
            for case, one in zip(chunk, pool.map(measure, *zip(*chunk, strict=True)), strict=True):
                found[case] = {**one, "commit": machine.commit()}
                if done is not None:
                    done.parent.mkdir(exist_ok=True)
                    with done.open("a") as kept:
                        kept.write(json.dumps(found[case]) + "\n")
            report.say(f"{min(begin + len(chunk), len(todo))} of {len(todo)} sets\n")
    return [found[case] for case in cases if case in found]


def summary(job: Job, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means, standard errors and the lines that fail, by more than two standard errors."""
    own = [one for one in sets if one["job"] == job.name]
    fine = [one for one in own if "refused" not in one]
    row: dict[str, Any] = {"job": job.name, "sets": len(own), "refused": len(own) - len(fine), "fails": []}
    if row["refused"]:
        row["fails"].append("refused")
    if not fine:
        return row

    def mean(name: str) -> tuple[float | None, float]:
        values = np.array([one[name] for one in fine if one[name] is not None], dtype=float)
        if not len(values):
            return None, 0.0
        # A few sets that happen to agree are not certain.
        least = 0.05 / np.sqrt(len(values))
        return float(values.mean()), max(float(values.std() / np.sqrt(len(values))), least)

    def gap(name: str) -> tuple[float, float]:
        values = np.array([one["order"] - one[name] for one in fine])
        return float(values.mean()), float(values.std() / np.sqrt(len(values)))

    for name in ("order", "oracle", "evalica", "ranks", "width", "oracle_width", "flips", "accused"):
        row[name], row[f"{name}_se"] = mean(name)
    models = sorted({one["model"] for one in fine}, key=lambda model: -sum(one["model"] == model for one in fine))
    row["models"] = {model: sum(one["model"] == model for one in fine) for model in models}
    for name, least in (("oracle", LIMITS["order"]), ("evalica", LIMITS["evalica"])):
        behind, se = gap(name)
        if behind + 2 * se < -least:
            row["fails"].append(f"order below {name}")
    if row["ranks"] is not None and row["ranks"] + 2 * row["ranks_se"] < LIMITS["ranks"]:
        row["fails"].append("ranks covered")
    if row["width"] is not None and row["width"] > LIMITS["width"] * row["oracle_width"] + 0.5 + 2 * row["width_se"]:
        row["fails"].append("rank intervals too wide")
    low, high = LIMITS["flips"]
    if row["flips"] is not None and not low - 2 * row["flips_se"] <= row["flips"] <= high + 2 * row["flips_se"]:
        row["fails"].append("flips covered")
    if row["accused"] is not None and row["accused"] - 2 * row["accused_se"] > LIMITS["accused"]:
        row["fails"].append("honest accused")
    return row


def text(rows: list[dict[str, Any]], about: dict[str, str]) -> str:
    """Return the page."""

    def share(row: dict[str, Any], name: str) -> str:
        value = row.get(name)
        return "" if value is None else f"{100 * value:.1f} ± {100 * row[name + '_se']:.1f}"

    lines = report.table(
        ["job", "sets", "chosen", "in order %", "oracle", "evalica", "ranks covered %", "width (oracle)", "flips %",
         "honest accused %", "fails"],
        (
            [
                row["job"],
                str(row["sets"]),
                ", ".join(f"{model} {n}" for model, n in list(row.get("models", {}).items())[:3]),
                *(share(row, name) for name in ("order", "oracle", "evalica", "ranks")),
                "" if row.get("width") is None else f"{row['width']:.1f} ({row['oracle_width']:.1f})",
                *(share(row, name) for name in ("flips", "accused")),
                ", ".join(row["fails"]) or "-",
            ]
            for row in rows
        ),
    )  # fmt: skip
    return "\n".join(
        [
            "# The default on everyday jobs",
            "",
            "Made by `make benchmark-everyday`. Votes with a known truth, written to a file and read back;",
            "the default of `jamrank fit` beside the model that generated the votes (the oracle) and evalica's",
            "Bradley-Terry. In order: share of pairs of items in the right order, within groups that votes join.",
            "Asked: within 1 point of the oracle and .5 of evalica; 93 % or more of the 95 % rank intervals hold the",
            "true rank, and are at most 1.3 times as wide as the oracle's plus half a rank; flips covered in 93 to",
            "98 %; at most 1 % of honest annotators advised to be reviewed or left out. A line fails by more than",
            "two standard errors.",
            "",
            *lines,
            *report.made_with(about),
        ]
    )


def main() -> None:
    asked = report.parser("everyday", __doc__ or "")
    asked.add_argument("--sets", type=int, help=f"sets of each job (default: {SETS}, {SLOW_SETS} of slow ones)")
    asked.add_argument("--minutes", type=float, default=330.0, help="begin no more sets after so long")
    asked.add_argument("--jobs", type=int, default=machine.cores(), help="processes")
    asked.add_argument("--only", help="jobs whose name contains this")
    given = report.arguments(asked)
    jobs = [job for job in JOBS if not (given.quick and job.slow) and (given.only or "") in job.name]
    counts = {job.name: QUICK_SETS if given.quick else given.sets or SETS for job in jobs}
    counts |= {job.name: min(counts[job.name], SLOW_SETS) for job in jobs if job.slow}
    # All jobs side by side: a run that is stopped has some sets of each.
    cases = [(job.name, seed) for seed in range(max(counts.values())) for job in jobs if seed < counts[job.name]]
    found = run(cases, None if given.quick else DONE, given.jobs, given.minutes)
    rows = [summary(job, found) for job in jobs]
    commits = ", ".join(sorted({one["commit"] for one in found}))
    about = {"seed": str(SEED), **machine.about(machine.commit(), "evalica"), "commit": commits}
    report.write(given.out, "everyday", text(rows, about), {"rows": rows, "about": about})


if __name__ == "__main__":
    main()
