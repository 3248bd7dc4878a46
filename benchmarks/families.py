"""What a million votes of 100 annotators cost with families, beside CrowdBT: CPU seconds of one thread, printed.

The ranking with intervals and the table of annotators are included. Each fit is done three times, alternating; the
fastest counts.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAMRANK_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from time import process_time

import jamrank as jr
from benchmarks import report
from jamrank.simulation import Tastes

CASES = [(20, 0.0), (50, 0.0), (100, 0.0), (50, 0.4), (100, 0.4)]


def seconds(model: type[jr.CrowdBT] | type[jr.FamilyBT], votes: jr.Comparisons) -> float:
    """Return the CPU seconds of a fit and of its tables."""
    begin = process_time()
    fitted = model().fit(votes)
    assert fitted.ranking_ is not None and fitted.annotators_ is not None
    return process_time() - begin


def main() -> None:
    rows = []
    for items, own_sd in CASES:
        tastes = Tastes(families=(20, 10), own_sd=own_sd)
        votes = jr.simulate(
            items, 100, 1_000_000, truth="vote", flips=[0.1] * 100, spread=1.5, tastes=tastes, random_state=0
        ).votes
        times = [(seconds(jr.CrowdBT, votes), seconds(jr.FamilyBT, votes)) for _ in range(3)]
        crowd, family = (min(one) for one in zip(*times, strict=True))
        rows.append([str(items), f"{own_sd}", f"{crowd:.3f}", f"{family:.2f}", f"{family / crowd:.1f}"])
    print("\n".join(report.table(["items", "own tastes", "CrowdBT s", "FamilyBT s", "ratio"], rows)))


if __name__ == "__main__":
    main()
