"""Every ratio that jamrank is judged by, in one table with the asked bound.

``make benchmark`` prints it, and writes ``results.md``, ``results.json`` and ``results.png`` beside this file. What
is compared is measured in the same run, in turn. Rivals that are not installed are shown as such.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jamrank as jr
from benchmarks import baseline, integrated, passes, report, small_jobs, text_ids, wine
from benchmarks.machine import about, commit
from benchmarks.measure import timed
from benchmarks.trials import Plan, Trial, World, measure_at

WORLD, N_VOTES = World(n_items=200, n_annotators=50, seed=0), 500_000
OURS, FAST = "jamrank CrowdBT", {"evalica BT": 0.5, "evalica BT, index given": 1.0}
SLOW = ("crowd-kit NoisyBradleyTerry", "evaluatorq BT-sigma")
USUAL, ONCE = Plan(rounds=5, warm=5, limit=60.0), Plan(rounds=1, warm=0, limit=120.0)
COMMAND_VOTES, COMMAND_ROUNDS = 10_000, 11
IMPORTS = "import numpy, scipy.optimize"
# Processor time of commands, in that of the imports: 1.5, .7 and 2.5 s where these take half a second.
PROCESSOR = {"jamrank fit --out": 3.0, "jamrank check": 1.4, "jamrank compare": 5.0}
# Processor time of VRJAM in that of JAM, and of a fit in that with one thread of BLAS.
VRJAM_TIMES, BLAS_TIMES = 3.0, 1.15
QUICK_VOTES, QUICK_PLAN, QUICK_COMMAND_ROUNDS = 5_000, Plan(rounds=1, warm=2, limit=5.0), 2
PACKAGES = ("evalica", "crowd-kit", "evaluatorq", "numba", "polars", "pandas")
SCALE = report.HERE / "scale.json"
# Of the figures in scale.json: what they are, and the most that they may be.
SCALE_BOUNDS = {
    "peak_gb": ("peak memory at scale, GB", "<", 4.0),
    "exponent": ("exponent of time in votes at scale", "≤", 1.05),
}


@dataclass(frozen=True)
class Judged:
    """One number with the bound that was asked of it.

    Attributes
    ----------
    what : str
    value : float or None
        None where it could not be measured; ``why`` then says why, and otherwise what is behind it.
    sign : {"≤", "<", "≥"}
    asked : float
    why : str
    is_bound : bool
        Whether the number is at least ``value``, because something was stopped at its limit.
    """

    what: str
    value: float | None
    sign: str
    asked: float
    why: str = ""
    is_bound: bool = False

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        if self.sign == "≥":
            return True if self.value >= self.asked else None if self.is_bound else False
        return self.value <= self.asked if self.sign == "≤" else self.value < self.asked

    @property
    def times_better(self) -> float | None:
        """How many times better than asked; at least 1 where it is met."""
        if not self.value:
            return None
        return self.value / self.asked if self.sign == "≥" else self.asked / self.value

    def cells(self) -> list[str]:
        shown = "not measured" if self.value is None else f"{'> ' if self.is_bound else ''}{self.value:.3g}"
        return [
            self.what,
            shown,
            f"{self.sign} {self.asked:g}",
            {True: "yes", False: "no", None: "?"}[self.met],
            self.why,
        ]


def judge_rivals(n_votes: int, usual: Plan, once: Plan | None) -> list[Judged]:
    """Measure the rivals; without a plan for the slow ones, only the fast."""
    slow = [] if once is None else SLOW
    plans = {OURS: usual} | dict.fromkeys(FAST, usual) | {name: once for name in slow if once is not None}
    trials = measure_at(WORLD, n_votes, plans)
    ours, at = trials[OURS], f"{n_votes:,} votes, {WORLD.n_items} items, {WORLD.n_annotators} annotators"
    quick = [judge(f"CrowdBT / {name}", ours, trials[name], "≤", asked, at) for name, asked in FAST.items()]
    return quick + [judge(f"{name} / CrowdBT", trials[name], ours, "≥", 100.0, at) for name in slow]


def judge(what: str, top: Trial, bottom: Trial, sign: str, asked: float, at: str) -> Judged:
    """Return the ratio of two contenders' times, or a bound of it where the upper one was stopped at its limit."""
    is_bound = top.over_limit and not top.cold
    above, below = top.limit if is_bound else top.seconds, bottom.seconds
    if above is None or below is None:
        troubles = [f"{trial.name}: {trial.trouble}" for trial in (top, bottom) if trial.trouble]
        return Judged(what, None, sign, asked, "; ".join([at, *troubles]))
    how = "stopped" if is_bound else "warm" if top.warm and bottom.warm else "one cold fit, imports included"
    why = f"{at}; {'> ' if is_bound else ''}{report.seconds(above)} s / {report.seconds(below)} s, {how}"
    return Judged(what, above / below, sign, asked, why, is_bound)


