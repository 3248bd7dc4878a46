import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest

from jamrank.report import Report, render

VOID = {"meta", "br", "hr", "img", "input", "link"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"a\" 'b' & </title></style>",
    "日本語",
    "x" * 500,
    "عربي",
    "a\nb\0",
    "",
]


class Page(HTMLParser):
    """Reads a page, insists that every tag is closed in order, and keeps what tests ask for."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"style", "script"}:
            self.words.append(data)

    def all(self, tag, **attrs):
        return [a for t, a in self.tags if t == tag and all(a.get(k) == v for k, v in attrs.items())]

    @property
    def text(self):
        return "\n".join(self.words)


def ranking(n, names=None, errors=True):
    return pl.DataFrame(
        {
            "item": names or [f"wine {i:04d}" for i in range(n)],
            "rank": list(range(1, n + 1)),
            "score": [3.0 - 6 * i / n for i in range(n)],
            "score_se": [0.2 if errors else None] * n,
            "rank_low": [max(1, i - 1) if errors else None for i in range(1, n + 1)],
            "rank_high": [i + 1 if errors else None for i in range(1, n + 1)],
        },
        schema_overrides={"score_se": pl.Float64, "rank_low": pl.Int64, "rank_high": pl.Int64},
    )


def annotators(n, verdict="reliable", intervals=True):
    return pl.DataFrame(
        {
            "annotator": [f"judge {i}" for i in range(n)],
            "votes": [10 + i for i in range(n)],
            "flip": [i / n for i in range(n)],
            "flip_low": [max(0, i / n - 0.1) if intervals else None for i in range(n)],
            "flip_high": [min(1, i / n + 0.1) if intervals else None for i in range(n)],
            "verdict": [verdict] * n,
        },
        schema_overrides={"flip_low": pl.Float64, "flip_high": pl.Float64},
    )


def pairs(n):
    return pl.DataFrame(
        {
            "left": [f"left {i}" for i in range(n)],
            "right": [f"right {i}" for i in range(n)],
            "votes": [3] * n,
            "p_left": [(i + 1) / (n + 1) for i in range(n)],
        }
    )


@pytest.fixture
def small():
    return Report(
        title="A small report",
        summary={"Ranking": ["The first sentence."], "Data": ["The second sentence."], "Empty": []},
        ranking=ranking(5),
        annotators=annotators(4),
        pairs=pairs(10),
        n_pairs=10,
        log_likelihoods=[-40.0, -30.0, -29.5],
        facts={"Model": "JAM", "Time": "0.2 seconds"},
    )


@pytest.fixture
def large(small):
    return replace(small, ranking=ranking(1600), annotators=annotators(60), pairs=pairs(12000), n_pairs=12000)


def section(html, heading):
    return html.split(f"<h2>{heading}</h2>")[1].split("</section>")[0]


def test_tags_are_balanced_and_the_page_is_accessible(small):
    html = render(small)
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>")
    assert page.all("html", lang="en")
    assert html.count("<title>A small report</title>") == 1
    assert [t for t, _ in page.tags if re.fullmatch("h[1-6]", t)] == ["h1"] + ["h2"] * 6
    assert all("scope" in attrs for attrs in page.all("th"))
    assert len(page.all("details")) == len(page.all("summary")) == 2


def test_every_chart_names_and_describes_itself(small):
    html = render(small)
    charts = re.findall(r'<svg role="img"[^>]*>(.{0,40})', html)
    assert len(charts) == 3
    assert all(chart.startswith("<title>") for chart in charts)
    assert html.count("<desc>") == 3
    others = [a for a in Page(html).all("svg") if a.get("role") != "img" and "viewbox" not in a]
    assert all(a.get("aria-hidden") == "true" for a in others)


def test_sections_come_in_order_with_the_summary_first(small):
    text = Page(render(small)).text
    order = ["The first sentence.", "The second sentence.", "Ranking", "Annotators", "Most uncertain pairs"]
    places = [text.index(words) for words in [*order, "Convergence", "How it was computed", "0.2 seconds"]]
    assert places == sorted(places)


def test_nothing_is_fetched_and_nothing_runs(large):
    html = render(large)
    page = Page(html)
    assert {t for t, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "image", "use", "a"})
    assert not [a for _, attrs in page.tags for a in attrs if a in {"src", "href"} or a.startswith(("on", "xlink"))]
    assert not re.search(r"https?:|//|url\(|@import", html)


def test_hostile_ids_are_text_and_only_text(small):
    n = len(HOSTILE)
    frame = annotators(n, verdict='"><script>').with_columns(annotator=pl.Series(HOSTILE))
    question = {
        "left": HOSTILE,
        "right": HOSTILE[::-1],
        "question": HOSTILE,
        "votes": [1] * n,
        "p_left": [0.5] * n,
    }
    report = Report(
        HOSTILE[1],
        HOSTILE,
        ranking(n, HOSTILE),
        frame,
        pl.DataFrame(question),
        len(question["left"]),
        [-1.0, -0.5],
        {HOSTILE[0]: HOSTILE[1]},
    )
    html = render(report)
    page = Page(html)
    assert "script" not in {t for t, _ in page.tags}
    assert len(page.all("style")) == 1
    assert html.count("</style>") == 1
    assert "\0" not in html
    for name in HOSTILE[:3]:
        assert name in page.words
    assert f"<title>{HOSTILE[3]}: rank 4," in html


def test_long_ids_are_cut_in_tables_with_the_full_text_in_a_title(small):
    long = "y" * 300
    html = render(replace(small, ranking=ranking(1, [long])))
    table = section(html, "Ranking").split("<details>")[1]
    heads = re.search(r'<th scope="row" title="(y+)">([^<]*)</th>', table)
    assert heads.group(1) == long
    assert len(heads.group(2)) == 80


@pytest.mark.parametrize("ids", [[3, 1, 2], [0.5, 1.5, 2.5], [True, False, None]])
def test_ids_of_other_kinds(small, ids):
    frame = ranking(3).with_columns(item=pl.Series(ids))
    assert len(re.findall('<th scope="row">', section(render(replace(small, ranking=frame)), "Ranking"))) == 3


def test_missing_numbers_are_never_printed_as_nan(small):
    bad = [math.nan, None, math.inf, -math.inf, 1.0]
    report = replace(
        small,
        ranking=ranking(5).with_columns(score=pl.Series(bad), score_se=pl.Series([*bad[::-1]])),
        annotators=annotators(5).with_columns(flip=pl.Series(bad), flip_low=pl.Series(bad)),
        pairs=pairs(5).with_columns(p_left=pl.Series(bad), votes=pl.Series(bad)),
        log_likelihoods=[-math.inf, math.nan, -3.0, -2.0],
    )
    html = render(report)
    assert not re.search(r"\b(nan|-?inf)\b", html, re.IGNORECASE)
    assert not re.search(r"\b(None|null)\b", html)
    assert section(html, "Ranking").count('class="dot"') == 1
    assert section(html, "Annotators").count('class="dot"') == 1
    assert "After 4 iterations" in html


def test_small_ranking_draws_every_item_with_its_interval(small):
    chart = section(render(small), "Ranking")
    assert chart.count('class="dot"') == chart.count('class="interval"') == 5
    assert "between …" not in chart


@pytest.mark.parametrize(("n", "dots", "gap"), [(40, 40, None), (41, 40, "1 item"), (1597, 40, "1,557 items")])
def test_long_ranking_draws_both_ends_and_counts_the_rest(small, n, dots, gap):
    chart = section(render(replace(small, ranking=ranking(n))), "Ranking").split("<details>")[0]
    assert chart.count('class="dot"') == dots
    assert "wine 0000" in chart and f"wine {n - 1:04d}" in chart
    assert re.findall(r"… (.*?) between …", chart) == ([gap] if gap else [])


def test_ranking_table_is_cut_and_says_so(small):
    table = section(render(replace(small, ranking=ranking(1600))), "Ranking").split("<details>")[1]
    assert table.count('<th scope="row">') == 1000
    assert "600 rows more left out here: ranking.csv has all 1,600." in table
    whole = section(render(replace(small, ranking=ranking(1000))), "Ranking")
    assert "left out" not in whole


def test_without_errors_there_are_dots_and_no_claims_of_intervals(small):
    report = replace(small, ranking=ranking(5, errors=False), annotators=annotators(4, intervals=False))
    html = render(report)
    assert html.count('class="interval"') == 0
    assert section(html, "Ranking").count('class="dot"') == 5
    assert "interval" not in Page(section(html, "Ranking")).text
    assert "standard error" not in html and "rank range" not in html
    assert "uncertain the estimate" not in html


@pytest.mark.parametrize(("n", "dots", "gap"), [(60, 60, False), (61, 60, True), (500, 60, True)])
def test_annotators_drawn(small, n, dots, gap):
    chart = section(render(replace(small, annotators=annotators(n))), "Annotators").split("<details>")[0]
    assert chart.count('class="dot"') == dots
    assert ("between …" in chart) == gap


def test_the_coin_toss_is_marked(small):
    chart = section(render(small), "Annotators")
    at = re.search(r'<line x1="([\d.]+%)"[^>]*class="reference"', chart).group(1)
    assert re.search(rf'<text x="{at}"[^>]*>coin toss<', chart)


@pytest.mark.parametrize("verdict", ["reliable", "noisy", "random", "adversarial", "too few votes"])
def test_verdicts_have_colours_and_a_legend_with_counts(small, verdict):
    html = render(replace(small, annotators=annotators(3, verdict)))
    name = "v-" + verdict.replace(" ", "-")
    assert f".{name}" in html.split("</style>")[0]
    assert html.count(f'<g class="{name}">') == 3
    assert f'<li><span class="chip {name}">{verdict}</span> 3</li>' in html
    assert html.count("<li>") == 1


def test_pairs_are_the_most_uncertain_then_the_most_voted(small):
    frame = pl.DataFrame(
        {"left": list("abcd"), "right": list("wxyz"), "votes": [1, 9, 2, 5], "p_left": [0.9, 0.4, 0.5, 0.6]}
    )
    rows = re.findall(r'<tr><td class="w">(\w)</td>', render(replace(small, pairs=frame)))
    assert rows == ["c", "b", "d", "a"]


def test_at_most_25_pairs_and_the_open_ones_are_counted(small):
    html = section(render(replace(small, pairs=pairs(99))), "Most uncertain pairs")
    assert html.count('class="bar"') == 25
    assert "For 51 of 99 pairs" in html


def test_question_column_only_where_there_are_questions(small):
    asked = small.pairs.with_columns(question=pl.lit("poetry"))
    empty = small.pairs.with_columns(question=pl.lit(None, pl.String))
    column = '<th scope="col" class="w">question</th>'
    assert [column in render(replace(small, pairs=p)) for p in (small.pairs, asked, empty)] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(("values", "lines"), [([], 0), ([-3.0], 0), ([-3.0, -2.0], 1), ([-1.0, -1.0], 1)])
def test_convergence_by_number_of_iterations(small, values, lines):
    part = section(render(replace(small, log_likelihoods=values)), "Convergence")
    assert part.count("<polyline") == lines
    assert ("no iterations" in part) == (not values)


def test_a_long_fit_is_thinned_and_keeps_its_last_iteration(small):
    values = [-100 / (i + 1) for i in range(5001)]
    part = section(render(replace(small, log_likelihoods=values)), "Convergence")
    points = re.search(r'points="([^"]*)"', part).group(1).split()
    assert 300 <= len(points) <= 402
    assert points[-1].startswith("1000.0,")
    assert "After 5,001 iterations" in part


def test_an_empty_report_is_still_a_page(small):
    frames = {name: getattr(small, name).clear() for name in ("ranking", "annotators", "pairs")}
    html = render(replace(small, summary=[], log_likelihoods=[], facts={}, **frames))
    Page(html)
    assert "There are no items to rank." in html and "How it was computed" not in html


def test_one_item(small):
    Page(render(replace(small, ranking=ranking(1), annotators=annotators(1), pairs=pairs(1))))


def test_large_page_is_small(large):
    assert len(render(large).encode()) < 300_000


def test_both_colour_schemes_and_print_are_styled(small):
    style = render(small).split("<style>")[1].split("</style>")[0]
    assert "@media screen and (prefers-color-scheme:dark)" in style and "@media print" in style
    used, defined = set(re.findall(r"var\((--[\w-]+)", style)), set(re.findall(r"(--[\w-]+):", style))
    assert used - {"--fit", "--c"} <= defined


def test_pairs_that_stay_on_disk_are_counted_and_not_listed(small):
    html = render(replace(small, pairs=None, n_pairs=123_456_789))
    Page(html)
    assert "123,456,789" in html
    assert "Most uncertain pairs" not in html
