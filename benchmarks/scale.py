"""One full fit of more votes than fit into memory, and how its time grows with them.

Run it with ``make benchmark-scale``; it writes ``scale.md`` and ``scale.json`` beside this file. Votes are made in
random order with a truth for each pair, written as Parquet, and stored and fitted in a process of its own, which
tells its largest resident memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import kendalltau

from benchmarks import machine, report

SEED = 0
N_ITEMS, N_ANNOTATORS = 100_000, 10_000
SIZES, QUICK_SIZES = (10**6, 10**7, 10**8, 10**9), (10**5, 10**6)
# Below this a fit is over before its time can grow with the votes.
LARGE = 10**7
PER_FILE = 10_000_000
MEMORY = "3GB"


@dataclass(frozen=True)
class Run:
    """What one fit took."""

    flips: str
    votes: int
    pairs: int
    seconds: float
    encode_seconds: float
    fit_seconds: float
    processor_seconds: float
    fit_processor_seconds: float
    passes: int
    iterations: int
    converged: bool
    peak_rss: int
    parquet_bytes: int
    scratch_bytes: int
    tau: float
    flip_error: float


def make_votes(folder: Path, n_votes: int) -> tuple[np.ndarray, np.ndarray]:
    """Write votes as Parquet files; return the true scores and flips."""
    rng = np.random.default_rng(SEED)
    scores = rng.normal(0, 1.5, N_ITEMS)
    flips = rng.beta(2, 6, N_ANNOTATORS)
    for number, begin in enumerate(range(0, n_votes, PER_FILE)):
        rng = np.random.default_rng([SEED, number])
        size = min(PER_FILE, n_votes - begin)
        left = rng.integers(0, N_ITEMS, size, dtype=np.int32)
        right = (left + rng.integers(1, N_ITEMS, size, dtype=np.int32)) % N_ITEMS
        who = rng.integers(0, N_ANNOTATORS, size, dtype=np.int32)
        says_left = truth_of(left, right, scores) ^ (rng.random(size, dtype=np.float32) < flips[who])
        frame = pl.DataFrame({"annotator": who, "left": left, "right": right, "winner": says_left})
        named = pl.when("winner").then(pl.lit("left")).otherwise(pl.lit("right")).alias("winner")
        frame.with_columns(named).write_parquet(folder / f"{number:04}.parquet")
    return scores, flips


def truth_of(left: np.ndarray, right: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Tell whether left truly beats right: drawn once for each pair, whichever file names it."""
    first, second = np.minimum(left, right), np.maximum(left, right)
    key = first.astype(np.uint64) * np.uint64(N_ITEMS) + second.astype(np.uint64)
    # A hash of the pair is its coin (splitmix64): no table of all pairs is needed.
    key = (key + np.uint64(SEED)) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ key >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    confusion_group = (key ^ key >> np.uint64(31)).astype(np.float64) / 2.0**64
    first_wins = confusion_group < 1 / (1 + np.exp(scores[second] - scores[first]))
    return first_wins == (left < right)


