"""Speed, memory and accuracy of jamrank and its rivals on the same votes, at growing sizes.

``make benchmark-rivals`` prints tables, and writes ``compare.md``, ``compare.json`` and ``compare.png`` beside this
file. Every measurement is in a process of its own, and rounds are interleaved. What the rivals need is in
``requirements.txt``; one that is missing is shown as such.
"""

from __future__ import annotations

import argparse

from benchmarks import compare_report, report
from benchmarks.machine import about, commit
from benchmarks.rivals import CONTENDERS
from benchmarks.trials import Plan, Trial, World, measure_at

SIZES, ROUNDS, WARM, LIMIT = (10_000, 100_000, 1_000_000, 10_000_000), 3, 3, 60.0
QUICK_SIZES, QUICK_LIMIT = (500, 2_000), 8.0
OURS = "jamrank CrowdBT"
PACKAGES = ("evalica", "choix", "crowd-kit", "arena-rank", "jax", "evaluatorq", "pandas", "polars")


def measure_sizes(world: World, sizes: list[int], plans: dict[str, Plan]) -> list[Trial]:
    """Measure at growing sizes, leaving out who was over the limit, or killed, at a smaller one."""
    trials: list[Trial] = []
    over: dict[str, str] = {}
    for n_votes in sorted(sizes):
        measured = measure_at(world, n_votes, {name: plan for name, plan in plans.items() if name not in over})
        for name, plan in plans.items():
            trial = measured.get(name) or Trial(CONTENDERS[name], n_votes, plan.limit)
            if name in over:
                trial.stop(f"not run: {over[name]}", over_limit=True)
            trials.append(trial)
        for name, trial in measured.items():
            if trial.over_limit or trial.trouble.startswith("killed"):
                over[name] = f"{trial.trouble} at {n_votes:,} votes"
    return trials


def arguments() -> argparse.Namespace:
    parser = report.parser("compare", __doc__)
    parser.add_argument("--sizes", nargs="+", type=float, help="numbers of votes")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--rounds", type=int, help="each a new process a contender")
    parser.add_argument("--limit", type=float, help="seconds for one fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rivals", nargs="+", default=[""], metavar="PART", help="only names with this in them")
    given = report.arguments(parser)
    given.sizes = given.sizes or (QUICK_SIZES if given.quick else SIZES)
    given.rounds = given.rounds or (1 if given.quick else ROUNDS)
    given.limit = given.limit or (QUICK_LIMIT if given.quick else LIMIT)
    given.chosen = [name for name in CONTENDERS if any(part.lower() in name.lower() for part in given.rivals)]
    if not given.chosen:
        parser.error(f"no contender like {', '.join(given.rivals)}; there are: {'; '.join(CONTENDERS)}")
    return given


def main() -> None:
    given = arguments()
    world = World(given.items, given.annotators, given.seed)
    usual = Plan(given.rounds, WARM, given.limit)
    begun_at = commit()
    trials = measure_sizes(world, [round(size) for size in given.sizes], dict.fromkeys(given.chosen, usual))
    made_with = {
        "votes": f"{world.n_items} items, {world.n_annotators} annotators; one truth per vote; see data/storage.py",
        "seed": str(world.seed),
        "rounds": f"{usual.rounds}, interleaved; a new process each, with up to {WARM} warm fits; medians",
        "limit": f"{usual.limit:g} s for one fit; who is over it is left out at larger sizes",
        **about(begun_at, *PACKAGES),
    }
    text = compare_report.as_markdown(trials, made_with, OURS)
    report.write(given.out, "compare", text, {"about": made_with, "results": [trial.as_row() for trial in trials]})
    compare_report.plot(trials, given.out / "compare.png")


if __name__ == "__main__":
    main()
