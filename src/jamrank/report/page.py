"""The HTML page of a report: one file, no network, no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from jamrank.diagnostics import VERDICTS
from jamrank.report import svg
from jamrank.report.svg import MISSING, count, decimal, finite, plain, tag

DRAWN_ITEMS = (30, 10)
DRAWN_ANNOTATORS = (30, 30)
TABLE_ROWS = 1000
UNCERTAIN_PAIRS = 25
LINE_POINTS = 400
LONGEST_NAME = 80
NORMAL_95 = 1.96

Row = Mapping[str, Any]
Column = tuple[str, Callable[[Row], str]]


@dataclass(frozen=True)
class Report:
    """What a report tells; frames come best first and are shown in their order.

    Parameters
    ----------
    title : str
        The name of the page.
    summary : sequence of str
        Plain sentences, shown first.
    ranking : polars.DataFrame
        Columns item, rank, score, score_se, rank_low, rank_high; the last three may be null.
    annotators : polars.DataFrame
        Columns annotator, votes, flip, flip_low, flip_high, verdict; low and high may be null. Columns evidence and
        action, where there, are shown too.
    pairs : polars.DataFrame or None
        Columns left, right, votes, p_left and, where there are questions, question; None where they stay on disk.
    n_pairs : int
        How many there are.
    log_likelihoods : sequence of float
        By iteration; empty for models that have none.
    facts : mapping of str to str
        How it was computed: model, command, versions, seconds.
    """

    title: str
    summary: Sequence[str]
    ranking: pl.DataFrame
    annotators: pl.DataFrame
    pairs: pl.DataFrame | None
    n_pairs: int
    log_likelihoods: Sequence[float]
    facts: Mapping[str, str]


def render(report: Report) -> str:
    """Write a report as one self-contained HTML5 document.

    Parameters
    ----------
    report : Report
        What to tell. Every id may be of any kind and of any length.

    Returns
    -------
    str
        The document. It loads nothing, runs nothing, and follows the reader's choice of light or dark.
    """
    sections = (
        _summary(report),
        _ranking(report.ranking),
        _annotators(report.annotators),
        "" if report.pairs is None else _pairs(report.pairs),
        _convergence(report.log_likelihoods),
        _facts(report.facts),
    )
    header = tag("header", tag("p", "jamrank report", class_="kicker"), tag("h1", escape(plain(report.title))))
    body = tag("body", tag("main", header, *sections))
    return f'<!DOCTYPE html>\n<html lang="en">\n{_head(report.title)}\n{body}\n</html>\n'


def _head(title: str) -> str:
    # The policy makes the promise of a page without network binding, whatever an id contains.
    return (
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="color-scheme" content="light dark">'
        f"{tag('title', escape(plain(title)))}<style>{_STYLE}</style></head>"
    )


def _section(heading: str, *parts: str) -> str:
    return "\n" + tag("section", tag("h2", heading), *parts)


def _paragraph(text: str) -> str:
    return tag("p", escape(text))


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _summary(report: Report) -> str:
    sentences = "".join(_paragraph(plain(sentence)) for sentence in report.summary)
    votes = finite(report.annotators["votes"].sum())
    figures = {
        "item": report.ranking.height,
        "annotator": report.annotators.height,
        "vote": votes,
        "pair": report.n_pairs,
    }
    tiles = (_tile(noun, number) for noun, number in figures.items())
    return _section("In short", tag("div", sentences, class_="lead-text"), tag("dl", *tiles, class_="tiles"))


def _tile(noun: str, number: float | None) -> str:
    return tag("div", tag("dt", noun if number == 1 else noun + "s"), tag("dd", count(number)))


def _ranking(ranking: pl.DataFrame) -> str:
    if ranking.is_empty():
        return _section("Ranking", _paragraph("There are no items to rank."))
    scores = [s for s in map(finite, ranking["score"]) if s is not None]
    digits = svg.digits_for(max(scores, default=0.0) - min(scores, default=0.0))
    rows = _ends(ranking, DRAWN_ITEMS, lambda row: _item_mark(row, digits), "item")
    marks = [row for row in rows if isinstance(row, svg.Mark)]
    low, high = svg.value_range(marks)
    chart = svg.interval_chart(
        rows,
        svg.Axis(low, high, "score (higher is better)", svg.ticks(low, high)),
        title="Ranking: the score of each item",
        desc=f"{_plural(len(marks), 'item')} of {ranking.height:,}, best first. The table below has numbers.",
        heads=("item", "rank range"),
    )
    note = "" if all(m.low is None for m in marks) else _paragraph("Lines are 95% intervals of the score.")
    return _section("Ranking", note, tag("figure", chart), _ranking_table(ranking, digits))


def _ends(
    frame: pl.DataFrame, drawn: tuple[int, int], mark: Callable[[Row], svg.Mark], noun: str
) -> list[svg.Mark | svg.Gap]:
    """Take all rows, or the first and the last with a gap that counts what lies between."""
    first, last = drawn
    between = frame.height - first - last
    if between <= 0:
        return [mark(row) for row in frame.iter_rows(named=True)]
    gap = svg.Gap(f"… {_plural(between, noun)} between …")
    head, tail = frame.head(first), frame.tail(last)
    return [*map(mark, head.iter_rows(named=True)), gap, *map(mark, tail.iter_rows(named=True))]


def _item_mark(row: Row, digits: int) -> svg.Mark:
    name, score, error = plain(row["item"]), finite(row["score"]), finite(row["score_se"])
    low = high = None
    tip = f"{name}: rank {_rank(row)}, score {decimal(score, digits)}"
    if score is not None and error is not None:
        low, high = score - NORMAL_95 * error, score + NORMAL_95 * error
        tip += f" ({decimal(low, digits)} to {decimal(high, digits)})"
    return svg.Mark(name, score, low, high, _rank(row), _between(row, "rank", 0), "item", tip)


def _rank(row: Row) -> str:
    return count(finite(row["rank"]))


def _between(row: Row, name: str, digits: int) -> str:
    low, high = finite(row[f"{name}_low"]), finite(row[f"{name}_high"])
    if low is None or high is None:
        return ""
    ends = decimal(low, digits), decimal(high, digits)
    return ends[0] if digits == 0 and low == high else "–".join(ends)


def _ranking_table(ranking: pl.DataFrame, digits: int) -> str:
    columns: list[Column] = [
        ("rank", _rank),
        ("item", lambda row: plain(row["item"])),
        ("score", lambda row: decimal(finite(row["score"]), digits)),
        ("standard error", lambda row: decimal(finite(row["score_se"]), digits)),
        ("rank range", lambda row: _between(row, "rank", 0) or MISSING),
    ]
    return _details("Full ranking", ranking, columns, "item", "ranking.csv")


def _details(summary: str, frame: pl.DataFrame, columns: Sequence[Column], name: str, file: str) -> str:
    left_out = frame.height - TABLE_ROWS
    rest = f"{_plural(left_out, 'row')} more left out here: {file} has all {frame.height:,}."
    table = _table(frame.head(TABLE_ROWS).iter_rows(named=True), columns, name, summary)
    label = f"{summary} ({_plural(frame.height, name)})"
    return tag("details", tag("summary", label), table, _paragraph(rest) if left_out > 0 else "")


def _table(rows: Iterable[Row], columns: Sequence[Column], name: str, caption: str) -> str:
    """Write a table whose column `name` heads its rows; columns without any value are left out."""
    cells = [[write(row) for _, write in columns] for row in rows]
    kept = [i for i, (head, _) in enumerate(columns) if head == name or any(c[i] != MISSING for c in cells)]
    heads = [columns[i][0] for i in kept]
    body = (tag("tr", *(_cell(head, line[i], name) for head, i in zip(heads, kept, strict=True))) for line in cells)
    top = tag("thead", tag("tr", *(tag("th", escape(h), scope="col", class_=_kind(h)) for h in heads)))
    table = tag("table", tag("caption", escape(caption)), top, tag("tbody", "\n".join(body)))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cell(head: str, text: str, name: str) -> str:
    if head == name:
        return tag("th", escape(svg.shorten(text, LONGEST_NAME)), scope="row", title=_hover(text))
    if head == "verdict":
        return tag("td", tag("span", escape(text), class_=f"chip {_verdict_class(text)}"))
    return tag("td", escape(text), class_=_kind(head))


def _hover(text: str) -> str | None:
    return text if svg.shorten(text, LONGEST_NAME) != text else None


def _kind(head: str) -> str | None:
    """Give words their class; figures, by far the most cells, go without one and stand to the right."""
    return (
        "w" if head in {"item", "annotator", "left", "right", "question", "verdict", "evidence", "action"} else None
    )


def _verdict_class(verdict: object) -> str:
    known = str(verdict) if verdict in VERDICTS else "other"
    return "v-" + known.replace(" ", "-")


def _annotators(annotators: pl.DataFrame) -> str:
    if annotators.is_empty():
        return _section("Annotators", _paragraph("There are no annotators."))
    rows = _ends(annotators, DRAWN_ANNOTATORS, _annotator_mark, "annotator")
    meaning = (
        "Flip is the probability that an annotator reports the opposite of the truth: 0 is perfect, "
        "0.5 is a coin toss, 1 always says the opposite."
    )
    if any(isinstance(row, svg.Mark) and row.low is not None for row in rows):
        meaning += " Lines show how uncertain the estimate is."
    chart = tag("figure", _flip_chart(rows, annotators.height))
    legend = _legend(annotators["verdict"])
    return _section("Annotators", _paragraph(meaning), legend, chart, _annotators_table(annotators))


def _flip_chart(rows: Sequence[svg.Mark | svg.Gap], total: int) -> str:
    drawn = sum(isinstance(row, svg.Mark) for row in rows)
    notes = ((0.0, "perfect"), (0.5, "coin toss"), (1.0, "adversary"))
    label = "flip (probability of reporting the opposite)"
    return svg.interval_chart(
        rows,
        svg.Axis(0.0, 1.0, label, (0.0, 0.25, 0.5, 0.75, 1.0), notes, reference=0.5),
        title="Annotators: the flip of each",
        desc=f"{_plural(drawn, 'annotator')} of {total:,}, best first, on a scale from 0 (perfect) over 0.5 "
        "(coin toss) to 1 (adversary). The table below has numbers.",
        heads=("annotator", "votes"),
    )


def _legend(verdicts: pl.Series) -> str:
    written = [plain(verdict) for verdict in verdicts]
    present = [*VERDICTS, *sorted(set(written) - set(VERDICTS))]
    entries = (
        tag("li", tag("span", escape(verdict), class_=f"chip {_verdict_class(verdict)}"), f" {number:,}")
        for verdict in present
        if (number := written.count(verdict))
    )
    return tag("ul", *entries, class_="legend")


def _annotator_mark(row: Row) -> svg.Mark:
    name, flip, votes = plain(row["annotator"]), finite(row["flip"]), count(finite(row["votes"]))
    between = _between(row, "flip", 3)
    interval = f" ({between})" if between else ""
    tip = f"{name}: flip {decimal(flip, 3)}{interval}, votes {votes}, {plain(row['verdict'])}"
    low, high = finite(row["flip_low"]), finite(row["flip_high"])
    return svg.Mark(name, flip, low, high, "", votes, _verdict_class(row["verdict"]), tip)


def _annotators_table(annotators: pl.DataFrame) -> str:
    columns: list[Column] = [
        ("annotator", lambda row: plain(row["annotator"])),
        ("votes", lambda row: count(finite(row["votes"]))),
        ("flip", lambda row: decimal(finite(row["flip"]), 3)),
        ("interval", lambda row: _between(row, "flip", 3) or MISSING),
        ("verdict", lambda row: plain(row["verdict"])),
        ("evidence", lambda row: plain(row.get("evidence", MISSING))),
        ("action", lambda row: plain(row.get("action", MISSING))),
    ]
    return _details("All annotators", annotators, columns, "annotator", "annotators.csv")


def _pairs(pairs: pl.DataFrame) -> str:
    known = pairs.filter(pl.col("p_left").cast(pl.Float64).is_finite())
    if known.is_empty():
        return _section("Most uncertain pairs", _paragraph("No pair has a posterior."))
    open_pairs = known.filter(pl.col("p_left").is_between(0.25, 0.75)).height
    sentence = (
        f"For {open_pairs:,} of {_plural(known.height, 'pair')} the votes leave the winner open: the "
        "probability that the left item beats the right one lies between 25% and 75%. "
        "The closest to an even chance come first."
    )
    return _section("Most uncertain pairs", _paragraph(sentence), _pairs_table(_most_uncertain(known)))


def _most_uncertain(pairs: pl.DataFrame) -> pl.DataFrame:
    doubt = pairs.with_row_index("__row").with_columns((pl.col("p_left") - 0.5).abs().alias("__gap"))
    by, descending = ["__gap", "votes", "__row"], [False, True, False]
    return doubt.bottom_k(UNCERTAIN_PAIRS, by=by, reverse=descending).sort(by, descending=descending)


def _pairs_table(pairs: pl.DataFrame) -> str:
    asked = "question" in pairs.columns and pairs["question"].null_count() < pairs.height
    heads = [*(["question"] if asked else []), "left", "right", "votes", "left beats right"]
    top = tag("thead", tag("tr", *(tag("th", head, scope="col", class_=_kind(head)) for head in heads)))
    rows = (_pair_row(row, asked) for row in pairs.iter_rows(named=True))
    caption = tag("caption", f"The {_plural(pairs.height, 'pair')} nearest to an even chance")
    table = tag("table", caption, top, tag("tbody", "\n".join(rows)))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Most uncertain pairs")


def _pair_row(row: Row, asked: bool) -> str:
    share = min(max(float(row["p_left"]), 0.0), 1.0)
    names = ["question", "left", "right"] if asked else ["left", "right"]
    cells = [_word(plain(row[name])) for name in names]
    bar = tag("td", tag("span", decimal(100 * share, 1) + "%"), svg.probability_bar(share), class_="p")
    return tag("tr", *cells, tag("td", count(finite(row["votes"]))), bar)


def _word(text: str) -> str:
    return tag("td", escape(svg.shorten(text, LONGEST_NAME)), class_="w", title=_hover(text))


def _convergence(log_likelihoods: Sequence[float]) -> str:
    values = [(i, v) for i, v in enumerate(map(finite, log_likelihoods), start=1) if v is not None]
    if not values:
        return _section("Convergence", _paragraph("This model is computed in one step: there are no iterations."))
    digits = min(svg.digits_for(abs(values[-1][1])) + 1, 6)
    last = decimal(values[-1][1], digits)
    sentence = f"After {_plural(values[-1][0], 'iteration')} the log-likelihood is {last}"
    if len(values) == 1:
        return _section("Convergence", _paragraph(sentence + "."))
    sentence += f"; the last iteration changed it by {_change(values[-1][1] - values[-2][1])}."
    stride = -(-len(values) // LINE_POINTS)
    chart = svg.line_chart(
        [*values[:-1:stride], values[-1]],
        title="Convergence: log-likelihood by iteration",
        desc=f"{decimal(values[0][1], digits)} at the first iteration, {last} at the last.",
        x_label="iteration",
        y_label="log-likelihood",
    )
    return _section("Convergence", _paragraph(sentence), tag("figure", chart))


def _change(value: float) -> str:
    if abs(value) < 1e-6:
        return "less than 0.000001"
    return decimal(value, min(svg.digits_for(abs(value)), 7))


def _facts(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    entries = (
        tag("div", tag("dt", escape(plain(name))), tag("dd", escape(plain(value)))) for name, value in facts.items()
    )
    return _section("How it was computed", tag("dl", *entries, class_="facts"))


# Colours of data are Okabe and Ito's, which colour-blind readers tell apart.
_STYLE = """
:root{--page:#fff;--ink:#1b1f24;--soft:#5a6472;--faint:#e3e7ec;--wash:#f5f7f9;--accent:#0072b2;
--reliable:#0072b2;--noisy:#56b4e9;--random:#e69f00;--adversarial:#d55e00;--few:#7d8794}
@media screen and (prefers-color-scheme:dark){:root{--page:#14171b;--ink:#e8ebef;--soft:#a3adba;
--faint:#2c333b;--wash:#1c2127;--accent:#56b4e9;--reliable:#3d9fdc;--noisy:#9ad4f5;--random:#e69f00;--adversarial:#f0743a;
--few:#8a94a1}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:54rem;margin:0 auto;padding:3rem 1.25rem 4rem}
h1{font-size:clamp(1.7rem,5vw,2.5rem);line-height:1.15;letter-spacing:-.02em;margin:.1rem 0 0;
overflow-wrap:anywhere;text-wrap:balance}
h2{font-size:1.3rem;letter-spacing:-.01em;line-height:1.25;margin:0 0 .6rem;break-after:avoid}
section{margin-top:2.75rem;padding-top:1.4rem;border-top:1px solid var(--faint)}
header+section{margin-top:1.5rem}
p{margin:.4rem 0;max-width:42rem;overflow-wrap:anywhere}
.kicker{color:var(--accent);font-weight:600;font-size:.85rem;letter-spacing:.04em;margin:0}
.lead-text p:first-child{font-size:1.15rem;line-height:1.45}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.75rem;margin:1.4rem 0 0}
.tiles div{background:var(--wash);border-radius:.5rem;padding:.7rem .9rem;display:flex;
flex-direction:column-reverse}
.tiles dt{color:var(--soft);font-size:.85rem}
.tiles dd{margin:0;font-size:1.45rem;font-weight:650;line-height:1.2;font-variant-numeric:tabular-nums}
figure{margin:1rem 0;break-inside:avoid}
.chart{display:block;overflow:visible;font-size:13px;font-variant-numeric:tabular-nums}
.chart text{fill:var(--ink)}
.chart .end{text-anchor:end}.chart .mid{text-anchor:middle}.chart .short{display:none}
.chart .head,.chart .tick,.chart .lead,.chart .aside{fill:var(--soft);font-size:12px}
.grid{stroke:var(--faint)}
.guide{stroke:var(--faint);stroke-dasharray:2 2}
.reference{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 3}
.gap-line{stroke:var(--faint);stroke-width:18}
.chart .gap{fill:var(--soft);font-size:12px}
.chart .cut{fill:var(--c,var(--accent));font-weight:700}
.hit{fill:transparent}g:hover>.hit{fill:var(--wash)}
.interval{stroke:var(--c,var(--accent));stroke-width:3;stroke-linecap:round;opacity:.5}
.dot{fill:var(--c,var(--accent));stroke:var(--page);stroke-width:1}
.line{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
.v-reliable{--c:var(--reliable)}.v-noisy,.v-tie-lazy{--c:var(--noisy)}
.v-random,.v-position-biased,.v-one-sided{--c:var(--random)}
.v-adversarial{--c:var(--adversarial)}.v-too-few-votes,.v-other{--c:var(--few)}
.v-too-few-votes .dot{fill:var(--page);stroke:var(--c);stroke-width:2}
.chip{white-space:nowrap}
.chip::before{content:"";display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.4em;
vertical-align:-.06em;background:var(--c);border:2px solid var(--c)}
.chip.v-too-few-votes::before{background:none}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;margin:.8rem 0 0;padding:0;
font-size:.9rem;color:var(--soft)}
.legend .chip{color:var(--ink)}
details{margin-top:.75rem}
summary{cursor:pointer;color:var(--accent);font-weight:600;padding:.35rem 0}
summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem 0 .4rem}
th,td{text-align:right;padding:.32rem .6rem;border-bottom:1px solid var(--faint);vertical-align:top}
th:first-child,td:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}
thead th{color:var(--soft);font-weight:600;border-bottom:1.5px solid var(--soft);vertical-align:bottom}
tbody th,.w{text-align:left;overflow-wrap:anywhere;min-width:7rem}
tbody th{font-weight:500}thead th{overflow-wrap:normal}
details caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
td:has(.chip){text-align:left}
.p{white-space:nowrap;width:11rem}
.bar{width:6rem;height:10px;margin-left:.7rem;vertical-align:baseline;border-radius:2px}
.trough{fill:var(--faint)}.fill{fill:var(--accent)}.half{stroke:var(--page);stroke-width:2}
.facts{display:grid;gap:0;margin:0;font-size:.95rem}
.facts div{display:grid;grid-template-columns:11rem 1fr;gap:1rem;padding:.4rem 0;
border-bottom:1px solid var(--faint)}
.facts dt{color:var(--soft);overflow-wrap:anywhere}
.facts dd{margin:0;overflow-wrap:anywhere}
@media (max-width:680px){main{padding:1.75rem 1rem 3rem}
.chart .long{display:none}.chart .short{display:inline}
.chart{font-size:12px}.chart .head,.chart .tick,.chart .lead,.chart .aside{font-size:11px}
.tiles{grid-template-columns:1fr 1fr}.facts div{grid-template-columns:1fr;gap:0}
.bar{display:block;width:3.5rem;margin:.1rem 0 .2rem auto}.p{width:auto}.chart .dot{r:3.5px}
th,td{padding:.32rem .35rem}tbody th,.w{min-width:5rem}}
@media print{main{max-width:none;padding:0}body{font-size:10pt}section{margin-top:1.5rem}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}tr{break-inside:avoid}
.scroll{overflow:visible}section>p,.legend{break-after:avoid}.chart{zoom:var(--fit,1)}
details:not([open]){display:none}p{break-inside:avoid}}
"""
