from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.io import footer
from jamrank.io.footer import Facts, examine
from jamrank.io.parquet import ParquetFiles
from jamrank.io.parquet_schema import FILE, PAGE
from jamrank.io.tables import read_table
from jamrank.io.thrift import DamagedError

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks.samples import SAMPLES


def whole(data):
    return examine(data) is not None


FRAME = pl.DataFrame(
    {
        "text": ["a", None, "", "name"] * 300,
        "number": range(1200),
        "real": np.linspace(0, 1, 1200),
        "flag": [True, False, None, True] * 300,
        "list": [[1, 2], [], None, [3]] * 300,
        "record": [{"a": 1, "b": ["x"]}] * 1200,
        "empty": pl.Series([None] * 1200, dtype=pl.String),
        "same": ["only"] * 1200,
    }
)


def written(**options):
    content = io.BytesIO()
    FRAME.write_parquet(content, **options)
    return content.getvalue()


BY_POLARS = [{}, {"row_group_size": 100}, {"compression": "uncompressed"}, {"compression": "snappy"}]
BY_POLARS += [{"statistics": "full"}, {"data_page_size": 200}, {"compression": "gzip"}]
BY_PYARROW = [{}, {"version": "1.0"}, {"data_page_version": "2.0"}, {"use_dictionary": False}, {"row_group_size": 7}]
BY_PYARROW += [{"compression": "zstd"}, {"write_page_checksum": True}, {"write_page_index": True}]


@pytest.mark.parametrize("options", BY_POLARS, ids=str)
def test_files_of_polars_are_whole(options):
    assert whole(written(**options))


@pytest.mark.parametrize("options", BY_PYARROW, ids=str)
def test_files_of_pyarrow_are_whole(options):
    content = io.BytesIO()
    pq.write_table(FRAME.to_arrow(), content, **options)
    assert whole(content.getvalue())


def test_tables_without_rows_or_columns_are_whole():
    for table in (pa.table({"a": pa.array([], pa.string())}), pa.table({})):
        content = io.BytesIO()
        pq.write_table(table, content)
        assert whole(content.getvalue())


def test_samples_are_whole():
    assert all(whole(sample.write("parquet")) for sample in SAMPLES.values())


def test_what_is_cut_off_is_not():
    data = written()
    assert not any(whole(data[:size]) for size in range(0, len(data), 97))
    assert not whole(b"PAR1" * 3) and not whole(b"")


def test_a_table_without_rows_has_no_places():
    content = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), content, use_dictionary=False)
    assert whole(content.getvalue())


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_indices_without_bits_and_counts_are_damaged(version):
    content = io.BytesIO()
    table = pa.table({"a": ["left", "right", "tie"] * 7})
    pq.write_table(table, content, compression="none", data_page_version=version)
    data = content.getvalue()
    # The number of bits and, of three times eight indices in packed form, the first four.
    at = data.index(bytes([2, 7, 0b00100100, 0b01001001]))
    assert whole(data)
    assert not whole(data[:at] + bytes(4) + data[at + 4 :])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(("codec", "gaps"), [("none", False), ("none", True), ("lz4", True), ("snappy", False)])
def test_other_numbers_of_indices_than_of_values_are_damaged(tmp_path, version, codec, gaps):
    texts = np.random.default_rng(4).choice(["left", "right", "tie", *([None] if gaps else [])], 40).tolist()
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"a": texts}), path, compression=codec, data_page_version=version)
    data, damaged = path.read_bytes(), 0
    assert read_table(path)["a"].to_list() == texts
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for at in range(footer - 40, footer):
        for bit in range(8):
            changed = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            try:
                pq.read_table(io.BytesIO(changed))
            except (OSError, ValueError) as error:
                if "number of indices" not in str(error):
                    continue
                path.write_bytes(changed)
                try:
                    assert read_table(path)["a"].to_list() == texts
                except InputError:
                    damaged += 1
    assert damaged


def test_counts_that_do_not_agree():
    data = SAMPLES["evalica"].write("parquet")
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    seen = [whole(data[:at] + bytes([data[at] ^ 64]) + data[at + 1 :]) for at in range(start, len(data) - 4)]
    assert seen.count(False) > 50  # most of a footer are names and statistics, which say nothing of sizes


def test_gaps_that_the_file_does_not_tell_of(tmp_path):
    data = bytearray(SAMPLES["label studio"].write("parquet"))
    assert examine(bytes(data))["data", "prompt"] == Facts(0, b"A cat", b"A dog")
    for at in [at for at in range(len(data)) if data[at] == 10]:
        # A level of definition beyond the last one is a gap to polars, an error to others.
        path = tmp_path / "v.parquet"
        path.write_bytes(bytes(data[:at]) + b"\r" + bytes(data[at + 1 :]))
        try:
            frame = read_table(path)
        except InputError:
            continue
        assert frame["data"].struct.field("prompt").null_count() == 0


