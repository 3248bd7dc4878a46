"""Who is good at what: a flip for each annotator on each kind of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import numpy as np

from jamrank.report.markup import count, decimal, paragraph, plain, plural, section, tag
from jamrank.report.record import Report, Skills
from jamrank.report.tables import Column, Row, table

__all__ = ["skills"]

_SHOWN = 60


def skills(report: Report) -> str:
    """Write the flips by kind of pairs, those annotators first in whom they differ most."""
    known = report.skills
    if known is None or known.flip.shape[1] < 2:
        return ""
    gap = known.flip.max(axis=1) - known.flip.min(axis=1)
    order = np.argsort(-gap, kind="stable")[:_SHOWN]
    kinds = known.clusters.to_dicts()
    listed = tag("ol", *(tag("li", _kind(kind)) for kind in kinds), class_="kinds")
    columns = [Column("annotator", lambda row: row["name"], "name")]
    columns += [Column(f"kind {c + 1}", _nth(c), "cell") for c in range(len(kinds))]
    columns.append(Column("difference", lambda row: decimal(row["gap"], 3)))
    rows = ({"name": plain(known.annotators[k]), "gap": float(gap[k]), "cells": _cells(known, k)} for k in order)
    told = (
        "The model has found these kinds of pairs, told by the features in which their items differ, and how often "
        "each annotator says the opposite of the truth on each kind (flip: lower is better)."
    )
    more = f" Shown are {_SHOWN} of {plural(len(gap), 'annotator')}." if len(gap) > _SHOWN else ""
    after = paragraph(f"Those whose flips differ most come first.{more}")
    return section(
        "skills", "Who is good at what", paragraph(told), listed, after, table(rows, columns, "Flip by kind of pairs")
    )


def _nth(kind: int) -> Callable[[Row], str]:
    return lambda row: str(row["cells"][kind])


def _kind(kind: Mapping[str, object]) -> str:
    return escape(f"{plain(kind['description'])}; {plural(int(str(kind['pairs'])), 'pair')}")


def _cells(known: Skills, annotator: int) -> list[str]:
    cells = []
    for c, flip in enumerate(known.flip[annotator].tolist()):
        low, high = (None, None) if known.interval is None else known.interval[annotator, c].tolist()
        told = f"{count(float(known.votes[annotator, c]))} votes"
        if low is not None:
            told += f", between {decimal(low, 3)} and {decimal(high, 3)}"
        # Half the scale of a matrix: no flip is as good as a certain win, 1/2 as an even chance.
        cells.append(tag("span", decimal(flip, 3), class_=f"skill h{round(10 * (1 - flip))}", title=told))
    return cells
