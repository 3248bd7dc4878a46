"""Votes until a level is reached: jamrank's chooser against random pairs, Swiss rounds and ASAP.

Every run is a crowd, a method and a seed: votes are collected one batch after another, and at checkpoints a model is
fitted to them and compared with the truth. Runs that are done are kept in build/next.jsonl, and a benchmark that was
stopped goes on from there; delete that file to begin anew. Crowds of the same seed are the same for every method.
With ``--only`` the page keeps what it says about everything else, each row with the commit of its own runs.
ASAP is found by the environment variable JAMRANK_RIVALS, recorded votes by JAMRANK_DATA; what is not there is left
out.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import contextlib
import io
import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks import machine, next_report, report
from benchmarks.crowds import CROWDS, data_folder
from jamrank.acquisition import STRATEGIES, Proposals
from jamrank.acquisition.view import View

SEEDS, QUICK_SEEDS, FIRST_SEED = 50, 2, 1000
BATCH = 10
DONE = report.HERE.parent / "build" / "next.jsonl"
# Status is asked for every so many votes where a run is about the stop.
STOP_STEP, STOP_TARGET, STOP_RUNS = 60, 0.12, 200


@dataclass(frozen=True)
class Case:
    """One collection of votes; `most` is a number of votes, or a cost where annotators differ in cost."""

    crowd: str
    method: str
    most: int
    seed: int


def plan_cases(quick: bool) -> list[Case]:
    """Return what is to be run."""
    wanted = [
        ("bad", "random", 1500),
        ("bad", "given", 1200),
        ("bad", "chosen", 960),
        ("bad", "top-k", 720),
        ("bad", "swiss", 1200),
        ("bad", "asap", 1800),
        ("clean", "random", 1020),
        ("clean", "chosen", 660),
        ("clean", "swiss", 1020),
        ("clean", "asap", 660),
        ("families", "random", 900),
        ("families", "chosen", 600),
        ("families", "asap", 900),
        ("features", "chosen", 480),
        ("features", "without features", 1500),
        ("coins", "chosen", 300),
        ("light_fields", "random", 960),
        ("light_fields", "replay", 660),
        ("llmfao", "random", 1800),
        ("llmfao", "replay", 1800),
        *(
            (f"costs-{k}-{keep}", method, most)
            for k in range(3)
            for keep, method, most in (
                ("both", "random", 5000),
                ("both", "chosen", (2000, 3600, 900)[k]),
                ("cheap", "chosen", (1600, 1600, 900)[k]),
                ("dear", "chosen", 3200),
            )
        ),
    ]
    if quick:
        wanted = [(crowd, method, 120) for crowd, method, _ in wanted if crowd in ("bad", "clean", "costs-0-both")]
    wanted = [one for one in wanted if _possible(*one[:2])]
    seeds = range(FIRST_SEED, FIRST_SEED + (QUICK_SEEDS if quick else SEEDS))
    cases = [Case(*one, seed) for seed in seeds for one in wanted]
    stops = range(FIRST_SEED, FIRST_SEED + (QUICK_SEEDS if quick else STOP_RUNS))
    return [*cases, *(Case("bad", "stop", 240 if quick else 1800, seed) for seed in stops)]


def _possible(crowd: str, method: str) -> bool:
    there = crowd not in ("light_fields", "llmfao") or (data_folder() / crowd).exists()
    return there and (method != "asap" or _asap_folder() is not None)


def _asap_folder() -> Path | None:
    folder = Path(os.environ.get("JAMRANK_RIVALS", "")) / "asap"
    return folder if os.environ.get("JAMRANK_RIVALS") and folder.exists() else None


class Collection:
    """Votes as they come in, and what is measured at checkpoints."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.crowd = CROWDS[case.crowd](np.random.default_rng([case.seed, sum(map(ord, case.crowd.split("-")[0]))]))
        self.rng = np.random.default_rng([case.seed, 1])
        self.rows: list[tuple[int, int, int, bool]] = []
        self.spent = 0.0
        self.curve: list[dict[str, float]] = []

    def ask(self, who: int, left: int, right: int) -> tuple[int, int, int, str]:
        """Ask, record, and return the vote for a chooser; of a replay it may be another annotator's."""
        answer = self.crowd.answer(who, left, right)
        if answer is None:
            return who, left, right, "abstain"
        voter, for_left = answer
        self.rows.append((voter, left, right, for_left))
        self.spent += 1.0 if self.crowd.cost is None else float(self.crowd.cost[voter])
        return voter, left, right, "left" if for_left else "right"

    def measure(self, models: dict[str, Any]) -> None:
        """Fit the models to the votes so far, and compare them with the truth."""
        found: dict[str, float] = {"votes": len(self.rows), "cost": self.spent}
        for name, model in models.items():
            found |= {f"{name} {key}": value for key, value in self._compare(model).items()}
        self.curve.append(found)

    @property
    def done(self) -> float:
        """What has been collected, in the unit of ``case.most``."""
        return len(self.rows) if self.crowd.cost is None else self.spent

    def votes(self) -> jr.Comparisons:
        who, left, right, said = zip(*self.rows, strict=True)
        return jr.Comparisons.from_arrays(left, right, who, np.array(said, dtype=float))

    def _compare(self, model: Any) -> dict[str, float]:
        truth, votes = self.crowd.scores, self.votes()
        known = {"features": self._features(votes.items.tolist())} if isinstance(model, jr.JAM) else {}
        model.fit(votes, **known)
        seen, scores = model.items_.astype(int), np.zeros(len(truth))
        if isinstance(model, jr.JAM):  # features place items without votes
            scores = (self.crowd.features - self.crowd.features[seen].mean(axis=0)) @ model.coef_
        scores[seen] = model.scores_
        first, second = np.triu_indices(len(truth), 1)
        right = np.sign(scores[first] - scores[second]) * np.sign(truth[first] - truth[second])
        top = set(np.argsort(-truth)[:5]) & set(np.argsort(-scores, kind="stable")[:5])
        spearman = np.corrcoef(np.argsort(np.argsort(scores)), np.argsort(np.argsort(truth)))[0, 1]
        return {"order": float((right + 1).mean() / 2), "top": len(top) / 5, "spearman": float(spearman)}

    def _features(self, items: list[int]) -> dict[int, np.ndarray]:
        return {item: self.crowd.features[item] for item in items}


