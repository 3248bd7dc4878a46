"""One contender on one set of votes, in a process of its own.

``python -m benchmarks.contend CONTENDER FOLDER LIMIT WARM RECORDS`` appends one JSON line a fit to the file RECORDS:
the cold fit first, with its imports (numpy's apart: the votes need it), then up to WARM more. A fit that takes longer
than LIMIT seconds ends the process by SIGALRM, also in compiled code.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import memory
from benchmarks.rivals import CONTENDERS, Contender
from benchmarks.votes import Votes


def measure(contender: Contender, votes: Votes, limit: float, warm: int, records: Path) -> None:
    before = memory("VmRSS")
    cold = one_fit(contender, votes, limit)
    append(records, {**cold, "warm": False, "peak_mib": memory("VmHWM") - before})
    spent = cold["seconds"]
    for done in range(warm):
        if done and spent + spent / (1 + done) > limit:
            return
        again = one_fit(contender, votes, limit)
        append(records, {**again, "warm": True})
        spent += again["seconds"]


def one_fit(contender: Contender, votes: Votes, limit: float) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_REAL, limit)
    begin = time.perf_counter()
    prepared = contender.prepare(votes)
    middle = time.perf_counter()
    scores = contender.fit(prepared)
    end = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0)
    times = {"prepare": middle - begin, "fit": end - middle, "seconds": end - begin}
    return {**times, "scores": scores.tolist()}


def be_killed_first() -> None:
    """Ask Linux, should it run out of memory, to end this process rather than another."""
    if Path("/proc/self/oom_score_adj").exists():
        Path("/proc/self/oom_score_adj").write_text("1000")


def append(records: Path, record: dict[str, Any]) -> None:
    with records.open("a") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    name, folder, limit, warm, records = sys.argv[1:]
    be_killed_first()
    try:
        measure(CONTENDERS[name], Votes.load(Path(folder)), float(limit), int(warm), Path(records))
    except Exception as error:
        append(Path(records), {"error": f"{type(error).__name__}: {error}"})
        raise
