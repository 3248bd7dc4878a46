"""Whole numbers on one side and text on the other are the same items, whatever the votes come in."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jamrank as jr
from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import as_column, encode
from jamrank.data.packing import Packing
from jamrank.errors import InputError
from jamrank.io.out_of_core import distributed_tasks as tasks

LEFT, RIGHT = [1, 2, 3, 10, 2, 1], ["2", "3", "1", "1", "10", "3"]
WINNER = ["left", "right", "left", "left", "right", "left"]
WHO = [1, 1, 2, 2, 3, 3]
ITEMS = ["1", "10", "2", "3"]


def columns(left=LEFT, right=RIGHT) -> dict[str, list]:
    return {"annotator": WHO, "left": left, "right": right, "winner": WINNER}


def records() -> list[dict]:
    return [dict(zip(columns(), row, strict=True)) for row in zip(*columns().values(), strict=True)]


def from_file(folder, name: str, content: bytes | str):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return jr.read_comparisons(path)


def from_parquet(folder):
    pl.DataFrame(columns()).write_parquet(folder / "votes.parquet")
    return jr.read_comparisons(folder / "votes.parquet")


def from_two_files(folder):
    """Whole numbers in one file, text in the other."""
    frame = pl.DataFrame(columns(LEFT, list(map(int, RIGHT))))
    frame[:3].write_parquet(folder / "a.parquet")
    frame[3:].with_columns(pl.col("left", "right").cast(pl.String)).write_parquet(folder / "b.parquet")
    return jr.read_comparisons([folder / "a.parquet", folder / "b.parquet"])


def from_two_numbers(folder):
    """Floats in one file, integers in the other: 1.0 is 1."""
    frame = pl.DataFrame(columns(LEFT, list(map(int, RIGHT))))
    frame[:3].with_columns(pl.col("left", "right").cast(pl.Float64)).write_parquet(folder / "a.parquet")
    frame[3:].write_csv(folder / "b.csv")
    return jr.read_comparisons([folder / "a.parquet", folder / "b.csv"])


def from_disk(folder):
    pl.DataFrame(columns()).write_parquet(folder / "votes.parquet")
    return jr.store_comparisons(folder / "votes.parquet", folder / "scratch", "600MB")


def from_dask(folder):
    """The tasks of the workers, without workers."""
    path = str(folder / "votes.parquet")
    pl.DataFrame(columns()).write_parquet(path, row_group_size=3)
    chunks = [tasks.FileChunk(path, (0,), 0, 3), tasks.FileChunk(path, (1,), 3, 3)]
    names = ["left", "right", "annotator", "winner"]
    found = tasks.merge_found(*(tasks.ids_of(piece, names, 1) for piece in chunks))
    packing = tasks.packing_of(found, False)
    keys = tasks.sort_keys(*(tasks.keys_of(piece, (packing, False, False, False)) for piece in chunks))
    return Comparisons.unpack(packing, *keys, 6, 0)


OUTCOME = [1, 0, 1, 1, 0, 1]
SOURCES = {
    "arrays": lambda _: jr.Comparisons.from_arrays(np.array(LEFT), np.array(RIGHT), WHO, OUTCOME),
    "lists": lambda _: jr.Comparisons.from_arrays(LEFT, RIGHT, WHO, OUTCOME),
    "one list of both": lambda _: jr.Comparisons.from_arrays([1, "2", 3, 10, "2", "1"], RIGHT, WHO, OUTCOME),
    "floats": lambda _: jr.Comparisons.from_arrays(np.array(LEFT, dtype=float), RIGHT, WHO, OUTCOME),
    "polars": lambda _: jr.Comparisons.from_frame(pl.DataFrame(columns())),
    "pandas": lambda _: jr.Comparisons.from_frame(pd.DataFrame(columns())),
    "pandas categories": lambda _: jr.Comparisons.from_frame(
        pd.DataFrame(columns()).astype({"left": "category", "right": "category"})
    ),
    "arrow": lambda _: jr.Comparisons.from_frame(pa.table(columns())),
    "csv": lambda folder: from_file(folder, "v.csv", pl.DataFrame(columns()).write_csv()),
    "csv with text": lambda folder: from_file(folder, "v.csv", pl.DataFrame(columns()).write_csv() + "9,1,x,left\n"),
    "json": lambda folder: from_file(folder, "v.json", json.dumps(records())),
    "jsonl": lambda folder: from_file(folder, "v.jsonl", "\n".join(map(json.dumps, records()))),
    "parquet": from_parquet,
    "two files": from_two_files,
    "two kinds of numbers": from_two_numbers,
    "disk": from_disk,
    "dask": from_dask,
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_number_and_its_text_are_one_item(tmp_path, source):
    votes = SOURCES[source](tmp_path)
    found = [str(item) for item in votes.items.tolist() if item != "x"]
    # A CSV of whole numbers alone has these, in their order.
    assert sorted(found) == ITEMS
    expected = jr.Comparisons.from_arrays(list(map(str, LEFT)), RIGHT, WHO, OUTCOME)
    pairs = {
        frozenset((str(votes.items[a]), str(votes.items[b])))
        for a, b in zip(votes.pair_first, votes.pair_second, strict=True)
    } - {frozenset(("1", "x"))}
    assert pairs == {
        frozenset((str(expected.items[a]), str(expected.items[b])))
        for a, b in zip(expected.pair_first, expected.pair_second, strict=True)
    }


def test_a_matrix_too():
    votes = jr.Comparisons.from_matrix([1, 2, 3], ["2", "3", "1"], [[1, 0], [1, 1], [0, 1]])
    assert votes.items.tolist() == ["1", "2", "3"]


def test_an_item_against_itself_is_found_in_both_kinds():
    with pytest.raises(InputError, match="1 is compared with itself"):
        jr.Comparisons.from_arrays([1, 2], ["1", "3"], ["a", "a"], [1, 1])


@pytest.mark.parametrize("read", [from_parquet, from_disk, from_dask], ids=["memory", "disk", "dask"])
def test_kinds_that_cannot_be_compared_are_refused_alike(tmp_path, monkeypatch, read):
    monkeypatch.setattr(f"{__name__}.LEFT", [1.5, 2.0, 3.0, 10.0, 2.0, 1.0])
    monkeypatch.setattr(columns, "__defaults__", (LEFT, RIGHT))
    with pytest.raises(InputError, match=r"the id 1\.5 beside ids that are text; write all of them as text"):
        read(tmp_path)


@pytest.mark.parametrize("read", [from_parquet, from_disk, from_dask], ids=["memory", "disk", "dask"])
def test_empty_ids_are_refused_alike(tmp_path, monkeypatch, read):
    monkeypatch.setattr(columns, "__defaults__", (LEFT, ["2", "3", "1", "1", "", "3"]))
    with pytest.raises(InputError, match=r"row 5: right is missing"):
        read(tmp_path)


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String, pl.Int8])
def test_questions_with_gaps_are_the_same_from_disk_and_in_memory(tmp_path, kind):
    asked = pl.Series("question", [1, None, 2, 2, 1, None]).cast(kind)
    frame = pl.DataFrame(columns(LEFT, list(map(int, RIGHT)))).with_columns(asked)
    frame.write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path / "scratch", "600MB")
    here = [jr.Comparisons.from_frame(frame), jr.Comparisons.from_frame(frame.to_pandas())]
    here.append(jr.read_comparisons(tmp_path / "votes.parquet"))
    for votes in (stored, *here):
        assert votes.questions.tolist() == ["", "1", "2"]


# -- what is looked up among the items of the votes ------------------------------------------------------------


@pytest.fixture
def votes():
    return jr.Comparisons.from_arrays(LEFT, RIGHT, WHO, OUTCOME)


@pytest.mark.parametrize("kind", [int, str, float])
def test_features_of_either_kind(votes, kind):
    values = {"10": 1.0, "1": 2.0, "3": 3.0, "2": 4.0}
    given = {kind(item): [value] for item, value in values.items()}
    frame = pl.DataFrame({"item": list(given), "x": list(values.values())})
    fits = [jr.JAM().fit(votes, features) for features in (given, frame, frame.to_pandas())]
    for fit in fits:
        np.testing.assert_array_equal(fit.scores_, fits[0].scores_)
        np.testing.assert_allclose(fit.result_.scores.features.mean, [2.5])


def test_features_of_one_item_twice_are_refused(votes):
    given = {1: [1.0], "1": [2.0], "2": [0.0], "3": [0.0], "10": [0.0]}
    with pytest.raises(jr.errors.FeatureError, match="item 1 has more than one row"):
        jr.JAM().fit(votes, given)


@pytest.mark.parametrize("gold", [[(1, "2")], [("1", 2)], [(1.0, 2)], [("1", "2")]], ids=str)
def test_gold_of_either_kind(votes, gold):
    model = jr.JAM().fit(votes, gold=gold)
    assert model.result_.votes.gold.n_pairs == 1
    np.testing.assert_array_equal(model.scores_, jr.JAM().fit(votes, gold=[("1", "2")]).scores_)


def test_a_warm_start_finds_items_of_either_kind(votes):
    numbers = jr.Comparisons.from_arrays(LEFT, list(map(int, RIGHT)), list(map(str, WHO)), OUTCOME)
    assert numbers.items.tolist() == [1, 2, 3, 10]
    first = jr.JAM(flips="joint").fit(numbers)
    again = jr.JAM(flips="joint").fit(votes, start=first)
    assert again.n_iter_ <= 2 < first.n_iter_
    by_item = dict(zip(map(str, numbers.items.tolist()), first.scores_, strict=True))
    np.testing.assert_allclose(again.scores_, [by_item[item] for item in votes.items.tolist()], atol=1e-3)


def test_a_fitted_model_is_asked_in_either_kind(votes):
    model = jr.JAM().fit(votes)
    for left, right in ((1, "2"), ("1", 2), (1.0, 2.0)):
        np.testing.assert_array_equal(model.predict_proba([left], [right]), model.predict_proba(["1"], ["2"]))


def test_labels_of_both_kinds_never_come_to_be():
    labels, _ = encode(as_column([1, "1", 2]))
    assert labels.tolist() == ["1", "2"]
    assert Packing(labels, labels, labels).possible