def collect(case: Case) -> dict[str, Any]:
    """Run a case."""
    collection = Collection(case)
    step = max(case.most // 16 // BATCH, 3) * BATCH
    checkpoints = list(range(step, case.most + 1, step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.method == "stop":
            return _until_reached(collection)
        if case.method == "asap":
            _with_asap(collection, checkpoints)
        elif case.method == "random":
            _at_random(collection, checkpoints)
        else:
            chooser = _with_chooser(collection, checkpoints)
            if case.method == "chosen" and case.crowd in ("bad", "coins"):
                return {"curve": collection.curve, **_afterwards(collection, chooser)}
    return {"curve": collection.curve}


def _crowd_bt() -> dict[str, Any]:
    return {"CrowdBT": jr.CrowdBT()}


def _strategy(collection: Collection) -> str:
    """Return the name of a strategy: of replays, ``information`` among the pairs of which recorded votes are left."""
    if collection.case.method != "replay":
        return "swiss" if collection.case.method == "swiss" else "information"

    def recorded(view: View) -> Proposals:
        left = [
            bool(collection.crowd.votes[pair]) for pair in zip(view.first.tolist(), view.second.tolist(), strict=True)
        ]
        some = np.flatnonzero(left)
        found = STRATEGIES["information"](replace(view, first=view.first[some], second=view.second[some]))
        return Proposals(some[found.pairs], found.value, found.why)

    STRATEGIES.register("recorded", recorded)
    return "recorded"


def _chooser(collection: Collection) -> jr.Chooser:
    crowd, method = collection.crowd, collection.case.method
    more: dict[str, Any] = {}
    if crowd.cost is not None:
        more["costs"] = dict(enumerate(crowd.cost.tolist()))
    if crowd.features is not None and method != "without features":
        more["features"] = dict(enumerate(crowd.features))
    if method == "top-k":
        more |= {"goal": "top-k", "k": 5}
    return jr.Chooser(
        items=range(len(crowd.scores)),
        annotators=range(len(crowd.flips)),
        strategy=_strategy(collection),
        random_state=collection.case.seed,
        target=STOP_TARGET,
        **more,
    )


def _with_chooser(collection: Collection, checkpoints: list[int]) -> jr.Chooser:
    chooser, case = _chooser(collection), collection.case
    annotators = np.arange(len(collection.crowd.flips))
    with_features = collection.crowd.features is not None and case.method == "chosen"
    models = {"CrowdBT": jr.JAM(scorer="linear+objects")} if with_features else _crowd_bt()
    for until in checkpoints:
        while collection.done < until:
            if case.method in ("given", "swiss", "replay"):
                asked = [chooser.next(int(who)) for who in collection.rng.permutation(annotators)[:BATCH]]
            else:
                asked = chooser.batch(BATCH)
            asked = [one for one in asked if one is not None]
            if not asked:
                return chooser
            votes = [collection.ask(one.annotator, one.left, one.right) for one in asked]
            for one, vote in zip(asked, votes, strict=True):
                if vote[0] != one.annotator:
                    chooser.cancel(one)
            chooser.tell(votes)
        collection.measure(models)
    return chooser


def _at_random(collection: Collection, checkpoints: list[int]) -> None:
    n, many = len(collection.crowd.scores), len(collection.crowd.flips)
    tries = 0
    for until in checkpoints:
        while collection.done < until and tries < 100 * collection.case.most:
            left = int(collection.rng.integers(n))
            right = int((left + collection.rng.integers(1, n)) % n)
            collection.ask(int(collection.rng.integers(many)), left, right)
            tries += 1
        collection.measure(_crowd_bt())


def _with_asap(collection: Collection, checkpoints: list[int]) -> None:
    """Collect in ASAP's batches, by a spanning tree; annotators and sides at random."""
    folder = _asap_folder()
    assert folder is not None
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    import asap_fast  # type: ignore[import-not-found]

    n, many = len(collection.crowd.scores), len(collection.crowd.flips)
    np.random.seed(collection.case.seed % (1 << 31))  # noqa: NPY002  (ASAP draws from numpy's global state)
    chooser = asap_fast.ASAP(n, selective_eig=False, approx=False)
    wins = np.zeros((n, n), dtype=int)
    for until in checkpoints:
        while collection.done < until:
            with contextlib.redirect_stdout(io.StringIO()):
                pairs = np.asarray(chooser.run_asap(wins, mst_mode=True))
            for first, second in pairs.tolist():
                left, right = (first, second) if collection.rng.random() < 0.5 else (second, first)
                *_, said = collection.ask(int(collection.rng.integers(many)), left, right)
                wins[(left, right) if said == "left" else (right, left)] += 1
        collection.measure({"CrowdBT": jr.CrowdBT(), "BT": jr.BradleyTerry()})


def _afterwards(collection: Collection, chooser: jr.Chooser) -> dict[str, Any]:
    """Measure intervals and what is told apart, after votes that were chosen."""
    model = jr.CrowdBT().fit(collection.votes())
    truth = collection.crowd.scores[model.items_.astype(int)]
    truth = truth - truth.mean()
    intervals = model.score_intervals()
    place = {item: at for at, item in enumerate(model.items_.tolist())}
    order = [place[item] for item in intervals["item"].to_list()]
    inside = (intervals["score_low"].to_numpy() <= truth[order]) & (
        truth[order] <= intervals["score_high"].to_numpy()
    )
    draws = model.score_draws()
    first, second = np.triu_indices(draws.shape[1], 1)
    above = (draws[:, first] > draws[:, second]).mean(axis=0)
    apart = float((np.maximum(above, 1 - above) >= 0.975).mean())
    return {"covered": float(inside.mean()), "apart": apart, "state": chooser.status().state}


def _until_reached(collection: Collection) -> dict[str, Any]:
    chooser = _chooser(collection)
    while len(collection.rows) < collection.case.most:
        for _ in range(STOP_STEP // BATCH):
            chooser.tell([collection.ask(one.annotator, one.left, one.right) for one in chooser.batch(BATCH)])
        status = chooser.status()
        if status.state == "reached":
            break
    scores = chooser.scores()
    own = np.array([scores[item] for item in range(len(scores))])
    first, second = np.triu_indices(len(own), 1)
    truth = collection.crowd.scores
    wrong = np.sign(own[first] - own[second]) * np.sign(truth[first] - truth[second]) < 0
    return {
        "stated": status.expected_error,
        "true": float(wrong.mean()),
        "state": status.state,
        "votes": status.votes,
    }


def timings(quick: bool) -> dict[str, float]:
    """Return how long a choice and an update take, in milliseconds: medians."""
    found = {}
    sizes = [(30, 5, 200)] if quick else [(200, 20, 4_000), (5_000, 100, 20_000)]
    for n_items, n_annotators, n_votes in sizes:
        drawn = jr.simulate(n_items, n_annotators, n_votes, truth="vote", random_state=0)
        chooser = jr.Chooser(drawn.votes, random_state=0)
        names = drawn.votes.annotators.tolist()
        asked, choices, updates = [], [], []
        for k in range(15):
            begun = perf_counter()
            asked += chooser.batch(1) if k % 2 else [chooser.next(names[k % len(names)])]
            choices.append(perf_counter() - begun)
        for one in asked[:8]:
            begun = perf_counter()
            chooser.tell([(one.annotator, one.left, one.right, "left")])
            updates.append(perf_counter() - begun)
        size = f"{n_items:,} items × {n_annotators}"
        found[f"choice, {size}"] = 1e3 * float(np.median(choices))
        found[f"update, {size}"] = 1e3 * float(np.median(updates))
    return found


def run(cases: list[Case], done: Path, workers: int) -> list[dict[str, Any]]:
    """Run what is not stored yet, store it, and return all."""
    done.parent.mkdir(parents=True, exist_ok=True)
    stored = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    known = {tuple(one["case"].values()): one for one in stored}
    missing = [case for case in cases if tuple(asdict(case).values()) not in known]
    commit = machine.commit()
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool, done.open("a") as file:
        for count, (case, found) in enumerate(zip(missing, pool.map(collect, missing), strict=True), 1):
            record = {"case": asdict(case), "commit": commit, **found}
            known[tuple(asdict(case).values())] = record
            file.write(json.dumps(record) + "\n")
            file.flush()
            report.say(f"\r{count} of {len(missing)}: {case.crowd}, {case.method}, seed {case.seed}          ")
    report.say("\n")
    return [known[tuple(asdict(case).values())] for case in cases]


def main() -> None:
    asked = report.parser("next", __doc__ or "")
    asked.add_argument("--workers", type=int, default=machine.cores(), help="processes (default: every core)")
    asked.add_argument("--seeds", type=int, help="fewer seeds than the benchmark has")
    asked.add_argument("--only", help="crowds, or crowd/method, with commas between; all unless given")
    asked.add_argument("--stops", type=int, help="fewer runs until the stop than the benchmark has")
    given = report.arguments(asked)
    begun_at = machine.commit()
    cases = plan_cases(given.quick)
    limits = {False: given.seeds, True: given.stops}
    cases = [one for one in cases if (most := limits[one.method == "stop"]) is None or one.seed < FIRST_SEED + most]
    if given.only:
        only = given.only.split(",")
        cases = [one for one in cases if one.crowd in only or f"{one.crowd}/{one.method}" in only]
    done = given.out / "next.jsonl" if given.quick else DONE
    runs = run(cases, done, given.workers)
    about = machine.about(begun_at)
    times = {} if given.only else timings(given.quick)
    if times:
        about["times"] = f"at {begun_at}"
    next_report.write(given.out, runs, times, about, everything=not given.only)


if __name__ == "__main__":
    main()