def judge_text(found: list[dict[str, Any]]) -> list[Judged]:
    """Return the ratios of models to the rival from the same objects; one line that says so where it is missing."""
    judged = [Judged(what, value, "≤", asked, why) for what, value, asked, why in text_ids.judged(found)]
    return judged or [Judged(f"CrowdBT / {text_ids.RIVAL}, ids as text", None, "≤", 0.5, "not installed")]


def judge_integrated(found: list[dict[str, Any]]) -> list[Judged]:
    """Return the processor time of fits as by default, in that of an earlier commit, which fitted flips jointly."""
    return [
        Judged(
            f"CrowdBT / CrowdBT of {baseline.COMMIT}, {one['items']:,} items",
            one["seconds"]["auto"] / one["seconds"]["before"],
            "≤",
            integrated.ASKED,
            integrated.line(one),
        )
        for one in found
    ]


def judge_passes(found: dict[str, Any]) -> list[Judged]:
    judged = []
    for how, asked in {passes.WALK: 0.5, passes.INDEX: 0.4}.items():
        value = found["times the trial"].get(how)
        times = [found["seconds"].get(f"{who}, {how}") for who in (passes.OURS, passes.THEIRS)]
        why = "no trial, or no numba" if value is None else " / ".join(f"{one:.4f} s" for one in times)
        judged.append(Judged(f"fused pass / trial in numba, {how}", value, "≤", asked, why))
    return judged


def judge_wine(found: dict[str, Any]) -> list[Judged]:
    rows, at = found["contenders"], f"{found['name']}, from the matrix of votes on {found['pairs']:,} pairs"
    ours = rows[wine.MATRIX]["seconds"]
    judged = []
    for rival, asked in {wine.WHOLE: 40.0, wine.BLOCKS: 6.0}.items():
        theirs = rows[rival]["seconds"]
        why = f"{at}; {report.seconds(theirs)} s / {report.seconds(ours)} s"
        judged.append(Judged(f"{rival} / JAM", theirs / ours, "≥", asked, why))
    why = f"{at}; peak beyond the caller's arrays"
    return [*judged, Judged("memory of JAM, GB", found["peak GB"], "<", 1.5, why)]


