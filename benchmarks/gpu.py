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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import report, wine
from benchmarks.gpu_fits import FLIPS, SEED, crowd_fits, crowd_notes, differences, on_gpu, white_wine, wine_notes
from benchmarks.machine import about, commit
from jamrank.engines import GpuEngine
from jamrank.engines.gpu_passes import PassTask
from jamrank.rows import Patterns, Rows

ROUNDS = 15
ENOUGH, AGREEMENT, FASTER, FASTER_CROWD = 0.5, 1e-6, 20.0, 8.0
PAIRS, OTHER_PAIRS, QUICK_PAIRS = 10**9, 250_000_000, 1_000_000


# -- passes -------------------------------------------------------------------------------------------------


def copy_bandwidth() -> float:
    """Return how many bytes a second the card reads and writes when it copies a large array."""
    import cupy

    size = 1 << 32
    source, target = cupy.ones(size // 8), cupy.zeros(size // 8)
    return 2 * size / median_on_gpu(lambda: cupy.copyto(target, source), ROUNDS)


def median_on_gpu(work: Callable[[], Any], rounds: int) -> float:
    """Return the median seconds that work takes on the card."""
    return float(np.median([on_gpu(work) for _ in range(rounds + 3)][3:]))


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
    task.send(engine.gpu)
    assert part.resident is not None
    room = engine.gpu.device.empty(engine.n_rows, np.float64) if keep else None

    def run() -> None:
        engine.gpu.device.fill(engine.gpu.sums, 0)
        if room is None:
            task.launch(engine.gpu, part, part.resident, engine.gpu.sums)
        else:
            task.walk(engine.gpu, part, part.resident, engine.gpu.sums, room)

    seconds = median_on_gpu(run, ROUNDS)
    begin = time.perf_counter()
    at = engine.expectation(scores, log_emission)
    called = time.perf_counter() - begin
    product = median_on_gpu(lambda: engine.curvature_times(at.curvature, vector), ROUNDS)
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
        *report.table(["asked", "measured", "met"], [list(one) for one in _targets(found)]),
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
    lines += ["## JAM on white wine, six annotators", "", *wine_notes(found["wine"])]
    lines += ["## A crowd", "", *crowd_notes(found["crowd"])]
    lines += ["## Agreement with the engine in memory", ""]
    lines += ["Largest differences between two fits, each with its engine.", ""]
    header = ["data", "model", "scores", "flips", "posterior", f"within {AGREEMENT:g}", "s in memory", "s on the GPU"]
    lines += report.table(header, [_agreement_cells(one) for one in found["agreement"]])
    return "\n".join([*lines, *report.made_with(found["about"])])


def _targets(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what is asked of the engine, what was measured, and whether that is enough."""
    share = found["passes"][0]["bytes a second"] / found["copy bandwidth"]
    yield (
        f"a fused pass without the posterior at {ENOUGH:.0%} of copy bandwidth",
        f"{share:.0%}",
        _met(share >= ENOUGH),
    )
    for one in found["wine"]:
        if "every pair" in one["name"]:
            base, *_, best = (taken["all"] for taken in one["seconds"].values())
            asked = f"JAM on {one['name']}, encoding included: {FASTER:g} times two cores"
            yield asked, f"{base / best:.1f}", _met(base >= FASTER * best)
    for one in found["crowd"]:
        memory, gpu = (one["seconds"][engine]["all"] for engine in ("memory", "gpu"))
        asked = f"{one['model']} on {one['votes']:,} crowd votes: {FASTER_CROWD:g} times {one['cores']} cores"
        yield asked, f"{memory / gpu:.1f}", _met(memory >= FASTER_CROWD * gpu)
    furthest = [one["largest"] for one in found["agreement"]]
    furthest += [one["difference"] for one in (*found["crowd"], *found["wine"])]
    yield f"results of both engines within {AGREEMENT:g}", f"{max(furthest):.1e}", _met(max(furthest) <= AGREEMENT)


def _met(met: bool) -> str:
    return "yes" if met else "no"


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


def _agreement_cells(one: dict[str, Any]) -> list[str]:
    numbers = [f"{one[name]:.1e}" for name in ("scores", "flip", "posterior")]
    return [
        one["data"],
        one["model"],
        *numbers,
        _met(one["largest"] <= AGREEMENT),
        *map(report.seconds, one["seconds"]),
    ]


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
