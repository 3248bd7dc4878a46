from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.errors import InputError
from jamrank.io import tables
from jamrank.io.tables import read_table


def write(folder: Path, content: str | bytes, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(str(path))
    assert caught.value.remedy
    return caught.value


def test_every_csv_column_is_text_and_only_empty_fields_are_null(tmp_path):
    frame = read_table(write(tmp_path, 'a,b,c\n1,NA, x \n,null,""\n007,nan,#1\n'))
    assert frame.dtypes == [pl.String] * 3
    assert frame.rows() == [("1", "NA", " x "), (None, "null", None), ("007", "nan", "#1")]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a,b\n1,2\n3,4", [("1", "2"), ("3", "4")]),
        ("a,b\r\n1,2\r\n3,4\r\n", [("1", "2"), ("3", "4")]),
        ("a,b\r1,2\r3,4\r", [("1", "2"), ("3", "4")]),
        ("\n\na,b\n\n1,2\n\r\n\n3,4\n\n\n", [("1", "2"), ("3", "4")]),
        ("\ufeffa,b\n1,2\n", [("1", "2")]),
        ('\ufeff"a","b"\n"1","2"\n', [("1", "2")]),
        ('a,b\n"x, ""y""",2\n"l1\n\nl2",3\n', [('x, "y"', "2"), ("l1\n\nl2", "3")]),
        ('a,b\n5" pipe,2\nx"y"z,4\n', [('5" pipe', "2"), ('x"y"z', "4")]),
        ("a,b\n,\n1,2\n", [(None, None), ("1", "2")]),
        ("a,b\n1,\n", [("1", None)]),
        ("a,b\né,日本\n", [("é", "日本")]),
    ],
)
def test_csv_in_its_many_forms(tmp_path, content, rows):
    frame = read_table(write(tmp_path, content))
    assert frame.columns == ["a", "b"]
    assert frame.rows() == rows


def test_single_column_skips_blank_lines(tmp_path):
    assert read_table(write(tmp_path, "a\n1\n\n2\n")).rows() == [("1",), ("2",)]


def test_unnamed_column_is_kept(tmp_path):
    assert read_table(write(tmp_path, ",b\n0,1\n")).columns == ["", "b"]


def test_tabs_and_gzip_by_name_and_content(tmp_path):
    assert read_table(write(tmp_path, "a\tb\n1,5\t2\n", "v.tsv")).rows() == [("1,5", "2")]
    packed = gzip.compress(b"a\tb\n1,5\t2\n", mtime=0)
    assert read_table(write(tmp_path, packed, "v.tsv.gz")).rows() == [("1,5", "2")]
    assert read_table(write(tmp_path, gzip.compress(b"a,b\n1,2\n", mtime=0), "v.csv")).rows() == [("1", "2")]


def test_name_with_wildcards_is_just_a_name(tmp_path):
    write(tmp_path, "a,b\n1,2\n", "v1.csv")
    assert read_table(write(tmp_path, "a,b\n3,4\n", "v[1]*.csv")).rows() == [("3", "4")]


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.data", "t.csv"])
def test_parquet_keeps_its_types_whatever_its_name(tmp_path, name):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, float("inf")]})
    frame.write_parquet(tmp_path / name)
    assert read_table(tmp_path / name).equals(frame)
    assert read_table(tmp_path / name).schema == frame.schema