def judge_command(rounds: int) -> list[Judged]:
    report.say(f"jamrank fit on {COMMAND_VOTES:,} votes, {rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        votes, out = Path(folder) / "votes.csv", Path(folder) / "out"
        drawn = jr.simulate(WORLD.n_items, WORLD.n_annotators, COMMAND_VOTES, random_state=WORLD.seed)
        drawn.frame.write_csv(votes)
        jamrank = str(Path(sys.executable).parent / "jamrank")
        commands = {
            "jamrank fit": [jamrank, "fit", str(votes)],
            "jamrank fit --out": [jamrank, "fit", str(votes), "--out", str(out)],
            "jamrank check": [jamrank, "check", str(votes)],
            "jamrank compare": [jamrank, "compare", str(votes)],
            IMPORTS: [sys.executable, "-c", "import numpy, scipy.optimize"],
        }
        seconds, processor = in_turn_with_processor(commands, rounds)
    busy = [
        Judged(
            f"processor time, {name} / {IMPORTS}",
            processor[name] / processor[IMPORTS],
            "≤",
            asked,
            f"{COMMAND_VOTES:,} votes; {report.seconds(processor[name])} s / {report.seconds(processor[IMPORTS])} s, "
            "files in cache",
        )
        for name, asked in PROCESSOR.items()
    ]
    return busy + [
        Judged(
            f"{name} / {IMPORTS}",
            seconds[name] / seconds[IMPORTS],
            "≤",
            6.0,
            f"{COMMAND_VOTES:,} votes; {report.seconds(seconds[name])} s / {report.seconds(seconds[IMPORTS])} s, "
            "files in cache",
        )
        for name in ("jamrank fit", "jamrank fit --out")
    ]


def in_turn_with_processor(commands: dict[str, list[str]], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median seconds of each command, by the clock and of the processor."""
    clock: dict[str, list[float]] = {name: [] for name in commands}
    busy: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):  # the first fills the caches
        for name, command in commands.items():
            processor, taken = timed(lambda command=command: small_jobs.busy_of(command, {}))
            if turn:
                clock[name].append(taken)
                busy[name].append(processor)
    medians = ({name: statistics.median(own) for name, own in found.items()} for found in (clock, busy))
    return next(medians), next(medians)


def judge_small(rounds: int, quick: bool) -> tuple[list[Judged], dict[str, Any]]:
    """Return processor times that must not be many times those of something simpler."""
    report.say(f"VRJAM and threads of BLAS, {rounds} rounds\n")
    clustered = small_jobs.clustered(rounds, quick)
    with tempfile.TemporaryDirectory() as folder:
        jamrank = str(Path(sys.executable).parent / "jamrank")
        blas = small_jobs.threads_of_blas(jamrank, Path(folder), rounds, quick)
    judged = []
    for one in clustered:
        ours, simple = one["seconds"]["VRJAM"], one["seconds"]["JAM"]
        why = f"{one['votes']}, {one['pairs']:,} pairs; {report.seconds(ours)} s / {report.seconds(simple)} s"
        judged.append(Judged(f"processor time, VRJAM / JAM, {one['votes']}", ours / simple, "≤", VRJAM_TIMES, why))
    both, alone = blas[small_jobs.BLAS], blas[small_jobs.ONE_THREAD]
    why = f"200 annotators, 1,000 votes each; {report.seconds(both)} s / {report.seconds(alone)} s"
    what = f"processor time, {small_jobs.BLAS} / {small_jobs.ONE_THREAD}"
    judged.append(Judged(what, both / alone, "≤", BLAS_TIMES, why))
    return judged, {"VRJAM": clustered, "threads of BLAS": blas}


def judge_scale(path: Path = SCALE) -> list[Judged]:
    """Return the figures of a run at scale, which is a benchmark of its own."""
    found = json.loads(path.read_text()) if path.exists() else {}
    figures = {**found, **found.get("results", {})}
    commit_of_it = found.get("about", {}).get("commit", "unknown")
    why = f"{figures.get('votes', 0):,.0f} votes; {path.name}, commit {commit_of_it}" if found else f"no {path.name}"
    return [Judged(what, figures.get(key), sign, asked, why) for key, (what, sign, asked) in SCALE_BOUNDS.items()]


def as_markdown(judged: list[Judged], found: dict[str, Any], made_with: dict[str, str]) -> str:
    lines = [
        "# Required and measured figures",
        "",
        "Each line is a ratio of two times, or another figure, with the bound that it must meet. The times of a line",
        "are from one run, measured in turn. CrowdBT and JAM are timed from arrays to results, including encoding;",
        "commands are timed from the start of Python to its end.",
        "",
        "![Each figure beside its bound](results.png)",
        "",
        "![Each figure with ids as text beside its bound](results_text_ids.png)",
        "",
        *report.table(["", "measured", "required", "met", "details"], [one.cells() for one in judged]),
        *passes.as_markdown(found["passes"]),
        *wine.as_markdown(found["wine"]),
    ]
    return "\n".join([*lines, *report.made_with(made_with)])


def plot(judged: list[Judged], path: Path, height: float = 0.36) -> None:
    """Draw how many times better than asked each figure is, on a logarithmic scale; a line has a height in inches."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    known = [one for one in reversed(judged) if one.times_better is not None]
    times = [one.times_better or 1.0 for one in known]
    figure, axes = plt.subplots(figsize=(9, 1.2 + height * len(known)), layout="constrained")
    for place, (one, better) in enumerate(zip(known, times, strict=True)):
        axes.barh(place, better - 1, left=1, height=0.6, color="#0072B2" if one.met else "#D55E00")
        _, value, asked, *_ = one.cells()
        beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
        axes.annotate(f"{value} (asked {asked})", (max(better, 1.0), place), **beside)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlim=(min([*times, 1.0]) / 2, max([*times, 1.0]) * 10))
    axes.set_xlabel("times better than asked (left of the line: missed)")
    axes.set_yticks(range(len(known)), [one.what for one in known], fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def measure_again(out: Path) -> None:
    """Measure fast rivals, text ids, passes and commands again; other lines stay, but for those of the scale."""
    found = json.loads((out / "results.json").read_text())
    about_it = found.pop("about")
    judged = [Judged(**{name: one[name] for name in one if name != "met"}) for one in found.pop("ratios")]
    found["passes"], found["text ids"] = passes.measure(False), text_ids.measure(False)
    measured = judge_rivals(N_VOTES, USUAL, None) + judge_text(found["text ids"]) + judge_passes(found["passes"])
    again = {one.what: one for one in measured + judge_command(COMMAND_ROUNDS) + judge_scale()}
    about_it["again"] = f"fast rivals, text ids, passes and commands, measured again at commit {commit()}"
    write(out, [again.get(one.what, one) for one in judged], found, about_it)


def write(out: Path, judged: list[Judged], found: dict[str, Any], made_with: dict[str, str]) -> None:
    ratios = [{**asdict(one), "met": one.met} for one in judged]
    text = as_markdown(judged, found, made_with)
    report.write(out, "results", text, {"about": made_with, "ratios": ratios, **found})
    with_text = [one for one in judged if "ids as text" in one.what]
    plot([one for one in judged if one not in with_text], out / "results.png")
    plot(with_text, out / "results_text_ids.png", height=0.22)


def main() -> None:
    parser = report.parser("ratios", __doc__)
    parser.add_argument("--again", action="store_true", help="only what takes some minutes; other lines stay")
    given = report.arguments(parser)
    if given.again:
        measure_again(given.out)
        return
    begun_at = commit()
    rounds = QUICK_COMMAND_ROUNDS if given.quick else COMMAND_ROUNDS
    n_votes, usual, once = (QUICK_VOTES, QUICK_PLAN, QUICK_PLAN) if given.quick else (N_VOTES, USUAL, ONCE)
    judged = judge_rivals(n_votes, usual, once)
    found: dict[str, Any] = {"text ids": text_ids.measure(given.quick)}
    judged += judge_text(found["text ids"])
    found["passes"] = passes.measure(given.quick)
    found["wine"] = {colour: wine.measure(colour, given.quick) for colour in wine.ROUNDS}
    judged += judge_passes(found["passes"])
    judged += judge_wine(found["wine"]["white"])
    judged += judge_command(rounds)
    found["integrated"] = integrated.measure(given.quick)
    judged += judge_integrated(found["integrated"])
    small, found["small jobs"] = judge_small(rounds, given.quick)
    judged += small
    judged += judge_scale()
    made_with = {
        "seed": str(WORLD.seed),
        "rivals": f"{usual.rounds} rounds, interleaved, a new process each with up to {usual.warm} warm fits; "
        f"slow ones once, stopped after {once.limit:g} s",
        "passes": f"{passes.ROUNDS} rounds, interleaved",
        "wine": ", ".join(f"{number} rounds for {colour}" for colour, number in wine.ROUNDS.items())
        + ", interleaved",
        "commands": f"{rounds} rounds, interleaved",
        "figures": "medians",
        **about(begun_at, *PACKAGES),
    }
    write(given.out, judged, found, made_with)


if __name__ == "__main__":
    main()
