"""The annotators: what to do about whom, a chart of their flips, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import polars as pl

from jamrank.diagnostics.checks.annotators import alone_sentence
from jamrank.report import svg
from jamrank.report.csv_text import csv_text
from jamrank.report.judges import ADVICE, INDEPENDENT, ONLY_SIDE, kinds, listed, reason
from jamrank.report.markup import MISSING, count, decimal, finite, paragraph, plain, plural, shorten, tag
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.sections.ranking import ends, figure
from jamrank.report.tables import (
    LONGEST_NAME,
    Column,
    Row,
    between,
    chip,
    data_block,
    table,
    verdict_class,
    whole_table,
)

_DRAWN = (30, 30)
_NAMED = 30
# Of more annotators than this, the best and the worst are listed.
_LISTED = 500
# Verdicts on annotators who share a taste.
_FAMILY, _AND_MORE = "family of ", " and more"
_FEWEST_TO_COMPARE = 4


def _render(report: Report) -> str:
    frame = report.annotators
    if frame.is_empty():
        return paragraph("There are no annotators.")
    if frame.height == 1 and frame["verdict"][0] == "alone":
        return paragraph(alone_sentence(frame["annotator"].to_numpy()))
    rows = _rows(frame)
    meaning = (
        "The flip is the probability that an annotator votes for the worse item: 0 is perfect, 0.5 is random voting, "
        "1 is always wrong."
    )
    if any(isinstance(row, svg.Mark) and row.low is not None for row in rows):
        meaning += " Lines are 95 % intervals."
    parts = (
        _by_verdict(frame, report.ranking.height),
        _left_out(report),
        paragraph(meaning),
        figure(_chart(rows, frame.height)),
        _table(frame, report.spreadsheet_safe),
    )
    return "".join(parts) + _correlated(report)


def _left_out(report: Report) -> str:
    """Return what leaving out those to be excluded or reviewed changes, and how to do so."""
    lines = (
        tag("li", escape(one.sentence), *(() if one.opens else (" ", tag("code", escape(one.command)))))
        for one in report.left_out
    )
    return tag("h3", "Leaving them out") + tag("ul", *lines) if report.left_out else ""


def _rows(frame: pl.DataFrame) -> list[svg.Mark | svg.Gap]:
    """Return what is drawn: all, or the best and the worst of those with enough votes."""
    judged = frame.filter(pl.col("verdict") != "too few votes")
    if frame.height <= sum(_DRAWN) or judged.is_empty():
        return ends(frame, _DRAWN, _mark, "annotator")
    few = frame.height - judged.height
    rest = [svg.Gap(f"… {plural(few, 'annotator')} with too few votes …")] if few else []
    return [*ends(judged, _DRAWN, _mark, "annotator"), *rest]


def _by_verdict(frame: pl.DataFrame, n_items: int) -> str:
    """Return what to do about whom and why, the most urgent first."""
    written = frame.select(pl.col("annotator"), verdict=pl.Series([plain(v) for v in kinds(frame)]))
    present = set(written["verdict"])
    others = {"Other": tuple(sorted(present.difference(*ADVICE.values())))}
    if any(verdict.startswith(_FAMILY) for verdict in others["Other"]):
        return _by_family(written, n_items)
    groups = []
    for advice, verdicts in (ADVICE | others).items():
        found = {v: written.filter(pl.col("verdict") == v)["annotator"].to_list() for v in verdicts if v in present}
        if found:
            total = f"{advice}: {sum(map(len, found.values())):,}"
            groups.append(
                tag("h3", escape(total))
                + tag("ul", *(_group(*one, n_items) for one in found.items()), class_="verdicts")
            )
    return "".join(groups)


def _by_family(written: pl.DataFrame, n_items: int) -> str:
    """Return the annotators of each family together; each one's verdict names others of it."""
    families: list[set[str]] = []
    alone: dict[str, list[str]] = {}
    for name, verdict in written.iter_rows():
        if not verdict.startswith(_FAMILY):
            alone.setdefault(verdict, []).append(name)
            continue
        own = {str(name), *verdict.removeprefix(_FAMILY).removesuffix(_AND_MORE).split(", ")}
        joined = [family for family in families if family & own]
        families = [family for family in families if not family & own] + [own.union(*joined)]
    known = [str(name) for name in written["annotator"].to_list()]
    groups = [_group("family", [name for name in known if name in family], n_items) for family in families]
    return tag("ul", *groups, *(_group(*one, n_items) for one in alone.items()), class_="verdicts")


def _group(verdict: str, names: Sequence[object], n_items: int) -> str:
    action = tag("span", escape(reason(verdict, len(names), n_items)), class_="action")
    shown = "position-biased" if verdict == ONLY_SIDE else verdict
    line = tag("p", chip(shown), " ", tag("strong", f"{len(names):,}"), " ", action)
    return tag("li", line, paragraph(_names(names), "names"))


def _names(names: Sequence[object]) -> str:
    return listed([shorten(plain(name), LONGEST_NAME) for name in names], _NAMED)


