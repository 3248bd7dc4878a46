"""Whether the default is right on everyday jobs: `jamrank fit` beside the model that generated the votes and evalica.

Every set is drawn from a seed, written to a file and read back as a user would. Sets that are done are kept in
build/everyday.jsonl and everyday_sets.json; a run that was stopped goes on from there, and ``--minutes 0`` writes the
page of what there is. Delete both files to begin anew.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import json
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks import everyday_real, machine, report, stored
from benchmarks.everyday_jobs import JOBS, Drawn
from benchmarks.everyday_predicates import Context, order_share
from benchmarks.everyday_report import enough, sentence_rows, summary, text
from benchmarks.everyday_sentences import judged
from jamrank.report import Analysis

SEED, MOST_SETS, QUICK_SETS, AT_A_TIME = 20_000, 400, 2, 4
DONE = report.HERE.parent / "build" / "everyday.jsonl"
# Verdicts that advise to review an annotator, or to leave one out.
ACCUSED = ("leave out", "review")
# With fewer votes, the flip of an annotator is not judged.
ENOUGH_VOTES = 20


def measure(name: str, seed: int) -> dict[str, Any]:
    """Draw one set, fit it by default and by the oracle, and compare with the truth."""
    job = next(job for job in JOBS if job.name == name)
    drawn = job.draw(np.random.default_rng([SEED + seed, len(name), sum(map(ord, name))]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = drawn.write(Path(folder))
        try:
            votes = jr.read_comparisons(path)
            default = jr.Auto(n_jobs=1).fit(votes)
        except jr.errors.JamrankError as error:
            return {"refused": str(error).replace(str(folder), "")}
        oracle = drawn.oracle.fit(votes)
        context = Context(drawn, votes, default, oracle, Analysis(default.result_, votes))
        sentences = judged(context)
    ours, best = _ranking(default, votes, drawn), _ranking(oracle, votes, drawn)
    rival = _bradley_terry(votes)
    return {
        "items": len(drawn.scores),
        "model": default.chosen_,
        "order": ours["order"],
        "oracle": best["order"],
        "evalica": order_share(rival, drawn) if np.isfinite(list(rival.values())).all() else None,
        "ranks": ours["ranks"],
        "width": ours["width"],
        "oracle_width": best["width"],
        "win_rates": _win_rates(default, votes) if drawn.file != "votes.csv" else None,
        **_annotators(default, drawn),
        "sentences": [[one, round(wrong, 4), round(may_be, 4)] for one, wrong, may_be, _ in sentences],
        "wrong": [[one, sentence] for one, _, may_be, sentence in sentences if sentence and may_be < 0.04],
    }


def _ranking(model: Any, votes: jr.Comparisons, drawn: Drawn) -> dict[str, float | None]:
    """Return the share of pairs in order, and of ranks in their intervals, within groups that votes join."""
    frame = model.ranking_
    items = [str(item) for item in frame["item"].to_list()]
    found = dict(zip(items, frame["score"].to_list(), strict=True))
    if drawn.groups:
        analysis = Analysis(model.result_, votes)
        frame = analysis.order.within_groups
        items = [str(item) for item in analysis.items[frame["place"].to_numpy()].tolist()]
    low, high = (dict(zip(items, frame[name].to_list(), strict=True)) for name in ("rank_low", "rank_high"))
    held, width = [], []
    for group in drawn.groups or (frozenset(drawn.scores),):
        members = sorted(group)
        true = np.array([drawn.scores[item] for item in members])
        rank = 1 + (true[None, :] > true[:, None]).sum(axis=1)
        for item, at in zip(members, rank, strict=True):
            if low.get(item) is not None:
                held.append(low[item] <= at <= high[item])
                width.append(high[item] - low[item])
    return {"order": order_share(found, drawn), "ranks": _mean(held), "width": _mean(width)}


def _annotators(model: Any, drawn: Drawn) -> dict[str, float | None]:
    frame = model.annotators_
    names = [str(name) for name in frame["annotator"].to_list()]
    rows = zip(names, frame["flip"], frame["flip_low"], frame["flip_high"], frame["votes"], strict=True)
    assessed = [
        (drawn.flips[name], flip, low, high)
        for name, flip, low, high, votes in rows
        if name in drawn.flips and votes >= ENOUGH_VOTES and low is not None
    ]
    accused = [
        any(word in action for word in ACCUSED)
        for name, action in zip(names, frame["action"], strict=True)
        if name in drawn.honest
    ]
    true, flip = np.array([one[0] for one in assessed]), np.array([one[1] for one in assessed])
    return {
        "flips": _mean([low <= truth <= high for truth, _, low, high in assessed]),
        "flip_error": _mean(np.abs(flip - true).tolist()),
        "flip_correlation": float(np.corrcoef(true, flip)[0, 1]) if len(true) >= 30 else None,
        "accused": _mean(accused),
    }


def _mean(values: list[Any]) -> float | None:
    return float(np.mean(values)) if values else None


def _bradley_terry(votes: jr.Comparisons) -> dict[str, float]:
    """Return the logarithm of evalica's Bradley-Terry scores; ties count half, as it has them."""
    import evalica

    pair, result = votes.vote_pair, votes.vote_result
    left = votes.items[votes.pair_first[pair]]
    right = votes.items[votes.pair_second[pair]]
    kinds = [evalica.Winner.Y, evalica.Winner.X, evalica.Winner.Draw]
    said = [kinds[code] for code in result]
    found = evalica.bradley_terry(left.tolist(), right.tolist(), said, weights=votes.vote_weight.tolist())
    return {str(item): float(np.log(score)) if score > 0 else -np.inf for item, score in found.scores.items()}