@pytest.mark.parametrize(
    ("content", "row", "found"),
    [
        ("a,b,c\n1,2,3\n1,2\n", 2, "2 fields where the header has 3"),
        ("a,b,c\n1,2,3\n1,2,3\n1,2", 3, "2 fields where the header has 3"),
        ("a,b,c\n1,2,3,4\n", 1, "4 fields where the header has 3"),
        ("a,b,c\n1,2,3,\n", 1, "4 fields where the header has 3"),
        ("a,b\n1,2\n   \n3,4\n", 2, "1 field where the header has 2"),
        ("a,b\n\n1,2\n\n1\n", 2, "1 field where the header has 2"),
        ('a,b\n"x\ny",2\n1,"2",3\n', 2, "3 fields where the header has 2"),
        # Short and long rows that even out must not pass for regular ones.
        ("a,b,c\n1,2\n1,2,3,4\n", 1, "2 fields where the header has 3"),
        ('a,b\n1,2\n"x,2\n3,4\n', 2, "not closed"),
        ('a,b\n"x"y,2\n3,4\n', 1, "goes on after it"),
        ('a,b\n1,2\n"x,2\n"3,4\n', 2, "goes on after it"),
        ('"a,b\n1,2\n', None, "not closed"),
    ],
)
def test_wrong_row_is_named(tmp_path, content, row, found):
    error = refusal(write(tmp_path, content))
    assert error.row == row
    assert found in error.problem


@pytest.mark.parametrize(
    ("content", "row", "byte"),
    [
        (b"a,b\n" + b"1,2\n" * 6 + b"x,caf\xe9\n1,2\n", 7, "0xE9"),
        (b"a,b\n\n1,2\n\n\xff,2\n", 2, "0xFF"),
        (b"\xef\xbb\xbfa,b\n1,2\n\xc3(,4\n", 2, "0xC3"),
        (b'a,b\n"x\ny",2\n"u\n\xe9",4\n', 2, "0xE9"),
        (b"a,b\n1,2\n3,4\xe2\x82", 2, "0xE2"),
    ],
)
def test_byte_that_is_not_utf8_is_named_with_its_row(tmp_path, content, row, byte):
    error = refusal(write(tmp_path, content))
    assert str(error) == f"{error.source}, row {row}: byte {byte} is not UTF-8; save the file as UTF-8"


def test_byte_that_is_not_utf8_in_the_header(tmp_path):
    error = refusal(write(tmp_path, b"a,caf\xe9\n1,2\n"))
    assert error.row is None
    assert error.problem == "byte 0xE9 in the header is not UTF-8"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "empty"),
        (b" \n\r\n\t", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"a,b\n", "no rows"),
        (b"a,b", "no rows"),
        (b"a,b\r\n\r\n\n", "no rows"),
        (b"a,b,a\n1,2,3\n", "column 'a' is listed twice"),
        (b"a,a,a_duplicated_0\n1,2,3\n", "column 'a' is listed twice"),
        (b'"x\ny","x\ny"\n1,2\n', r"column 'x\ny' is listed twice"),
        (b"a;b|c\n1;2|3\n", "semicolons"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + "a,b\n1,2\n".encode("utf-16-be"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "neither text nor Parquet"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "neither text nor Parquet"),
        (b"\x80\x04\x95\x10\x02\x8c\xff", "neither text nor Parquet"),
        (b"PK\x03\x04\x14\x00rest", "Excel"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "gzip"),
    ],
)
def test_file_that_is_no_table(tmp_path, content, found):
    error = refusal(write(tmp_path, content))
    assert error.row is None
    assert found in error.problem


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_columns_may_be_apart_by_other_marks(tmp_path, mark):
    rows = [("1,5", "x"), (None, 'say "hi"'), ("2", f"a{mark}b")]
    text = io.StringIO(newline="")
    for style in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        writer = csv.writer(text, delimiter=mark, quoting=style, lineterminator="\n")
        writer.writerows([("first", "second"), *rows])
        assert read_table(write(tmp_path, text.getvalue())).rows() == rows
        text = io.StringIO(newline="")
    assert "write 2 fields" in refusal(write(tmp_path, f"a{mark}b\n1,2\n")).remedy
    # A comma in the header settles it, and a mark in quotes is none.
    assert read_table(write(tmp_path, f"a{mark}b,c\n1,2\n")).columns == [f"a{mark}b", "c"]
    assert read_table(write(tmp_path, f'"a{mark}b"\n1\n')).columns == [f"a{mark}b"]


