"""Speed, memory and accuracy of jamrank and its rivals on the same votes.

``python -m benchmarks.compare`` prints tables and ratios, and writes ``compare.md``, ``compare.json`` and
``compare.png`` beside this file. Every measurement is in a process of its own, and rounds are interleaved. What the
rivals need is in ``requirements.txt``.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import compare_report as report
from benchmarks.machine import commit
from benchmarks.rivals import CONTENDERS
from benchmarks.trials import Ratio, Trial
from benchmarks.votes import draw

HERE = Path(__file__).parent
SIZES, REPEATS, WARM, LIMIT = (10_000, 100_000, 1_000_000, 10_000_000), 3, 3, 60.0
OURS, RATIO_VOTES = "jamrank CrowdBT", 500_000
# How many times longer than ours these are to take.
FAST = {"evalica BT": 2.0, "evalica BT, index given": 2.0}
SLOW = {"crowd-kit NoisyBradleyTerry": 100.0, "evaluatorq BT-sigma": 100.0}
# Slow rivals have this many times the limit for their one fit at RATIO_VOTES.
GENEROUS = 4
# A slow rival that is over the limit at the smallest size is tried at these shares of it.
SMALLER = (0.5, 0.2, 0.1, 0.05, 0.02)


@dataclass(frozen=True)
class World:
    """What the votes are drawn from."""

    n_items: int
    n_annotators: int
    seed: int


@dataclass(frozen=True)
class Plan:
    """How one contender is measured: so many processes, so many warm fits in each, a limit for every fit."""

    rounds: int
    warm: int
    limit: float


def measure_at(world: World, n_votes: int, plans: dict[str, Plan]) -> dict[str, Trial]:
    """Measure at one size: rounds outside, contenders inside."""
    trials = {name: Trial(CONTENDERS[name], n_votes, plan.limit) for name, plan in plans.items()}
    with tempfile.TemporaryDirectory() as folder:
        votes, truth = draw(world.n_items, world.n_annotators, n_votes, world.seed)
        votes.save(Path(folder))
        del votes
        for turn in range(max((plan.rounds for plan in plans.values()), default=0)):
            for name, plan in plans.items():
                if turn < plan.rounds and not trials[name].trouble:
                    say(f"{n_votes:,} votes, round {turn + 1} of {plan.rounds}: {name} … ")
                    run(trials[name], Path(folder), plan)
                    say(trials[name].latest() + "\n")
    for trial in trials.values():
        trial.compare_with(truth)
    return trials


def run(trial: Trial, folder: Path, plan: Plan) -> None:
    """Measure once, in a new process."""
    if not trial.contender.installed:
        trial.stop("not installed")
        return
    records = folder / "records.jsonl"
    records.unlink(missing_ok=True)
    arguments = [trial.name, str(folder), str(plan.limit), str(plan.warm), str(records)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", *arguments],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = records.read_text().splitlines() if records.exists() else []
    trial.add([json.loads(line) for line in lines], ended.stderr)
    if ended.returncode == -signal.SIGALRM:
        trial.stop(f"> {plan.limit:g} s", over_limit=True)
    elif ended.returncode < 0:
        trial.stop(f"killed by {signal.Signals(-ended.returncode).name}")
    elif ended.returncode and not trial.trouble:
        trial.stop(f"ended with status {ended.returncode}")


def measure_sizes(world: World, sizes: list[int], plans: dict[str, Plan]) -> list[Trial]:
    """Measure at growing sizes, leaving out who was over the limit at a smaller one."""
    trials: list[Trial] = []
    over: dict[str, int] = {}
    for n_votes in sorted(sizes):
        measured = measure_at(world, n_votes, {name: plan for name, plan in plans.items() if name not in over})
        for name, plan in plans.items():
            trial = measured.get(name) or Trial(CONTENDERS[name], n_votes, plan.limit)
            if name in over:
                trial.stop(f"not run: > {plan.limit:g} s at {over[name]:,} votes", over_limit=True)
            trials.append(trial)
        over |= {name: n_votes for name, trial in measured.items() if trial.over_limit}
    return trials


def measure_ratios(world: World, trials: list[Trial], rivals: list[str], usual: Plan) -> list[Ratio]:
    """Compare with ours at RATIO_VOTES and, the slow ones, also at the largest size that they can do."""
    once = Plan(rounds=1, warm=0, limit=GENEROUS * usual.limit)
    targets = {name: target for name, target in (FAST | SLOW).items() if name in rivals}
    if not targets:
        return []
    plans = {OURS: usual} | {name: once if name in SLOW else usual for name in targets}
    measured = measure_at(world, RATIO_VOTES, plans)
    ratios = [Ratio(measured[name], measured[OURS], target) for name, target in targets.items()]
    for name in (name for name in SLOW if name in targets):
        pair = largest_measured(name, trials) or smaller_sizes(world, name, min(t.n_votes for t in trials), usual)
        ratios += [Ratio(*pair, targets[name])] if pair else []
    return ratios


def largest_measured(name: str, trials: list[Trial]) -> tuple[Trial, Trial] | None:
    """Return the trials of a rival and of ours at the largest size that has both."""
    seconds = {(trial.name, trial.n_votes): trial for trial in trials if trial.seconds}
    sizes = [size for who, size in seconds if who == name and (OURS, size) in seconds]
    return (seconds[name, max(sizes)], seconds[OURS, max(sizes)]) if sizes else None


def smaller_sizes(world: World, name: str, smallest: int, usual: Plan) -> tuple[Trial, Trial] | None:
    """Try a rival at ever fewer votes until it keeps to the limit."""
    if not CONTENDERS[name].installed:
        return None
    for share in SMALLER:
        measured = measure_at(world, round(share * smallest), {name: Plan(1, 1, usual.limit), OURS: usual})
        if not measured[name].over_limit:
            return measured[name], measured[OURS]
    return None


def say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=float, default=SIZES, help="numbers of votes")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="rounds, each a new process a contender")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rivals", nargs="+", default=[""], metavar="PART", help="only names with this in them")
    parser.add_argument("--no-ratios", action="store_true", help=f"leave out the ratios at {RATIO_VOTES:,} votes")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for compare.md, compare.json, compare.png")
    given = parser.parse_args()
    given.chosen = [name for name in CONTENDERS if any(part.lower() in name.lower() for part in given.rivals)]
    if not given.chosen:
        parser.error(f"no contender like {', '.join(given.rivals)}; there are: {'; '.join(CONTENDERS)}")
    return given


def main() -> None:
    given = arguments()
    world = World(given.items, given.annotators, given.seed)
    usual = Plan(given.repeats, WARM, given.limit)
    begun_at = commit()
    trials = measure_sizes(world, [round(size) for size in given.sizes], dict.fromkeys(given.chosen, usual))
    ratios = [] if given.no_ratios else measure_ratios(world, trials, given.chosen, usual)
    about = {
        "votes": f"{world.n_items} items, {world.n_annotators} annotators; one truth a vote; see votes.py",
        "seed": str(world.seed),
        "rounds": f"{usual.rounds}, interleaved; a new process each, with up to {WARM} warm fits; medians",
        "limit": f"{usual.limit:g} s for one fit",
        **report.about(begun_at),
    }
    sys.stdout.write(report.write(given.out, trials, ratios, about, OURS))


if __name__ == "__main__":
    main()
