"""The engine on a GPU: how near its passes come to the card's bandwidth, how fast fits are, and whether they agree.

``make benchmark-gpu`` needs a card and CuPy; it writes ``gpu.md`` and ``gpu.json`` beside this file. Passes are timed
by events on the card, medians of several; fits to scores, flips and the posterior of every pair in memory, medians
too, after a first one that compiles and starts the card.
``JAMRANK_COMMIT`` names the commit where the files are a copy without history.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import report, wine
from benchmarks.machine import about, commit
from jamrank.engines import GpuEngine
from jamrank.engines.gpu_passes import PassTask
from jamrank.models.latent import LatentModel
from jamrank.rows import Patterns, Rows

SEED, FLIPS = 0, np.arange(1, 7) / 20
ROUNDS, FIT_ROUNDS = 15, 9
ENOUGH, AGREEMENT, FASTER, FASTER_CROWD = 0.5, 1e-6, 20.0, 8.0
PAIRS, OTHER_PAIRS, QUICK_PAIRS = 10**9, 250_000_000, 1_000_000
CROWD, QUICK_CROWD, CROWD_SHAPE = 10_000_000, 50_000, (5000, 200)


# -- passes -------------------------------------------------------------------------------------------------


def copy_bandwidth() -> float:
    """Return how many bytes a second the card reads and writes when it copies a large array."""
    import cupy

    size = 1 << 32
    source, target = cupy.ones(size // 8), cupy.zeros(size // 8)
    return 2 * size / on_gpu(lambda: cupy.copyto(target, source), ROUNDS)


def on_gpu(work: Callable[[], Any], rounds: int) -> float:
    """Return the median seconds between two events on the card, one before and one after the work."""
    import cupy

    taken = []
    for _ in range(rounds + 3):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return float(np.median(taken[3:]))


def patterns(count: int) -> np.ndarray:
    """Draw what six annotators say of so many pairs, a bit each."""
    import cupy

    rng, codes = cupy.random.RandomState(SEED), np.empty(count, dtype=np.uint8)
    for begin in range(0, count, 1 << 26):
        size = min(1 << 26, count - begin)
        truth, said = rng.random_sample(size, dtype=np.float32) < 0.5, cupy.zeros(size, dtype=np.uint8)
        for k, flip in enumerate(FLIPS):
            said |= (truth ^ (rng.random_sample(size, dtype=np.float32) < flip)).astype(np.uint8) << k
        said.get(out=codes[begin : begin + size])
    return codes


def jury_rows(first: np.ndarray, second: np.ndarray, n_items: int) -> Rows:
    """Return rows of six annotators who voted on every one of these pairs."""
    distinct = (np.arange(64)[:, None] >> np.arange(6)) & 1
    votes = (2 * np.arange(6) + distinct).astype(np.int32).ravel()
    ballots = Patterns(patterns(len(first)), np.arange(0, 6 * 64 + 1, 6), votes, np.ones(len(votes)), 6)
    return Rows(first, second, None, np.empty(0), ballots, None, None, n_items, distinct=True)


def every_pair(n_items: int) -> tuple[np.ndarray, np.ndarray]:
    per_item = np.arange(n_items - 1, -1, -1)
    second = np.empty(per_item.sum(), dtype=np.int32)
    numbers, at = np.arange(n_items, dtype=np.int32), 0
    for item, length in enumerate(per_item.tolist()):
        second[at : at + length] = numbers[item + 1 :]
        at += length
    return np.repeat(numbers, per_item), second


def some_pairs(n_items: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    found = [
        (item + 1 + np.flatnonzero(rng.random(n_items - item - 1, dtype=np.float32) < share)).astype(np.int32)
        for item in range(n_items)
    ]
    return np.repeat(np.arange(n_items, dtype=np.int32), [len(own) for own in found]), np.concatenate(found)


def spread_pairs(n_items: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs with every first item as often as any other."""
    rng = np.random.default_rng(SEED)
    first = np.repeat(np.arange(n_items - 1, dtype=np.int32), -(-count // (n_items - 1)))[:count]
    second = first + 1 + (rng.random(count, dtype=np.float32) * (n_items - 1 - first) * 0.999999).astype(np.int32)
    return first, np.minimum(second, n_items - 1).astype(np.int32)


def sizes(quick: bool) -> dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], int, int, int]]:
    """Return for each layout: pairs, number of items, and bytes a pair that must be read and written."""
    pairs, other = (QUICK_PAIRS, QUICK_PAIRS) if quick else (PAIRS, OTHER_PAIRS)
    every, dense = int(np.sqrt(2 * pairs)) + 1, int(np.sqrt(4 * other))
    return {
        "all pairs, walked": (lambda: every_pair(every), every, 1, 4),
        "half of all pairs, walked with holes": (lambda: some_pairs(dense, 0.5), dense, 1 + 2, 4),
        "index, 65,536 items": (lambda: spread_pairs(1 << 16, other), 1 << 16, 1 + 2, 4),
        "index, 1,000,000 items": (lambda: spread_pairs(1_000_000, other), 1_000_000, 1 + 4, 4),
    }


