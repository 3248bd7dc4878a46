from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from jamrank.errors import FeatureError, InputError, ParameterError
from jamrank.io import read_comparisons, read_features

HEADER = "annotator,left,right,winner\n"


def write(folder: Path, content: str, name: str = "votes.csv") -> Path:
    (folder / name).write_text(content)
    return folder / name


def refusal(path: Path, reader=read_comparisons) -> InputError:
    with pytest.raises(InputError) as caught:
        reader(path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(str(path))
    return caught.value


@pytest.mark.parametrize("format", [None, "canonical"])
def test_votes_of_a_csv(tmp_path, format):
    path = write(tmp_path, HEADER + "ann,x,y,left\nann,y,z,right\nbob,x,z,tie\nbob,x,y,\n")
    votes = read_comparisons(path, format=format)
    assert votes.items.tolist() == ["x", "y", "z"]
    assert votes.annotators.tolist() == ["ann", "bob"]
    assert (votes.n_votes, votes.n_missing) == (3, 1)


def test_unknown_format_names_the_known(tmp_path):
    with pytest.raises(ParameterError, match=r"'arena'; known: canonical"):
        read_comparisons(tmp_path / "none.csv", format="arena")


def test_integer_ids_become_integers(tmp_path):
    votes = read_comparisons(write(tmp_path, HEADER + "7,10,9,left\n-7,9,100,right\n"))
    assert votes.items.tolist() == [9, 10, 100]
    assert votes.annotators.tolist() == [-7, 7]
    assert votes.items.dtype == np.int64


@pytest.mark.parametrize("strange", ["07", "+7", "-0", "7.0", " 7", "7_0", "9223372036854775808", "x"])
def test_ids_stay_text_unless_every_one_is_an_integer(tmp_path, strange):
    votes = read_comparisons(write(tmp_path, HEADER + f"1,10,9,left\n2,{strange},9,right\n3,8,9,left\n"))
    assert votes.items.tolist() == sorted(["10", "9", "8", strange])
    assert votes.annotators.tolist() == [1, 2, 3]


def test_left_and_right_are_judged_together(tmp_path):
    votes = read_comparisons(write(tmp_path, HEADER + "1,1,b,left\n1,2,b,right\n"))
    assert votes.items.tolist() == ["1", "2", "b"]


@pytest.mark.parametrize(("names", "items"), [(("10", "9", "2"), [2, 9, 10]), (("10", "9", "02"), ["02", "10", "9"])])
def test_ids_of_ratings_are_integers_where_all_are_written_so(tmp_path, names, items):
    path = write(tmp_path, "annotator,item,rating\n" + "".join(f"7,{name},{k}\n" for k, name in enumerate(names)))
    votes = read_comparisons(path)
    assert votes.items.tolist() == items
    assert votes.annotators.tolist() == [7]
    assert votes.n_votes == 3


def test_largest_integers_survive(tmp_path):
    votes = read_comparisons(write(tmp_path, HEADER + "1,9223372036854775807,-9223372036854775808,left\n"))
    assert votes.items.tolist() == [-(2**63), 2**63 - 1]


def test_parquet_text_stays_text(tmp_path):
    frame = pl.DataFrame({"annotator": ["1"], "left": ["1"], "right": ["2"], "winner": ["left"]})
    frame.write_parquet(tmp_path / "v.parquet")
    assert read_comparisons(tmp_path / "v.parquet").items.tolist() == ["1", "2"]


def test_weights_are_numbers(tmp_path):
    path = write(tmp_path, "annotator,left,right,winner,weight\n1,1,2,left,0.1\n1,2,3,left,2e0\n")
    assert read_comparisons(path).vote_weight.tolist() == [0.1, 2.0]


@pytest.mark.parametrize(
    ("weight", "told"), [("heavy", "'heavy'"), ("", "empty"), ("1,5", None), ("-1", "-1.0"), ("inf", "inf")]
)
def test_weight_that_is_none(tmp_path, weight, told):
    path = write(tmp_path, f"annotator,left,right,winner,weight\n1,1,2,left,1\n1,2,3,left,{weight}\n")
    error = refusal(path)
    assert error.row == 2
    if told:
        assert error.problem == f"weight is {told}"


def test_rows_without_a_question_share_one(tmp_path):
    head = "annotator,left,right,winner,question\n"
    assert read_comparisons(write(tmp_path, head + "1,1,2,left,\n1,2,3,left,\n")).questions.tolist() == [""]
    votes = read_comparisons(write(tmp_path, head + "1,1,2,left,5\n1,2,3,left,\n1,1,3,left,6\n"))
    assert votes.questions.tolist() == ["", "5", "6"]
    votes = read_comparisons(write(tmp_path, head + "1,1,2,left,5\n1,2,3,left,11\n"))
    assert votes.questions.tolist() == [5, 11]


@pytest.mark.parametrize("winner", [" left", "left ", "1", "maybe"])
def test_winner_is_taken_literally_and_the_row_is_named(tmp_path, winner):
    error = refusal(write(tmp_path, HEADER + f"1,1,2,left\n1,2,3,{winner}\n"))
    assert error.row == 2
    assert repr(winner) in error.problem


def test_spaces_belong_to_an_id(tmp_path):
    assert read_comparisons(write(tmp_path, HEADER + "1,a, a,left\n")).items.tolist() == [" a", "a"]


def test_missing_column_and_missing_id(tmp_path):
    assert "'winner'" in refusal(write(tmp_path, "annotator,left,right\n1,2,3\n")).problem
    assert refusal(write(tmp_path, HEADER + "1,2,3,left\n1,,3,left\n")).row == 2


def test_features_of_a_csv(tmp_path):
    frame = read_features(write(tmp_path, "size,item,age\n1.5,10,\n-2e3,9,4\nnan,8,0\n"))
    assert frame.columns == ["item", "size", "age"]
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Float64]
    assert frame.rows() == [(10, 1.5, None), (9, -2000.0, 4.0), (8, None, 0.0)]


