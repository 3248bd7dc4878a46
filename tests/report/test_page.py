import json
import math
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from jamrank.report import SECTIONS, AgreementMatrix, Report, Section, Skills, WinProbabilities, render
from jamrank.report.judges import REASONS
from jamrank.report.markup import MISSING

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
            "score_low": [2.6 - 6 * i / n if errors else None for i in range(n)],
            "score_high": [3.4 - 6 * i / n if errors else None for i in range(n)],
            "rank_low": [max(1, i - 1) if errors else None for i in range(1, n + 1)],
            "rank_high": [i + 1 if errors else None for i in range(1, n + 1)],
        },
        schema_overrides={
            "score_se": pl.Float64,
            "score_low": pl.Float64,
            "score_high": pl.Float64,
            "rank_low": pl.Int64,
            "rank_high": pl.Int64,
        },
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


def uncertain(n):
    return pl.DataFrame(
        {
            "left": [f"left {i}" for i in range(n)],
            "left_rank": [2 * i + 1 for i in range(n)],
            "right": [f"right {i}" for i in range(n)],
            "right_rank": [2 * i + 2 for i in range(n)],
            "votes": list(range(n)),
            "above": [0.55, 0.001, 0.6, 0.6, 0.6][:n],
        },
        schema_overrides={"left": pl.String, "right": pl.String, "votes": pl.Float64, "above": pl.Float64},
    )


def contested(n):
    return pl.DataFrame(
        {
            "left": [f"left {i}" for i in range(n)],
            "left_rank": [1] * n,
            "right": [f"right {i}" for i in range(n)],
            "right_rank": [2] * n,
            "for_left": [9, 8, 7, 6, 5][:n],
            "for_right": [8, 9, 7, 6, 5][:n],
            "above": [0.9, 0.9, 0.9, 0.2, 0.1][:n],
        }
    )


def kinds(told):
    n = len(told)
    return pl.DataFrame({"cluster": range(n), "pairs": [50] * n, "votes": [90] * n, "description": told})


AGREED = np.array([[np.nan, 0.9, 0.46], [0.9, np.nan, np.nan], [0.46, np.nan, np.nan]])


def full(report):
    """Add everything that a report can have."""
    odds = np.linspace(2, -2, 5)
    skills = Skills(
        kinds(["alike in sugar", "different in sugar"]),
        ["judge a", "judge b"],
        np.array([[0.1, 0.12], [0.1, 0.4]]),
        np.full((2, 2), 30.0),
        np.array([[[0.05, 0.15], [0.05, 0.2]]] * 2),
    )
    return replace(
        report,
        wins=WinProbabilities(list("abcde"), expit(odds[:, None] - odds), odds),
        uncertain=uncertain(3),
        ask_next=uncertain(2).with_columns(gain=pl.lit(0.1), to_settle=pl.Series([12.0, float("inf")])),
        contested=contested(3),
        n_overruled=4,
        n_decided=10,
        n_judges=4,
        by=pl.DataFrame({"item": ["a", "b"], "rank": [1, 2], "rank en": [2, 1], "rank de": [1, None]}),
        by_column="language",
        skills=skills,
        features=pl.DataFrame({"feature": ["sweet", "sour"], "coef": [0.1, -2.0], "effect": [0.5, -1.5]}),
        correlated=pl.DataFrame({"first": ["a"], "second": ["b"], "pairs": [40], "correlation": [0.62]}),
        agreement=AgreementMatrix(["ann", "bob", "cy"], AGREED, n_others=2),
        effective_judges=2.5,
        health=[("warning", "Mind the gap."), ("good", "All linked.")],
        counts={"items": 5, "components": 1},
    )