def measure_passes(quick: bool) -> list[dict[str, Any]]:
    found = []
    for name, (draw, n_items, read, written) in sizes(quick).items():
        report.say(f"{name}\n")
        rows = jury_rows(*draw(), n_items)
        engine = GpuEngine(rows)
        about_it = {"items": n_items, "pairs": len(rows)}
        found.append({"layout": name, **about_it, **time_pass(engine, read, written)})
        if engine.gpu.all_pairs:
            kept = time_pass(engine, read, written + 8, keep=True)
            found.append({"layout": f"{name}, posterior kept", **about_it, **kept})
        del rows, engine
    return found


def time_pass(engine: GpuEngine, read: int, written: int, keep: bool = False) -> dict[str, Any]:
    """Time the expectation, which may keep the posterior of each pair too, and the product with its curvature."""
    rng = np.random.default_rng(SEED)
    scores, vector = rng.standard_normal((2, engine.n_items))
    wrong, right = np.log(FLIPS), np.log1p(-FLIPS)
    log_emission = np.stack([np.stack([right, wrong], axis=1), np.stack([wrong, right], axis=1)], axis=1)
    task, part = PassTask(engine.gpu, scores, log_emission), engine.gpu.parts[0]
    assert part.resident is not None
    room = engine.gpu.device.empty(engine.n_rows, np.float64) if keep else None

    def run() -> None:
        engine.gpu.device.fill(engine.gpu.sums, 0)
        if room is None:
            task.launch(engine.gpu, part, part.resident, engine.gpu.sums)
        else:
            task.walk(engine.gpu, part, part.resident, engine.gpu.sums, room)

    seconds = on_gpu(run, ROUNDS)
    begin = time.perf_counter()
    at = engine.expectation(scores, log_emission)
    called = time.perf_counter() - begin
    product = on_gpu(lambda: engine.curvature_times(at.curvature, vector), ROUNDS)
    n_rows = engine.n_rows
    return {
        "seconds": seconds,
        "seconds called from Python": called,
        "bytes read a pair": read,
        "bytes written a pair": written,
        "bytes a second": (read + written) * n_rows / seconds,
        "pairs a second": n_rows / seconds,
        "seconds a curvature product, called from Python": product,
        "parts": len(engine.gpu.parts),
        "sums of gradient and degree": [float(at.gradient.sum()), float(at.degree.sum())],
    }


# -- fits ---------------------------------------------------------------------------------------------------


def white_wine(quick: bool) -> list[dict[str, Any]]:
    """Time JAM on white wine: two cores, and the card with two and with all cores beside it."""
    different = wine.draw("white", quick)
    different = dataclasses.replace(different, name=f"{different.name}, pairs of different quality")
    every = dataclasses.replace(different, **all_pairs_of(quick), name=wine.items("white")[2] + ", every pair")
    return [time_fits(wines, features) for wines in (different, every) for features in (wines.features, None)]


def all_pairs_of(quick: bool) -> dict[str, np.ndarray]:
    """Draw votes on every pair; on wines of equal quality everyone tosses a coin."""
    _, quality, _ = wine.items("white")
    quality = quality[: wine.QUICK] if quick else quality
    first, second = (side.astype(np.int32) for side in np.triu_indices(len(quality), 1))
    rng = np.random.default_rng(SEED)
    said = np.empty((len(first), len(FLIPS)), dtype=np.int8)
    truth, even = quality[first] > quality[second], quality[first] == quality[second]
    for k, flip in enumerate(FLIPS):
        said[:, k] = truth ^ (rng.random(len(first)) < np.where(even, 0.5, flip))
    return {"first": first, "second": second, "said": said, "truth": truth}


