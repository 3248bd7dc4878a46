"""What a fit is asked for, and what it says about how it ran."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.cli import main
from jamrank.cli.request import FitRequest
from jamrank.errors import ParameterError


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def votes(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("request") / "votes.csv"
    result = call("simulate", "--out", path, "--items", 8, "--votes", 400, "--ties", 0.1)
    assert result.exit_code == 0
    return path


def facts(page: Path) -> dict[str, str]:
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page.read_text()))


def test_a_request_is_frozen_and_checks_what_excludes_each_other():
    request = FitRequest.parse({"votes": ("a.csv",), "export": None})
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.out = "x"  # type: ignore[misc]
    with pytest.raises(ParameterError, match="--export needs --out"):
        FitRequest.parse({"votes": ("a.csv",), "export": "json"})
    with pytest.raises(ParameterError, match="are for --engine dask"):
        FitRequest.parse({"votes": ("a.csv",), "export": None, "workers": 2, "engine": "memory"})


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({}, "auto"),
        ({"engine": "gpu"}, "gpu"),
        ({"memory": "1GB"}, "disk"),
        ({"scratch": "x"}, "disk"),
        ({"workers": 2}, "dask"),
    ],
)
def test_options_of_an_engine_ask_for_it(options, engine):
    assert FitRequest(("a.parquet",), **options).wanted_engine == engine


def test_the_report_shows_the_engine_that_ran(votes, tmp_path):
    assert call("fit", votes, "--model", "bt", "--out", tmp_path).exit_code == 0
    assert facts(tmp_path / "report.html")["Engine"].startswith("memory")


def test_the_report_does_not_claim_an_engine_that_is_not_there(votes, tmp_path):
    from jamrank.kernels.gpu_device import gpu_available

    if gpu_available():
        pytest.skip("there is a GPU")
    result = call("fit", votes, "--model", "JAM", "--engine", "gpu", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert facts(tmp_path / "report.html")["Engine"].startswith("memory: engine gpu cannot be used: ")


def test_an_engine_that_a_model_cannot_use_is_refused(votes):
    result = call("fit", votes, "--model", "MajorityVote", "--engine", "gpu")
    assert result.exit_code == 2
    assert "--engine gpu: MajorityVote runs in memory only" in result.stderr


def test_a_warm_start_takes_over_noise_and_ties_and_says_if_votes_are_missing(votes, tmp_path):
    options = "--model", "JAM", "--noise", "two-coin", "--ties", "davidson"
    assert call("fit", votes, *options, "--out", tmp_path / "first").exit_code == 0
    few = tmp_path / "few.csv"
    few.write_text("\n".join(votes.read_text().splitlines()[:200]) + "\n")
    result = call("fit", few, "--start", tmp_path / "first" / "model.jamrank", "--out", tmp_path / "second")
    assert result.exit_code == 0, result.output
    again = jr.load(tmp_path / "second" / "model.jamrank")
    assert (again.noise, again.ties) == ("two-coin", "davidson")
    assert "fitted to 400 votes, and only the 199 votes given now count" in result.stderr
    result = call("fit", few, "--start", tmp_path / "first" / "model.jamrank", "--noise", "flip", "--quiet")
    assert result.exit_code == 0


def test_a_new_fit_removes_the_exports_of_an_earlier_one(votes, tmp_path):
    exports = "parquet,json,preferences,markdown"
    assert call("fit", votes, "--model", "bt", "--out", tmp_path / "out", "--export", exports).exit_code == 0
    assert len(list((tmp_path / "out").iterdir())) == 11
    (tmp_path / "out" / "notes.txt").write_text("mine")
    result = call("fit", votes, "--model", "bt", "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"ranking.csv", "annotators.csv", "pairs.csv", "model.jamrank", "report.html", "notes.txt"}
    assert "leaderboard.md" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_verdicts_beside_a_named_model_without_flips_come_from_a_model_of_annotators(votes):
    text = " ".join(call("fit", votes, "--model", "bt").stdout.split())
    assert "Flips and verdicts come from CrowdBT, fitted to the same votes: BradleyTerry" in text
    assert "come from CrowdBT" not in call("fit", votes, "--model", "JAM").stdout
