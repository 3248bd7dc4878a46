"""The command line as a user meets it."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.cli import main
from jamrank.simulation import Effect, Tastes

OUTPUTS = {"ranking.csv", "annotators.csv", "pairs.csv", "model.jamrank", "report.html"}
WITH_FEATURES = {*OUTPUTS, "features.csv"}
COUNTING = ["borda", "Copeland", "hodgerank", "RankCentrality", "winrate"]


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    result = call("simulate", "--out", folder / "votes.csv", "--items", 12, "--votes", 900, "--features", 3)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def fitted(study, tmp_path_factory):
    """The output of a plain fit, and the folder that it wrote."""
    folder = tmp_path_factory.mktemp("fitted") / "new" / "folder"
    result = call("fit", study / "votes.csv", "--out", folder)
    assert result.exit_code == 0, result.output
    return result, folder


@pytest.fixture(scope="module")
def printed(study):
    """What a plain fit prints as JSON."""
    return json.loads(call("fit", study / "votes.csv", "--json").stdout)


@pytest.fixture(scope="module")
def quick(study) -> list[object]:
    """Options of a fit without draws from the posterior, where nothing depends on the model."""
    return ["--model", "JAM", "--features", study / "votes-features.csv"]


def test_items_in_groups_are_ranked_within_them(tmp_path):
    rows = [("a", "b"), ("a", "c"), ("b", "c"), ("x", "y")] * 5
    pl.DataFrame(rows, schema=["left", "right"], orient="row").with_columns(winner=pl.lit("left")).write_csv(
        tmp_path / "votes.csv"
    )
    output = call("fit", tmp_path / "votes.csv").output
    assert "Ranking within groups" in output
    found = re.findall(r"│ +(\d+) │ +(\d+) │ (\w) ", output)
    assert found == [("1", "1", "a"), ("1", "2", "b"), ("1", "3", "c"), ("2", "1", "x"), ("2", "2", "y")]


def test_covariates_sway_annotators_and_are_taken_out(tmp_path):
    tastes = Tastes(effects={"longer": Effect(own=(1.0, 1.0))})
    drawn = jr.simulate(8, 4, 800, truth="vote", noise="none", spread=1.0, tastes=tastes, random_state=0)
    drawn.frame.write_csv(tmp_path / "votes.csv")
    result = call("fit", tmp_path / "votes.csv", "--covariates", "longer,side", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "CovariateBT on 800 votes" in result.output
    assert "What sways annotators" in result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*OUTPUTS, "effects.csv"}
    effects = pl.read_csv(tmp_path / "out" / "effects.csv")
    assert effects["annotator"].to_list() == ["all", "ann0", "ann1", "ann2", "ann3"] * 2
    verdicts = pl.read_csv(tmp_path / "out" / "annotators.csv").sort("annotator")["verdict"].to_list()
    assert verdicts[:2] == ["swayed by longer"] * 2
    page = (tmp_path / "out" / "report.html").read_text()
    for words in ("What sways annotators", "Effects of longer", "The ranking without the effects, and with them"):
        assert words in page
    again = jr.load(tmp_path / "out" / "model.jamrank")
    assert again.effects_["sentence"].to_list() == effects["sentence"].to_list()
    printed = json.loads(call("fit", tmp_path / "votes.csv", "--covariates", "longer", "--json", "-q").stdout)
    assert printed["effects"][0]["annotator"] == "all"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--covariates", "length"], "no column 'length' for a covariate"),
        (["--covariates", "winner"], "covariates has 'winner'"),
        (["--covariates", ","], "--covariates names no column"),
        (["--covariates", "side", "--model", "CrowdBT"], "--covariates does not apply to CrowdBT"),
        (["--covariates", "side", "--reference", "nobody"], "reference is nobody, who cast no vote"),
        (["--reference", "ann0"], "--reference does not apply to Auto"),
    ],
)
def test_covariates_that_cannot_be_used(study, options, said):
    result = call("fit", study / "votes.csv", *options)
    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_help_names_every_command_and_shows_examples():
    result = call("--help")
    assert result.exit_code == 0
    for word in (
        "demo",
        "fit",
        "check",
        "compare",
        "export",
        "next",
        "plan",
        "simulate",
        "reproduce",
        "Examples",
        "votes.csv",
    ):
        assert word in result.output
    for command in ("demo", "fit", "check", "compare", "export", "next", "plan", "simulate", "reproduce"):
        assert "Examples:" in call(command, "--help").output


def test_help_waits_for_no_heavy_library():
    code = (
        "import sys; from click.testing import CliRunner; from jamrank.cli import main; "
        "CliRunner().invoke(main, ['--help']); "
        "print(sorted({'numpy', 'scipy', 'polars', 'sklearn', 'rich', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("fit", {"scipy.stats", "scipy.optimize", "scipy.cluster", "pandas", "matplotlib", "sqlite3"}),
        ("check", {"scipy.stats", "scipy.optimize", "pandas", "jamrank.report", "jamrank.acquisition"}),
        ("compare", {"scipy.stats", "scipy.optimize", "pandas", "jamrank.report.build", "jamrank.diagnostics"}),
    ],
)
def test_commands_do_not_wait_for_what_they_do_not_use(study, command, unused):
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom jamrank.cli.main import main\n"
        f"result = CliRunner().invoke(main, [{command!r}, {str(study / 'votes.csv')!r}])\n"
        f"print(result.exit_code, sorted({unused!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "0 []\n"


@pytest.mark.parametrize("options", ["[]", "['--help']", "['--quiet', '--no-such-option']"])
@pytest.mark.parametrize("command", ["fit", "check", "compare"])
def test_unused_objects_are_searched_for_once_modules_are_imported(study, command, options):
    code = (
        "import gc, sys\nfrom jamrank.cli.main import main\nimport jamrank.cli.display as display\n"
        "during, stage = [], display.stage\n"
        "def seen(*given):\n    with stage(*given):\n        during.append(gc.isenabled())\n"
        "    return stage(*given)\n"
        "display.stage = seen\n"
        f"try:\n    main([{command!r}, {str(study / 'votes.csv')!r}, *{options}])\nexcept SystemExit:\n    pass\n"
        "print(gc.isenabled(), all(during), gc.get_freeze_count() > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "True True True"


def test_a_process_that_has_imported_numpy_keeps_its_collector():
    import gc

    from jamrank.cli.collector import pause_collector

    pause_collector()
    assert gc.isenabled()


def test_fit_writes_all_its_files_and_prints_a_summary(study, fitted):
    result, folder = fitted
    assert {path.name for path in folder.iterdir()} == OUTPUTS
    for word in ("Ranking", "Annotators", "Findings", "900 votes"):
        assert word in result.output
    ranking = pl.read_csv(folder / "ranking.csv")
    assert ranking.columns == [
        "item",
        "rank",
        "score",
        "score_se",
        "score_low",
        "score_high",
        "rank_low",
        "rank_high",
    ]
    truth = dict(pl.read_csv(study / "votes-items.csv").iter_rows())
    best, worst = ranking["item"][0], ranking["item"][-1]
    assert truth[best] > truth[worst]
    model = jr.load(folder / "model.jamrank")
    assert model.ranking_["item"].to_list() == ranking["item"].to_list()


def test_annotators_come_best_first(fitted):
    flips = pl.read_csv(fitted[1] / "annotators.csv")["flip"].to_list()
    assert flips == sorted(flips)


@pytest.mark.parametrize("model", ["MajorityVote", "mv", "IAM", "jam", "VRJAM", "bt", "CrowdBT", "auto", *COUNTING])
def test_every_model_can_be_named(tmp_path, model):
    votes = tmp_path / "votes.csv"
    call("simulate", "--out", votes, "--items", 5, "--annotators", 3, "--votes", 60, "--features", 1)
    features = ["--features", tmp_path / "votes-features.csv"] if model in ("IAM", "VRJAM", "jam") else []
    result = call("fit", votes, "--model", model, "--json", *features)
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["ranking"]) == 5


@pytest.mark.parametrize("model", COUNTING)
def test_models_that_count_take_ties_and_say_that_they_use_no_features(tmp_path, model):
    rows = "annotator,left,right,winner\nann,a,b,left\nann,b,c,tie\nbob,a,c,left\n"
    (tmp_path / "votes.csv").write_text(rows)
    (tmp_path / "items.csv").write_text("item,x\na,1\nb,2\nc,3\n")
    result = call(
        "fit",
        tmp_path / "votes.csv",
        "--features",
        tmp_path / "items.csv",
        "--model",
        model,
        "--out",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    assert "uses no features" in result.stderr
    assert "votes excluded" not in result.output + (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / "ranking.csv").read_text().splitlines()[1].startswith("a,1,")
    told = json.loads(call("fit", tmp_path / "votes.csv", "--model", model, "--json").stdout)
    assert told["ties_left_out"] == 0


def test_json_is_all_that_goes_to_standard_output(printed):
    assert printed["model"] == "JAM"
    assert printed["converged"] is True
    assert [row["rank"] for row in printed["ranking"]] == list(range(1, 13))


def test_unless_named_the_model_is_chosen_and_that_is_said(study, fitted, printed):
    result, folder = fitted
    assert "Model: " in result.output
    assert printed["chosen"].startswith(printed["model"])
    assert jr.load(folder / "model.jamrank").result_.model == printed["model"]
    assert printed["chosen"][:20] in (folder / "report.html").read_text()
    assert json.loads(call("fit", study / "votes.csv", "--json", "--model", "bt").stdout)["chosen"] is None


def test_compare_says_whether_annotators_matter_and_which_model_is_best(study, tmp_path):
    models = [option for name in ("CrowdBT", "JAM", "VRJAM") for option in ("--model", name)]
    arguments = "compare", study / "votes.csv", "--folds", 2, "--features", study / "votes-features.csv"
    result = call(*arguments, *models, "--out", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    assert "modelling annotators" in result.output.splitlines()[0]
    for word in ("Single votes held out", "All votes on a pair held out", "VRJAM", "difference", "table.csv"):
        assert word in result.output
    assert set(pl.read_csv(tmp_path / "table.csv")["split"]) == {"vote", "pair"}


@pytest.mark.parametrize(("width", "cut"), [(60, "accuracy, ties"), (200, "")])
def test_compare_names_the_columns_that_do_not_fit(tmp_path, monkeypatch, width, cut):
    monkeypatch.setenv("COLUMNS", str(width))
    jr.simulate(6, 3, 200, tie_rate=0.2, random_state=0).votes.to_frame().write_csv(tmp_path / "votes.csv")
    told = call("compare", tmp_path / "votes.csv", "--model", "bt", "--model", "CrowdBT", "--folds", 2).output
    assert (f"too narrow for all columns ({cut}" in told) == bool(cut)
    assert ("too narrow" in told) == bool(cut)


def test_compare_as_json(study, tmp_path):
    arguments = "compare", study / "votes.csv", "--model", "bt", "--model", "CrowdBT", "--folds", 2
    told = json.loads(call(*arguments, "--json").stdout)
    assert told["choice"] in ("BradleyTerry", "CrowdBT")
    assert {row["model"] for row in told["models"]} == {"BradleyTerry", "CrowdBT", "CrowdBT, annotators pooled"}
    assert len(told["reliability"]) == 10 * len(told["models"])
    result = call(*arguments, "--quiet", "--out", tmp_path / "all.json")
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads((tmp_path / "all.json").read_text())["choice"] == told["choice"]


def test_quiet_prints_nothing(study, tmp_path, quick):
    result = call("fit", study / "votes.csv", *quick, "--quiet", "--out", tmp_path)
    assert (result.exit_code, result.output) == (0, "")


def test_results_do_not_change_from_run_to_run(study, fitted, tmp_path):
    call("fit", study / "votes.csv", "--out", tmp_path)
    for name in OUTPUTS - {"report.html"}:
        assert (tmp_path / name).read_bytes() == (fitted[1] / name).read_bytes()


@pytest.mark.long
def test_results_with_features_do_not_change_from_run_to_run(study, tmp_path):
    for name in ("a", "b"):
        call("fit", study / "votes.csv", "--features", study / "votes-features.csv", "--out", tmp_path / name)
    for name in OUTPUTS - {"report.html"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_parquet_is_as_good_as_csv(tmp_path, quick):
    for name in ("votes.csv", "votes.parquet"):
        assert call("simulate", "--items", 12, "--out", tmp_path / name, "--force").exit_code == 0
    a, b = (call("fit", tmp_path / name, *quick, "--json").stdout for name in ("votes.csv", "votes.parquet"))
    assert json.loads(a) == json.loads(b)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("annotator,left,right,winner\nk,a,b,left\nk,a,c,maybe\n", "row 2: winner is 'maybe'"),
        ("annotator,left,right,winner\nk,a,a,left\n", "row 1: a is compared with itself"),
        ("annotator,left,right\nk,a,b\n", "winner"),
        ("annotator,left,right,winner\n", "no"),
        ("", "empty"),
        ("annotator,left,right,winner\n,a,b,left\n", "row 1: annotator is missing"),
        ("annotator,left,right,winner,weight\nk,a,b,left,-1\n", "row 1: weight is -1"),
        ("annotator,left,right,winner,weight\nk,a,b,left,much\n", "much"),
        ("annotator,left,right,winner\nk,a,b,left,extra\n", "row 1"),
        ("annotator,left,right,winner\nk,a,b,tie\n", "no decided vote"),
    ],
)
def test_bad_votes_get_one_line_and_exit_code_2(tmp_path, content, told):
    (tmp_path / "votes.csv").write_text(content)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ranking.csv").write_text("precious")
    result = call("fit", tmp_path / "votes.csv", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ranking.csv"]
    assert (tmp_path / "out" / "ranking.csv").read_text() == "precious"


def test_other_bad_input_gets_one_line_and_exit_code_2(study, tmp_path):
    (tmp_path / "latin.csv").write_bytes("annotator,left,right,winner\nk,caf\xe9,b,left\n".encode("latin-1"))
    (tmp_path / "few.csv").write_text("item,x\nitem00,1\n")
    (tmp_path / "words.csv").write_text("item,x\nitem00,red\n")
    votes = study / "votes.csv"
    for arguments in (
        ["fit", tmp_path / "nowhere.csv"],
        ["fit", tmp_path],
        ["fit", tmp_path / "latin.csv"],
        ["fit", votes, "--model", "Nonsense"],
        ["fit", votes, "--model", "VRJAM"],
        ["fit", votes, "--model", "mv", "--tol", "1"],
        ["fit", votes, "--features", tmp_path / "few.csv"],
        ["fit", votes, "--features", tmp_path / "words.csv"],
        ["fit", votes, "--tol", "-1"],
        ["check", tmp_path / "nowhere.csv"],
        ["compare", tmp_path / "nowhere.csv"],
        ["compare", votes, "--model", "Nonsense"],
        ["compare", votes, "--model", "VRJAM"],
        ["compare", votes, "--folds", "1"],
        ["compare", votes, "--features", tmp_path / "few.csv"],
        ["compare", votes, "--model", "bt", "--out", tmp_path / "nowhere" / "x.csv"],
        ["simulate", "--out", votes],
        ["simulate", "--flips", "a,b", "--out", tmp_path / "x.csv"],
        ["simulate", "--items", "1", "--out", tmp_path / "x.csv"],
        ["simulate", "--families", "2.5", "--out", tmp_path / "x.csv"],
        ["simulate", "--families", "4,3", "--truth", "pair", "--out", tmp_path / "x.csv"],
        ["simulate", "--covariates", "length", "--out", tmp_path / "x.csv"],
        ["simulate", "--covariates", "left=1", "--out", tmp_path / "x.csv"],
        ["simulate", "--covariates", "a=1,a=2", "--out", tmp_path / "x.csv"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.startswith("jamrank: "), arguments
        assert len(result.stderr.strip().splitlines()) == 1, arguments


def test_features_show_what_drives_the_score(study, tmp_path):
    features = study / "votes-features.csv"
    result = call("fit", study / "votes.csv", "--model", "JAM", "--features", features, "--out", tmp_path)
    assert "Feature effects" in result.output
    table = pl.read_csv(tmp_path / "features.csv")
    assert table.columns == ["feature", "coef", "effect"]
    assert table["feature"].to_list() == ["x0", "x1", "x2"]


def test_scores_come_from_where_they_are_told_to(study, tmp_path):
    features = study / "votes-features.csv"
    options = ["--model", "JAM", "--features", features, "--scorer", "linear+objects", "--out", tmp_path]
    assert call("fit", study / "votes.csv", *options).exit_code == 0
    assert jr.load(tmp_path / "model.jamrank").result_.scores.scorer == "linear+objects"


def test_a_usage_error_is_one_line_too(study):
    for arguments in (["fit"], ["fit", study / "votes.csv", "--bogus"], ["nonsense"], ["fit", study, "--tol", "x"]):
        result = call(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("jamrank: ")
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_failed_fit_leaves_no_folder_behind(tmp_path):
    assert call("fit", tmp_path / "nowhere.csv", "--out", tmp_path / "out").exit_code == 2
    assert not (tmp_path / "out").exists()
    assert call("fit", tmp_path / "nowhere.csv", "--out", "").exit_code == 2


def test_control_characters_in_ids_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\nk,\x1b[31mred,b,left\n")
    result = call("fit", tmp_path / "votes.csv")
    assert result.exit_code == 0
    assert "\x1b[31mred" not in result.output
    assert "red" in result.output


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_terminated_run_leaves_old_results_and_no_temporary_files(tmp_path):
    # A pipe that nobody fills: the run is sure to be reading when the signal comes.
    os.mkfifo(tmp_path / "votes.csv")
    out = tmp_path / "out"
    out.mkdir()
    (out / "ranking.csv").write_text("precious")
    command = [sys.executable, "-m", "jamrank", "fit", str(tmp_path / "votes.csv"), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with (tmp_path / "votes.csv").open("wb"):
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 128 + signal.SIGTERM
    assert [path.name for path in out.iterdir()] == ["ranking.csv"]
    assert (out / "ranking.csv").read_text() == "precious"


def test_an_output_folder_that_cannot_be_made_is_told_before_the_fit(study, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("fit", study / "votes.csv", "--out", tmp_path / "file" / "out")
    assert result.exit_code == 2
    assert "file" in result.stderr


def test_check_says_good_and_exits_0(study):
    result = call("check", study / "votes.csv")
    assert result.exit_code == 0
    assert "connect all items" in result.output
    told = json.loads(call("check", study / "votes.csv", "--json").stdout)
    assert told["comparable"] is True
    assert told["counts"]["votes"] == 900


def test_check_exits_1_where_scores_cannot_be_compared(tmp_path):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\nk,a,b,left\nk,c,d,right\n")
    result = call("check", tmp_path / "votes.csv")
    assert result.exit_code == 1
    assert "2 groups" in result.output


def test_simulate_draws_families_copies_and_covariates_that_fit_finds(tmp_path):
    out = tmp_path / "votes.csv"
    options = ["--annotators", 6, "--items", 8, "--votes", 3000, "--noise", "none"]
    more = ["--families", "2,1", "--copies", 2, "--covariates", "length=1,age=0"]
    assert call("simulate", *options, *more, "--out", out).exit_code == 0
    truth = pl.read_csv(tmp_path / "votes-annotators.csv")
    assert truth["family"].to_list() == [1, 1, 2, None, None, None]
    assert truth["age"].to_list() == [0] * 6 and truth["length"][4] == truth["length"][5]
    assert call("fit", out, "--covariates", "length", "--out", tmp_path / "out", "--quiet").exit_code == 0
    found = pl.read_csv(tmp_path / "out" / "effects.csv").row(0, named=True)
    assert found["coef_low"] < truth["length"].mean() < found["coef_high"]


def test_simulate_repeats_and_never_overwrites_unasked(tmp_path):
    for name in ("a.csv", "b.csv"):
        call("simulate", "--seed", 5, "--out", tmp_path / name)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    before = (tmp_path / "a.csv").read_text()
    assert call("simulate", "--seed", 6, "--out", tmp_path / "a.csv").exit_code == 2
    assert (tmp_path / "a.csv").read_text() == before
    assert call("simulate", "--seed", 6, "--out", tmp_path / "a.csv", "--force").exit_code == 0
    assert (tmp_path / "a.csv").read_text() != before


def test_ties_count_unless_they_are_left_out(tmp_path, quick):
    call("simulate", "--items", 12, "--ties", 0.1, "--out", tmp_path / "votes.csv")
    result = call("fit", tmp_path / "votes.csv", *quick)
    assert result.exit_code == 0
    assert "left out" not in result.stderr
    result = call("fit", tmp_path / "votes.csv", *quick, "--ties", "leave out")
    assert result.exit_code == 0
    assert "tie votes left out" in result.stderr


def digits_of(output: str) -> dict[str, tuple[float, str]]:
    """Return the share of pairs in order and the digits of each line of the demo's last table."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "%" in line]
    return {row[0]: (float(row[1].rstrip("%")), row[2]) for row in rows if len(row) == 3}


