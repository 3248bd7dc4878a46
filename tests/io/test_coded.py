from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.io import coded_files as coded
from jamrank.io import reader

HEADER = "annotator,left,right,winner\n"
FIELDS = ("items", "annotators", "pair_first", "pair_second", "vote_start", "vote_annotator", "vote_result")


def drawn(n: int, seed: int, quote: bool = False, whole: bool = False) -> str:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 40, n)
    right = (left + rng.integers(1, 40, n)) % 40
    names = np.array([str(3 * k - 50) if whole else f'item {k}, ""é""' for k in range(40)])
    said = np.array(["left", "right", "tie", ""])[rng.integers(0, 4, n)]
    rows = zip(rng.integers(0, 9, n), names[left], names[right], said, strict=True)
    mark = '"' if quote or not whole else ""
    return HEADER + "".join(f"{who},{mark}{one}{mark},{mark}{other}{mark},{win}\n" for who, one, other, win in rows)


def otherwise(path, monkeypatch) -> jr.Comparisons:
    """Return the votes by way of a table."""
    with monkeypatch.context() as patched:
        patched.setattr(reader, "read_coded", lambda path: None)
        return jr.read_comparisons(path)


def same(one: jr.Comparisons, other: jr.Comparisons) -> None:
    for name in (*FIELDS, "questions", "pair_question", "vote_swapped", "vote_weight"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs), name
    assert (one.n_votes, one.n_missing, one.readings) == (other.n_votes, other.n_missing, other.readings)


@pytest.mark.parametrize("part", [64, 1000, 1 << 24])
@pytest.mark.parametrize(("quote", "whole"), [(False, False), (True, True), (False, True)])
def test_a_file_in_parts_has_the_votes_of_its_table(tmp_path, monkeypatch, part, quote, whole):
    path = tmp_path / "votes.csv"
    text = drawn(500, 3, quote, whole)
    for content in (text, text.removesuffix("\n"), text.replace("\n", "\r\n"), "\ufeff" + text):
        path.write_bytes(content.encode())
        monkeypatch.setattr(coded, "_PART", part)
        found = coded.read_coded(path)
        assert found is not None
        same(jr.read_comparisons(path), otherwise(path, monkeypatch))


def test_columns_may_be_in_another_order_and_separated_by_other_marks(tmp_path, monkeypatch):
    path = tmp_path / "votes.tsv"
    path.write_text('winner\tleft\tright\tannotator\nleft\t7\t07\tx\nright\t07\t8\t"y\n"\n')
    assert coded.read_coded(path) is not None
    same(jr.read_comparisons(path), otherwise(path, monkeypatch))


@pytest.mark.parametrize(
    "row",
    ["x,a,a,left", "x,,b,left", ",a,b,left", "x,a,b,upper", "x,a,b,both_bad", "x,a,b", "x,a,b,left,", 'x,"a,b,left',
     "", "x,a\0,b,left", "x,a,b,a", "x,a\r,b,left"],
)  # fmt: skip
def test_what_is_odd_is_left_to_the_table(tmp_path, monkeypatch, row):
    path = tmp_path / "votes.csv"
    path.write_text(drawn(30, 1) + row + "\n" + drawn(30, 2).removeprefix(HEADER), newline="")
    assert coded.read_coded(path) is None
    try:
        expected = otherwise(path, monkeypatch)
    except InputError as error:
        with pytest.raises(InputError) as raised:
            jr.read_comparisons(path)
        assert str(raised.value) == str(error)
    else:
        same(jr.read_comparisons(path), expected)


def as_table(n: int, seed: int) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(drawn(n, seed)), infer_schema=False)