def time_fits(wines: wine.Wines, features: np.ndarray | None) -> dict[str, Any]:
    all_cores = os.sched_getaffinity(0)
    two = set(sorted(all_cores)[:2])
    settings = {
        "memory, 2 cores": (jr.JAM(n_jobs=2, engine="memory"), two),
        "GPU, 2 cores beside it": (jr.JAM(n_jobs=2, engine="gpu"), two),
        f"GPU, {len(all_cores)} cores beside it": (jr.JAM(engine="gpu"), all_cores),
    }
    times, models = {}, {}
    for name, (model, allowed) in settings.items():
        os.sched_setaffinity(0, allowed)
        runs = []
        for _ in range(FIT_ROUNDS + 1):
            begin = time.perf_counter()
            votes = jr.Comparisons.from_matrix(wines.first, wines.second, wines.said)
            runs.append((time.perf_counter() - begin, *fit_anew(model, votes, features)))
        times[name], models[name] = medians(runs, ("encoding", "fit", "posterior")), model
        report.say(f"{wines.name}, {name}: {times[name]}\n")
    os.sched_setaffinity(0, all_cores)
    base, *others = models.values()
    return {
        "name": f"{wines.name}, {'without' if features is None else 'with'} features",
        "pairs": votes.n_pairs,
        "passes": base.result_.convergence.n_passes,
        "seconds": times,
        "difference": max(differences(base, other)["largest"] for other in others),
    }


def medians(runs: list[tuple[float, ...]], parts: tuple[str, ...]) -> dict[str, float]:
    """Return the time of the first run, and the median times of the others: of each part, and of all together."""
    later = {part: float(np.median(taken)) for part, taken in zip(parts, zip(*runs[1:], strict=True), strict=True)}
    return {"first": sum(runs[0]), **later, "all": float(np.median([sum(run) for run in runs[1:]]))}


def crowd_fits(quick: bool) -> list[dict[str, Any]]:
    """Time CrowdBT and JAM on a crowd's votes, in memory with all cores and on the card."""
    votes = crowd(quick)
    return [time_crowd(model, votes) for model in (jr.CrowdBT, jr.JAM)]


def crowd(quick: bool) -> jr.Comparisons:
    return jr.simulate(*CROWD_SHAPE, QUICK_CROWD if quick else CROWD, random_state=SEED).votes


def time_crowd(model: type[LatentModel], votes: jr.Comparisons) -> dict[str, Any]:
    times, models = {}, {}
    for engine in ("memory", "gpu"):
        models[engine] = model(engine=engine)
        runs = [fit_anew(models[engine], votes, None) for _ in range(FIT_ROUNDS + 1)]
        times[engine] = medians(runs, ("fit", "posterior"))
    found = {
        "model": model.__name__,
        "votes": int(votes.vote_weight.sum()),
        "pairs": votes.n_pairs,
        "cores": len(os.sched_getaffinity(0)),
        "passes": models["gpu"].result_.convergence.n_passes,
        "seconds": times,
        "difference": differences(*models.values())["largest"],
    }
    report.say(f"{found}\n")
    return found


def fit_anew(model: LatentModel, votes: jr.Comparisons, features: np.ndarray | None) -> tuple[float, float]:
    """Fit to votes of which nothing but the encoding is known yet; return the seconds of fit and posterior."""
    fresh = dataclasses.replace(votes)
    begin = time.perf_counter()
    model.fit(fresh, features)
    fitted = time.perf_counter()
    assert len(model.posterior_) == votes.n_pairs
    return fitted - begin, time.perf_counter() - fitted


# -- agreement ----------------------------------------------------------------------------------------------