def test_commas_in_a_tsv_are_pointed_out(tmp_path):
    assert "commas" in refusal(write(tmp_path, "a,b\n1,2\n", "v.tsv")).problem


def test_no_file_and_a_folder(tmp_path):
    assert "does not exist" in refusal(tmp_path / "none.csv").problem
    assert "folder" in refusal(tmp_path).problem
    write(tmp_path, "a,b\n1,2\n")
    assert refusal(tmp_path).remedy == f"name its files: {tmp_path}/*.csv"


def test_permission_denied(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    path = write(tmp_path, "a,b\n1,2\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "permission denied" in refusal(path).problem


def test_damaged_parquet(tmp_path):
    sound = io.BytesIO()
    pl.DataFrame({"a": list(range(100))}).write_parquet(sound)
    half = sound.getvalue()[: len(sound.getvalue()) // 2]
    assert "Parquet file is damaged" in refusal(write(tmp_path, half, "v.parquet")).problem
    assert "Parquet file is damaged" in refusal(write(tmp_path, b"PAR1PAR1", "v.csv")).problem
    assert "content is something else" in refusal(write(tmp_path, "a,b\n1,2\n", "v.parquet")).problem


def test_panic_inside_polars_is_an_ordinary_error(tmp_path, monkeypatch):
    def panic(*_args, **_options):
        raise pl.exceptions.PanicException("unreachable\nnote: run with backtrace")

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "v.parquet")
    monkeypatch.setattr(pl, "read_parquet", panic)
    assert "unreachable" in refusal(tmp_path / "v.parquet").problem


def test_parquet_without_rows(tmp_path):
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "v.parquet")
    assert "no rows" in refusal(tmp_path / "v.parquet").problem


def test_regular_files_take_the_quick_way(tmp_path, monkeypatch):
    def fail(*_args):
        raise AssertionError("read slowly")

    monkeypatch.setattr(tables, "_parse_carefully", fail)
    content = 'a,b\r\n"x, ""y""",1\r\n"",2\r\n"l1\r\nl2",""""\r\n\r\n'
    assert read_table(write(tmp_path, content)).rows() == [('x, "y"', "1"), (None, "2"), ("l1\r\nl2", '"')]


def test_long_quoted_file_is_read_the_same_both_ways(tmp_path):
    lines = [f'"u{k}","a{k % 7},\n{"x" * (k % 50)}","b ""{k}""",left' for k in range(60_000)]
    path = write(tmp_path, "annotator,left,right,winner\n" + "\n".join(lines))
    quick = read_table(path)
    assert quick.equals(tables._parse_carefully(path.read_text() + "\n", ",", "votes.csv"))
    assert quick.height == 60_000


CELLS = st.text(st.sampled_from('ab,"\n\r \té'), max_size=5)


@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=8)),
    # With "\n" alone as the end of a line, csv leaves a return unquoted: the file is ambiguous.
    st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\r\n"), (csv.QUOTE_ALL, "\n")]),
)
def test_whatever_is_written_is_read_back(tmp_path_factory, rows, style):
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=style[0], lineterminator=style[1])
    writer.writerow([f"c{k}" for k in range(len(rows[0]))])
    writer.writerows(rows)
    path = write(tmp_path_factory.mktemp("csv"), text.getvalue())
    assert read_table(path).rows() == [tuple(value or None for value in row) for row in rows]


@given(st.text(st.sampled_from('a1,"\n\r '), max_size=25))
def test_quick_and_careful_readers_agree_on_any_text(body):
    data = ("x,y\n" + body).strip("\r\n").encode() + b"\n"
    n_rows = tables._count_regular_rows(data, b",", 2)
    if n_rows is not None:
        quick = tables._parse_quickly(data, ",", ["x", "y"], n_rows)
        assert quick is not None
        assert quick.equals(tables._parse_carefully(data.decode(), ",", "x.csv"))
