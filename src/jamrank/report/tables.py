"""Tables of the page; its script makes them sortable, searchable and downloadable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from jamrank.inference import VERDICTS
from jamrank.report.csv_text import csv_text
from jamrank.report.markup import MISSING, decimal, finite, paragraph, plural, shorten, tag

TABLE_ROWS = 2000
LONGEST_NAME = 80
# Longer tables scroll in a box of their own and can be searched.
_LONG = 30

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column: its heading, the text of a cell, and its kind.

    ``figure`` is aligned right, and so is ``extra``, which narrow screens leave out. ``word`` is aligned left, as is
    ``id``, which is shortened where it is long; ``name`` is the id that heads its row. ``chip`` and ``cell`` are
    markup, aligned left and right.
    """

    head: str
    write: Callable[[Row], str]
    kind: str = "figure"


def table(rows: Iterable[Row], columns: Sequence[Column], caption: str, file: str | None = None) -> str:
    """Return a table; columns without any value are left out.

    rows: The rows.
    columns: The columns, from left to right.
    caption: What the table shows.
    file: The name of the file that can be saved from it; there must be a data block of that name.
    """
    cells = [[column.write(row) for column in columns] for row in rows]
    kept = [i for i, c in enumerate(columns) if c.kind == "name" or any(line[i] != MISSING for line in cells)]
    heads = (tag("th", escape(columns[i].head), scope="col", class_=_class(columns[i])) for i in kept)
    body = (tag("tr", *(_cell(columns[i], line[i]) for i in kept)) for line in cells)
    top = tag("thead", tag("tr", *heads))
    long = len(cells) > _LONG
    whole = tag("table", tag("caption", escape(caption)), top, tag("tbody", "\n".join(body)))
    scroll = tag(
        "div", whole, class_="scroll long" if long else "scroll", tabindex="0", role="region", aria_label=caption
    )
    return tag("div", scroll, class_="table", data_search="" if long else None, data_file=file)


def whole_table(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    caption: str,
    file: str,
    *,
    spreadsheet_safe: bool = False,
) -> str:
    """Return a table of a result with the CSV file that can be saved from it; of a very long one, the first rows."""
    left_out = frame.height - TABLE_ROWS
    shown = frame.head(TABLE_ROWS)
    data = data_block(file, csv_text(shown, spreadsheet_safe))
    written = table(shown.iter_rows(named=True), columns, caption, file) + data
    if left_out <= 0:
        return written
    return written + paragraph(f"{plural(left_out, 'more row')} not shown: {file} has all {frame.height:,}.")


def data_block(name: str, value: object) -> str:
    """Return data for the page's script, as text that a browser does not interpret."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return tag("script", safe, type="application/json", id=f"data-{name}")


def _cell(column: Column, text: str) -> str:
    if column.kind in ("chip", "cell"):
        return tag("td", text, class_=_class(column))
    if column.kind in ("figure", "extra"):
        return tag("td", escape(text), class_=_class(column))
    short = text if column.kind == "word" else shorten(text, LONGEST_NAME)
    hover = text if short != text else None
    if column.kind == "name":
        return tag("th", escape(short), scope="row", title=hover)
    return tag("td", escape(short), class_=_class(column), title=hover)


def _class(column: Column) -> str | None:
    """Return the CSS class; figures, by far the most cells, have none."""
    return {"figure": None, "cell": None, "extra": "x", "word": "w t"}.get(column.kind, "w")


def between(row: Row, name: str, digits: int) -> str:
    """Return the interval of a column with a low and a high end; empty where one is unknown."""
    low, high = finite(row[f"{name}_low"]), finite(row[f"{name}_high"])
    if low is None or high is None:
        return ""
    ends = decimal(low, digits), decimal(high, digits)
    return ends[0] if digits == 0 and low == high else "–".join(ends)


def chip(verdict: str) -> str:
    """Return a verdict with its colour."""
    return tag("span", escape(verdict), class_=f"chip {verdict_class(verdict)}")


def verdict_class(verdict: object) -> str:
    """Return the CSS class of a verdict."""
    known = str(verdict) if verdict in VERDICTS else "other"
    return "v-" + known.replace(" ", "-")