def _win_rates(model: Any, votes: jr.Comparisons) -> float:
    """Return the share of pairs of candidates in the order of their win rates, where these differ by two errors."""
    n, decided = votes.n_items, votes.vote_result < 2
    pair, weight = votes.vote_pair[decided], votes.vote_weight[decided]
    won = votes.vote_result[decided] == 1
    first, second = votes.pair_first[pair], votes.pair_second[pair]
    wins = np.bincount(np.where(won, first, second), weight, n)
    total = np.bincount(first, weight, n) + np.bincount(second, weight, n)
    candidates = np.flatnonzero(np.arange(n) != total.argmax())
    rate, score = (wins / total)[candidates], model.result_.scores.scores[candidates]
    variance = rate * (1 - rate) / total[candidates]
    one, other = np.triu_indices(len(candidates), 1)
    gap, reach = rate[one] - rate[other], 2 * np.sqrt(variance[one] + variance[other])
    return float(((gap * (score[one] - score[other]) >= 0) | (np.abs(gap) < reach)).mean())


def run(
    names: list[str],
    most: int,
    done: Path | None,
    jobs: int,
    minutes: float,
    known: Iterable[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Measure sets of each job until its standard errors are small, for so long; return all that is known."""

    def following(sets: list[dict[str, Any]]) -> list[stored.Case]:
        return [case for name in names for case in _next(name, most, sets)]

    return stored.run(measure, following, "job", done, jobs, minutes, known)


def _next(name: str, most: int, found: list[dict[str, Any]]) -> list[stored.Case]:
    """Return the next sets of a job; all jobs go side by side, so that a run that is stopped has some of each."""
    own = [one for one in found if one["job"] == name]
    if len(own) >= most or enough(own):
        return []
    known = {one["seed"] for one in own}
    return [(name, seed) for seed in range(most) if seed not in known][:AT_A_TIME]


def packed(sets: list[dict[str, Any]]) -> str:
    """Return sets as JSON: each sentence by the number of its template, alone where it is true."""
    number: dict[str, int] = {}

    def short(sentence: list[Any]) -> Any:
        at = number.setdefault(sentence[0], len(number))
        return [at, *sentence[1:]] if any(sentence[1:]) else at

    by_number = [
        {**one, "sentences": [short(own) for own in one["sentences"]]} if "sentences" in one else one for one in sets
    ]
    return stored.text([{"templates": list(number)}, *stored.packed(by_number, "job")])


def unpacked(text: str) -> list[dict[str, Any]]:
    """Return the sets."""
    first, *tables = json.loads(text)
    names = first["templates"]

    def full(sentence: Any) -> list[Any]:
        return [names[sentence], 0.0, 0.0] if isinstance(sentence, int) else [names[sentence[0]], *sentence[1:]]

    sets = stored.unpacked(tables, "job")
    return [
        {**one, "sentences": [full(own) for own in one["sentences"]]} if "sentences" in one else one for one in sets
    ]


def main() -> None:
    asked = report.parser("everyday", __doc__ or "")
    asked.add_argument("--sets", type=int, default=MOST_SETS, help="most sets of each job")
    asked.add_argument("--minutes", type=float, default=330.0, help="begin no more sets after so long")
    asked.add_argument("--jobs", type=int, default=machine.cores(), help="processes")
    asked.add_argument("--only", default="", help="jobs whose name contains this")
    asked.add_argument("--no-real", action="store_true", help="leave real votes out")
    given = report.arguments(asked)
    jobs = [job for job in JOBS if not (given.quick and job.slow) and given.only in job.name]
    most = min(QUICK_SETS, given.sets) if given.quick else given.sets
    kept, names = given.out / "everyday_sets.json", [job.name for job in jobs]
    known = unpacked(kept.read_text()) if kept.exists() and not given.quick else []
    every = run(names, most, None if given.quick else DONE, given.jobs, given.minutes, known)
    kept.write_text(packed(every))
    found = [one for one in every if one["job"] in names]
    real = [] if given.no_real else everyday_real.run(["llmfao, GPT-4"] if given.quick else everyday_real.EVERYDAY)
    rows = [summary(job.name, found) for job in jobs]
    sentences = sentence_rows(found)
    commits = ", ".join(sorted({one["commit"] for one in found}))
    about = {"seed": str(SEED), **machine.about(machine.commit(), "evalica"), "commit": commits}
    numbers = {"rows": rows, "sentences": sentences, "real": real, "about": about}
    report.write(given.out, "everyday", text(rows, sentences, everyday_real.lines(real), about), numbers)


if __name__ == "__main__":
    main()
