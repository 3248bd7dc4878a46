"""Win probabilities: a matrix of the probability that the item of a row beats the one of a column."""

from __future__ import annotations

from jamrank.report.heat import heat_map
from jamrank.report.markup import paragraph, plain, plural, shorten, tag
from jamrank.report.record import Report, WinProbabilities
from jamrank.report.section import Section
from jamrank.report.tables import LONGEST_NAME, TABLE_ROWS, data_block

# Of more items, this many of the first are shown.
SHOWN = 25


def _render(report: Report) -> str:
    known = report.wins
    if known is None or len(known.items) < 2:
        return ""
    wins = "gets a vote, errors of annotators included," if known.with_errors else "wins a comparison without errors"
    text = (
        f"Each cell is the probability, in percent, that the item of its row {wins} against "
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
    names = [plain(item) for item in known.items[: len(known.chance)]]
    caption = "Probability in percent that the row beats the column"
    return heat_map(names, known.chance, caption, "row beats column") + tag("p", class_="tip", aria_live="polite")


SECTION = Section("wins", "Win probabilities", _render, link="Win probabilities")
