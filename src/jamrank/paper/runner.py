"""Runs the trials of experiments, stores their results, and writes tables and figures."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from jamrank import __version__
from jamrank.errors import InputError, JamrankError, ParameterError, TiesExcludedWarning
from jamrank.io import ensure_folder, write_atomically, write_together
from jamrank.kernels import compiled, default_threads
from jamrank.paper.data import SOURCES, Data
from jamrank.paper.experiments import EXPERIMENTS
from jamrank.paper.figures import figure_files
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Experiment, Measurement, Record, Trial
from jamrank.text import many

T = TypeVar("T")

_KEPT = ".trials"
_RESULTS, _RUNS, _TABLES = "results.json", "runs.json", "results.md"
_READING = (
    "Accuracies and shares are in percent. `±` is the half-width of the 95 % interval of the mean over seeds "
    "(Student's t). All records by seed are in `results.json`."
)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "polars")
# Modules that only show results: changes there do not invalidate stored ones.
_SHOWN = ("cli/", "report/", "paper/")
_MEASURING = {f"paper/{name}.py" for name in ("data", "digits", "losses", "methods", "ratings", "wine")}


@dataclass(frozen=True)
class Report:
    """The results of a run.

    Attributes
    ----------
    records : list of Record
        Everything found by the experiments of this run.
    n_run, n_kept : int
        Trials that were run, and trials whose stored results were used.
    summary : list of (str, str, str)
        Main results: name, value of this run, value of the paper.
    """

    records: list[Record]
    n_run: int
    n_kept: int
    summary: list[tuple[str, str, str]]


@dataclass(frozen=True)
class _Outcome:
    """The result of a trial, its seconds, and the peak memory of its process, in MiB."""

    found: list[Measurement]
    seconds: float
    peak: float


def choose(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of these names, each once and in the paper's order; all without names."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise ParameterError(f"no experiment {unknown[0]!r}; known are {', '.join(EXPERIMENTS)}")
    return [experiment for name, experiment in EXPERIMENTS.items() if not names or name in names]


def reproduce(
    names: Sequence[str] = (),
    *,
    data: Data | None = None,
    out: str | os.PathLike[str] = "jamrank-reproduction",
    seeds: int = 10,
    jobs: int = 1,
    quick: bool = False,
    fetching: Callable[[str], None] = lambda name: None,
    started: Callable[[float], None] = lambda cost: None,
    advanced: Callable[[str, float], None] = lambda done, cost: None,
) -> Report:
    """Run experiments of the paper and write ``results.json``, ``results.md`` and figures.

    Results of trials are stored in the folder, so that an interrupted run continues and a run with more seeds
    computes only new trials. Results of other code, data or library versions are not used.

    Parameters
    ----------
    names : sequence of str
        Experiments; all without names.
    data : Data, optional
        Where the data sets are.
    out : path-like
        Folder of the results; those of other experiments in it are kept.
    seeds : int
        Repetitions of whatever is random.
    jobs : int
        Number of parallel trials, each in its own process; they share the cores.
    quick : bool
        A small version that shows the trends, in a minute or two.
    fetching, started, advanced : callable
        Gets the name of each file before it is downloaded; the seconds of work expected; and, after each trial, how
        many are done and its share of those seconds.

    Returns
    -------
    Report
    """
    if seeds < 1 or jobs < 1:
        raise ParameterError(f"seeds={seeds}, jobs={jobs}; both must be at least 1")
    _require_libraries()
    chosen = choose(names)
    data = data or Data()
    # Check everything that could stop the run at its end.
    older, older_runs = _read_results(Path(out) / _RESULTS), _read_runs(Path(out) / _RUNS)
    planned = {each.name: each.trials(seeds, quick) for each in chosen}
    wanted = list(dict.fromkeys(trial for trials in planned.values() for trial in trials))
    data.require(sorted({name for trial in wanted for name in trial.files}), fetching)
    folder = ensure_folder(out)
    kept = ensure_folder(folder / _KEPT)
    stamp, origin = _stamp(), {"versions": _versions(), "commit": _commit(), "machine": _machine()}
    done = {trial: before for trial in wanted if (before := _read(_place(kept, trial, stamp))) is not None}
    left = [trial for trial in wanted if trial not in done]
    started(sum(trial.cost for trial in left))
    for number, (trial, outcome) in enumerate(_run(left, data, jobs), 1):
        write_atomically(_place(kept, trial, stamp), json.dumps(asdict(outcome)))
        done[trial] = outcome
        advanced(f"{number} of {many(len(left), 'trial')}", trial.cost)
    fresh = {each.name: each.records({t: done[t].found for t in planned[each.name]}) for each in chosen}
    runs = {name: _describe(trials, done, seeds, quick) | origin for name, trials in planned.items()}
    write_together(folder, _render(_in_order(_by_experiment(older) | fresh), _in_order(older_runs | runs), fresh))
    records = [record for each in fresh.values() for record in each]
    summary = [row for each in chosen for row in each.summary(fresh[each.name])]
    return Report(records, len(left), len(wanted) - len(left), summary)


def _require_libraries() -> None:
    missing = [name for name, module in (("scikit-learn", "sklearn"), ("matplotlib", "matplotlib")) if _lacks(module)]
    if missing:
        raise InputError(f"{' and '.join(missing)} not installed", "run: pip install 'jamrank[paper]'")


def _lacks(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is None


def _run(trials: Sequence[Trial], data: Data, jobs: int) -> Iterator[tuple[Trial, _Outcome]]:
    if jobs == 1:
        for trial in trials:
            yield trial, _measure(trial, data)
        return
    from multiprocessing import get_context

    threads = max(1, default_threads() // jobs)
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _share_cores, (threads,))
    try:
        waiting = {pool.submit(_measure, trial, data): trial for trial in trials}
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    except BrokenProcessPool:
        raise JamrankError("a process died, perhaps for lack of memory; try again with fewer --jobs") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _measure(trial: Trial, data: Data) -> _Outcome:
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiesExcludedWarning)  # ties are part of what is studied
        found = [Measurement(m.model, m.metric, m.setting, float(m.value)) for m in trial.run(data)]
    unknown = next((m for m in found if not math.isfinite(m.value)), None)
    if unknown is not None:
        raise JamrankError(f"{trial!r} found no number for {unknown.metric} of {unknown.model}")
    return _Outcome(found, perf_counter() - begin, _peak_memory())


def _peak_memory() -> float:
    """Return the peak memory of this process, in MiB; 0 if unknown."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _share_cores(threads: int) -> None:
    os.environ["JAMRANK_THREADS"] = str(threads)


