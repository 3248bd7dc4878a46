"""Whether damaged files end in one clear line or in the right votes: never a traceback, never another meaning.

Files of every known format are written as their sources say, and damaged: cells, columns, rows, bytes, encodings,
compression. What `read_comparisons` makes of each is held against a second reader that shares no code with it.
`python -m benchmarks.fuzz` writes fuzz.md and .json. The inputs are drawn by hypothesis.
"""

from __future__ import annotations

import random
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import naive
from benchmarks.machine import about, commit
from benchmarks.mangle import mangled
from benchmarks.report import arguments, made_with, parser, say, table, write
from benchmarks.samples import SAMPLES, Sample
from jamrank.errors import JamrankError

INPUTS, QUICK_INPUTS = 100_000, 500
RIGHT, REFUSED, STRICT = "right", "refused", "refused, though a way to read it was found"
WRONG = "wrong"
ENDS = (RIGHT, REFUSED, STRICT, WRONG)
BATCH = 1000


def judge(sample: Sample, data: bytes, path: Path, harmless: bool) -> tuple[str, str]:
    """Return what became of a file: right, refused or wrong, and how."""
    import jamrank as jr

    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            votes = jr.read_comparisons(path)
    except JamrankError as error:
        line = str(error)
        if "\n" in line or not line.strip() or len(line) > 2000:
            return WRONG, f"not one line: {line!r}"
        if harmless:
            return WRONG, f"refused without need: {line}"
        return (STRICT if _second_reading(sample.format, data, path.name) is not None else REFUSED), line
    except BaseException as error:
        return WRONG, f"{type(error).__name__}: {error}"
    if harmless and votes.readings[0].format != sample.format:
        return WRONG, f"taken for {votes.readings[0].format}"
    found = seen(votes)
    known = _second_reading(votes.readings[0].format, data, path.name)
    if known is None and data.startswith(b"PAR1"):
        # pyarrow also refuses files for what it alone writes into them; then nothing may have changed.
        known = {(*vote[:4], vote[5]): float(vote[4]) for vote in sample.votes}, sample.missing
    if known is None:
        return WRONG, f"read as {votes.readings[0]}, though the second reader refuses it: {found}"
    if not same(found, known):
        return WRONG, f"read as {votes.readings[0]}: {found} and not {known}"
    return RIGHT, ""


def seen(votes: Any) -> naive.Found:
    """Return votes as the second reader does."""
    found: dict[tuple[str, str, str, str, str], float] = {}
    for row in votes.to_frame().to_dicts():
        who, left, right, said = (str(row[name]) for name in ("annotator", "left", "right", "winner"))
        if not votes.readings[0].sides and left > right:
            left, right, said = right, left, {"left": "right", "right": "left"}.get(said, said)
        question = str(row["question"]) if "question" in row else str(votes.questions[0])
        p = row.get("p_left")
        for word, share in [(said, 1.0)] if p is None else [("left", p), ("right", 1 - p)]:
            vote = (who, left, right, word, question)
            found[vote] = found.get(vote, 0.0) + share * row["weight"]
    return found, votes.n_missing


def same(one: naive.Found, other: naive.Found) -> bool:
    close = all(abs(one[0].get(vote, -1.0) - weight) <= 1e-9 * max(1.0, weight) for vote, weight in other[0].items())
    return close and len(one[0]) == len(other[0]) and one[1] == other[1]


def _second_reading(format: str, data: bytes, name: str) -> naive.Found | None:
    try:
        return naive.read(format, naive.parse(data, name))
    except Exception:  # whatever it is, the second reader does not understand the file
        return None


@dataclass
class Ends:
    """How files of each format ended, and those that ended badly."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[dict[str, str]] = field(default_factory=list)

    def try_one(self, name: str, number: int, folder: Path) -> None:
        data, called, harmless = mangled(SAMPLES[name], random.Random(number))
        end, how = judge(SAMPLES[name], data, folder / called, harmless)
        (folder / called).unlink(missing_ok=True)
        self.counts[name, end] += 1
        if end == WRONG:
            self.failures.append({"format": name, "input": str(number), "how": how[:2000]})


def run(inputs: int, seed: int) -> Ends:
    """Draw so many inputs from a seed."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    ends = Ends()
    with tempfile.TemporaryDirectory(prefix="jamrank-fuzz-") as folder:

        @seeded(seed)
        @settings(
            max_examples=inputs,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(list(SAMPLES)), st.integers(0, 2**63))
        def drawn(name: str, number: int) -> None:
            ends.try_one(name, number, Path(folder))

        drawn()
    return ends


def run_all(inputs: int, seed: int, minutes: float | None, jobs: int) -> tuple[Ends, float]:
    """Draw inputs batch by batch, each from a seed of its own, until there are enough or the time is up."""
    total, begin = Ends(), time.monotonic()
    sizes = [min(BATCH, inputs - done) for done in range(0, inputs, BATCH)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(run, size, 1000 * seed + number) for number, size in enumerate(sizes)]
        for batch in as_completed(waiting):
            if batch.cancelled():
                continue
            ends = batch.result()
            total.counts += ends.counts
            total.failures += ends.failures
            say(f"{total.counts.total():,} inputs, {len(total.failures)} wrong\n")
            for failure in ends.failures:
                say(f"{failure}\n")
            if minutes is not None and time.monotonic() - begin > 60 * minutes:
                for other in waiting:
                    other.cancel()
    return total, time.monotonic() - begin


def main() -> None:
    asked = parser("fuzz", __doc__ or "")
    asked.add_argument("--inputs", type=int, help=f"how many files (default: {INPUTS:,})")
    asked.add_argument("--minutes", type=float, help="stop after so long")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--jobs", type=int, default=2, help="processes at a time")
    given = arguments(asked)
    begun_at = commit()
    inputs = given.inputs or (QUICK_INPUTS if given.quick else INPUTS)
    ends, seconds = run_all(inputs, given.seed, given.minutes, given.jobs)
    counts, failures = ends.counts, ends.failures
    facts = about(begun_at, "hypothesis", "polars", "pyarrow")
    rows = [[name, *(f"{counts[name, end]:,}" for end in ENDS)] for name in SAMPLES]
    rows.append(["all", *(f"{sum(counts[name, end] for name in SAMPLES):,}" for end in ENDS)])
    text = [
        "# Damaged files",
        "",
        "Made by `make fuzz`. Files of every format, written as their sources say, then damaged; a quarter of them",
        "are only written in another way, which must change nothing. *Right*: the votes are those that a second",
        "reader, which shares no code with jamrank, finds. *Refused*: one clear line. *Wrong*: a traceback, or other",
        "votes.",
        "",
        f"{counts.total():,} inputs with seed {given.seed}; {len(failures)} wrong.",
        "",
        *table(["format", *ENDS], rows),
        *([f"- {failure}" for failure in failures[:20]] + [""] if failures else []),
        *made_with(facts),
    ]
    numbers = {
        "inputs": counts.total(),
        "seed": given.seed,
        "seconds": round(seconds, 1),
        "wrong": failures,
        "counts": {name: {end: counts[name, end] for end in ENDS} for name in SAMPLES},
        **facts,
    }
    write(given.out, "fuzz", "\n".join(text), numbers)


if __name__ == "__main__":
    main()
