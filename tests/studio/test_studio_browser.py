"""Whole studies in a real browser: Debian's chromium, driven by playwright; skipped where either is missing."""

from __future__ import annotations

import os
import shutil

import pytest

from jamrank.studio.study import Criterion, KnownPair, Study

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("JAMRANK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)
expect = playwright.expect
expect.set_options(timeout=20_000)
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
# Longer than the moment in which the page takes a second click for the end of a double click.
GUARD = 300


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, run_studio):
    """Open pages; whatever they say on the console is a failure, unless the test expects it."""
    contexts, said = [], []

    def open_(link=None, *, context=None, expected=(), **options):
        context = context or browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)

        def note(text):
            if not any(part in text for part in expected):
                said.append(text)

        page.on("console", lambda message: note(message.text))
        page.on("pageerror", lambda error: note(str(error)))
        if link is not None:
            page.goto(link)
            page.get_by_role("button", name="Start").click()
            page.wait_for_url("**/vote")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []


def ready(page):
    page.locator("#vote[data-ready]").wait_for()
    page.wait_for_timeout(GUARD)


def press(page, key):
    """Press a key and wait until the page shows another pair."""
    before = page.locator("#key").input_value()
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('key')?.value !== before || document.querySelector('main.card')",
        arg=before,
    )
    page.wait_for_timeout(GUARD)


def all_sent(page):
    page.wait_for_function("() => Object.keys(localStorage).filter(k => k.startsWith('jamrank-votes')).length === 0")


def test_a_whole_study_by_keyboard(running, opened):
    judge, link = running.judge_link()
    page = opened(link)
    ready(page)
    assert page.locator("h1").inner_text() == "Which is brighter?"
    for key in ["ArrowLeft", "ArrowRight", "ArrowDown", "s"]:
        press(page, key)
    press(page, "u")
    for key in ["ArrowLeft"] * 6:
        press(page, key)
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Thank you!").wait_for()
    votes = running.votes()
    assert votes["annotator"].unique().to_list() == [judge]
    assert votes["winner"].to_list() == ["left", "right", "tie", *["left"] * 6, "right"]
    pairs = {frozenset(pair) for pair in votes.select("left", "right").iter_rows()}
    assert len(pairs) == 10
    assert (votes["seconds"] > 0.2).all()


def test_tab_and_enter_are_enough(running, opened):
    page = opened(running.judge_link()[1])
    ready(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "right":
            break
    before = page.locator("#key").input_value()
    page.keyboard.press("Enter")
    page.wait_for_function("before => document.getElementById('key').value !== before", arg=before)
    all_sent(page)
    assert running.votes()["winner"].to_list() == ["right"]


def test_on_a_phone_the_items_are_stacked_and_the_buttons_large(running, opened):
    page = opened(running.judge_link()[1], **PHONE)
    ready(page)
    first, second = page.locator("#left").bounding_box(), page.locator("#right").bounding_box()
    assert second["y"] >= first["y"] + first["height"]
    for button in page.locator("button:visible").all():
        assert button.bounding_box()["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Choose B").tap()
    all_sent(page)
    assert running.votes()["winner"].to_list() == ["right"]


def test_votes_without_a_network_are_sent_once_when_it_is_back(running, opened):
    _, link = running.judge_link()
    page = opened(link, expected=["ERR_INTERNET_DISCONNECTED", "Failed to load resource"])
    ready(page)
    page.context.set_offline(True)
    press(page, "ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#blocked")).to_contain_text("Waiting for a connection")
    expect(page.locator("#status")).to_contain_text("kept here")
    page.keyboard.press("u")
    expect(page.locator("#ballot")).to_be_visible()
    page.wait_for_timeout(GUARD)
    page.keyboard.press("ArrowRight")
    assert running.votes().height == 0
    page.context.set_offline(False)
    all_sent(page)
    assert running.votes()["winner"].to_list() == ["left", "right"]
    assert len(running.events("undone")) == 0
    expect(page.locator("#status")).to_contain_text("All votes are saved")


def test_votes_that_wait_survive_a_reload(running, opened):
    page = opened(running.judge_link()[1], expected=["Failed to load resource", "net::"])
    ready(page)
    page.route("**/vote", lambda route: route.abort() if route.request.method == "POST" else route.fallback())
    press(page, "ArrowRight")
    page.unroute("**/vote")
    page.reload()
    all_sent(page)
    assert running.votes()["winner"].to_list() == ["right"]


