"""The admin page in a real browser, and an automated audit of every page (axe)."""

from __future__ import annotations

import os
import random
import shutil

import pytest

from jamrank.studio.study import Study

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
CHROMIUM = os.environ.get("JAMRANK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)
expect = playwright.expect
expect.set_options(timeout=20_000)
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, run_studio):  # which is set up first, so that pages close before their server does
    said = []
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert said == []


@pytest.fixture
def voted(run_studio, images):
    """A study with votes of four judges, and a worker."""
    running = run_studio(images, Study(title="Six <photographs>", votes_per_judge=12, cost_per_vote=0.1), worker=True)
    draw = random.Random(1)
    for name in ("Ann", "Ben", "<img src=x onerror=alert(1)>", "Dan"):
        judge = running.judge(running.judge_link(name)[1])
        while (state := judge.state())["open"]:
            judge.vote(state["open"][0]["key"], draw.choice(["left", "right", "tie"]), ms=1500)
    return running


def enter(page, running):
    page.goto(f"{running.url}/admin/enter/{running.admin_token}")
    page.get_by_role("button", name="Open the admin page").click()
    page.wait_for_url("**/admin")


def problems(page) -> list[str]:
    """Return what the audit finds, and what of it only in dark colours."""
    found = []
    for scheme, rules in {"light": RULES, "dark": CONTRAST}.items():
        page.emulate_media(color_scheme=scheme)
        # The audit is put into the page by the test, past the page's own policy.
        found += axe.Axe().run(page, options=rules).response["violations"]
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found]


def test_the_overview_shows_the_ranking_and_follows_the_votes(page, voted):
    enter(page, voted)
    expect(page.locator("#ranking")).to_be_visible()
    expect(page.locator("#live")).to_contain_text("photo-5")
    expect(page.locator("#live .tiles")).to_contain_text("48", timeout=20_000)
    expect(page.locator("#live")).to_contain_text("<img src=x onerror=alert(1)>")
    judge = voted.judge()
    judge.vote(judge.state()["open"][0]["key"])
    # By server-sent events, without a reload.
    expect(page.locator("#live .tiles")).to_contain_text("49", timeout=15_000)


@pytest.mark.long
def test_pausing_inviting_and_retiring(page, voted, images):
    enter(page, voted)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The study is paused")).to_be_visible()
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("link", name="Judges").click()
    page.get_by_label("One link per judge").fill("Eve\nFred")
    page.get_by_role("button", name="Create links").click()
    links = page.locator("code.link").all_inner_texts()
    assert len(links) == 2
    assert len(set(links)) == 2
    page.get_by_role("button", name="Delete personal data").first.click()
    expect(page.locator("tbody tr").first).to_contain_text("deleted")
    assert "Ann" not in page.content()
    page.get_by_role("link", name="Items").click()
    page.get_by_role("button", name="Retire photo-0").click()
    expect(page.locator("tbody tr").first).to_contain_text("retired")
    content = (images / "photo-1.png").read_bytes()
    page.get_by_label("Files").set_input_files([{"name": "new.png", "mimeType": "image/png", "buffer": content}])
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("1 added")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Question", exact=True).fill("Which is newer?")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert voted.studio.view().study.question == "Which is newer?"


@pytest.mark.parametrize("of_all", [False, pytest.param(True, marks=pytest.mark.long)])
def test_axe_finds_nothing(browser, voted, of_all):
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    found = {}
    link = voted.judge_link()[1]
    page.goto(link)
    found["join"] = problems(page) if of_all else []
    page.get_by_role("button", name="Start").click()
    page.locator("#vote[data-ready]").wait_for()
    found["vote"] = problems(page)
    for name, path in {"message": "nowhere", "login": "admin"}.items() if of_all else ():
        page.goto(f"{voted.url}/{path}")
        found[name] = problems(page)
    enter(page, voted)
    page.locator("#ranking").wait_for()
    found["overview"] = problems(page)
    for name in ("judges", "items", "settings", "export") if of_all else ():
        page.goto(f"{voted.url}/admin/{name}")
        found[name] = problems(page)
    context.close()
    assert {name: list_ for name, list_ in found.items() if list_} == {}