def _stamp() -> str:
    """Return a digest of code, versions and data."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.suffix in (".py", ".cpp", ".hpp") and (name in _MEASURING or not name.startswith(_SHOWN)):
            digest.update(name.encode() + b"\0" + path.read_bytes())
    versions = {name: number for name, number in _versions().items() if name != "matplotlib"}
    files = {name: source.sha256 for name, source in SOURCES.items()}
    digest.update(repr([compiled, platform.machine(), versions, files]).encode())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    found = {"jamrank": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _place(kept: Path, trial: Trial, stamp: str) -> Path:
    return kept / f"{hashlib.sha256(f'{stamp} {trial!r}'.encode()).hexdigest()[:32]}.json"


def _read(place: Path) -> _Outcome | None:
    """Return the stored result of a trial; None if there is none or it is damaged."""
    try:
        kept = json.loads(place.read_bytes())
        found = [Measurement(str(a), str(b), str(c), float(value)) for a, b, c, value in kept["found"]]
        return _Outcome(found, float(kept["seconds"]), float(kept["peak"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _describe(trials: Sequence[Trial], done: dict[Trial, _Outcome], seeds: int, quick: bool) -> dict[str, Any]:
    """Return what is needed to reproduce the numbers."""
    return {
        "seeds": seeds,
        "quick": quick,
        "trials": len(trials),
        "seconds": round(sum(done[trial].seconds for trial in trials), 1),
        "peak_mib": round(max((done[trial].peak for trial in trials), default=0.0)),
    }


def _commit() -> str:
    """Return the commit of the code, if it is in its own repository."""
    package = Path(__file__).parents[1]
    if not (package.parents[1] / ".git").exists():
        return "none"
    asked = ["git", "-C", str(package), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _machine() -> str:
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    kernels = "compiled" if compiled else "numpy"
    return f"{name}, {default_threads()} threads, {platform.system()} {platform.machine()}, {kernels} kernels"


def _read_results(path: Path) -> list[Record]:
    """Return the records of an earlier run; none where there was none."""
    try:
        rows = json.loads(path.read_bytes())
        if not isinstance(rows, list):
            raise TypeError("not a list")
        return [Record(**row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        remedy = "move or delete it, or choose another --out"
        raise InputError("is not a list of this command's records", remedy, source=str(path)) from None


def _read_runs(path: Path) -> dict[str, Any]:
    """Return the records of earlier runs; damaged ones are ignored."""
    try:
        runs = json.loads(path.read_bytes())
        return {
            name: run for name, run in runs.items() if {"seeds", "quick", "versions", "commit", "machine"} <= set(run)
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _by_experiment(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.experiment, []).append(record)
    return groups


def _in_order(by_name: dict[str, T]) -> dict[str, T]:
    """Return entries of experiments in the paper's order; unknown experiments come last."""
    return {name: by_name[name] for name in [*EXPERIMENTS, *by_name] if name in by_name}


