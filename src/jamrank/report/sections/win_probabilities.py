"""Win probabilities: a matrix of the probability that the item of a row beats the one of a column."""

from __future__ import annotations

from html import escape

import numpy as np

from jamrank.report.markup import paragraph, plain, plural, shorten, tag
from jamrank.report.record import Report, WinProbabilities
from jamrank.report.section import Section
from jamrank.report.tables import LONGEST_NAME, TABLE_ROWS, data_block

# Of more items, this many of the first are shown.
SHOWN = 25
_NAME = 24


def _render(report: Report) -> str:
    known = report.wins
    if known is None or len(known.items) < 2:
        return ""
    text = (
        "Each cell is the probability, in percent, that the item of its row wins a comparison without errors against "
        "the item of its column, by their scores: blue where the row is more likely to win, orange where the column "
        "is. It measures how far apart two items are, not how certain their order is. Columns are numbered by rank."
    )
    parts = [paragraph(text)]
    shown, total = len(known.chance), len(known.items)
    if shown < total:
        parts.append(paragraph(f"The first {shown} of {plural(total, 'item')} are shown."))
    parts.append(tag("div", _matrix(known), class_="wins", data_shown=shown))
    if shown < total and known.log_odds is not None:
        names = [shorten(plain(item), LONGEST_NAME) for item in known.items[:TABLE_ROWS]]
        odds = [round(float(value), 3) for value in known.log_odds[:TABLE_ROWS]]
        parts.append(data_block("wins", {"names": names, "odds": odds}))
    return "".join(parts)


def _matrix(known: WinProbabilities) -> str:
    shown = len(known.chance)
    names = [plain(item) for item in known.items[:shown]]
    heads = (
        tag("th", str(place), tag("span", escape(f" {shorten(name, _NAME)}"), class_="unseen"), scope="col")
        for place, name in enumerate(names, start=1)
    )
    corner = tag("td", tag("span", "row beats column", class_="unseen"))
    rows = (_row(place, name, known.chance[place]) for place, name in enumerate(names))
    caption = tag("caption", "Probability in percent that the row beats the column", class_="unseen")
    table = tag(
        "table", caption, tag("thead", tag("tr", corner, *heads)), tag("tbody", "\n".join(rows)), class_="heat"
    )
    label = "Probability that the row beats the column"
    tip = tag("p", class_="tip", aria_live="polite")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label) + tip


def _row(place: int, name: str, chance: np.ndarray) -> str:
    head = tag(
        "th", tag("span", str(place + 1), class_="place"), escape(shorten(name, _NAME)), scope="row", title=name
    )
    cells = (
        "<td></td>" if column == place else f'<td class="h{round(10 * p)}">{_cell(p)}</td>'
        for column, p in enumerate(chance.tolist())
    )
    return tag("tr", head, *cells)


def _cell(chance: float) -> str:
    return str(min(max(round(100 * chance), 1 if chance > 0 else 0), 99 if chance < 1 else 100))


SECTION = Section("wins", "Win probabilities", _render, link="Win probabilities")