def test_demo_without_scikit_learn_has_no_images(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr("jamrank.cli.demo._compare", lambda console, *rest: shown.append(rest))
    result = call("demo", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "the demo has no images" in result.output
    ((votes, truth, images, out),) = shown
    assert (votes.n_items, images, out) == (100, [], str(tmp_path))
    assert sorted(truth.values()) == [digit for digit in range(10) for _ in range(10)]


@pytest.mark.long
def test_the_whole_demo_runs_without_scikit_learn(tmp_path):
    code = "import sys; sys.modules['sklearn'] = None; from jamrank.cli import main; main(['demo', '--out', 'out'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    assert digits_of(done.stdout)["jamrank"][0] > digits_of(done.stdout)["win rate"][0] + 10
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    assert "data:image" not in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("of_each", [4, pytest.param(10, marks=pytest.mark.long)])
def test_demo_shows_digits_and_beats_those_who_count_every_vote_alike(tmp_path, monkeypatch, of_each):
    pytest.importorskip("sklearn")
    monkeypatch.setattr("jamrank.cli.demo._OF_EACH", of_each)
    result = call("demo", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    found = digits_of(result.output)
    assert set(found) == {"jamrank", "Bradley–Terry", "win rate", "the truth"}
    assert found["the truth"][1] == "".join(str(digit) * (of_each // 2) for digit in range(9, -1, -1))
    assert found["jamrank"][0] > max(found["Bradley–Terry"][0], found["win rate"][0]) + 10
    assert {path.name for path in tmp_path.iterdir()} == OUTPUTS
    assert (tmp_path / "report.html").read_text().count("data:image/png;base64,") == 30 * of_each


@pytest.fixture
def parquet(study, tmp_path) -> Path:
    pl.read_csv(study / "votes.csv").write_parquet(tmp_path / "votes.parquet")
    return tmp_path / "votes.parquet"


def test_fit_from_disk_says_how_much_room_it_takes_and_leaves_none(fitted, parquet, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    result = call("fit", parquet, "--memory", "1GB", "--scratch", scratch, "--out", tmp_path / "disk")
    assert result.exit_code == 0, result.output
    assert "900 votes need about" in result.output
    assert not list(scratch.iterdir())
    assert {path.name for path in (tmp_path / "disk").iterdir()} == OUTPUTS - {"pairs.csv"}
    assert "pairs.csv" not in result.stdout
    for name in ("ranking.csv", "annotators.csv"):
        here, there = (pl.read_csv(folder / name) for folder in (fitted[1], tmp_path / "disk"))
        assert here.drop(pl.selectors.float()).equals(there.drop(pl.selectors.float()))


def test_scratch_files_may_be_kept_for_the_next_fit(parquet, tmp_path, quick):
    arguments = "fit", parquet, "--memory", "1GB", "--scratch", tmp_path / "scratch", "--keep-scratch"
    assert call(*arguments, *quick).exit_code == 0
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    gc.collect()  # The folder is locked as long as the first fit exists: in one process until it is collected.
    again = call(*arguments, "--model", "bt")
    assert again.exit_code == 0, again.output
    assert "has these votes already" in again.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--memory", "lots"], "not an amount of memory"),
        (["--memory", "1MB"], "at least 512MiB"),
        (["--memory", "1GB", "--model", "mv"], "MajorityVote needs the votes in memory"),
    ],
)
def test_fit_from_disk_refuses_in_one_line(parquet, tmp_path, arguments, told):
    result = call("fit", parquet, "--scratch", tmp_path / "scratch", *arguments)
    assert result.exit_code == 2
    assert told in result.output


def test_csv_from_disk_is_told_how_to_convert(study, tmp_path):
    result = call("fit", study / "votes.csv", "--memory", "1GB", "--scratch", tmp_path)
    assert result.exit_code == 2
    assert "sink_parquet" in result.output


@pytest.fixture(scope="module")
def grouped(study) -> Path:
    frame = pl.read_csv(study / "votes.csv")
    languages = pl.Series("language", ["en", "fr", "de"] * (len(frame) // 3))
    frame.with_columns(languages).write_csv(study / "grouped.csv")
    return study / "grouped.csv"


@pytest.fixture(scope="module")
def elo(grouped, tmp_path_factory):
    """The output of a fit by group on the Elo scale, and its folder."""
    folder = tmp_path_factory.mktemp("elo")
    result = call("fit", grouped, "--by", "language", "--scale", "elo", "--anchor", "item03", "--out", folder)
    assert result.exit_code == 0, result.output
    return result, folder


def test_groups_are_ranked_side_by_side_on_any_scale(grouped, elo, quick):
    result, folder = elo
    assert "Rank by language" in result.output
    table = pl.read_csv(folder / "by.csv")
    assert table.columns[:3] == ["item", "rank", "score"]
    assert {f"rank {name}" for name in ("de", "en", "fr")} < set(table.columns)
    ranking = pl.read_csv(folder / "ranking.csv")
    assert ranking.filter(pl.col("item") == "item03")["score"].to_list() == [pytest.approx(1000)]
    assert table["score"].to_list() == pytest.approx(ranking["score"].to_list())
    told = json.loads(call("fit", grouped, *quick, "--by", "language", "--json").stdout)
    assert set(told["by"]["groups"]) == {"de", "en", "fr"}


def test_the_report_is_on_the_scale_that_was_asked_for_and_side_by_side(grouped, elo):
    result, folder = elo
    assert "item03 = 1000; standard errors and intervals are those of the distance to the mean" in " ".join(
        result.output.split()
    )
    html = (folder / "report.html").read_text()
    assert f"<h1>Ranking from {grouped.name}</h1>" in html
    assert "item03 = 1000" in html and "<h2>Ranks by language</h2>" in html
    block = json.loads(re.search(r'id="data-ranking.csv">(.*?)</script>', html).group(1))
    assert block == (folder / "ranking.csv").read_text()
    by = json.loads(re.search(r'id="data-by.csv">(.*?)</script>', html).group(1))
    assert by == (folder / "by.csv").read_text()


def test_a_fit_of_items_that_were_never_compared_says_so_before_the_ranking(tmp_path):
    votes = tmp_path / "votes.csv"
    rows = [f"{who},{left},{right},left" for who in "xyz" for left, right in ("ab", "bc", "de", "ef")]
    votes.write_text("annotator,left,right,winner\n" + "\n".join(rows) + "\n")
    result = call("fit", votes, "--model", "JAM", "--out", tmp_path)
    told = " ".join(result.output.split())
    first = "The items form 2 groups that were never compared with each other"
    assert result.exit_code == 0 and 0 < told.index(first) < told.index("rank interval") and told.count(first) == 1
    assert "ranks first of 6 items" not in told
    html = (tmp_path / "report.html").read_text()
    assert html.index("<h2>Summary</h2>") < html.index(first) < html.index("First in each group: a (of 3 items")


def test_exports_come_with_a_fit_or_later(study, tmp_path):
    kinds = "parquet,json,preferences,markdown"
    result = call(
        "fit", study / "votes.csv", "--model", "bt", "--out", tmp_path / "a", "--export", kinds, "--scale", "elo"
    )
    assert result.exit_code == 0, result.output
    result = call(
        "export", tmp_path / "a" / "model.jamrank", "--to", kinds, "--out", tmp_path / "b", "--scale", "elo"
    )
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "b").iterdir()}
    assert len(names) == 6
    for name in names - {"leaderboard.md"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    board = (tmp_path / "a" / "leaderboard.md").read_text()
    assert board.splitlines()[1:] == (tmp_path / "b" / "leaderboard.md").read_text().splitlines()[1:]
    assert board.startswith("# votes")


def test_known_pairs_and_an_earlier_model_are_taken_from_files(study, fitted, printed, tmp_path):
    truth = dict(pl.read_csv(study / "votes-items.csv").iter_rows())
    best, worst = max(truth, key=truth.get), min(truth, key=truth.get)
    turned = pl.read_csv(study / "votes.csv").with_columns(
        pl.when(pl.col("winner") == "left").then(pl.lit("right")).otherwise(pl.lit("left")).alias("winner")
    )
    turned.write_csv(tmp_path / "turned.csv")
    (tmp_path / "gold.csv").write_text(f"left,right,winner\n{best},{worst},left\n")
    order = {}
    for name, more in {"plain": [], "gold": ["--gold", tmp_path / "gold.csv"]}.items():
        told = json.loads(call("fit", tmp_path / "turned.csv", "--model", "JAM", "--json", "--quiet", *more).stdout)
        order[name] = [row["item"] for row in told["ranking"]]
    assert order["plain"].index(best) > order["plain"].index(worst)
    assert order["gold"].index(best) < order["gold"].index(worst)
    again = call("fit", study / "votes.csv", "--start", fitted[1] / "model.jamrank", "--json", "--quiet")
    again = json.loads(again.stdout)
    assert again["iterations"] <= printed["iterations"]
    assert [row["item"] for row in again["ranking"]] == [row["item"] for row in printed["ranking"]]


def test_further_options_that_cannot_be_get_one_line_and_exit_code_2(study, tmp_path, quick):
    (tmp_path / "tie.csv").write_text("left,right,winner\nitem00,item01,tie\n")
    (tmp_path / "thin.csv").write_text("left,right\nitem00,item01\n")
    votes = study / "votes.csv"
    for arguments, told in [
        (["fit", votes, "--model", "jam", "--scorer", "tarot"], "scorer is 'tarot'"),
        (["fit", votes, "--model", "borda", "--scorer", "linear"], "--scorer does not apply to Borda"),
        (["fit", votes, "--by", "nothing"], "no column 'nothing' to group by"),
        (["fit", votes, *quick, "--anchor", "nobody"], "anchor nobody"),
        (["fit", votes, "--scale", "elo", "--model", "borda"], "not log-odds"),
        (["fit", votes, "--gold", tmp_path / "tie.csv"], "tie.csv, row 1: winner is tie"),
        (["fit", votes, "--gold", tmp_path / "thin.csv"], "thin.csv: no column 'winner'"),
        (["fit", votes, "--gold", tmp_path / "tie.csv", "--model", "bt"], "does not use gold"),
        (["fit", votes, "--start", votes], "votes.csv"),
        (["fit", votes, votes], "votes.csv is given twice"),
        (["fit", votes, "--map", "question=nothing"], "--map question=nothing: no such column"),
        (["fit", votes, "--winner", "a1"], "--winner a1: expected WORD=left"),
        (["fit", votes, "--winner", "a=left,a=right"], "--winner gives a twice"),
        (["fit", study], "has no Parquet files; name its files"),
        (["fit", votes, "--export", "json"], "needs --out"),
        (["fit", votes, "--export", "excel", "--out", tmp_path], "export is 'excel'; expected"),
        (["export", tmp_path / "none.json", "--to", "json"], "none.json"),
        (["check", votes, "--target", "2"], "target is 2.0"),
    ]:
        result = call(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert told in result.output, (arguments, result.output)
        assert len(result.output.strip().splitlines()) == 1, result.output


def test_check_exits_1_where_votes_do_not_say_which_way_is_up(study, tmp_path):
    votes = pl.read_csv(study / "votes.csv")
    turned = pl.when(pl.col("winner") == "left").then(pl.lit("right")).otherwise(pl.lit("left")).alias("winner")
    against = votes.with_columns(("anti-" + pl.col("annotator")).alias("annotator"), turned)
    pl.concat([votes, against]).write_csv(tmp_path / "votes.csv")
    result = call("check", tmp_path / "votes.csv")
    assert result.exit_code == 1
    assert "upside down" in result.output
    told = json.loads(call("check", tmp_path / "votes.csv", "--json").stdout)
    assert told["comparable"] is True
    assert told["settled"] is False
    assert len(told["reasons"]) == 1


def test_files_of_other_projects_are_recognised_and_said(tmp_path, capfd):
    battles = tmp_path / "battles.jsonl"
    battles.write_text(
        '{"model_a": "x", "model_b": "y", "winner": "tie (bothbad)", "judge": "j"}\n'
        '{"model_a": "x", "model_b": "y", "winner": "model_a", "judge": "j"}\n'
    )
    own = tmp_path / "own.csv"
    own.write_text("annotator,left,right,winner\nj,x,y,left\n")
    with pytest.raises(SystemExit) as end:
        main(["check", str(battles), str(own)])
    told = capfd.readouterr()
    assert end.value.code == 0
    assert told.err == f"note: {battles}: Chatbot Arena, 2 rows; 1 both bad (counts as a tie)\n"
    assert re.search(r"votes +3\b", told.out)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--format", "nope"], "unknown format 'nope'"),
        (["--map", "left"], "--map left: expected left=COLUMN"),
        (["--map", "left=a,left=b"], "gives left twice"),
        (["--map", "left=a"], "mapping has left; expected"),
        (["--map", "left=a,right=b,winner=c", "--format", "evalica"], "exclude each other"),
        ([], "nor any like them; name the columns with --map"),
        (["--map", "left=x,right=y,winner=z"], "no such column among 'a,b', 'w'"),
    ],
)
def test_options_of_reading_that_do_not_fit(tmp_path, capfd, options, hint):
    path = tmp_path / "v.csv"
    path.write_text('"a,b",w\n1,2\n')
    with pytest.raises(SystemExit) as end:
        main(["fit", str(path), *options])
    told = capfd.readouterr()
    assert end.value.code == 2 and told.err.count("\n") == 1 and hint in told.err


def test_columns_are_mapped(tmp_path, capfd):
    path = tmp_path / "v.csv"
    path.write_text('"a,b",second,best,who\nx,y,x,1\ny,z,second,1\n')
    with pytest.raises(SystemExit) as end:
        main(
            [
                "fit",
                str(path),
                "--model",
                "bt",
                "--map",
                "left=a,b,right=second,winner=best",
                "--map",
                "annotator=who",
            ]
        )
    assert not end.value.code
    assert "columns as mapped, 2 rows" in capfd.readouterr().err


def test_fits_from_disk_take_one_file_in_the_own_form(tmp_path, capfd):
    with pytest.raises(SystemExit) as end:
        main(["fit", "a.parquet", "b.parquet", "--memory", "1GB"])
    assert end.value.code == 2 and "one Parquet file or folder" in capfd.readouterr().err


def test_words_and_questions_on_the_command_line(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("arg1,arg2,worker,label,key\nx,y,1,a1,k1\ny,z,1,a2,k2\nx,z,2,equal,k1\n")
    options = ["--map", "left=arg1,right=arg2,winner=label,annotator=worker", "--model", "bt"]
    told = call("fit", path, *options)
    assert told.exit_code == 2 and "--winner a1=SIDE" in told.stderr
    told = call("fit", path, *options, "--winner", "a1=left,a2=right", "--winner", "equal=tie")
    assert told.exit_code == 0 and "3 votes by 2 annotators" in told.output
    own = tmp_path / "own.csv"
    own.write_text("annotator,left,right,winner,key\nk,x,y,left,1\nk,x,y,right,2\n")
    for command in ("check", "compare", "fit"):
        told = call(command, own, "--map", "question=key", *(["--model", "bt"] if command == "fit" else []))
        assert "questions are 'key'" in told.stderr, command


def test_a_start_that_knows_little_is_said_and_one_that_knows_nothing_refused(tmp_path):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\nk,item00,item01,left\nm,item00,item01,left\n")
    call("fit", tmp_path / "votes.csv", "--model", "CrowdBT", "--out", tmp_path, "--quiet")
    (tmp_path / "other.csv").write_text("annotator,left,right,winner\nk,x,y,left\nk,item00,x,left\n")
    result = call("fit", tmp_path / "other.csv", "--start", tmp_path / "model.jamrank")
    assert "has 1 of 3 items; the model is CrowdBT as there" in result.stderr
    (tmp_path / "other.csv").write_text("annotator,left,right,winner\nk,x,y,left\n")
    result = call("fit", tmp_path / "other.csv", "--start", tmp_path / "model.jamrank")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert "has none of the 2 items in the votes" in result.stderr


def test_files_of_an_earlier_fit_go_and_those_of_a_user_stay(grouped, study, tmp_path, quick):
    call("fit", grouped, "--by", "language", *quick, "--out", tmp_path, "--quiet")
    assert {"by.csv", "features.csv"} < {path.name for path in tmp_path.iterdir()}
    result = call("fit", grouped, "--model", "borda", "--out", tmp_path)
    assert "note: removed by.csv and features.csv of an earlier fit" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == OUTPUTS
    own = (study / "votes-features.csv").read_text()
    (tmp_path / "features.csv").write_text(own)
    assert "removed" not in call("fit", grouped, "--model", "borda", "--out", tmp_path).stderr
    assert (tmp_path / "features.csv").read_text() == own


def test_what_became_of_gold_is_said(study, tmp_path, quick):
    truth = dict(pl.read_csv(study / "votes-items.csv").iter_rows())
    best, worst = max(truth, key=truth.get), min(truth, key=truth.get)
    (tmp_path / "gold.csv").write_text(f"left,right,winner\n{best},{worst},left\n")
    result = call("fit", study / "votes.csv", *quick, "--gold", tmp_path / "gold.csv")
    assert "note: 1 gold pair used; the majority of votes agrees with 1\n" in result.stderr
    (tmp_path / "gold.csv").write_text(f"left,right,winner\n{best},{worst},right\n")
    result = call("fit", study / "votes.csv", *quick, "--gold", tmp_path / "gold.csv")
    assert "contradicts 1; gold reversed the ranking, which contradicts" in result.stderr


def test_items_with_features_and_no_votes_are_said(study, tmp_path, quick):
    rows = (study / "votes-features.csv").read_text()
    (tmp_path / "items.csv").write_text(rows + "new,1,2,3\n")
    result = call("fit", study / "votes.csv", "--model", "JAM", "--features", tmp_path / "items.csv")
    assert "features of 1 item without votes (new)" in result.stderr and "predict_proba" in result.stderr
    assert "without votes" not in call("fit", study / "votes.csv", *quick).stderr


def test_a_model_for_few_votes_is_not_called_chosen_by_votes(tmp_path):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\nk,x,y,left\nk,y,z,left\n")
    result = call("fit", tmp_path / "votes.csv")
    assert (
        "Model: BradleyTerry: all decided votes are by one annotator, so there are no reliabilities to compare."
        in result.output
    )
    assert "held-out" not in result.output


@pytest.mark.long
def test_many_groups_do_not_crowd_the_terminal_and_notes_name_theirs(study, tmp_path, quick):
    frame = pl.read_csv(study / "votes.csv")
    names = [f"a-rather-long-name-{k % 3}" for k in range(len(frame))]
    frame.with_columns(pl.Series("kind", names)).write_csv(tmp_path / "votes.csv")
    # One group in which an item wins all.
    with (tmp_path / "votes.csv").open("a") as file:
        file.write(f"{frame['annotator'][0]},item00,item01,left,few\n")
    result = call("fit", tmp_path / "votes.csv", "--by", "kind", "--model", "bt", "--out", tmp_path / "out")
    assert "a-rather-long-name-1" in result.stdout and "name-2" not in result.stdout
    assert f"2 more groups: {tmp_path / 'out' / 'by.csv'} has all of them" in result.stdout
    frame.with_columns(pl.Series("kind", [k % 7 for k in range(len(frame))])).write_csv(tmp_path / "short.csv")
    assert "2 more groups: by.csv" in call("fit", tmp_path / "short.csv", *quick, "--by", "kind").stdout
    assert "rank few" in (tmp_path / "out" / "by.csv").read_text().splitlines()[0]
    assert "note: group few: diverging scores (separated data): 1 of 2 items never lost" in result.stderr


def test_tables_of_compare_fit_80_columns(study):
    models = [option for name in ("CrowdBT", "JAM", "bt") for option in ("--model", name)]
    features = "--features", study / "votes-features.csv"
    lines = call("compare", study / "votes.csv", *features, "--folds", 2, *models).output.splitlines()
    rows = [line for line in lines if line.startswith("│")]
    assert rows and all(len(line) <= 80 for line in rows)
    assert all(re.match(r"│ \S.*│ \d\.\d{4} │", line) for line in rows)


def test_a_column_like_questions_is_not_read_from_disk_and_that_is_said(study, tmp_path, quick):
    frame = pl.read_csv(study / "votes.csv").with_columns(pl.lit("p").alias("prompt"))
    frame.write_parquet(tmp_path / "votes.parquet")
    result = call("fit", tmp_path / "votes.parquet", *quick, "--memory", "1GB", "--scratch", tmp_path / "scratch")
    assert "column 'prompt' is not used as the question by this engine" in result.stderr


def test_an_unknown_anchor_is_refused_before_models_are_compared(study, monkeypatch):
    monkeypatch.setattr("jamrank.selection.Auto.choose", lambda *_, **__: pytest.fail("models were compared"))
    result = call("fit", study / "votes.csv", "--anchor", "nobody")
    assert result.exit_code == 2
    assert "anchor nobody" in result.output
