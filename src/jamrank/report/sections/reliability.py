"""Reliability by type of pair: a flip for each annotator and cluster of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import numpy as np

from jamrank.report.markup import count, decimal, paragraph, plain, plural, tag
from jamrank.report.record import Report, Skills
from jamrank.report.section import Section
from jamrank.report.tables import Column, Row, table

_SHOWN = 60


def _render(report: Report) -> str:
    known = report.skills
    if known is None or known.flip.shape[1] < 2:
        return ""
    gap = known.flip.max(axis=1) - known.flip.min(axis=1)
    order = np.argsort(-gap, kind="stable")[:_SHOWN]
    types = known.clusters.to_dicts()
    listed = tag("ol", *(tag("li", _type(cluster)) for cluster in types), class_="types")
    columns = [Column("annotator", lambda row: row["name"], "name")]
    columns += [Column(f"type {c + 1}", _nth(c), "cell") for c in range(len(types))]
    columns.append(Column("difference", lambda row: decimal(row["gap"], 3)))
    rows = ({"name": plain(known.annotators[k]), "gap": float(gap[k]), "cells": _cells(known, k)} for k in order)
    text = (
        "The model clusters pairs by the features in which their items differ, and estimates the flip of each "
        "annotator on each type (lower is better)."
    )
    more = f" {_SHOWN} of {plural(len(gap), 'annotator')} are shown." if len(gap) > _SHOWN else ""
    after = paragraph(f"Annotators with the largest differences come first.{more}")
    return paragraph(text) + listed + after + table(rows, columns, "Flip by type of pair")


def _nth(cluster: int) -> Callable[[Row], str]:
    return lambda row: str(row["cells"][cluster])


def _type(cluster: Mapping[str, object]) -> str:
    return escape(f"{plain(cluster['description'])}; {plural(int(str(cluster['pairs'])), 'pair')}")


def _cells(known: Skills, annotator: int) -> list[str]:
    cells = []
    for c, flip in enumerate(known.flip[annotator].tolist()):
        low, high = (None, None) if known.interval is None else known.interval[annotator, c].tolist()
        tip = f"{count(float(known.votes[annotator, c]))} votes"
        if low is not None:
            tip += f", 95 % interval {decimal(low, 3)} to {decimal(high, 3)}"
        # The colours of the matrix of win probabilities: a flip of 0 as a certain win, 1/2 as an even chance.
        cells.append(tag("span", decimal(flip, 3), class_=f"skill h{round(10 * (1 - flip))}", title=tip))
    return cells


_TITLE = "Reliability by type of pair"
SECTION = Section("reliability", _TITLE, _render, link=_TITLE)