def test_first_column_holds_the_ids_where_none_is_called_item(tmp_path):
    frame = read_features(write(tmp_path, ",a\nx,1\n07,2\n"))
    assert frame.columns == ["item", "a"]
    assert frame["item"].to_list() == ["x", "07"]


def test_features_keep_every_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-150, 150).repeat(4)[:1000]
    path = write(tmp_path, "item,a\n" + "\n".join(f"{k},{v!r}" for k, v in enumerate(values.tolist())))
    assert read_features(path)["a"].to_numpy().tobytes() == values.tobytes()


def test_features_of_a_parquet_file(tmp_path):
    frame = pl.DataFrame({"item": ["1", "2"], "n": [1, None], "ok": [True, False], "x": [float("nan"), 0.5]})
    frame.write_parquet(tmp_path / "f.parquet")
    expected = [("1", 1.0, 1.0, None), ("2", None, 0.0, 0.5)]
    assert read_features(tmp_path / "f.parquet").rows() == expected


@pytest.mark.parametrize(
    ("content", "row", "found"),
    [
        ("item,a,name\n1,2,3\n2,3,red\n", 2, "'name' is 'red'"),
        ("item,a\n1,NA\n", 1, "'a' is 'NA'"),
        ("item,a\n1,inf\n", 1, "'a' is 'inf'"),
        ("item,a\n1, 2\n", 1, "'a' is ' 2'"),
        ('item,a\n1,"x\ny"\n', 1, r"'a' is 'x\ny'"),
        ("item,a\nx,1\ny,2\nx,3\n", 3, "item 'x' is listed twice"),
        ("item,a\n5,1\n5,3\n", 2, "item 5 is listed twice"),
        ("item,a\nx,1\n,2\n", 2, "item is missing"),
        ("item\nx\n", None, "no columns"),
    ],
)
def test_features_that_are_refused(tmp_path, content, row, found):
    error = refusal(write(tmp_path, content, "features.csv"), read_features)
    assert isinstance(error, FeatureError)
    assert error.row == row
    assert found in error.problem
    assert error.remedy


@pytest.mark.parametrize("values", [[date(2020, 1, 1)], [[1.0]], [b"x"]])
def test_parquet_columns_that_are_no_numbers(tmp_path, values):
    pl.DataFrame({"item": ["x"], "a": values}).write_parquet(tmp_path / "f.parquet")
    error = refusal(tmp_path / "f.parquet", read_features)
    assert isinstance(error, FeatureError)
    assert "'a'" in error.problem