FIT = """
import json, resource, sys, time
import numpy as np
import jamrank as jr
source, scratch, memory, flips, answer = sys.argv[1:]
begin = time.perf_counter()
processor = time.process_time()
votes = jr.store_comparisons(source, scratch, memory)
stored, processor_stored = time.perf_counter(), time.process_time()
model = jr.JAM(flips=flips).fit(votes)
fitted, processor_fitted = time.perf_counter(), time.process_time()
frames = model.ranking_, model.annotators_
done = time.perf_counter()
annotators = model.result_.votes.annotators
np.savez(answer, items=model.items_, scores=model.scores_, flips=model.flip_, annotators=annotators)
print(json.dumps({
    "flips": flips, "votes": votes.n_votes, "pairs": votes.n_pairs,
    "seconds": done - begin, "encode_seconds": stored - begin, "fit_seconds": fitted - stored,
    "processor_seconds": time.process_time() - processor,
    "fit_processor_seconds": processor_fitted - processor_stored,
    "passes": model.result_.convergence.n_passes, "iterations": model.n_iter_, "converged": model.converged_,
    "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


def measure(n_votes: int, flips: str, memory: str, keep_in: Path) -> Run:
    """Make votes, fit them in a process of its own, and compare with the truth."""
    with tempfile.TemporaryDirectory(dir=keep_in) as folder:
        source, scratch, answer = (Path(folder) / name for name in ("votes", "scratch", "answer.npz"))
        source.mkdir()
        scratch.mkdir()
        scores, true_flips = make_votes(source, n_votes)
        parquet = used(source)
        largest = [0]
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(1.0):
                largest[0] = max(largest[0], used(scratch))

        watcher = threading.Thread(target=watch)
        watcher.start()
        command = [sys.executable, "-c", FIT, str(source), str(scratch), memory, flips, str(answer)]
        try:
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        finally:
            ended.set()
            watcher.join()
        found = np.load(answer)
        tau = kendalltau(found["scores"], scores[found["items"]]).statistic
        flip_error = float(np.abs(found["flips"] - true_flips[found["annotators"]]).mean())
        return Run(
            **json.loads(told), parquet_bytes=parquet, scratch_bytes=largest[0], tau=float(tau), flip_error=flip_error
        )


def used(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def exponent(sizes: list[float], times: list[float]) -> float:
    """Return the slope of log time on log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def as_markdown(runs: list[Run], about: dict[str, str], slopes: dict[str, float]) -> str:
    header = ["votes", "flips", "distinct pairs", "seconds", "encode s", "fit s", "processor s", "iterations"]
    header += ["passes", "ns a vote and pass", "resident GB", "Parquet GB", "scratch GB", "τ", "error of flips"]
    rows = []
    for run in runs:
        cells = [f"{run.votes:,}", run.flips, f"{run.pairs:,}"]
        taken = run.seconds, run.encode_seconds, run.fit_seconds, run.processor_seconds
        cells += [report.seconds(seconds) for seconds in taken]
        cells += [str(run.iterations), str(run.passes), f"{1e9 * run.fit_seconds / run.votes / run.passes:.1f}"]
        cells += [f"{size / 1e9:.2f}" for size in (run.peak_rss, run.parquet_bytes, run.scratch_bytes)]
        rows.append([*cells, f"{run.tau:.3f}", f"{run.flip_error:.3f}"])
    lines = [
        "# Many votes, from disk",
        "",
        f"{N_ITEMS:,} items, {N_ANNOTATORS:,} annotators, a truth for each pair (JAM with free scores), Parquet in",
        "random order. *Seconds* is the time from opening the files to a ranking with intervals; *encode* is the",
        "time to store the votes in the scratch folder, *fit* the rest without the intervals; *processor* is the",
        "time of all threads, which other work on the machine hardly changes. τ is Kendall's τ with the true scores;",
        "the error of flips is their mean distance from the true flips. So that sizes can be compared, flips are",
        "fitted jointly; by default (*auto*) scores are integrated out of the flips of all but the largest.",
        "",
        *report.table(header, rows),
        *(f"- {what} grows with the votes to the power {slope:.2f}" for what, slope in slopes.items()),
        "",
    ]
    return "\n".join([*lines, *report.made_with(about)])


if __name__ == "__main__":
    parser = report.parser("scale", __doc__ or "")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()), help="where there is room")
    options = report.arguments(parser)
    begun_at, runs = machine.commit(), []
    for size in QUICK_SIZES if options.quick else SIZES:
        for flips in ("joint", "auto") if size <= LARGE else ("joint",):
            runs.append(measure(size, flips, MEMORY, options.scratch))
            report.say(f"{runs[-1]}\n")
    joint = [run for run in runs if run.flips == "joint"]
    large = [run for run in joint if run.votes >= LARGE] or joint
    votes = [float(run.votes) for run in large]
    times = {
        "The whole time": [run.seconds for run in large],
        "The time of a pass": [run.fit_seconds / run.passes for run in large],
        "The whole processor time": [run.processor_seconds for run in large],
        "The processor time of a pass": [run.fit_processor_seconds / run.passes for run in large],
    }
    slopes = {what: exponent(votes, taken) for what, taken in times.items()}
    about = {
        "seed": str(SEED),
        "exponents": f"from {min(votes):,.0f} votes up",
        "memory": f"limited to {MEMORY} of {machine.memory_bytes() / 1e9:.0f} GB",
        **machine.about(begun_at, "polars"),
    }
    numbers = {
        "about": about,
        "votes": runs[-1].votes,
        "peak_gb": max(run.peak_rss for run in runs) / 1e9,
        "exponent": slopes["The whole time"],
        "exponents": slopes,
        "runs": [asdict(run) for run in runs],
    }
    report.write(options.out, "scale", as_markdown(runs, about, slopes), numbers)
