"""A section of the report from outside the package: how many neighbours in the ranking are close calls.

Run it in a checkout: ``python -m examples.close_calls`` writes a report with the section to close-calls.html.
"""

from __future__ import annotations

from itertools import pairwise

import jamrank as jr
from jamrank.report import SECTIONS, Report, Section
from jamrank.report.markup import paragraph, plain
from jamrank.report.tables import Column, table

CLOSE = 0.25


def close_calls(report: Report) -> str:
    """Return a table of neighbours whose scores differ by less than a quarter of a log-odd; empty without any."""
    rows = report.ranking.select("item", "score").rows(named=True)
    pairs = [
        {"upper": a["item"], "lower": b["item"], "gap": a["score"] - b["score"]}
        for a, b in pairwise(rows)
        if a["score"] - b["score"] < CLOSE
    ]
    if not pairs:
        return ""
    columns = [
        Column("item", lambda row: plain(row["upper"]), "name"),
        Column("next item", lambda row: plain(row["lower"]), "id"),
        Column("difference of scores", lambda row: f"{row['gap']:.3f}"),
    ]
    text = f"{len(pairs)} of {len(rows) - 1} pairs of neighbours differ by less than {CLOSE} in their scores."
    return paragraph(text) + table(pairs, columns, "Neighbours with close scores")


SECTION = Section("close-calls", "Close calls", close_calls, link="Close calls")


def main() -> None:
    """Write a report that has the section."""
    votes = jr.simulate(20, 6, 1500, random_state=0).votes
    SECTIONS.register("close calls", SECTION)
    jr.write_report(jr.JAM().fit(votes), votes, "close-calls.html", "With close calls")


if __name__ == "__main__":
    main()