@pytest.mark.parametrize("rows", [7, 1 << 20])
@pytest.mark.parametrize(
    "change",
    {
        "text": [],
        "whole numbers": [pl.col("left", "right").rank("dense").cast(pl.Int64) - 5],
        "numbers of 32 bits": [pl.col("annotator").cast(pl.Int32)],
        "categories": [pl.col("annotator", "left", "right", "winner").cast(pl.Categorical)],
        "other columns": [pl.lit("x").alias("comment"), pl.lit(1).alias("id")],
        "questions": [pl.Series("question", ["b", None, "a", "", "b"] * 100)],
        "no gaps": [pl.Series("question", [11, 2, 3, 4, 5] * 100)],
    }.items(),
    ids=lambda item: item[0],
)
def test_parquet_in_slices_has_the_votes_of_its_table(tmp_path, monkeypatch, rows, change):
    table = as_table(500, 4)
    if change[0] == "whole numbers":
        codes = pl.concat([table["left"], table["right"]]).rank("dense").cast(pl.Int64) - 5
        change = ("", [codes[:500].alias("left"), codes[500:].alias("right")])
    table = table.with_columns(change[1])
    monkeypatch.setattr(coded, "_ROWS", rows)
    table.write_parquet(tmp_path / "votes.parquet", row_group_size=11)
    folder = tmp_path / "folder"
    folder.mkdir()
    table[:200].write_parquet(folder / "a.parquet")
    table[200:].write_parquet(folder / "b[1].parquet")
    for path in (tmp_path / "votes.parquet", folder):
        assert coded.read_coded(path) is not None
        same(jr.read_comparisons(path), otherwise(path, monkeypatch))


@pytest.mark.parametrize("text", ["a,7,7", "b,,1", "c,8,9"])
def test_questions_of_a_csv_are_numbers_only_where_all_are(tmp_path, monkeypatch, text):
    path = tmp_path / "votes.csv"
    asked = text.split(",")[1:]
    rows = "".join(f"x,{k},{k + 1},left,{asked[k % 2]},odd\n" for k in range(9))
    path.write_text("annotator,left,right,winner,question,comment\n" + rows)
    assert coded.read_coded(path) is not None
    same(jr.read_comparisons(path), otherwise(path, monkeypatch))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("left", ["item 1", None] * 15),
        pl.Series("left", ["item 1", ""] * 15),
        pl.Series("left", [1.5, 2.0] * 15),
        pl.Series("annotator", [1, None] * 15),
        pl.Series("annotator", [True, False] * 15),
        pl.Series("question", [1, 2] * 15, dtype=getattr(pl, "Int128", pl.UInt64)),
        pl.Series("question", [1, 2] * 15, dtype=pl.UInt8),
        pl.Series("winner", ["left", ""] * 15),
        pl.Series("winner", ["left", "both_bad"] * 15),
        pl.Series("winner", [1, 0] * 15),
        pl.Series("weight", [1, 2] * 15),
        pl.Series("prompt", ["a", "b"] * 15),
        pl.Series("time", [1, 2] * 15),
    ],
    ids=lambda column: f"{column.name} {column.dtype}",
)
def test_odd_parquet_is_left_to_the_table(tmp_path, monkeypatch, column):
    path = tmp_path / "votes.parquet"
    as_table(30, 4).with_columns(column).write_parquet(path)
    assert coded.read_coded(path) is None
    try:
        expected = otherwise(path, monkeypatch)
    except InputError as error:
        with pytest.raises(InputError) as raised:
            jr.read_comparisons(path)
        assert str(raised.value) == str(error)
    else:
        same(jr.read_comparisons(path), expected)


def test_a_damaged_file_is_refused_as_before(tmp_path, monkeypatch):
    path = tmp_path / "votes.parquet"
    as_table(500, 4).write_parquet(path)
    data = bytearray(path.read_bytes())
    for at in range(4, len(data) - 8, 41):
        path.write_bytes(bytes([*data[:at], data[at] ^ 0x15, *data[at + 1 :]]))
        try:
            expected = otherwise(path, monkeypatch)
        except InputError:
            with pytest.raises(InputError):
                jr.read_comparisons(path)
        else:
            same(jr.read_comparisons(path), expected)


def test_bytes_that_are_not_text_are_left_to_the_table(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(HEADER.encode() + b"x,a,b,left\nx,\xff,b,left\n")
    assert coded.read_coded(path) is None
    with pytest.raises(InputError, match="row 2"):
        jr.read_comparisons(path)
