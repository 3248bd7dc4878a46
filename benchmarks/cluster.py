"""Fits on a dask cluster: whether they agree with other engines, how they scale, and what they survive.

Run it with ``make benchmark-cluster``; it writes ``cluster.md`` and ``cluster.json`` beside this file. Everything
runs on worker processes of this machine, one thread each. Large votes are those of ``benchmarks/scale.py``: made in
random order with a truth for each pair, and written as Parquet.
"""

from __future__ import annotations

import hashlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import machine, report, scale, wine
from jamrank.engines import make_engine
from jamrank.engines.registry import Choice
from jamrank.io.out_of_core.cluster import Cluster
from jamrank.io.out_of_core.distributed import distribute as on_cluster

SIZES = {"agreement": 10**7, "scaling": 10**8, "traffic": (10**7, 10**8), "killed": 10**7, "cost": 10**7}
QUICK_SIZES = {"agreement": 10**5, "scaling": 10**6, "traffic": (10**5, 10**6), "killed": 10**5, "cost": 10**6}
ROUNDS = 7
# The cluster of the model: nodes, threads of each, bytes a second between two of them.
NODES, NODE_THREADS, BANDWIDTH = 100, 16, 1.25e9
MODEL_VOTES, MODEL_ITEMS, MODEL_ANNOTATORS = 10**11, 10**6, 10**5
MOST_PARTS, PART_VOTES, FAN_IN = 4096, 1 << 21, 8
# One for the part itself, and its share of those that add up.
TASKS_A_PART = 1 + 1 / (FAN_IN - 1)
# Nanoseconds a vote, and times one worker.
ENCODE_ASKED, TWICE_ASKED = 500.0, 1.7
RESULTS = ("scores_", "flip_", "posterior_")


@contextmanager
def workers_of(count: int, scratch: Path) -> Iterator[Any]:
    """Start worker processes of one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=int(0.4 * machine.memory_bytes() / count),
            dashboard_address=None,
            local_directory=str(scratch),
            silence_logs=50,
            env={"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def distribute(votes: Any, client: Any, part_votes: int = PART_VOTES) -> jr.DistributedComparisons:
    return on_cluster(Cluster(client), votes, part_votes)


def crowd(folder: Path, n_votes: int) -> Path:
    """Write votes of many annotators on many items; return their folder."""
    where = folder / f"crowd-{n_votes}"
    if not where.exists():
        where.mkdir()
        scale.make_votes(where, n_votes)
    return where


# -- agreement --------------------------------------------------------------------------------------------------


def arguments(folder: Path) -> tuple[Path, str]:
    """Write which of two arguments is more convincing, or where that is not at hand, made-up votes like it."""
    data = Path(os.environ.get("JAMRANK_DATA") or report.HERE.parents[1] / "shared" / "data")
    source, where = data / "arguments" / "comparisons.csv", folder / "arguments.parquet"
    if source.exists():
        winner = pl.col("label").replace_strict({"a1": "left", "a2": "right", "equal": "tie"})
        names = {"arg1": "left", "arg2": "right", "worker": "annotator"}
        frame = pl.read_csv(source).with_columns(winner.alias("winner")).rename(names)
        frame.select("annotator", "left", "right", "winner").write_parquet(where)
        return where, "arguments"
    votes, _ = jr.simulate(n_items=1000, n_annotators=3800, n_votes=84_000, random_state=0)
    votes.to_frame().write_parquet(where)
    return where, "made-up votes of the size of arguments"


def red_wine(folder: Path, quick: bool) -> tuple[Path, str, np.ndarray]:
    """Write the paper's six annotators on all pairs of red wines of different quality."""
    wines = wine.draw("red", quick)
    where = folder / "wine.parquet"
    jr.Comparisons.from_matrix(wines.first, wines.second, wines.said).to_frame().write_parquet(where)
    return where, wines.name, wines.features