@pytest.fixture
def small():
    return Report(
        title="A small report",
        summary={"Ranking": ["The first sentence."], "Data": ["The second sentence."], "Empty": []},
        ranking=ranking(5),
        annotators=annotators(4),
        pairs=pairs(10),
        n_questions=1,
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
    assert [t for t, _ in page.tags if re.fullmatch("h[1-6]", t)] == [
        "h1",
        "h2",
        "h3",
        "h3",
        "h2",
        "h2",
        "h3",
        "h2",
        "h3",
    ]
    assert all("scope" in attrs for attrs in page.all("th"))
    links = {a["href"] for a in page.all("a")}
    assert (
        links
        == {f"#{a['id']}" for a in page.all("section")} - {"#summary"}
        == {"#ranking", "#annotators", "#computation"}
    )


def test_every_chart_names_and_describes_itself(small):
    html = render(small)
    charts = re.findall(r'<svg role="img"[^>]*>(.{0,40})', html)
    assert len(charts) == 3
    assert all(chart.startswith("<title>") for chart in charts)
    assert len(re.findall(r'<svg role="img" tabindex="0"', html)) == 3
    assert html.count("<desc>") == 3
    others = [a for a in Page(html).all("svg") if a.get("role") != "img" and "viewbox" not in a]
    assert all(a.get("aria-hidden") == "true" for a in others)


def test_a_pair_that_its_own_votes_cannot_settle_has_a_dash(small):
    cells = Page(render(full(small))).text.split("Worth asking next")[-1].split("Most contested")[0]
    assert "none where its target is reached" in cells
    assert cells.index("\n12\n") < cells.index(f"\n{MISSING}\n") and "\ninf\n" not in cells


def test_sections_come_in_order_with_the_summary_first(small):
    html = render(full(small))
    sections = re.findall(r'<section id="(\w+)">', html)
    order = [
        "summary",
        "ranking",
        "annotators",
        "agreement",
        "reliability",
        "uncertain",
        "next",
        "contested",
        "groups",
        "wins",
        "features",
        "checks",
    ]
    assert sections == [*order, "computation"]
    text = Page(html).text
    assert text.index("The first sentence.") < text.index("The second sentence.") < text.index("Dots are scores")
    assert text.index("0.2 seconds") < text.index("Convergence")
    assert "Empty" not in text


def test_nothing_is_fetched_and_only_its_own_script_runs(large):
    html = render(full(large))
    page = Page(html)
    assert {t for t, _ in page.tags}.isdisjoint({"link", "img", "iframe", "image", "use", "form"})
    assert not [a for _, attrs in page.tags for a in attrs if a == "src" or a.startswith(("on", "xlink"))]
    assert all(a["href"].startswith("#") for a in page.all("a"))
    assert not re.search(r"https?:|url\(|@import", html)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert page.all("meta", content=policy)
    assert {a.get("type") for a in page.all("script")} == {None, "application/json"}


def test_hostile_ids_are_text_and_only_text(small):
    n = len(HOSTILE)
    frame = annotators(n, verdict='"><script>').with_columns(annotator=pl.Series(HOSTILE))
    doubtful = {
        "left": HOSTILE,
        "right": HOSTILE[::-1],
        "left_rank": [1] * n,
        "right_rank": [2] * n,
        "above": [0.001] * n,
    }
    report = replace(
        full(small),
        title=HOSTILE[1],
        summary={HOSTILE[0]: HOSTILE},
        ranking=ranking(n, HOSTILE),
        annotators=frame,
        pairs=None,
        facts={HOSTILE[0]: HOSTILE[1]},
        contested=pl.DataFrame({**doubtful, "for_left": [3] * n, "for_right": [2] * n}),
        uncertain=pl.DataFrame({**doubtful, "votes": [1] * n}),
        by=pl.DataFrame({"item": HOSTILE, "rank": [1] * n, f"rank {HOSTILE[0]}": [1] * n}),
        by_column=HOSTILE[1],
        meaning=HOSTILE[0],
        wins=WinProbabilities(HOSTILE, np.full((3, 3), 0.5), np.zeros(n)),
        agreement=AgreementMatrix(HOSTILE[:3], np.full((3, 3), 0.5)),
        correlated=pl.DataFrame({"first": HOSTILE, "second": HOSTILE, "pairs": [9] * n, "correlation": [0.5] * n}),
        features=pl.DataFrame({"feature": HOSTILE, "coef": [1.0] * n, "effect": [1.0] * n}),
        skills=Skills(kinds(HOSTILE[:2]), HOSTILE, np.full((n, 2), 0.2), np.full((n, 2), 9.0)),
        health=[("problem", HOSTILE[0])],
        counts={HOSTILE[0]: 3.0},
    )
    html = render(report)
    page = Page(html)
    assert {a.get("type") for a in page.all("script")} == {None, "application/json"}
    assert len(page.all("script")) == html.count("</script>") == 6
    assert len(page.all("style")) == 1
    assert html.count("</style>") == 1
    assert "\0" not in html.replace("\\u0000", "")
    for name in HOSTILE[:3]:
        assert name in page.words
    assert f"<title>{HOSTILE[3]}: rank 4 (interval 3–5)," in html


def test_long_ids_are_cut_in_tables_with_the_full_text_in_a_title(small):
    long = "y" * 300
    html = render(replace(small, ranking=ranking(1, [long])))
    table = section(html, "Ranking").split("<table>")[1]
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
        uncertain=uncertain(5).with_columns(above=pl.Series(bad), votes=pl.Series(bad)),
        contested=contested(5).with_columns(above=pl.Series(bad)),
        log_likelihoods=[-math.inf, math.nan, -3.0, -2.0],
    )
    html = re.sub(r"<script.*?</script>", "", render(report), flags=re.DOTALL)
    assert not re.search(r"\b(nan|-?inf)\b", html, re.IGNORECASE)
    assert not re.search(r">[^<]*\b(None|null)\b", html)
    assert section(html, "Ranking").count('class="dot"') == 1
    assert section(html, "Annotators").count('class="dot"') == 1
    assert "After 4 iterations" in html