@dataclass(frozen=True)
class _Section:
    """What is shown of one experiment."""

    summary: list[tuple[str, str, str]]
    text: str
    figures: dict[str, bytes]

    @classmethod
    def of(cls, experiment: Experiment, records: Sequence[Record], origin: str) -> _Section:
        figures = figure_files(partial(experiment.draw, records))
        shown = [f"![{experiment.title}]({name})\n" for name in figures if name.endswith(".png")]
        return cls(experiment.summary(records), "\n".join([experiment.table(records), *shown, origin]), figures)


def _render(records: dict[str, list[Record]], runs: dict[str, Any], fresh: Container[str]) -> dict[str, str | bytes]:
    """Return the files of a folder of results."""
    rows = [json.dumps(record.as_dict(), allow_nan=False) for each in records.values() for record in each]
    files: dict[str, str | bytes] = {
        _RESULTS: "[\n" + ",\n".join(rows) + "\n]\n",
        _RUNS: json.dumps(runs, indent=1) + "\n",
    }
    glance, sections = [], []
    for name in [name for name in records if name in EXPERIMENTS]:
        experiment = EXPERIMENTS[name]
        try:
            section = _Section.of(experiment, records[name], _origin(runs.get(name)))
        except (ValueError, LookupError):
            if name in fresh:
                raise
            section = _Section(
                [], f"These records are of another version; run `jamrank reproduce {name}` again.\n", {}
            )
        glance += section.summary
        files |= section.figures
        sections.append(f"## {name}: {experiment.title}\n\n{_marked(name, section.text)}")
    summary = _marked("summary", markdown(["what", "ours", "paper"], glance))
    files[_TABLES] = "\n".join([f"# The paper, reproduced\n\n{_READING}\n", summary, *sections])
    return files


def _marked(name: str, text: str) -> str:
    """Return a text between markers, so that a page can include it."""
    return f"<!-- {name} -->\n\n{text}\n<!-- end of {name} -->\n"


def _origin(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    seeds = f"{run['seeds']} seed{'s' if run['seeds'] > 1 else ''} (0 to {run['seeds'] - 1})"
    quick = "; a quick run on a small part of the data" if run["quick"] else ""
    return f"*{seeds}{quick}. {versions}; commit {run['commit']}; {run['machine']}.*\n"
