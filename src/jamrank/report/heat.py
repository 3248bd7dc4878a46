"""Matrices of shares, coloured from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from jamrank.report.markup import shorten, tag
from jamrank.typing import FloatArray

_NAME = 24


def heat_map(names: Sequence[str], share: FloatArray, caption: str, corner: str) -> str:
    """Return a table of shares in percent: blue above a half, orange below, empty where there is none."""
    heads = (
        tag("th", str(place), tag("span", escape(f" {shorten(name, _NAME)}"), class_="unseen"), scope="col")
        for place, name in enumerate(names, start=1)
    )
    first = tag("td", tag("span", corner, class_="unseen"))
    rows = (_row(place, name, share[place]) for place, name in enumerate(names))
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", first, *heads)),
        tag("tbody", "\n".join(rows)),
        class_="heat",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _row(place: int, name: str, share: FloatArray) -> str:
    head = tag(
        "th", tag("span", str(place + 1), class_="place"), escape(shorten(name, _NAME)), scope="row", title=name
    )
    cells = (
        "<td></td>" if column == place or np.isnan(p) else f'<td class="h{round(10 * p)}">{_cell(p)}</td>'
        for column, p in enumerate(share.tolist())
    )
    return tag("tr", head, *cells)


def _cell(share: float) -> str:
    return str(min(max(round(100 * share), 1 if share > 0 else 0), 99 if share < 1 else 100))