def test_small_ranking_draws_every_item_with_its_interval(small):
    chart = section(render(small), "Ranking")
    assert chart.count('class="dot"') == chart.count('class="interval"') == 5
    assert "between …" not in chart


@pytest.mark.parametrize(("n", "dots", "gap"), [(60, 60, None), (61, 40, "21 items"), (1597, 40, "1,557 items")])
def test_long_ranking_draws_both_ends_and_counts_the_rest(small, n, dots, gap):
    chart = section(render(replace(small, ranking=ranking(n))), "Ranking").split("<table>")[0]
    assert chart.count('class="dot"') == dots
    assert "wine 0000" in chart and f"wine {n - 1:04d}" in chart
    assert re.findall(r"… (.*?) between …", chart) == ([gap] if gap else [])


def test_ranking_table_is_cut_and_says_so(small):
    table = section(render(replace(small, ranking=ranking(2600))), "Ranking").split("<table>")[1]
    assert table.count('<th scope="row">') == 2000
    assert "600 more rows not shown: ranking.csv has all 2,600." in table
    whole = section(render(replace(small, ranking=ranking(2000))), "Ranking")
    assert "not shown" not in whole


def test_without_errors_there_are_dots_and_no_claims_of_intervals(small):
    report = replace(small, ranking=ranking(5, errors=False), annotators=annotators(4, intervals=False))
    html = render(report)
    assert html.count('class="interval"') == 0
    assert section(html, "Ranking").count('class="dot"') == 5
    assert "interval" not in Page(section(html, "Ranking")).text
    assert "rank interval" not in section(html, "Ranking").split("<table>")[1]
    assert "95 %" not in section(html, "Annotators")


@pytest.mark.parametrize(("n", "dots", "gap"), [(60, 60, False), (61, 60, True), (500, 60, True)])
def test_annotators_drawn(small, n, dots, gap):
    chart = section(render(replace(small, annotators=annotators(n))), "Annotators").split("<table>")[0]
    assert chart.count('class="dot"') == dots
    assert ("between …" in chart) == gap


def test_the_coin_toss_is_marked(small):
    chart = section(render(small), "Annotators")
    at = re.search(r'<line x1="([\d.]+%)"[^>]*class="reference"', chart).group(1)
    assert re.search(rf'<text x="{at}"[^>]*>random<', chart)