def agreement(quick: bool) -> list[dict[str, Any]]:
    red = wine.draw("red", quick)
    red_votes = jr.Comparisons.from_matrix(red.first, red.second, red.said)
    cases = [
        ("red wine, with features", jr.JAM, red_votes, red.features),
        ("red wine", jr.JAM, red_votes, None),
        *[("arguments", model, votes, None) for votes in arguments() for model in (jr.JAM, jr.CrowdBT)],
    ]
    found = []
    for name, model, votes, features in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            memory = model(engine="memory").fit(votes, features)
            memory.posterior_  # noqa: B018
            between = time.perf_counter()
            gpu = model(engine="gpu").fit(dataclasses.replace(votes), features)
            gpu.posterior_  # noqa: B018
        taken = between - begin, time.perf_counter() - between
        found.append({"data": name, "model": model.__name__, "seconds": taken, **differences(memory, gpu)})
        report.say(f"{found[-1]}\n")
    return found


def arguments() -> list[jr.Comparisons]:
    folder = Path(os.environ.get("JAMRANK_DATA") or report.HERE.parents[1] / "shared" / "data")
    path = folder / "arguments" / "comparisons.csv"
    if not path.exists():
        return []
    votes = pl.read_csv(path)
    said = votes["label"].replace_strict({"a1": 1.0, "a2": 0.0, "equal": 0.5}).to_numpy()
    return [jr.Comparisons.from_arrays(votes["arg1"], votes["arg2"], votes["worker"], said)]


def differences(one: LatentModel, other: LatentModel) -> dict[str, float]:
    found = {
        name: float(np.abs(getattr(one, f"{name}_") - getattr(other, f"{name}_")).max())
        for name in ("scores", "flip", "posterior")
    }
    return {**found, "largest": max(found.values())}


# -- what is written ----------------------------------------------------------------------------------------


def card() -> dict[str, str]:
    import cupy

    runtime, device = cupy.cuda.runtime, cupy.cuda.Device()
    driver, toolkit = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    name = runtime.getDeviceProperties(device.id)["name"].decode()
    cuda, compiler = (f"{number // 1000}.{number % 1000 // 10}" for number in (driver, toolkit))
    kernel_driver = Path("/proc/driver/nvidia/version")
    built = re.search(r"\d+\.[\d.]+", kernel_driver.read_text()) if kernel_driver.exists() else None
    return {
        "card": f"{name}, {device.mem_info[1] / 1e9:.0f} GB",
        "driver": f"{built[0] if built else 'unknown'}, CUDA {cuda}",
        "toolkit": f"CUDA {compiler}, CuPy {cupy.__version__}",
    }


def as_markdown(found: dict[str, Any]) -> str:
    copied = found["copy bandwidth"]
    lines = [
        "# On a GPU",
        "",
        f"Made by `make benchmark-gpu`. Copying a large array on the GPU moves {copied / 1e12:.2f} TB/s, bytes read",
        "and bytes written.",
        "",
        "## One fused pass, six annotators",
        "",
        "Log-likelihood, gradient and degree by item, sums by pattern, and the curvature of every pair: what a fit",
        "needs of a pass; or the posterior of every pair as well. Bytes are those of the pattern (1), the second",
        "item where there is an index (2 or 4), the curvature (4) and, where it is kept, the posterior (8), each",
        "read or written once; neither holes nor scattered sums are counted. Times on the GPU are from clearing the",
        "sums to the last sum; *called* is the time from Python and back, sums included.",
        "",
    ]
    header = [
        "layout",
        "items",
        "pairs",
        "ms",
        "pairs/s",
        "bytes a pair",
        "TB/s",
        "of copy bandwidth",
        "ms, called",
        "ms, product",
    ]
    lines += report.table(header, [_pass_cells(one, copied) for one in found["passes"]])
    lines += ["## JAM on white wine, six annotators", "", *_wine_notes(found["wine"])]
    lines += ["## A crowd", "", *_crowd_notes(found["crowd"])]
    lines += ["## Agreement with the engine in memory", ""]
    lines += ["Largest differences between two fits, each with its engine.", ""]
    header = ["data", "model", "scores", "flips", "posterior", f"within {AGREEMENT:g}", "s in memory", "s on the GPU"]
    lines += report.table(header, [_agreement_cells(one) for one in found["agreement"]])
    return "\n".join([*lines, *report.made_with(found["about"])])


