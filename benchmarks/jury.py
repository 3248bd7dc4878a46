"""What the jury saves, how fast it asks, and whether its audit is right.

Simulated judges of known habits (one leans to the left, one likes long answers, one is a coin, two are of a family
and favour it) compare the answers of some systems. `python -m benchmarks.jury` writes jury.md and .json. What was
measured of a seed is stored in build/jury.jsonl, and a run that was stopped goes on from there; delete that file to
begin anew.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import jamrank as jr
from benchmarks.machine import about, commit
from benchmarks.report import HERE, arguments, holds, made_with, parser, say, table, write
from jamrank.collect import Item, open_ledger
from jamrank.errors import JamrankWarning
from jamrank.jury import Contents, Judge, RandomPlan, Task, ask_judges, audit_ledger
from jamrank.jury.simulated import SimulatedJudge, SimulatedServer, marked

TOP = 5
# What --target is in each run of the jury: the command's default, and one that saves calls.
TARGETS = {"default": 0.01, "saving": 0.02}
FIRST_SEED = 4_000
FULL = {"seeds": 16, "systems": 12, "questions": 100, "load": (1_000, 10_000), "coverage": 50, "processes": 2}
QUICK = {"seeds": 1, "systems": 6, "questions": 10, "load": (100, 300), "coverage": 2, "processes": 1}
CONCURRENCY, LATENCY = 32, 0.05
DONE = HERE.parent / "build" / "jury.jsonl"
COLUMNS = ["annotator", "left", "right", "winner", "question"]


def judges_of(seed: int) -> list[SimulatedJudge]:
    return [
        SimulatedJudge("leans-left", scale=1.5, left_bias=0.8, seed=seed),
        SimulatedJudge("likes-long", scale=1.5, verbosity=0.8, seed=seed),
        SimulatedJudge("coin", flip=0.5, seed=seed),
        SimulatedJudge("birch-1", scale=1.5, favour=0.6, family="birch", seed=seed),
        SimulatedJudge("birch-2", scale=1.0, favour=0.6, family="birch", seed=seed),
    ]


def draw_contents(seed: int, n_systems: int, n_questions: int) -> tuple[Contents, dict[str, float]]:
    """Systems of random quality, whose answers vary about it and in length; one in four is of the judges' family."""
    draw = random.Random(seed)
    truth = {f"s{k:02}": draw.gauss(0, 1) for k in range(n_systems)}
    family = {name: "birch" if k % 4 == 0 else "other" for k, name in enumerate(truth)}
    items = [
        Item(
            name,
            f"q{q}",
            marked("word " * draw.randint(10, 80), quality + draw.gauss(0, 0.5), family[name]),
            details={"family": family[name]},
        )
        for q in range(n_questions)
        for name, quality in truth.items()
    ]
    return Contents(items, {}), truth


def say_of(judge: SimulatedJudge, contents: Contents, task: Task) -> str:
    left, right = contents.pair(task)
    return "left" if '"left"' in judge.say(task.question, left.text or "", right.text or "") else "right"