@pytest.mark.long
def test_texts_that_are_not_where_the_file_says(tmp_path):
    data = SAMPLES["wide"].write("parquet")
    read, path = 0, tmp_path / "v.parquet"
    for at in range(4, len(data) - 700):
        # The width of the codes of a dictionary, say: polars reads on, others refuse.
        path.write_bytes(data[:at] + b"\x80" + data[at + 1 :])
        try:
            frame = read_table(path)
        except InputError:
            continue
        read += 1
        assert frame["cleo"].null_count() == 1 and frame["cleo"].min() == "left"
    assert read


@pytest.mark.parametrize("way", ["file", "folder", "disk"])
def test_an_id_outside_the_range_that_the_file_declares_is_damage_however_it_is_read(tmp_path, way):
    rows = [("w", f"item{k % 4}", f"item{(k + 1) % 4}", "left") for k in range(20)]
    frame = pl.DataFrame(rows, schema=["annotator", "left", "right", "winner"], orient="row")
    content = io.BytesIO()
    pq.write_table(frame.to_arrow(), content, compression="none", use_dictionary=False)
    data = content.getvalue()
    path = tmp_path / "votes" / "v.parquet"
    path.parent.mkdir()

    def read():
        if way == "disk":
            return jr.store_comparisons(path, tmp_path / "scratch")
        return jr.read_comparisons(path if way == "file" else path.parent)

    path.write_bytes(data)
    assert sorted(read().items.tolist()) == ["item0", "item1", "item2", "item3"]
    path.write_bytes(data.replace(b"\x05\0\0\0item3", b"\x05\0\0\0item8", 1))
    with pytest.raises(InputError, match="does not match its declaration"):
        read()


def test_a_slice_of_a_file_has_no_more_gaps_than_the_file(tmp_path):
    frame = pl.DataFrame({"text": ["a", None, "b", None, "c"]})
    frame.write_parquet(tmp_path / "v.parquet")
    table = ParquetFiles.open(tmp_path / "v.parquet")
    assert [part.height for _, _, part in table.slices(["text"], 2)] == [2, 2, 1]
    for missing in (0, 1):
        wrong = replace(table, facts=[{("text",): Facts(missing, b"a", b"c")}])
        with pytest.raises(InputError, match="does not match its declaration"):
            list(wrong.slices(["text"], 5))
    with pytest.raises(InputError, match="does not match its declaration"):
        list(replace(table, facts=[{("text",): Facts(0, b"a", b"c")}]).slices(["text"], 2))


def test_long_texts_and_many_groups_agree_with_what_is_told(tmp_path):
    texts = ["é" * 100, "z" * 500, "", None, "a", "\U0010ffff" * 80] * 50
    frame = pl.DataFrame({"text": texts, "words": pl.Series(texts).fill_null("x").cast(pl.Categorical)})
    for options in ({}, {"statistics": "full"}, {"row_group_size": 7}):
        frame.write_parquet(tmp_path / "v.parquet", **options)
        assert read_table(tmp_path / "v.parquet").height == 300
    pq.write_table(frame.to_arrow(), tmp_path / "v.parquet", row_group_size=11)
    assert read_table(tmp_path / "v.parquet").height == 300


@pytest.mark.parametrize("offsets", [{9: 0}, {9: -4, 11: 0}])
def test_columns_that_begin_nowhere_are_damaged(offsets):
    with pytest.raises(DamagedError):
        footer._check_group(b"PAR1" + bytes(100), {1: [{3: {3: [b"a"], 5: 1, 7: 10, **offsets}}], 3: 1}, 90, set())


def test_metadata_without_a_required_field_is_damaged():
    """polars takes a footer that arrow refuses: the number of a field of the encoding statistics is another."""
    content = io.BytesIO()
    pq.write_table(pa.table({"left": ["a", "b"] * 9}), content)
    data = content.getvalue()
    assert examine(data) is not None
    # Two pages: each a kind, an encoding and a count, in fields 1, 2 and 3.
    at = data.rindex(b"\x15\x04\x15\x00\x15\x02\x00")
    damaged = data[: at + 2] + b"\x35" + data[at + 3 :]
    with pytest.raises(OSError, match="thrift"):
        pq.read_table(io.BytesIO(damaged))
    assert pl.read_parquet(io.BytesIO(damaged)).height == 18
    assert examine(damaged) is None


def test_an_encoding_that_does_not_exist_is_damaged():
    page = {1: 0, 2: 10, 3: 10, 5: {1: 4, 2: 8, 3: 3, 4: 3}}
    PAGE.require(page)
    with pytest.raises(DamagedError):
        PAGE.require(page | {5: {1: 4, 2: 77, 3: 3, 4: 3}})


@pytest.mark.parametrize("number", FILE.required)
def test_every_required_field_is_required(number):
    whole = {1: 1, 2: [{4: b"schema"}], 3: 0, 4: []}
    FILE.require(whole)
    with pytest.raises(DamagedError):
        FILE.require({field: value for field, value in whole.items() if field != number})
    with pytest.raises(DamagedError):
        FILE.require(whole | {number: True})