@pytest.mark.parametrize("verdict", ["reliable", "noisy", "random", "adversarial", "too few votes"])
def test_verdicts_have_colours_and_a_legend_with_counts(small, verdict):
    html = render(replace(small, annotators=annotators(3, verdict)))
    name = "v-" + verdict.replace(" ", "-")
    assert f".{name}" in html.split("</style>")[0]
    assert html.count(f'<g class="mark {name}">') == 3
    reason = REASONS[verdict][1]
    line = (
        f'<li><p><span class="chip {name}">{verdict}</span> <strong>3</strong> <span class="action">{reason}</span>'
    )
    assert f'{line}</p><p class="names">judge 0, judge 1 and judge 2</p>' in html
    assert html.count("<li>") == 1


def test_those_to_leave_out_come_first_in_one_list(small):
    told = ["reliable", "random", "adversarial", "tie-lazy", "position-biased", "too few votes", "noisy", "one-sided"]
    html = section(
        render(replace(small, annotators=annotators(8).with_columns(verdict=pl.Series(told)))), "Annotators"
    )
    assert re.findall(r"<h3>([^<]*)</h3>", html) == [
        "Exclude: 2",
        "Review, or invert the votes: 1",
        "Keep: 4",
        "Too few votes to assess: 1",
    ]
    chips = re.findall(r'<li><p><span class="chip [^"]*">([^<]*)', html)
    assert chips == [
        "random",
        "one-sided",
        "adversarial",
        "reliable",
        "noisy",
        "position-biased",
        "tie-lazy",
        "too few votes",
    ]


def test_of_many_annotators_the_best_and_the_worst_are_shown_and_all_saved(small):
    frame = annotators(900).with_columns(
        verdict=pl.Series(["reliable"] * 400 + ["random"] * 300 + ["too few votes"] * 200)
    )
    part = section(render(replace(small, annotators=frame)), "Annotators")
    rows = re.findall(r'<th scope="row">judge (\d+)', part)
    assert rows == [*map(str, range(250)), *map(str, range(450, 700))]
    assert "400 more annotators not shown: annotators.csv has all 900." in part
    saved = json.loads(re.search(r'id="data-annotators.csv">(.*?)</script>', part).group(1))
    assert saved == frame.write_csv()
    chart = part.split("<figure>")[1].split("</figure>")[0]
    assert "judge 699" in chart and "judge 700" not in chart
    assert "200 annotators with too few votes" in chart


def test_pairs_to_ask_about_name_both_items_with_their_ranks(small):
    part = section(render(full(small)), "Least certain pairs")
    assert '<th scope="row">left 0 (1)</th><td class="w">right 0 (2)</td>' in part
    assert part.count('class="bar"') == 3
    assert re.findall(r"<span>([^<]*)</span>", part) == ["55 %", "&lt;1 %", "60 %"]
    unknown = replace(small, uncertain=uncertain(2).with_columns(above=pl.lit(None, pl.Float64)))
    assert "gives no probabilities of the order" in render(unknown)
    empty = replace(small, uncertain=uncertain(0))
    assert "all neighbours in the ranking is certain" in render(empty)


def test_contested_pairs_count_the_votes_either_way(small):
    part = section(render(full(small)), "Most contested pairs")
    assert re.findall(r"(\d+ : \d+)</td>", part) == ["9 : 8", "8 : 9", "7 : 7"]
    assert "Of 10 pairs with decided votes, the ranking contradicts the majority in 4." in part
    none = section(render(replace(full(small), n_overruled=0)), "Most contested pairs")
    assert "contradicts the majority in none" in none


def test_the_word_for_how_sure_an_order_is_is_the_same_everywhere(small):
    heads = re.findall(r'<th scope="col"[^>]*>(P\(above\)|[^<]*beats[^<]*)</th>', render(full(small)))
    assert heads == ["P(above)"] * 3


def test_ranks_side_by_side(small):
    part = section(render(full(small)), "Ranks by language")
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', part) == ["item", "overall", "en", "de"]
    assert '<th scope="row">b</th><td>2</td><td>1</td><td>–</td>' in part


def test_scores_say_what_they_are(small):
    assert "Scores: Elo points." in section(render(replace(small, meaning="Elo points")), "Ranking")
    assert "Scores:" not in section(render(small), "Ranking")


