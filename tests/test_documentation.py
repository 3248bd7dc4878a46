"""Every Python example in README and docs runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from jamrank.models import MODELS
from jamrank.scorers import SCORERS

ROOT = Path(__file__).parents[1]
PAGES = [
    path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if "```python" in path.read_text()
]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\s*```text\n(?P<output>.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for block in BLOCK.finditer(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(block["code"], page.name, "exec"), names)
        if block["output"] is not None:
            assert printed.getvalue().strip() == block["output"].strip()


def test_the_grid_names_every_model():
    grid = (ROOT / "docs" / "concepts.md").read_text().partition("## A model is a scorer and a noise")[2]
    named = set(re.findall(r"`(\w+)[`(]", grid.partition("\n## ")[0]))
    own = {name for name in MODELS if MODELS[name].__module__.startswith("jamrank.")}  # examples register others
    assert own <= named


@pytest.mark.parametrize("axis", ["noises", "scorers"])
def test_the_overview_of_an_axis_lists_its_pages(axis):
    overview = (ROOT / "docs" / f"{axis}.md").read_text()
    pages = sorted(path.stem for path in (ROOT / "docs" / axis).glob("*.md"))
    assert sorted(re.findall(rf"^{axis}/(\S+)$", overview, re.MULTILINE)) == pages
    linked = set(re.findall(rf"\({axis}/([\w-]+)\.md", overview))
    assert set(pages) <= linked


def test_every_noise_and_scorer_of_the_code_has_a_page():
    aside = {"__init__", "base", "registry", "wrapped"}
    noises = {path.stem for path in (ROOT / "src" / "jamrank" / "noise").glob("*.py")} - aside - {"kmeans"}
    pages = {
        path.stem.replace("-", "_").replace("clustered_flip", "clustered")
        for path in (ROOT / "docs/noises").iterdir()
    }
    assert noises <= pages
    overview = (ROOT / "docs" / "scorers.md").read_text()
    assert all(f"[`{scorer}`](scorers/" in overview for scorer, spec in SCORERS.items() if spec.selectable)
