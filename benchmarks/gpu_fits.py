"""Fits on a GPU and in memory, timed: the jury of white wine, and a crowd. A part of :mod:`benchmarks.gpu`."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import jamrank as jr
from benchmarks import report, wine
from jamrank.engines.gpu_crowd import rows_on_device
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.models.latent import LatentModel

SEED, FLIPS, FIT_ROUNDS = 0, np.arange(1, 7) / 20, 9
CROWD, QUICK_CROWD, CROWD_SHAPE = 10_000_000, 50_000, (5000, 200)


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
        "memory, 2 cores": ({"n_jobs": 2, "engine": "memory"}, two),
        "GPU, 2 cores beside it": ({"n_jobs": 2, "engine": "gpu"}, two),
        f"GPU, {len(all_cores)} cores beside it": ({"engine": "gpu"}, all_cores),
    }
    times, models = {}, {}
    for name, (given, allowed) in settings.items():
        os.sched_setaffinity(0, allowed)
        runs = []
        for _ in range(FIT_ROUNDS + 1):
            votes = None  # freeing old votes, and with a new model old results, is not timed
            model = jr.JAM(**given)
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
    """Time CrowdBT and JAM on a crowd's votes, in memory with all cores and on the card, by flips."""
    votes = crowd(quick)
    return [time_crowd(model, flips, votes) for flips in ("auto", "joint") for model in (jr.CrowdBT, jr.JAM)]


def crowd(quick: bool) -> jr.Comparisons:
    return jr.simulate(*CROWD_SHAPE, QUICK_CROWD if quick else CROWD, random_state=SEED).votes


def time_crowd(model: type[LatentModel], flips: str, votes: jr.Comparisons) -> dict[str, Any]:
    times, models = {}, {}
    for engine in ("memory", "gpu"):
        runs = []
        for _ in range(FIT_ROUNDS + 1):
            models[engine] = model(engine=engine, flips=flips)
            runs.append(fit_anew(models[engine], votes, None))
        times[engine] = medians(runs, ("fit", "posterior"))
    found = {
        "model": model.__name__ + (", flips jointly" if flips == "joint" else ""),
        "votes": int(votes.vote_weight.sum()),
        "pairs": votes.n_pairs,
        "cores": len(os.sched_getaffinity(0)),
        "passes": models["gpu"].result_.convergence.n_passes,
        "seconds": times,
        "parts": parts_of(model, flips, votes),
        "difference": differences(*models.values())["largest"],
    }
    report.say(f"{found}\n")
    return found


def parts_of(model: type[LatentModel], flips: str, votes: jr.Comparisons) -> dict[str, float]:
    """Return the seconds of making rows, from packing votes on, and of kernels, and the bytes copied to the card.

    Each is measured by itself, so that what overlaps in a fit is counted in full.
    """
    taken, row = [], "vote" if model is jr.CrowdBT else "pair"
    for _ in range(FIT_ROUNDS):
        fresh, begin = dataclasses.replace(votes), time.perf_counter()
        rows_on_device(fresh, row, GpuDevice())
        taken.append(time.perf_counter() - begin)
    timed = TimedDevice()
    with patch.multiple(GpuDevice, filled=timed.filled, launch=timed.launch, recorded=lambda device, work: work):
        fit_anew(model(engine="gpu", flips=flips), votes, None)
    return {"rows": float(np.median(taken)), "bytes": timed.bytes, "kernels": timed.kernels}


class TimedDevice:
    """Takes the place of methods of the device: adds up what is copied, and how long kernels take one by one."""

    def __init__(self) -> None:
        self.bytes, self.kernels = 0, 0.0
        real_filled, real_launch = GpuDevice.filled, GpuDevice.launch

        def filled(device: GpuDevice, *given: Any) -> Any:
            there, found = real_filled(device, *given)
            self.bytes += there.nbytes
            return there, found

        def launch(device: GpuDevice, *given: Any, **named: Any) -> None:
            self.kernels += on_gpu(lambda: real_launch(device, *given, **named))

        self.filled, self.launch = filled, launch


def on_gpu(work: Callable[[], Any]) -> float:
    """Return the seconds between two events on the card, one before and one after the work."""
    import cupy

    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3


def fit_anew(model: LatentModel, votes: jr.Comparisons, features: np.ndarray | None) -> tuple[float, float]:
    """Fit to votes of which nothing but the encoding is known yet; return the seconds of fit and posterior."""
    fresh = dataclasses.replace(votes)
    begin = time.perf_counter()
    model.fit(fresh, features)
    fitted = time.perf_counter()
    assert len(model.posterior_) == votes.n_pairs
    return fitted - begin, time.perf_counter() - fitted


def differences(one: LatentModel, other: LatentModel) -> dict[str, float]:
    found = {
        name: float(np.abs(getattr(one, f"{name}_") - getattr(other, f"{name}_")).max())
        for name in ("scores", "flip", "posterior")
    }
    return {**found, "largest": max(found.values())}


def wine_notes(found: list[dict[str, Any]]) -> list[str]:
    lines = [
        "Times are from arrays of item ids and a matrix of votes in memory to scores, flips and the posterior of",
        "every pair in memory. They include encoding the votes (`Comparisons.from_matrix`), finding their patterns,",
        "all copies to and from the GPU, every pass, and all work of the host between passes. Medians of",
        f"{FIT_ROUNDS}; the first fit also starts the GPU and compiles the kernels, or loads them from disk.",
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


def crowd_notes(found: list[dict[str, Any]]) -> list[str]:
    votes, pairs, cores = (found[0][name] for name in ("votes", "pairs", "cores"))
    items, annotators = CROWD_SHAPE
    lines = [
        f"{votes:,} votes of {annotators} annotators on {pairs:,} pairs of {items:,} items, from encoded votes in",
        "memory (`jamrank.Comparisons`) to scores, flips and the posterior of every pair in memory: building rows,",
        f"copies to and from the GPU, passes, and all work of the host. Both engines have {cores} cores. Medians of",
        f"{FIT_ROUNDS}. By default, scores are integrated out of the flips of so many items.",
        "",
    ]
    header = ["model", "passes", "s in memory", "s on the GPU", "times as fast", "largest difference"]
    rows = []
    for one in found:
        taken = [one["seconds"][engine]["all"] for engine in ("memory", "gpu")]
        cells = [one["model"], str(one["passes"]), *map(report.seconds, taken), f"{taken[0] / taken[1]:.1f}"]
        rows.append([*cells, f"{one['difference']:.1e}"])
    lines += report.table(header, rows)
    lines += [
        "Parts of the time on the GPU, each measured by itself: packing and copying votes and making rows of them,",
        "kernels, and the posterior. The rest is other work of the host, most of it the loop of the fit.",
        "",
    ]
    header = [
        "model",
        "MB to the GPU",
        "ms, rows",
        "ms, kernels",
        "ms, posterior",
        "ms, rest",
    ]
    rows = []
    for one in found:
        gpu, parts = one["seconds"]["gpu"], one["parts"]
        taken = [parts["rows"], parts["kernels"], gpu["posterior"]]
        cells = [f"{1e3 * seconds:.0f}" for seconds in (*taken, gpu["all"] - sum(taken))]
        rows.append([one["model"], f"{parts['bytes'] / 1e6:.0f}", *cells])
    return [*lines, *report.table(header, rows)]
