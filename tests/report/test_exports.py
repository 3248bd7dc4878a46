from __future__ import annotations

import csv
import json
from io import BytesIO, StringIO

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import ParameterError
from jamrank.report.csv_text import csv_text
from jamrank.report.exports import EXPORTS, exported, leaderboard, preference_pairs
from jamrank.report.result_tables import ResultTables


@pytest.fixture(scope="module")
def model() -> jr.JAM:
    return jr.JAM().fit(jr.simulate(n_items=8, n_annotators=4, n_votes=300, random_state=0).votes)


def test_preferences_are_the_sure_pairs_with_the_better_item_chosen(model):
    found = preference_pairs(model, least=0.75)
    posterior = {(row["left"], row["right"]): row["p_left"] for row in model.pairs_.to_dicts()}
    posterior |= {(right, left): 1 - p for (left, right), p in posterior.items()}
    for row in found.to_dicts():
        assert row["confidence"] == pytest.approx(posterior[row["chosen"], row["rejected"]])
        assert row["confidence"] >= 0.75
        assert row["weight"] == pytest.approx(2 * row["confidence"] - 1)
    left_out = len(model.pairs_) - len(found)
    assert left_out == sum(0.25 < p < 0.75 for p in model.posterior_)
    assert found["confidence"].is_sorted(descending=True)
    with pytest.raises(ParameterError, match=r"least is 0\.2"):
        preference_pairs(model, least=0.2)


def test_preferences_name_their_question():
    votes = jr.Comparisons.from_arrays(["a", "a"], ["b", "b"], ["x", "y"], [1, 0], question=["p", "q"])
    found = preference_pairs(jr.JAM().fit(votes), least=0.5)
    assert found.columns == ["chosen", "rejected", "question", "votes", "confidence", "weight"]


def test_a_pair_in_exact_balance_is_no_preference():
    votes = jr.Comparisons.from_arrays(["a", "a"], ["b", "b"], ["x", "y"], [1, 0])
    assert preference_pairs(jr.MajorityVote().fit(votes), least=0.5).is_empty()


def test_a_leaderboard_is_a_table_whatever_items_are_called():
    names = ["a|b", "c\nd", "*e*"]
    votes = jr.Comparisons.from_arrays([names[0], names[1]], [names[1], names[2]], ["x", "x"], [1, 1])
    lines = leaderboard(jr.JAM().fit(votes).ranking_, "my_board").splitlines()
    assert lines[0] == "# my\\_board"
    rows = [line.replace("\\|", "").count("|") for line in lines[2:]]
    assert rows == [6] * 5
    assert "a\\|b" in lines[4]
    assert "c d" in lines[5]
    plain = leaderboard(jr.WinRate().fit(votes).ranking_)
    assert "| Rank | Item | Score |" in plain


def test_every_export_can_be_read_back(model):
    files = exported(ResultTables(model.result_), list(EXPORTS))
    assert set(files) == {name for names in EXPORTS.values() for name in names}
    for name in ("ranking", "annotators", "pairs"):
        content = files[f"{name}.parquet"]
        assert isinstance(content, bytes)
        assert pl.read_parquet(BytesIO(content)).equals(getattr(model, f"{name}_"))
    told = json.loads(files["results.json"])
    assert [row["item"] for row in told["ranking"]] == model.ranking_["item"].to_list()
    assert len(told["pairs"]) == len(model.pairs_)
    with pytest.raises(ParameterError, match="export is 'excel'; expected one of 'parquet'"):
        exported(ResultTables(model.result_), ["excel"])


def test_a_loaded_model_exports_the_same(model, tmp_path):
    model.save(tmp_path / "model.jamrank")
    assert exported(ResultTables(jr.load(tmp_path / "model.jamrank").result_), list(EXPORTS)) == exported(
        ResultTables(model.result_), list(EXPORTS)
    )


def test_a_spreadsheet_takes_no_id_for_a_formula():
    cells = ["=1+1", "+1", "-1", "@a", "\tb", "\rc", "a=b", "", None, "'=1"]
    frame = pl.DataFrame({"=id": cells, "score": [-1.5] * len(cells)})
    assert csv_text(frame) == frame.write_csv()
    rows = list(csv.reader(StringIO(csv_text(frame, spreadsheet_safe=True), newline="")))
    assert rows[0] == ["'=id", "score"]
    assert [row[1] for row in rows[1:]] == ["-1.5"] * len(cells)
    assert all(row[0][:1] not in tuple("=+-@\t\r") for row in rows if row[0])
    assert [row[0] for row in rows[1:4]] == ["'=1+1", "'+1", "'-1"] and rows[7][0] == "a=b"


def test_dpo_lines_are_the_preferences_with_prompt_and_texts():
    rows = [("ann", "x", "y", "left", "why?")] * 9 + [("ann", "x", "y", "right", "how?")] * 9
    names = ("annotator", "left", "right", "winner", "question")
    votes = jr.read_comparisons(dict(zip(names, zip(*rows, strict=True), strict=True)))
    model = jr.JAM().fit(votes)
    texts = {"x": "An \u201canswer\u201d\nof two lines", "y": "Another"}
    files = exported(ResultTables(model.result_), ["dpo"], least=0.6, texts=texts)
    found = [json.loads(line) for line in files["preferences.jsonl"].splitlines()]
    expected = preference_pairs(model, least=0.6).to_dicts()
    assert len(found) == len(expected) > 0
    for line, row in zip(found, expected, strict=True):
        assert line["prompt"] == row["question"]
        assert (line["chosen"], line["rejected"]) == (texts[row["chosen"]], texts[row["rejected"]])
        assert line["probability"] == row["confidence"]
        assert line["margin"] == pytest.approx(np.log(row["confidence"] / (1 - row["confidence"])))
    alone = json.loads(exported(ResultTables(model.result_), ["dpo"])["preferences.jsonl"].splitlines()[0])
    assert {alone["chosen"], alone["rejected"]} == {"x", "y"}
