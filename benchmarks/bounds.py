"""Time and memory of inputs that are small and once took much: each in a process of its own.

`python -m benchmarks.bounds` writes bounds.md and .json.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import about, commit
from benchmarks.report import arguments, made_with, parser, table, write


def wide(folder: Path) -> None:
    import numpy as np

    import jamrank as jr

    votes = jr.Comparisons.from_arrays(list("abcab"), list("bcaca"), list("kklll"), [1, 1, 1, 0, 1])
    model = jr.JAM().fit(votes, np.random.default_rng(0).normal(size=(3, 12_288)))
    _ = model.ranking_, model.result_.coef_interval()


def ratings(folder: Path) -> None:
    _read(folder / "votes.csv", "annotator,item,rating\n" + "".join(f"k,i{k},{k % 7}\n" for k in range(3000)))


def keys(folder: Path) -> None:
    vote = {"annotator": "k", "left": "a", "right": "b", "winner": "left"}
    _read(folder / "votes.json", json.dumps([{**vote, **{f"c{k}": k for k in range(60_000)}}]))


def columns(folder: Path) -> None:
    names = ["annotator", "left", "right", "winner", *(f"c{k}" for k in range(50_000))]
    _read(folder / "votes.csv", ",".join(names) + "\nk,a,b,left" + ",1" * 50_000 + "\n")


def _read(path: Path, text: str) -> None:
    import jamrank as jr

    path.write_text(text)
    jr.read_comparisons(path)


def poll(voters: int) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        import numpy as np

        import jamrank as jr

        left, right = np.tile([0, 1, 0], voters), np.tile([1, 2, 2], voters)
        who, said = np.repeat(np.arange(voters), 3), np.random.default_rng(0).random(3 * voters) < 0.7
        model = jr.JAM().fit(jr.Comparisons.from_arrays(left, right, who, said.astype(float)))
        _ = model.ranking_, model.annotators_

    return run


CASES: dict[str, Callable[[Path], None]] = {
    "12,288 features of 3 items, fitted": wide,
    "3,000 ratings by one annotator, read": ratings,
    "a JSON record of 60,000 keys, read": keys,
    "a CSV of 50,000 columns, read": columns,
    "8,000 voters on 3 items, fitted": poll(8000),
    "20,000 voters on 3 items, fitted": poll(20_000),
}


def main() -> None:
    asked = parser("bounds", __doc__ or "")
    asked.add_argument("--case", choices=CASES)
    given = arguments(asked)
    if given.case:
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory(prefix="jamrank-bounds-") as folder:
            began = time.process_time()
            CASES[given.case](Path(folder))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        sys.stdout.write(json.dumps({"seconds": round(time.process_time() - began, 2), "bytes": peak}))
        return
    begun_at, found = commit(), {}
    for name in CASES:
        command = [sys.executable, "-m", "benchmarks.bounds", "--case", name]
        found[name] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=600).stdout)
    facts = about(begun_at, "polars")
    rows = [[name, f"{one['seconds']:.1f}", f"{one['bytes'] / 1e6:,.0f}"] for name, one in found.items()]
    text = [
        "# Time and memory of small inputs",
        "",
        "Made by `make bounds`: CPU time with imports, and the largest memory of the whole process, in which",
        "Python and its libraries take about 100 MB.",
        "",
        *table(["input", "s", "MB"], rows),
        *made_with(facts),
    ]
    write(given.out, "bounds", "\n".join(text), {"cases": found, **facts})


if __name__ == "__main__":
    main()