def test_groups_that_were_never_compared_have_ranks_of_their_own(small):
    groups = pl.Series("group", [1, 1, 1, 2, 2])
    within = ranking(5).with_columns(groups, rank=pl.Series([1, 2, 3, 1, 2]))
    part = section(render(replace(small, within=within)), "Ranking")
    assert re.findall(r">(group \d: \d items)<", part) == ["group 1: 3 items", "group 2: 2 items"]
    assert '<td>2</td><td>1</td><th scope="row">wine 0003</th>' in part
    assert json.loads(re.search(r'id="data-ranking.csv">(.*?)</script>', part).group(1)) == within.write_csv()


def test_of_many_groups_the_first_items_of_the_largest_are_drawn(small):
    within = ranking(900).with_columns(group=pl.Series([1 + i // 30 for i in range(900)]))
    chart = section(render(replace(small, within=within)), "Ranking").split("<table>")[0]
    assert chart.count('class="dot"') == 60
    assert "24 further groups in the table" in chart


def test_a_small_matrix_is_whole_and_a_larger_one_can_be_browsed(small):
    part = section(render(full(small)), "Win probabilities")
    assert part.count("<td></td>") == 5 and len(re.findall(r'<td class="h\d+">', part)) == 20
    assert '<td class="h7">73</td>' in part and "data-wins" not in part
    items, odds = [f"i{k}" for k in range(100)], np.linspace(3, -3, 100)
    many = replace(small, wins=WinProbabilities(items, np.full((25, 25), 0.5), odds))
    part = section(render(many), "Win probabilities")
    assert "The first 25 of 100 items are shown." in part
    block = json.loads(re.search(r'id="data-wins">(.*?)</script>', part).group(1))
    assert block["names"] == items and block["odds"] == pytest.approx(odds, abs=1e-3)


def test_who_agrees_with_whom_is_a_matrix_of_at_least_three(small):
    part = section(render(full(small)), "Who agrees with whom")
    assert re.findall(r"<td[^>]*>(\d*)</td>", part) == ["", "90", "46", "90", "", "", "46", "", ""]
    assert "The 3 annotators with the most common pairs are shown, 2 more are not." in part
    two = replace(small, agreement=AgreementMatrix(["ann", "bob"], AGREED[:2, :2]))
    assert "Who agrees with whom" not in render(two)


def test_no_probability_is_written_as_certain(small):
    matrix = np.array([[0.5, 0.9999], [0.0001, 0.5]])
    part = section(render(replace(small, wins=WinProbabilities(["a", "b"], matrix))), "Win probabilities")
    assert re.findall(r'<td class="h\d+">(\d+)<', part) == ["99", "1"]


def test_skills_put_those_first_whose_flips_differ_most(small):
    part = section(render(full(small)), "Reliability by type of pair")
    assert re.findall(r'<th scope="row">([^<]*)', part) == ["judge b", "judge a"]
    assert re.findall(r'class="skill h(\d+)"', part) == ["9", "6", "9", "9"]
    assert "30 votes, 95 % interval 0.050 to 0.150" in part
    assert "alike in sugar" in part


def test_features_come_strongest_first(small):
    part = section(render(full(small)), "Feature effects")
    assert re.findall(r'<th scope="row">([^<]*)', part) == ["sour", "sweet"]
    assert part.index("lowers") < part.index("raises")


def test_health_comes_with_levels_and_counts(small):
    part = section(render(full(small)), "Data checks")
    assert '<li class="l-warning"><strong>warning</strong> Mind the gap.</li>' in part
    assert "connected components" in part
    counts = {"without_weight": 2, "single_opponent": 3, "win_groups": 0}
    part = section(render(replace(full(small), counts=counts)), "Data checks")
    assert "votes with weight 0" in part and "items with one opponent" in part
    assert "wins" not in part and "_" not in part


def test_judges_who_err_together_are_named(small):
    part = section(render(full(small)), "Annotators")
    assert "4 annotators are equivalent to 2.5 independent ones, and intervals of scores and ranks are too" in part
    assert ">0.62<" in part
    nearly = section(render(replace(full(small), effective_judges=3.9)), "Annotators")
    assert "nearly independent" in nearly and "too narrow" not in nearly
    alone = section(render(replace(small, n_judges=4, effective_judges=4.0)), "Annotators")
    assert "No correlated errors of annotators were found" in alone


def test_files_can_be_saved_as_they_are(small):
    html = render(full(small))
    for name, frame in (("ranking.csv", small.ranking), ("annotators.csv", small.annotators)):
        block = re.search(rf'id="data-{name}">(.*?)</script>', html).group(1)
        assert json.loads(block) == frame.write_csv()


@pytest.mark.parametrize(("values", "lines"), [([], 0), ([-3.0], 0), ([-3.0, -2.0], 1), ([-1.0, -1.0], 0)])
def test_convergence_by_number_of_iterations(small, values, lines):
    part = section(render(replace(small, log_likelihoods=values)), "Computation")
    assert part.count("<polyline") == lines
    assert ("no iterations" in part) == (not values)


def test_a_long_fit_is_thinned_and_keeps_its_last_iteration(small):
    values = [-100 / (i + 1) for i in range(5001)]
    part = section(render(replace(small, log_likelihoods=values)), "Computation")
    points = re.search(r'points="([^"]*)"', part).group(1).split()
    assert 300 <= len(points) <= 402
    assert points[-1].startswith("1000.0,")
    assert "After 5,001 iterations" in part


def test_an_empty_report_is_still_a_page(small):
    frames = {name: getattr(small, name).clear() for name in ("ranking", "annotators", "pairs")}
    html = render(replace(small, summary={}, log_likelihoods=[], facts={}, **frames))
    Page(html)
    assert "There are no items to rank." in html and "<dt>Model" not in html


def test_one_item(small):
    Page(render(replace(small, ranking=ranking(1), annotators=annotators(1), pairs=pairs(1))))


def test_large_page_is_small(large):
    assert len(render(large).encode()) < 600_000


def test_both_colour_schemes_and_print_are_styled(small):
    style = render(small).split("<style>")[1].split("</style>")[0]
    assert "@media screen and (prefers-color-scheme:dark)" in style and "@media print" in style
    used, defined = set(re.findall(r"var\((--[\w-]+)", style)), set(re.findall(r"(--[\w-]+):", style))
    assert used - {"--fit", "--c"} <= defined


def test_pairs_that_stay_on_disk_are_counted_and_not_listed(small):
    html = render(replace(small, pairs=None, n_pairs=123_456_789))
    Page(html)
    assert "123,456,789" in html
    assert "Least certain" not in html


def test_a_section_is_added_from_outside(small):
    def shown(report: Report) -> str:
        return f"<p>{report.ranking.height} items</p>" if report.ranking.height else ""

    SECTIONS.register("size", Section("size", lambda report: f"Size <of> {report.title}", shown, link="Size & co"))
    try:
        html = render(small)
        empty = render(replace(small, ranking=small.ranking.clear()))
    finally:
        SECTIONS.unregister("size")
    Page(html)
    assert '<section id="size"><h2>Size &lt;of&gt; A small report</h2><p>5 items</p></section>' in html
    assert '<a href="#size">Size &amp; co</a>' in html
    assert 'id="size"' not in empty and 'href="#size"' not in empty
    assert 'id="size"' not in render(small)


def test_saved_files_can_be_made_safe_for_spreadsheets(small):
    frame = ranking(3, ["=1+1", "@x", "plain"])
    html = render(replace(small, ranking=frame, spreadsheet_safe=True))
    saved = json.loads(re.search(r'id="data-ranking.csv">(.*?)</script>', html).group(1))
    assert [line.split(",")[0] for line in saved.splitlines()] == ["item", "'=1+1", "'@x", "plain"]
    assert '<th scope="row">=1+1</th>' in html


@pytest.mark.parametrize("needed", [[12.0, math.inf], [5_000.0, math.inf], [math.inf, math.inf], [1_000.0, 1_001.0]])
def test_the_text_above_the_table_is_about_its_last_column(small, needed):
    frame = uncertain(2).with_columns(gain=pl.lit(0.1), to_settle=pl.Series(needed))
    told = section(render(replace(small, ask_next=frame)), "Worth asking next")
    assert ("The last column is" in told) == ("votes needed" in told) == (min(needed) <= 1_000)
    assert ("after a thousand more votes" in told) == (1_000 < min(needed) < math.inf)
