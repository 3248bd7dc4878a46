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
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import jamrank as jr
from benchmarks.machine import about, commit
from benchmarks.report import HERE, arguments, made_with, parser, say, table, write
from jamrank.collect import Item, open_ledger
from jamrank.jury import Contents, Judge, RandomPlan, Task, ask_judges, audit_ledger
from jamrank.jury.simulated import SimulatedJudge, SimulatedServer, marked

TOP, TARGET = 5, 0.02
FIRST_SEED = 1_000
FULL = {"seeds": 20, "systems": 12, "questions": 100, "load": (1_000, 10_000), "coverage": 50}
QUICK = {"seeds": 1, "systems": 6, "questions": 10, "load": (100, 300), "coverage": 2}
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


def trial(seed: int, size: dict[str, Any]) -> dict[str, Any]:
    """One set of systems: all pairs both ways by every judge, the information plan, and as many random calls."""
    contents, truth = draw_contents(seed, size["systems"], size["questions"])
    judges = judges_of(seed)
    everything = 2 * contents.n_comparisons * len(judges)
    by_name = {judge.name: judge for judge in judges}

    def asked(name: str) -> Judge:
        return Judge(name, lambda prompt: by_name[name].say(*_parts(prompt)), 1.0, family=by_name[name].family)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        begin = time.perf_counter()
        outcome = ask_judges(
            contents, [asked(name) for name in by_name], path, calls=everything // 2, target=TARGET, seed=seed
        )
        seconds = time.perf_counter() - begin
        with open_ledger(path) as ledger:
            votes, audited = ledger.votes(), audit_ledger(ledger)
            spent = sum(one.spent for one in ledger.spending())
    mine = quality_of(votes, truth)
    sides = {row["judge"]: (row["left_low"], row["left_high"]) for row in audited.iter_rows(named=True)}
    inside = []
    for name, (low, high) in sides.items():
        own = votes.filter(pl.col("annotator") == name)
        expected = [_p_left(by_name[name], contents, *row) for row in own.select("left", "right", "question").rows()]
        inside.append(low <= float(np.mean(expected)) <= high)
    return {
        "seed": seed,
        "all": quality_of(random_votes(judges, contents, everything, seed, True), truth),
        "jury": {**mine, "state": outcome.state, "spent": spent, "seconds": seconds},
        "random": quality_of(random_votes(judges, contents, votes.height, seed, False), truth),
        "budget": everything // 2,
        "sides inside": inside,
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
    """Run the trials that are not stored yet, store them, and return all."""
    DONE.parent.mkdir(parents=True, exist_ok=True)
    stored = [json.loads(line) for line in DONE.read_text().splitlines()] if DONE.exists() else []
    known = {(one["seed"], one["systems"], one["questions"]): one for one in stored}
    shape = size["systems"], size["questions"]
    for seed in range(FIRST_SEED, FIRST_SEED + size["seeds"]):
        if (seed, *shape) not in known:
            found = {**trial(seed, size), "systems": shape[0], "questions": shape[1]}
            known[(seed, *shape)] = found
            with DONE.open("a") as file:
                file.write(json.dumps(found) + "\n")
            say(f"seed {seed}: {found['jury']}\n")
    return [known[(seed, *shape)] for seed in range(FIRST_SEED, FIRST_SEED + size["seeds"])]


def measure(size: dict[str, Any]) -> dict[str, Any]:
    trials = run_trials(size)
    return {
        "size": {name: size[name] for name in ("seeds", "systems", "questions")},
        "trials": trials,
        "coverage": {"seeds": size["coverage"], "share": coverage(size["coverage"])},
        "load": [load(n) for n in size["load"]],
    }


def text_of(numbers: dict[str, Any], made: dict[str, str]) -> str:
    size, trials = numbers["size"], numbers["trials"]
    rows = []
    for name, title in (("all", "all pairs, both orders"), ("jury", "the jury"), ("random", "random pairs")):
        calls, tau, top = (np.mean([one[name][key] for one in trials]) for key in ("calls", "tau", "top"))
        rows.append([title, f"{calls:,.0f}", f"{tau:.3f}", f"{top:.2f}"])
    inside = [one for row in trials for one in row["sides inside"]]
    never = all(row["jury"]["spent"] <= row["budget"] for row in trials)
    lines = [
        "# The jury",
        "",
        *wrap(
            f"{size['systems']} systems × {size['questions']} questions, five simulated judges, {size['seeds']} "
            f"seeds (from {FIRST_SEED}): one leans to the left, one likes long answers, one is a coin, two favour "
            f"theirs. Kendall's τ with the true order, and the share of the true first {TOP} among the first {TOP} "
            "found, both by JAM. Asked for: as good as all pairs in both orders with at most half of the calls.",
            118,
        ),
        "",
        *table(["asked", "calls", "Kendall τ", f"top {TOP}"], rows),
        f"Never more than the budget: {'yes' if never else 'no'}. Side bias inside its interval in these runs: "
        f"{np.mean(inside):.0%} of {len(inside)} judges; over {numbers['coverage']['seeds']} seeds of random pairs: "
        f"{numbers['coverage']['share']:.1%} (asked for: 92 %).",
        "",
        f"## Requests with {1000 * LATENCY:.0f} ms latency at concurrency {CONCURRENCY}",
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
                for one in numbers["load"]
            ],
        ),
        "Asked for: at most 1.25 times the ideal time, and memory that does not grow with the replies.",
        "",
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
    given, begun_at = arguments(asked), commit()
    warnings.simplefilter("ignore", jr.errors.JamrankWarning)
    size = dict(QUICK if given.quick else FULL)
    size |= {name: value for name in ("seeds", "questions") if (value := getattr(given, name)) is not None}
    if given.trials:
        run_trials(size)
        return
    numbers = measure(size)
    made = about(begun_at)
    write(given.out, "jury", text_of(numbers, made), {**numbers, "made with": made})


if __name__ == "__main__":
    main()