def test_a_reply_that_is_lost_does_not_make_a_second_vote(running, opened):
    page = opened(running.judge_link()[1], expected=["Failed to load resource", "net::"])
    ready(page)
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.fallback()

    page.route("**/vote", lose)
    press(page, "ArrowLeft")
    all_sent(page)
    assert lost[0].status == 200
    assert running.votes().height == 1


def test_a_double_click_is_one_vote(running, opened):
    page = opened(running.judge_link()[1])
    ready(page)
    page.get_by_role("button", name="Choose A").dblclick()
    all_sent(page)
    page.wait_for_timeout(GUARD)
    assert running.votes().height == 1


def test_two_tabs_are_one_judge(running, opened):
    page = opened(running.judge_link()[1])
    ready(page)
    other = opened(context=page.context)
    other.goto(f"{running.url}/vote")
    ready(other)
    assert other.locator("#key").input_value() == page.locator("#key").input_value()
    press(page, "ArrowLeft")
    all_sent(page)
    press(other, "ArrowRight")
    all_sent(other)
    # The first answer stands, and both pages go on with the same pair.
    assert running.votes()["winner"].to_list() == ["left"]
    page.reload()
    ready(page)
    assert other.locator("#key").input_value() == page.locator("#key").input_value()


def test_undo_brings_the_pair_back_also_after_a_reload(running, opened):
    page = opened(running.judge_link()[1])
    ready(page)
    shown = page.locator("#left img").get_attribute("src")
    press(page, "ArrowLeft")
    all_sent(page)
    page.reload()
    ready(page)
    press(page, "u")
    assert page.locator("#left img").get_attribute("src") == shown
    press(page, "ArrowRight")
    all_sent(page)
    assert running.votes()["winner"].to_list() == ["right"]
    assert len(running.events("undone")) == 1


def test_without_scripts(running, opened):
    page = opened(running.judge_link()[1], java_script_enabled=False)
    for button in ["Choose A", "Choose B", "Neither", "Skip", "Undo", "Choose A"]:
        page.get_by_role("button", name=button).click()
    assert running.votes()["winner"].to_list() == ["left", "right", "tie", "left"]
    for _ in range(6):
        page.get_by_role("button", name="Choose A").click()
    expect(page.get_by_role("heading", name="Thank you!")).to_be_visible()
    assert running.votes().height == 10


def test_pause_and_close_reach_an_open_page(running, opened):
    page = opened(running.judge_link()[1], expected=["Failed to load resource"])
    ready(page)
    running.set_state("paused")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(GUARD)
    expect(page.locator("#blocked")).to_contain_text("paused")
    running.set_state("open")
    expect(page.locator("#ballot")).to_be_visible()
    running.set_state("closed")
    page.wait_for_timeout(GUARD)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#status")).to_contain_text("closed")


def test_practice_grades_criteria_and_consent(run_studio, tmp_path, opened):
    items = tmp_path / "items.csv"
    items.write_text("item,text,markdown\na,first,\nb,,**second** <b>no</b>\nc,third,\nd,fourth,\n", encoding="utf-8")
    study = Study(
        title="Texts",
        criteria=(Criterion("style", "Which reads better?"), Criterion("truth", "Which is truer?")),
        ties=False,
        grades=("slightly better", "much better"),
        votes_per_judge=8,
        practice=(KnownPair("a", "b", "style"),),
        consent="We keep **nothing** but votes.",
        ask=("Age",),
    )
    running = run_studio(items, study)
    page = opened()
    page.goto(running.judge_link()[1])
    page.get_by_label("Age").fill("<script>alert(1)</script>")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start").click()
    ready(page)
    expect(page.locator("#practice")).to_be_visible()
    expect(page.locator("h1")).to_have_text("Which reads better?")
    assert page.get_by_role("button", name="Neither").count() == 0
    assert page.locator(".prose strong").first.inner_text() == "second"
    press(page, "ArrowLeft")
    expect(page.locator("#feedback")).to_contain_text("Practice")
    expect(page.locator("#practice")).to_be_hidden()
    press(page, "ArrowLeft")
    page.keyboard.down("Shift")
    press(page, "ArrowRight")
    page.keyboard.up("Shift")
    page.get_by_role("button", name="A is much better").click()
    all_sent(page)
    votes = running.votes()
    assert votes["strength"].to_list() == [0.5, 1.0, 1.0]
    assert set(votes["criterion"]) <= {"style", "truth"}
    assert running.votes(("practice",)).height == 1
