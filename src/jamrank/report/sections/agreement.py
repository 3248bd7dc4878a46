"""Who agrees with whom: a matrix of the annotators, those who agree side by side."""

from __future__ import annotations

from jamrank.report.heat import heat_map
from jamrank.report.markup import paragraph, plain, plural
from jamrank.report.record import Report
from jamrank.report.section import Section

# Two annotators have a single number, which the table of annotators tells better.
_FEWEST = 3


def _render(report: Report) -> str:
    known = report.agreement
    if known is None or len(known.annotators) < _FEWEST:
        return ""
    text = (
        "Each cell is the share, in percent, of the pairs judged by both annotators on which they gave the same "
        "answer; 50 is chance, and ties are left out. Annotators who agree stand side by side, so a blue block is a "
        "group with a common opinion or common errors. A cell without a number has fewer than ten common pairs."
    )
    if known.n_others:
        shown = plural(len(known.annotators), "annotator")
        text += f" The {shown} with the most common pairs are shown, {known.n_others:,} more are not."
    names = [plain(name) for name in known.annotators]
    return paragraph(text) + heat_map(
        names, known.share, "Agreement of annotators in percent", "row agrees with column"
    )


SECTION = Section("agreement", "Who agrees with whom", _render, link="Agreement")