def _pass_cells(one: dict[str, Any], copied: float) -> list[str]:
    size = f"{one['bytes read a pair']} + {one['bytes written a pair']}"
    share = one["bytes a second"] / copied
    cells = [one["layout"], f"{one['items']:,}", f"{one['pairs']:,}", f"{1e3 * one['seconds']:.3f}"]
    cells += [f"{one['pairs a second']:.3g}", size, f"{one['bytes a second'] / 1e12:.2f}", f"{share:.0%}"]
    if "kept" in one["layout"]:
        # What is called from Python keeps no posterior.
        return [*cells, "", ""]
    product = one["seconds a curvature product, called from Python"]
    return [*cells, f"{1e3 * one['seconds called from Python']:.2f}", f"{1e3 * product:.2f}"]


def _wine_notes(found: list[dict[str, Any]]) -> list[str]:
    lines = [
        "Times are from arrays of item ids and a matrix of votes in memory to scores, flips and the posterior of",
        "every pair in memory. They include encoding the votes (`Comparisons.from_matrix`), finding their patterns,",
        "all copies to and from the GPU, every pass, and all work of the host between passes. Medians of",
        f"{FIT_ROUNDS}; the first fit also starts the GPU and compiles the kernels, or loads them from disk.",
        f"Asked of every pair: at least {FASTER:g} times as fast as two cores.",
        "",
    ]
    for one in found:
        base = next(iter(one["seconds"].values()))["all"]
        lines += [f"### {one['name'].capitalize()}, {one['pairs']:,} pairs", ""]
        rows = [
            [
                name,
                *(report.seconds(taken[part]) for part in ("first", "encoding", "fit", "posterior", "all")),
                f"{base / taken['all']:.1f}",
            ]
            for name, taken in one["seconds"].items()
        ]
        header = ["engine", "s, first", "s, encoding", "s, fit", "s, posterior", "s, all", "times as fast"]
        lines += report.table(header, rows)
        lines += [f"Scores, flips and posterior differ by at most {one['difference']:.1e}.", ""]
    return lines


def _crowd_notes(found: list[dict[str, Any]]) -> list[str]:
    votes, pairs, cores = (found[0][name] for name in ("votes", "pairs", "cores"))
    items, annotators = CROWD_SHAPE
    lines = [
        f"{votes:,} votes of {annotators} annotators on {pairs:,} pairs of {items:,} items, from encoded votes in",
        "memory (`jamrank.Comparisons`) to scores, flips and the posterior of every pair in memory: building rows,",
        f"copies to and from the GPU, passes, and all work of the host. Both engines have {cores} cores. Medians of",
        f"{FIT_ROUNDS}.",
        f"Asked: at least {FASTER_CROWD:g} times as fast, results within {AGREEMENT:g}.",
        "",
    ]
    header = [
        "model",
        "passes",
        "s in memory",
        "s on the GPU",
        "of it posterior",
        "times as fast",
        "largest difference",
    ]
    rows = []
    for one in found:
        memory, gpu = one["seconds"]["memory"], one["seconds"]["gpu"]
        taken = [report.seconds(seconds) for seconds in (memory["all"], gpu["all"], gpu["posterior"])]
        rows.append([one["model"], str(one["passes"]), *taken, f"{memory['all'] / gpu['all']:.1f}"])
        rows[-1].append(f"{one['difference']:.1e}")
    return [*lines, *report.table(header, rows)]


def _agreement_cells(one: dict[str, Any]) -> list[str]:
    numbers = [f"{one[name]:.1e}" for name in ("scores", "flip", "posterior")]
    met = "yes" if one["largest"] <= AGREEMENT else "no"
    return [one["data"], one["model"], *numbers, met, *map(report.seconds, one["seconds"])]


def main() -> None:
    given = report.arguments(report.parser("gpu", __doc__))
    begun_at = commit()
    found: dict[str, Any] = {"seed": SEED, "copy bandwidth": copy_bandwidth()}
    found["wine"] = white_wine(given.quick)
    found["crowd"] = crowd_fits(given.quick)
    found["agreement"] = agreement(given.quick)
    found["passes"] = measure_passes(given.quick)
    found["about"] = {**card(), "seed": str(SEED), **about(begun_at, "polars"), "jamrank": jr.__version__}
    if os.environ.get("JAMRANK_COMMIT"):
        found["about"]["commit"] = os.environ["JAMRANK_COMMIT"]
    report.write(given.out, "gpu", as_markdown(found), found)


if __name__ == "__main__":
    main()