def largest_differences(path: Path, features: np.ndarray | None, scratch: Path) -> dict[str, dict[str, float]]:
    """Fit JAM with every engine; return how far each ends from memory."""
    here = jr.JAM(engine="memory").fit(path, features)

    def away(model: jr.JAM) -> dict[str, float]:
        return {name: float(np.abs(getattr(model, name) - getattr(here, name)).max()) for name in RESULTS}

    stored = jr.store_comparisons(path, scratch, "600MB")
    found = {"disk": away(jr.JAM().fit(stored, features))}
    stored.delete()
    with workers_of(2, scratch) as client:
        n_rows = pl.scan_parquet(path if path.is_file() else path / "*.parquet").select(pl.len()).collect().item()
        found["dask"] = away(
            jr.JAM().fit(distribute(path, client, part_votes=min(n_rows // 4, PART_VOTES)), features)
        )
    return found


def agreement(folder: Path, n_votes: int, quick: bool) -> dict[str, dict[str, dict[str, float]]]:
    found = {}
    path, name, features = red_wine(folder, quick)
    found[f"{name}, with features"] = largest_differences(path, features, folder)
    path, name = arguments(folder)
    found[name] = largest_differences(path, None, folder)
    found[f"{n_votes:,} votes of a crowd"] = largest_differences(crowd(folder, n_votes), None, folder)
    return found


# -- passes -----------------------------------------------------------------------------------------------------


def a_pass(engine: Any) -> Callable[[], Any]:
    """Return a call that runs one iteration's pass, from other scores every time."""
    rng = np.random.default_rng(0)
    log_emission = np.log(np.broadcast_to([[0.8, 0.2], [0.2, 0.8]], (engine.n_confusion_groups, 2, 2)))
    return lambda: engine.expectation(rng.normal(size=engine.n_items), log_emission)


def seconds_of(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Resident:
    """The largest memory that some processes had together, looked at now and then."""

    def __init__(self, pids: list[int]) -> None:
        self.pids, self.peak, self._ended = pids, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Resident:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            now = 0
            for pid in self.pids:
                try:
                    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                except OSError:
                    continue
                now += pages * os.sysconf("SC_PAGE_SIZE")
            self.peak = max(self.peak, now)


def scaling(folder: Path, n_votes: int) -> dict[str, Any]:
    """Time a pass on one worker and on two, in turn."""
    path = crowd(folder, n_votes)
    found: dict[str, Any] = {"votes": n_votes}
    with ExitStack() as stack:
        calls = {}
        for count in (1, 2):
            client = stack.enter_context(workers_of(count, folder))
            with Resident(list(client.run(os.getpid).values())) as resident:
                begin = time.perf_counter()
                spread = distribute(path, client)
                found[f"encode_seconds_{count}"] = time.perf_counter() - begin
                engine = make_engine(Choice("dask", ""), spread, "pair", 1, None)
                calls[count] = a_pass(engine)
                calls[count]()
            found[f"resident_{count}"], found["parts"] = resident.peak, len(spread.part_pairs)
            report.say(f"{count} workers: {found}\n")
        taken: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(ROUNDS):
            for count, call in calls.items():
                taken[count].append(seconds_of(call))
    found |= {f"pass_seconds_{count}": statistics.median(times) for count, times in taken.items()}
    found["ratio"] = statistics.median(one / two for one, two in zip(*taken.values(), strict=True))
    return found


def sent_on_loopback() -> int:
    """Return how many bytes processes of this machine have sent to each other."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[8])
    return 0


def traffic(folder: Path, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Count what passes of two workers send, beside what is sent without any."""
    found = []
    for n_votes in sizes:
        with workers_of(2, folder) as client:
            spread = distribute(crowd(folder, n_votes), client)
            call = a_pass(make_engine(Choice("dask", ""), spread, "pair", 1, None))
            call()
            quiet, busy = [], []
            for _ in range(ROUNDS):
                before = sent_on_loopback()
                seconds = seconds_of(call)
                busy.append(sent_on_loopback() - before)
                before = sent_on_loopback()
                time.sleep(seconds)
                quiet.append(sent_on_loopback() - before)
            vector = 8 * n_sums(spread.n_items, spread.n_annotators)
            found.append(
                {
                    "votes": n_votes,
                    "parts": len(spread.part_pairs),
                    "bytes": statistics.median(busy) - statistics.median(quiet),
                    "sums_bytes": vector,
                }
            )
    return found


# -- what it survives -------------------------------------------------------------------------------------------


def killed_worker(folder: Path, n_votes: int) -> dict[str, Any]:
    """Kill a worker in the middle of a fit; return how the fit ends."""
    with workers_of(2, folder) as client:
        spread = distribute(crowd(folder, n_votes), client)
        begin = time.perf_counter()
        whole = jr.CrowdBT(max_iter=12, tol=1e-9).fit(spread)
        undisturbed = time.perf_counter() - begin
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(undisturbed / 2, os.kill, (victim, signal.SIGKILL))
        timer.start()
        begin = time.perf_counter()
        again = jr.CrowdBT(max_iter=12, tol=1e-9).fit(spread)
        disturbed = time.perf_counter() - begin
        timer.join()
        died = victim not in client.run(os.getpid).values()
    same = all(np.array_equal(getattr(whole, name), getattr(again, name)) for name in ("scores_", "flip_"))
    return {"died": died, "same_bits": same, "seconds": undisturbed, "seconds_with_a_death": disturbed}


def scheduler_gone(folder: Path, n_votes: int) -> dict[str, Any]:
    """Kill the scheduler in the middle of ``jamrank fit``; return how that ends, and what an earlier run left."""
    path, out = crowd(folder, n_votes), folder / "results"
    jamrank = [sys.executable, "-m", "jamrank", "fit"]
    small = folder / "small.parquet"
    pl.read_parquet(next(iter(sorted(path.glob("*.parquet"))))).head(1000).write_parquet(small)
    subprocess.run([*jamrank, str(small), "--quiet", "--out", str(out)], check=True)
    before = digest(out)
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
        ],
        **PIPES,
    )
    try:
        address = next(line.split()[-1] for line in run.stderr if "Scheduler at:" in line)
        threading.Thread(target=run.stderr.read, daemon=True).start()
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1"]
        workers = subprocess.Popen([*worker, "--local-directory", str(folder), "--death-timeout", "60"], **SILENT)
        fit = [*jamrank, str(path), "--scheduler", address, "--tol", "1e-12", "--out", str(out)]
        fitting = subprocess.Popen(fit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for_passes(address, fitting)
        run.kill()
        _, told = fitting.communicate(timeout=300)
        workers.terminate()
        workers.wait(timeout=120)
    finally:
        run.kill()
    return {"exit": fitting.returncode, "told": told.strip().splitlines()[-1], "untouched": digest(out) == before}


def wait_for_passes(address: str, fitting: Any) -> None:
    """Wait until a fit is well under way."""
    from distributed import Client

    def passes(dask_scheduler: Any) -> bool:
        return any("expectation" in name for name in dask_scheduler.task_prefixes)

    with Client(address, set_as_default=False) as client:
        while fitting.poll() is None and not client.run_on_scheduler(passes):
            time.sleep(0.5)
    time.sleep(1.0)


PIPES: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
SILENT: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


# -- cost -------------------------------------------------------------------------------------------------------


def cost(folder: Path, n_votes: int) -> dict[str, Any]:
    """Time a pass of every engine with one thread, and what it takes to get there; and a task of dask by itself."""
    path, found = crowd(folder, n_votes), {}
    with ExitStack() as stack:
        begin = time.perf_counter()
        here = jr.read_comparisons(path)
        engines = {"memory": make_engine(Choice("memory", ""), here, "pair", 1, None)}
        encode = {"memory": time.perf_counter() - begin}
        begin = time.perf_counter()
        stored = jr.store_comparisons(path, folder, "1GB")
        engines["disk"] = make_engine(Choice("disk", ""), stored, "pair", 1, None)
        engines["disk"].n_rows  # noqa: B018, rows are made when first asked for
        encode["disk"] = time.perf_counter() - begin
        client = stack.enter_context(workers_of(1, folder))
        begin, busy = time.perf_counter(), processor_seconds(client)
        spread = distribute(path, client)
        engines["dask"] = make_engine(Choice("dask", ""), spread, "pair", 1, None)
        engines["dask"].n_rows  # noqa: B018
        encode["dask"] = time.perf_counter() - begin
        encode_processor = processor_seconds(client) - busy
        task = a_task(client)
        many = distribute(here, client, part_votes=max(n_votes // 200, 1))
        engines["many"] = make_engine(Choice("dask", ""), many, "pair", 1, None)
        calls = {name: a_pass(engine) for name, engine in engines.items()}
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for call in calls.values():
            call()
        for _ in range(ROUNDS):
            for name, call in calls.items():
                # A fit from disk remembers what it was asked: every pass asks something new.
                taken[name].append(seconds_of(call))
        passes = {name: statistics.median(times) for name, times in taken.items()}
        more = len(many.part_pairs) - len(spread.part_pairs)
        part = max((passes["many"] - passes["dask"]) / more - task * TASKS_A_PART, 0.0) if more else 0.0
        beside = len(spread.part_pairs) * (part + task * TASKS_A_PART)
        found = {
            "votes": n_votes,
            "encode_ns": {name: 1e9 * seconds / n_votes for name, seconds in encode.items()},
            "encode_processor_ns": 1e9 * encode_processor / n_votes,
            "pass_ns": {name: 1e9 * passes[name] / n_votes for name in ("memory", "disk", "dask")},
            "vote_seconds": max(passes["dask"] - beside, 0.0) / n_votes,
            "sum_seconds": part / n_sums(spread.n_items, spread.n_annotators),
            "task_seconds": task,
            "row_bytes": {
                "memory": row_bytes(engines["memory"]) / n_votes,
                "disk": sum(file.stat().st_size for file in stored.folder.glob("rows-*/*")) / n_votes,
            },
        }
        stored.delete()
    return found


def processor_seconds(client: Any) -> float:
    """Return the processor time so far of all workers, and of this process, where the scheduler is."""
    return sum(client.run(time.process_time).values()) + time.process_time()


def a_task(client: Any, count: int = 1000) -> float:
    """Return what a task costs that does nothing."""
    client.gather(client.map(abs, range(10), pure=False))
    return statistics.median(
        seconds_of(lambda: client.gather(client.map(abs, range(count), pure=False))) / count for _ in range(3)
    )


def n_sums(items: int, annotators: int) -> int:
    """Return how many numbers a pass hands back."""
    return 1 + 2 * items + 3 * annotators


def row_bytes(engine: Any) -> int:
    """Return what a pass in memory reads and writes once."""
    from jamrank.engines.dask import _Part

    return sys.getsizeof(_Part(engine.rows))


def model(found: dict[str, Any]) -> dict[str, Any]:
    """Foretell the time of a pass from the cost of votes, sums and tasks; for one and two workers, beside theirs."""
    vote, one_sum, task = (found["cost"][f"{name}_seconds"] for name in ("vote", "sum", "task"))

    def of(votes: int, items: int, annotators: int, threads: int, nodes: int) -> dict[str, float]:
        parts = min(-(-votes // PART_VOTES), MOST_PARTS)
        rounds = -(-parts // threads)
        out, back = 8 * (items + 4 * annotators), 8 * n_sums(items, annotators)
        hops = int(np.ceil(np.log2(max(nodes, 2))))
        told = {
            "passing": rounds * votes / parts * vote,
            "adding": rounds * n_sums(items, annotators) * one_sum,
            "scheduling": parts * TASKS_A_PART * task,
            "sending": (out + (FAN_IN - 1) * back) * hops / BANDWIDTH if nodes > 1 else 0.0,
        }
        return {**told, "seconds": sum(told.values())}

    size = found["scaling"]["votes"]
    check = {
        str(count): {
            "told": of(size, scale.N_ITEMS, scale.N_ANNOTATORS, count, 1)["seconds"],
            "measured": found["scaling"][f"pass_seconds_{count}"],
        }
        for count in (1, 2)
    }
    return {
        "check": check,
        "large": of(MODEL_VOTES, MODEL_ITEMS, MODEL_ANNOTATORS, NODES * NODE_THREADS, NODES),
    }


# -- the page ---------------------------------------------------------------------------------------------------


def as_markdown(found: dict[str, Any], about: dict[str, str]) -> str:
    lines = [
        "# Fits on a dask cluster",
        "",
        "## Agreement",
        "",
        "Largest difference of JAM's results from those in memory.",
    ]
    rows = [
        [name, engine, *(f"{away[result]:.1e}" for result in RESULTS)]
        for name, engines in found["agreement"].items()
        for engine, away in engines.items()
    ]
    lines += ["", *report.table(["votes", "engine", "scores", "flips", "posterior"], rows)]
    told = found["scaling"]
    lines += [
        "## Two workers compared with one",
        "",
        f"{told['votes']:,} votes from Parquet in {told['parts']} parts, one thread per worker, a pass after the",
        f"shuffle; medians of {ROUNDS} rounds in turn.",
        "",
        *report.table(
            ["workers", "encode and shuffle s", "pass s", "ns a vote and pass", "resident GB", "bytes a vote"],
            [
                [
                    str(count),
                    report.seconds(told[f"encode_seconds_{count}"]),
                    report.seconds(told[f"pass_seconds_{count}"]),
                    f"{1e9 * told[f'pass_seconds_{count}'] / told['votes']:.1f}",
                    f"{told[f'resident_{count}'] / 1e9:.2f}",
                    f"{told[f'resident_{count}'] / told['votes']:.0f}",
                ]
                for count in (1, 2)
            ],
        ),
        f"- {told['ratio']:.2f} times faster per pass (asked {TWICE_ASKED:g})",
        "",
        "## Data sent in an iteration",
        "",
        *report.table(
            ["votes", "parts", "MB sent", "MB of sums"],
            [
                [
                    f"{row['votes']:,}",
                    str(row["parts"]),
                    f"{row['bytes'] / 1e6:.1f}",
                    f"{row['sums_bytes'] / 1e6:.1f}",
                ]
                for row in found["traffic"]
            ],
        ),
        "## Failures",
        "",
        f"- A worker killed with SIGKILL in the middle of a fit: {survived(found['killed'])}",
        f"- The scheduler killed in the middle of `jamrank fit`: {ended(found['gone'])}",
        "",
        "## Cost",
        "",
        f"One thread each, {found['cost']['votes']:,} votes. *Encode* is from Parquet to rows; of dask, on a worker",
        f"that runs: {found['cost']['encode_processor_ns']:.1f} ns a vote of processor time of worker and scheduler,",
        f"asked at most {ENCODE_ASKED:g}.",
        "",
        *report.table(
            ["engine", "encode ns a vote", "pass ns a vote", "bytes moved a vote and pass"],
            [
                ["memory", *costs(found, "memory"), f"{found['cost']['row_bytes']['memory']:.0f} of memory"],
                ["disk", *costs(found, "disk"), f"{found['cost']['row_bytes']['disk']:.0f} of disk"],
                ["dask", *costs(found, "dask"), "as in memory; what is sent does not grow with the votes"],
            ],
        ),
        f"- Of a pass with dask, {1e9 * found['cost']['vote_seconds']:.1f} ns per vote are for the votes,",
        f"  {1e9 * found['cost']['sum_seconds']:.1f} ns per part and number are for the sums of each part, and",
        f"  {1e3 * found['cost']['task_seconds']:.2f} ms per task are for dask, whose scheduler assigns tasks one",
        "after another. ",
        *model_lines(found["model"]),
    ]
    return "\n".join([*lines, *report.made_with(about)])


def survived(told: dict[str, Any]) -> str:
    bits = "the same result, bit for bit" if told["same_bits"] else "another result"
    times = f"{report.seconds(told['seconds_with_a_death'])} s instead of {report.seconds(told['seconds'])} s"
    return f"{bits}, in {times}" if told["died"] else "it did not die in time"


def ended(told: dict[str, Any]) -> str:
    left = "untouched" if told["untouched"] else "changed"
    return f"exit code {told['exit']}, outputs of an earlier run {left}, and `{told['told']}`"


def costs(found: dict[str, Any], engine: str) -> list[str]:
    return [f"{found['cost'][what][engine]:.1f}" for what in ("encode_ns", "pass_ns")]


def model_lines(told: dict[str, Any]) -> list[str]:
    large = told["large"]
    rows = [
        [workers, report.seconds(times["told"]), report.seconds(times["measured"])]
        for workers, times in told["check"].items()
    ]
    return [
        "## A model of the time",
        "",
        "The time of a pass is the votes of the busiest thread times the cost of a vote, plus the sums of its parts",
        "times the cost of a number, plus all tasks times the cost of a task, plus the time to send parameters and",
        "sums over the tree. ",
        *report.table(["workers here", "pass s by the model", "pass s measured"], rows),
        f"- {MODEL_VOTES:,} votes, {MODEL_ITEMS:,} items, {MODEL_ANNOTATORS:,} annotators on {NODES} nodes of "
        f"{NODE_THREADS} threads, "
        f"{BANDWIDTH / 1e9:.2f} GB/s between two: {report.seconds(large['seconds'])} s a pass "
        f"({report.seconds(large['passing'])} s over votes, {report.seconds(large['adding'])} s for sums, "
        f"{report.seconds(large['scheduling'])} s scheduling, "
        f"{report.seconds(large['sending'])} s sending)",
        "",
    ]


def measure(folder: Path, quick: bool, say: Callable[[str], None] = report.say) -> dict[str, Any]:
    sizes: dict[str, Any] = QUICK_SIZES if quick else SIZES
    found: dict[str, Any] = {}
    for name, call in {
        "agreement": lambda: agreement(folder, sizes["agreement"], quick),
        "traffic": lambda: traffic(folder, sizes["traffic"]),
        "killed": lambda: killed_worker(folder, sizes["killed"]),
        "gone": lambda: scheduler_gone(folder, sizes["killed"]),
        "cost": lambda: cost(folder, sizes["cost"]),
        "scaling": lambda: scaling(folder, sizes["scaling"]),
        "model": lambda: model(found),
    }.items():
        found[name] = call()
        say(f"{name}: {found[name]}\n")
    return found


if __name__ == "__main__":
    parser = report.parser("cluster", __doc__ or "")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()), help="where there is room")
    options = report.arguments(parser)
    begun_at = machine.commit()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        found = measure(Path(scratch), options.quick)
    about = {"seed": str(scale.SEED), **machine.about(begun_at, "polars", "dask", "distributed", "pandas", "pyarrow")}
    report.write(options.out, "cluster", as_markdown(found, about), {"about": about, **found})