def _chart(rows: Sequence[svg.Mark | svg.Gap], total: int) -> str:
    drawn = sum(isinstance(row, svg.Mark) for row in rows)
    notes = ((0.0, "perfect"), (0.5, "random"), (1.0, "always wrong"))
    label = "flip (probability of a wrong vote)"
    return svg.interval_chart(
        rows,
        svg.Axis(0.0, 1.0, label, (0.0, 0.25, 0.5, 0.75, 1.0), notes, reference=0.5),
        title="Annotators: the flip of each",
        desc=f"{plural(drawn, 'annotator')} of {total:,}, best first, on a scale from 0 (perfect) over 0.5 "
        "(random) to 1 (always wrong). The table below lists the numbers.",
        heads=("annotator", "votes"),
    )


def _mark(row: Row) -> svg.Mark:
    name, flip, votes = plain(row["annotator"]), finite(row["flip"]), count(finite(row["votes"]))
    reach = between(row, "flip", 3)
    interval = f" ({reach})" if reach else ""
    tip = f"{name}: {plain(row['verdict'])}, flip {decimal(flip, 3)}{interval}, votes {votes}"
    low, high = finite(row["flip_low"]), finite(row["flip_high"])
    return svg.Mark(name, flip, low, high, "", votes, verdict_class(row["verdict"]), tip)


def _table(frame: pl.DataFrame, safe: bool) -> str:
    columns = [
        Column("annotator", lambda row: plain(row["annotator"]), "name"),
        Column("votes", lambda row: count(finite(row["votes"]))),
        Column("flip", lambda row: decimal(finite(row["flip"]), 3)),
        Column("95 % interval", lambda row: between(row, "flip", 3) or MISSING),
        Column("verdict", lambda row: chip(plain(row["verdict"])), "chip"),
        Column("evidence", lambda row: plain(row.get("evidence", MISSING)), "word"),
    ]
    own = {
        "bias": Column("position bias (left)", lambda row: decimal(finite(row["bias"]), 2)),
        "tie": Column("tie tendency", lambda row: decimal(finite(row["tie"]), 2)),
    }
    columns[4:4] = [column for name, column in own.items() if name in frame.columns]
    left_out = frame.height - _LISTED
    if left_out <= 0:
        caption = "All annotators, lowest flip first; those with too few votes last"
        return whole_table(frame, columns, caption, "annotators.csv", spreadsheet_safe=safe)
    judged = frame.filter(pl.col("verdict") != "too few votes")
    caption = f"{_LISTED} of {plural(frame.height, 'annotator')}, lowest flip first"
    if judged.height <= _LISTED:
        shown = frame.head(_LISTED)
    else:
        shown = pl.concat([judged.head(_LISTED // 2), judged.tail(_LISTED // 2)])
        caption = f"The {_LISTED // 2} lowest flips and the {_LISTED // 2} highest, of {frame.height:,} annotators"
    rest = paragraph(f"{plural(left_out, 'more annotator')} not shown: annotators.csv has all {frame.height:,}.")
    data = data_block("annotators.csv", csv_text(frame, safe))
    return table(shown.iter_rows(named=True), columns, caption, "annotators.csv") + data + rest


def _correlated(report: Report) -> str:
    """Return whose errors are correlated, and who cast the same votes, so that they may be."""
    if not report.same_votes or report.families:
        return _correlated_errors(report)
    known = report.correlated is not None and not report.correlated.is_empty()
    same = tag("h3", "The same votes") + paragraph(" ".join(report.same_votes))
    return same + (_correlated_errors(report) if known else "")


def _correlated_errors(report: Report) -> str:
    if report.effective_judges is None:
        return ""
    if report.families:
        effective = f"{report.n_judges:,} annotators are equivalent to {decimal(report.effective_judges, 1)} of them."
        return tag("h3", "Shared tastes") + paragraph(" ".join([*report.families, effective]))
    if report.correlated is None or report.correlated.is_empty():
        # Of fewer, nobody is left to tell copies from those who hardly ever err.
        few = report.n_judges < _FEWEST_TO_COMPARE
        text = "Correlated errors can only be found among four annotators or more." if few else ""
        return paragraph(text or "No correlated errors of annotators were found.")
    columns = [
        Column("annotator", lambda row: plain(row["first"]), "name"),
        Column("and", lambda row: plain(row["second"]), "id"),
        Column("common pairs", lambda row: count(finite(row["pairs"]))),
        Column("correlation of errors", lambda row: decimal(finite(row["correlation"]), 2)),
    ]
    effective = (
        f"{report.n_judges:,} annotators are equivalent to {decimal(report.effective_judges, 1)} independent ones"
    )
    text = "These annotators agree more often than independent errors explain; a correlation of 1 is a copy. "
    if report.effective_judges < INDEPENDENT * report.n_judges:
        text += f"{effective}, and intervals of scores and ranks are too narrow."
    elif not report.same_votes:
        text += f"Otherwise errors are nearly independent: {effective}."
    shown = report.correlated.head(25).iter_rows(named=True)
    return tag("h3", "Correlated errors") + paragraph(text) + table(shown, columns, "Correlated errors")


SECTION = Section("annotators", "Annotators", _render, link="Annotators")
