"""Functions that look at votes take them in every form that a fit takes."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import jamrank as jr
from jamrank.diagnostics import contested_pairs
from jamrank.errors import ParameterError
from jamrank.inference import correlated
from jamrank.report import Analysis
from jamrank.selection import compare


@pytest.fixture(scope="module")
def frame():
    return jr.simulate(5, 4, 400, random_state=0).frame.select("annotator", "left", "right", "winner")


@pytest.fixture(scope="module")
def model(frame):
    return jr.BradleyTerry().fit(frame)


@pytest.fixture(params=["polars", "pandas", "columns", "records", "path", "text"])
def votes(request, frame, tmp_path):
    frame.write_csv(tmp_path / "v.csv")
    forms = {
        "polars": lambda: frame,
        "pandas": lambda: pd.DataFrame(frame.to_dicts(), index=range(7, 7 + frame.height)),
        "columns": lambda: frame.to_dict(as_series=False),
        "records": frame.to_dicts,
        "path": lambda: tmp_path / "v.csv",
        "text": lambda: str(tmp_path / "v.csv"),
    }
    return forms[request.param]()


USES = {
    "check": lambda model, votes, path: jr.check(votes).to_dict(),
    "check with a model": lambda model, votes, path: jr.check(votes, model).to_dict(),
    "compare": lambda model, votes, path: compare(votes, models=["BradleyTerry"], folds=2).sentences,
    "choose": lambda model, votes, path: jr.Auto().choose(votes)[1].name,
    "correlated": lambda model, votes, path: correlated(votes).effective_judges,
    "contested pairs": lambda model, votes, path: contested_pairs(votes, model.scores_).n_pairs,
    "analysis": lambda model, votes, path: Analysis(model.result_, votes).votes.n_votes,
    "groups": lambda model, votes, path: jr.fit_groups(jr.BradleyTerry(), {1: votes})[1].scores_.tolist(),
    "chooser": lambda model, votes, path: jr.Chooser(votes, random_state=0).items,
}


@pytest.mark.parametrize("use", USES)
def test_votes_come_in_every_form(use, votes, frame, model, tmp_path):
    same = USES[use](model, jr.read_comparisons(frame), tmp_path)
    found = USES[use](model, votes, tmp_path)
    assert sorted(found) == sorted(same) if use == "chooser" else found == same


def test_a_report_is_written_of_any_votes(votes, model, tmp_path):
    jr.write_report(model, votes, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 10_000


@pytest.mark.parametrize("votes", [3, object(), {"a": 1}])
@pytest.mark.parametrize("use", [use for use in USES if use != "groups"])
def test_what_is_no_votes_is_said_in_one_line(use, votes, model, tmp_path):
    with pytest.raises(jr.errors.JamrankError) as caught:
        USES[use](model, votes, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_report_refuses_votes_of_other_items(frame, model, tmp_path):
    other = frame.with_columns(pl.col("left", "right").cast(pl.String) + "x")
    with pytest.raises(ParameterError, match="other items than the fit"):
        jr.write_report(model, other, tmp_path / "r.html")


@pytest.mark.parametrize("store", [jr.store_comparisons, jr.distribute_comparisons])
def test_what_reads_files_says_so(store, frame):
    with pytest.raises(ParameterError, match="got a DataFrame; expected the path of a Parquet file"):
        store(frame)


def test_stored_votes_are_refused_where_they_must_be_in_memory(frame, tmp_path):
    frame.write_parquet(tmp_path / "v.parquet")
    stored = jr.store_comparisons(tmp_path / "v.parquet", tmp_path / "scratch")
    with pytest.raises(ParameterError, match="check needs the votes in memory"):
        jr.check(stored)


def test_a_chooser_takes_files_of_other_forms(tmp_path):
    rows = ["judge,prompt,model_a,model_b,winner", *["x,p1,a,b,model_a", "y,p1,b,a,model_b", "x,p2,a,c,tie"]]
    (tmp_path / "v.csv").write_text("\n".join(rows) + "\n")
    frame = pl.read_csv(tmp_path / "v.csv")
    for votes in (tmp_path / "v.csv", str(tmp_path / "v.csv"), frame, frame.to_pandas()):
        chooser = jr.Chooser(votes, random_state=0)
        assert sorted(chooser.items) == ["a", "b", "c"]
        assert chooser.status().votes == 3
