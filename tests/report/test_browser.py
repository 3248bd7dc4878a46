"""The page in a real browser: Debian's chromium, driven by playwright; skipped where either is missing."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("JAMRANK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report of 80 items, among them a hostile one, with features and kinds of pairs."""
    folder = tmp_path_factory.mktemp("report")
    drawn = jr.simulate(80, 8, 6000, flips=[0.05, 0.1, 0.1, 0.2, 0.3, 0.5, 0.5, 0.9], n_features=3, random_state=4)
    frame = drawn.frame.with_columns(pl.col("left", "right").replace({"item07": "<img src=x onerror=alert(1)>"}))
    votes = jr.Comparisons.from_frame(frame)
    model = jr.VRJAM(n_clusters=3).fit(votes, np.random.default_rng(0).normal(size=(votes.n_items, 3)))
    write_report(model, votes, folder / "report.html", "A page to try")
    return folder / "report.html", model


@pytest.fixture
def opened(browser, written):
    """Open the page as asked; whatever it says on the console, or asks of a network, is a failure."""
    pages, said = [], []

    def open_(**context):
        page = browser.new_context(**context).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda r: said.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
        page.goto(written[0].as_uri())
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.context.close()
    assert said == []


def column(page, section, place):
    cells = page.locator(f"#{section} .table tbody tr:visible :nth-child({place})")
    return cells.all_inner_texts()


def test_the_ranking_sorts_both_ways_and_back(opened):
    page = opened()
    ranks = column(page, "ranking", 1)
    assert ranks == [str(rank) for rank in range(1, 81)]
    item = page.locator("#ranking thead th", has_text="item")
    item.locator("button").click()
    assert item.get_attribute("aria-sort") == "ascending"
    names = column(page, "ranking", 2)
    assert names[1:4] == ["item00", "item01", "item02"]
    item.locator("button").click()
    assert item.get_attribute("aria-sort") == "descending"
    assert column(page, "ranking", 2) == names[::-1]
    page.locator("#ranking thead th", has_text="rank").first.locator("button").press("Enter")
    assert column(page, "ranking", 1) == ranks
    assert item.get_attribute("aria-sort") is None


def test_numbers_are_sorted_as_numbers(opened):
    page = opened()
    page.locator("#ranking thead button", has_text="score").click()
    scores = [float(text.replace("−", "-")) for text in column(page, "ranking", 4)]
    assert scores == sorted(scores) and scores[0] < 0 < scores[-1]


def test_search_finds(opened):
    page = opened()
    box = page.get_by_label("Search: All items, best first")
    box.fill("ITEM42")
    assert column(page, "ranking", 2) == ["item42"]
    assert page.locator("#ranking .count").inner_text() == "1 of 80 rows"
    box.fill("onerror")
    assert column(page, "ranking", 2) == ["<img src=x onerror=alert(1)>"]
    box.fill("no such item")
    assert column(page, "ranking", 2) == []
    box.fill("")
    assert len(column(page, "ranking", 2)) == 80


def test_tables_are_saved_as_csv(opened, written):
    page = opened(accept_downloads=True)
    for name in ("annotators", "ranking"):
        with page.expect_download() as caught:
            page.get_by_label(f"Download {name}.csv").click()
        assert caught.value.suggested_filename == f"{name}.csv"
        text = Path(caught.value.path()).read_text(encoding="utf-8")
        expected = pl.DataFrame(getattr(written[1], f"{name}_"))
        rows = list(csv.DictReader(io.StringIO(text)))
        assert list(rows[0]) == expected.columns and len(rows) == expected.height
    assert [row["item"] for row in rows] == expected["item"].to_list()
    assert [float(row["score"]) for row in rows] == expected["score"].to_list()


def test_the_matrix_shows_other_items_and_says_its_cells(opened, written):
    page = opened()
    names = page.locator(".wins tbody th").all_inner_texts()
    assert len(names) == 25
    order = pl.DataFrame(written[1].ranking_)["item"].to_list()
    page.get_by_label("Rows around").fill(order[70])
    page.get_by_label("Columns around").fill(order[40])
    assert page.locator(".wins tbody .found").inner_text().endswith(order[70])
    cell = page.locator(f'.wins tbody tr:has(th[title="{order[70]}"]) td').nth(12)
    expected = round(100 * float(written[1].predict_proba(order[70], order[40])[0]))
    assert abs(int(cell.inner_text()) - max(expected, 1)) <= 1
    cell.hover()
    assert page.locator(".wins .tip").inner_text() == f"{order[70]} beats {order[40]}: {cell.inner_text()} %"


def test_charts_and_tables_are_reached_and_read_by_keyboard(opened):
    page = opened()
    chart = page.locator("#ranking .chart")
    chart.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    told = page.locator("#ranking figcaption")
    assert re.search(r": rank 2 \(interval ", told.inner_text())
    assert told.get_attribute("aria-live") == "polite"
    page.keyboard.press("Escape")
    assert "arrow keys" in told.inner_text()
    page.locator(".wins .scroll").focus()
    page.keyboard.press("ArrowDown")
    assert " beats " in page.locator(".wins .tip").inner_text()


def test_tab_goes_through_the_page_and_every_control_has_a_name(opened):
    page = opened()
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName.toLowerCase()"))
    assert reached[:11] == ["a"] * 11 and reached[11:] == ["svg", "input", "button"]
    controls = "[...document.querySelectorAll('button, input, a, [tabindex], svg[role=img]')]"
    named = "e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)"
    assert page.evaluate(f"{controls}.every((e) => e.tabIndex >= 0)")
    assert page.evaluate(f"{controls}.filter((e) => !({named})).length") == 0


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const under = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return [255, 255, 255, 255];
  };
  const bad = new Set();
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || node.closest("script, .unseen") || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = rgb(node.closest("svg") ? style.fill : style.color);
    if (ink[3] === 0) continue;
    const [a, b] = [light(ink), light(under(node))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.add(`${node.tagName}.${node.className.baseVal ?? node.className} ${ratio.toFixed(2)}`);
  }
  return [...bad];
})()
"""


def test_text_stands_out_from_its_ground(opened):
    page = opened()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_nothing_sticks_out_of_a_narrow_screen(opened):
    page = opened()
    for width in (768, 390, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_without_controls(opened, tmp_path):
    page = opened()
    page.emulate_media(media="print")
    assert page.locator(".tools:visible, nav:visible").count() == 0
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000


def test_without_scripts_the_page_is_whole(opened):
    page = opened(java_script_enabled=False)
    assert len(page.locator("#ranking tbody tr").all()) == 80
    assert page.locator("button, input").count() == 0