def random_votes(
    judges: list[SimulatedJudge], contents: Contents, n_votes: int, seed: int, both: bool
) -> pl.DataFrame:
    """Return the votes of a random plan, without asking anybody over a network."""
    plan = RandomPlan(contents, [judge.name for judge in judges], str(seed), both_orders=both)
    by_name = {judge.name: judge for judge in judges}
    each = -(-n_votes // len(judges))
    tasks = plan.take(dict.fromkeys(by_name, each))[: len(judges) * each]
    rows = [(t.judge, t.left, t.right, say_of(by_name[t.judge], contents, t), t.question) for t in tasks]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def quality_of(votes: pl.DataFrame, truth: dict[str, float]) -> dict[str, float]:
    """How well a fit to the votes knows the order and the first five."""
    model = jr.JAM().fit(jr.Comparisons.from_frame(votes.select(COLUMNS)))
    scores = dict(zip(model.items_, np.asarray(model.scores_).tolist(), strict=True))
    names = list(truth)
    tau = kendalltau([truth[n] for n in names], [scores.get(n, 0.0) for n in names]).statistic
    best = sorted(names, key=lambda n: -truth[n])[:TOP]
    found = sorted(names, key=lambda n: -scores.get(n, -99.0))[:TOP]
    return {"calls": votes.height, "tau": float(tau), "top": len(set(best) & set(found)) / TOP}


def trial(seed: int, n_systems: int, n_questions: int) -> dict[str, Any]:
    """One set of systems: all pairs both ways by every judge, the jury, and as many random calls."""
    warnings.simplefilter("ignore", JamrankWarning)
    contents, truth = draw_contents(seed, n_systems, n_questions)
    judges = judges_of(seed)
    everything = 2 * contents.n_comparisons * len(judges)
    asked = {
        name: run_jury(seed, contents, truth, judges, everything // 2, target) for name, target in TARGETS.items()
    }
    most = int(asked["default"]["calls"])
    return {
        "seed": seed,
        "systems": n_systems,
        "questions": n_questions,
        "all": quality_of(random_votes(judges, contents, everything, seed, True), truth),
        "random": quality_of(random_votes(judges, contents, most, seed, False), truth),
        **asked,
    }


def run_jury(
    seed: int,
    contents: Contents,
    truth: dict[str, float],
    judges: list[SimulatedJudge],
    most_calls: int,
    target: float,
) -> dict[str, Any]:
    """Ask the judges as ``jamrank jury`` does; return what it cost and how good the ranking and the audit are."""
    by_name = {judge.name: judge for judge in judges}

    def asked(name: str) -> Judge:
        return Judge(name, lambda prompt: by_name[name].say(*_parts(prompt)), 1.0, family=by_name[name].family)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        begin = time.process_time()
        outcome = ask_judges(
            contents, [asked(name) for name in by_name], path, calls=most_calls, target=target, seed=seed
        )
        seconds = time.process_time() - begin
        with open_ledger(path) as ledger:
            votes, audited = ledger.votes(), audit_ledger(ledger)
            spent = sum(one.spent for one in ledger.spending())
    inside = []
    for row in audited.iter_rows(named=True):
        own = votes.filter(pl.col("annotator") == row["judge"]).select("left", "right", "question").rows()
        expected = np.mean([_p_left(by_name[row["judge"]], contents, *one) for one in own])
        inside.append(bool(row["left_low"] <= expected <= row["left_high"]))
    return {
        **quality_of(votes, truth),
        "state": outcome.state,
        "within budget": spent <= most_calls,
        "sides inside": inside,
        "processor s": seconds,
    }


def _parts(prompt: Any) -> tuple[str, str, str]:
    return prompt.left.question, prompt.left.text, prompt.right.text


def _p_left(judge: SimulatedJudge, contents: Contents, left: str, right: str, question: str) -> float:
    """Return the mean over both orders: what the share of votes for the left is to be compared with."""
    a, b = (contents.by_place[name, question].text or "" for name in (left, right))
    return (judge.p_left(a, b) + judge.p_left(b, a)) / 2


def coverage(n_seeds: int) -> float:
    """How often the interval of the share for the left holds what it would be over all pairs and orders."""
    from jamrank.jury.audit import _position

    inside = []
    for seed in range(2_000, 2_000 + n_seeds):
        contents, _ = draw_contents(seed, 8, 12)
        for judge in judges_of(seed):
            votes = random_votes([judge], contents, 200, seed, False)
            row = _position(votes)
            true = np.mean([_p_left(judge, contents, a, b, q) for a, b, q in contents.comparisons()])
            inside.append(row["left_low"] <= true <= row["left_high"])  # type: ignore[operator]
    return float(np.mean(inside))


def load(n_requests: int) -> dict[str, float]:
    """Time and memory of so many requests, the server and the asking each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.jury", "--serve"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            asked = subprocess.run(
                [sys.executable, "-m", "benchmarks.jury", "--ask", port, str(n_requests), folder],
                capture_output=True,
                text=True,
                check=True,
                timeout=1_200,
            )
        finally:
            server.kill()
            server.wait()
    told: dict[str, float] = json.loads(asked.stdout)
    return {"requests": n_requests, "ideal": n_requests / CONCURRENCY * LATENCY, **told}


def serve() -> None:
    async def forever() -> None:
        server = SimulatedServer([SimulatedJudge("j", price_in=0.0, price_out=0.0)], latency=LATENCY)
        running = await server.serve()
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await running.serve_forever()

    asyncio.run(forever())


def ask(port: str, n_requests: str, folder: str) -> None:
    from jamrank.jury.judges import parse_judges

    toml = f'[judges.j]\nendpoint = "http://127.0.0.1:{port}/v1"\nmodel = "j"\nconcurrency = {CONCURRENCY}\n'
    judges = parse_judges(toml, "benchmark")
    contents, _ = draw_contents(0, 12, -(-int(n_requests) // 66))
    begin, cpu = time.perf_counter(), time.process_time()
    outcome = ask_judges(contents, judges, Path(folder) / "l.db", plan="random", calls=int(n_requests))
    seconds = time.perf_counter() - begin
    assert outcome.progress.answered == int(n_requests)
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = {"seconds": seconds, "asking": outcome.progress.seconds, "cpu": time.process_time() - cpu}
    sys.stdout.write(json.dumps({**told, "peak": used.ru_maxrss * 1024}))


def run_trials(size: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the trials that are not stored yet, store each when it is done, and return all."""
    DONE.parent.mkdir(parents=True, exist_ok=True)
    stored = [json.loads(line) for line in DONE.read_text().splitlines()] if DONE.exists() else []
    shape = size["systems"], size["questions"]
    known = {one["seed"]: one for one in stored if (one["systems"], one["questions"]) == shape}
    seeds = range(FIRST_SEED, FIRST_SEED + size["seeds"])
    with ProcessPoolExecutor(size["processes"], get_context("spawn")) as pool:
        waiting = [pool.submit(trial, seed, *shape) for seed in seeds if seed not in known]
        for done in as_completed(waiting):
            found = done.result()
            known[found["seed"]] = found
            with DONE.open("a") as file:
                file.write(json.dumps(found) + "\n")
            say(f"seed {found['seed']}: {found['default']}\n")
    return [known[seed] for seed in seeds]


def measure(size: dict[str, Any]) -> dict[str, Any]:
    # The requests are timed first, while nothing else runs.
    loads = [load(n) for n in size["load"]]
    return {
        "size": {name: size[name] for name in ("seeds", "systems", "questions")},
        "trials": run_trials(size),
        "coverage": {"seeds": size["coverage"], "share": coverage(size["coverage"])},
        "load": loads,
    }


def difference(trials: list[dict[str, Any]], name: str, key: str) -> tuple[float, float]:
    """Return the mean difference to all pairs, seed by seed, and its standard error."""
    gaps = np.array([one[name][key] - one["all"][key] for one in trials])
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0


def text_of(numbers: dict[str, Any], made: dict[str, str]) -> str:
    size, trials, loads = numbers["size"], numbers["trials"], numbers["load"]
    titles = {
        "all": "all pairs, both orders",
        "default": f"the jury, target {TARGETS['default']:g} (default)",
        "saving": f"the jury, target {TARGETS['saving']:g}",
        "random": "random pairs, as many as by default",
    }
    rows = []
    for name, title in titles.items():
        calls, tau, top = (float(np.mean([one[name][key] for one in trials])) for key in ("calls", "tau", "top"))
        share = float(np.mean([one[name]["calls"] / one["all"]["calls"] for one in trials]))
        gaps = [
            "" if name == "all" else "{:+.3f} ± {:.3f}".format(*difference(trials, name, k)) for k in ("tau", "top")
        ]
        rows.append([title, f"{calls:,.0f}", f"{share:.0%}", f"{tau:.3f}", gaps[0], f"{top:.3f}", gaps[1]])
    most = max(one["default"]["calls"] / one["all"]["calls"] for one in trials)
    as_good = all(gap >= -2 * error for gap, error in (difference(trials, "default", key) for key in ("tau", "top")))
    never = all(one[name]["within budget"] for one in trials for name in TARGETS)
    inside = [yes for one in trials for name in TARGETS for yes in one[name]["sides inside"]]
    covered = numbers["coverage"]["share"]
    ratio, growth = loads[0]["asking"] / loads[0]["ideal"], loads[-1]["peak"] - loads[0]["peak"]
    ends = Counter(one["default"]["state"] for one in trials)
    ended = ", ".join(f"{count} times {state!r}" for state, count in ends.items())
    lines = [
        "# The jury",
        "",
        *wrap(
            f"{size['systems']} systems × {size['questions']} questions, five simulated judges, {size['seeds']} "
            f"seeds (from {FIRST_SEED}): one leans to the left, one likes long answers, one is a coin, two are of a "
            f"family and favour it. Kendall's τ with the true order, and the share of the true first {TOP} among the "
            f"first {TOP} found, both by JAM. Differences are to all pairs in both orders by every judge, seed by "
            "seed, ± one standard error. The jury stops at its target, when more votes would not reach it, or at "
            f"half of all calls; by default it ended {ended}.",
            118,
        ),
        "",
        *table(["asked", "calls", "of all", "Kendall τ", "difference", f"top {TOP}", "difference"], rows),
        *table(
            ["asked for", "measured", ""],
            [
                [
                    f"order and top {TOP} as good as all pairs in both orders (within two standard errors)",
                    rows[1][4] + "; " + rows[1][6],
                    holds(as_good),
                ],
                ["at most half of the calls", f"at most {most:.0%}", holds(most <= 0.5)],
                ["never more than the budget", f"{len(trials) * len(TARGETS)} runs", holds(never)],
                [
                    "side bias inside its 95 % interval for 92 % of judges",
                    f"{covered:.1%} over {numbers['coverage']['seeds']} seeds of random pairs; "
                    f"{np.mean(inside):.1%} of {len(inside)} judges in the runs above",
                    holds(covered >= 0.92),
                ],
                [
                    f"{loads[0]['requests']:,} requests of {1000 * LATENCY:.0f} ms, {CONCURRENCY} at once: at most "
                    "1.25 times the ideal time",
                    f"{ratio:.2f} times",
                    holds(ratio <= 1.25),
                ],
                [
                    "memory independent of the number of replies",
                    f"{growth / 1e6:+.0f} MB from {loads[0]['requests']:,} to {loads[-1]['requests']:,}",
                    holds(growth < 0.1 * loads[0]["peak"]),
                ],
            ],
        ),
        f"## Requests with {1000 * LATENCY:.0f} ms latency at concurrency {CONCURRENCY}",
        "",
        "The judges are a server in a second process of this machine.",
        "",
        *table(
            ["requests", "ideal s", "seconds", "ratio", "processor s", "peak memory"],
            [
                [
                    f"{one['requests']:,}",
                    f"{one['ideal']:.2f}",
                    f"{one['asking']:.2f}",
                    f"{one['asking'] / one['ideal']:.2f}",
                    f"{one['cpu']:.2f}",
                    f"{one['peak'] / 1e6:,.0f} MB",
                ]
                for one in loads
            ],
        ),
        *made_with(made),
    ]
    return "\n".join(lines)


def main() -> None:
    if "--serve" in sys.argv:
        serve()
        return
    if "--ask" in sys.argv:
        ask(*sys.argv[2:5])
        return
    asked = parser("jury", __doc__ or "")
    asked.add_argument("--seeds", type=int, help="fewer or more seeds")
    asked.add_argument("--trials", action="store_true", help="only the trials, which are stored; write nothing")
    asked.add_argument("--questions", type=int, help="fewer or more questions")
    asked.add_argument("--processes", type=int, help="how many trials at once")
    given, begun_at = arguments(asked), commit()
    size = dict(QUICK if given.quick else FULL)
    size |= {
        name: value for name in ("seeds", "questions", "processes") if (value := getattr(given, name)) is not None
    }
    if given.trials:
        run_trials(size)
        return
    numbers = measure(size)
    made = about(begun_at)
    write(given.out, "jury", text_of(numbers, made), {**numbers, "made with": made})


if __name__ == "__main__":
    main()
