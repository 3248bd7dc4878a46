"""Values at the edge of what can be held: refused with a reason, or kept as they are."""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jamrank as jr
from jamrank.errors import FeatureError, InputError, ParameterError
from jamrank.io.footer import examine
from jamrank.io.out_of_core.storage_plan import parse_size


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_half_a_character_becomes_its_escape_and_stays_apart_from_others(tmp_path, kind):
    names = ["caf\ud83d", "caf\ude00", "caf😀", "caf\\ud83d."]
    records = [{"annotator": "k", "left": names[k], "right": names[(k + 1) % 4], "winner": "left"} for k in range(4)]
    text = json.dumps(records) if kind == "json" else "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / f"v.{kind}").write_text(text)
    votes = jr.read_comparisons(tmp_path / f"v.{kind}")
    assert set(votes.items) == {"caf\\ud83d", "caf\\ude00", "caf😀", "caf\\ud83d."}
    model = jr.WinRate().fit(votes)
    assert model.predict_proba("caf\ud83d", "caf\ude00") == model.predict_proba("caf\\ud83d", "caf\\ude00")


def test_ids_of_arrays_may_be_half_a_character_too():
    votes = jr.Comparisons.from_arrays(["a\ud83d", "b"], ["b", "c"], ["k", "\udcff"], [1, 0])
    assert votes.items.tolist() == ["a\\ud83d", "b", "c"] and votes.annotators.tolist() == ["\\udcff", "k"]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_ids_at_the_end_of_their_type_keep_their_value(dtype):
    last = int(np.iinfo(np.int64).max)
    votes = jr.Comparisons.from_arrays(
        np.array([last, last - 1], dtype), np.array([last - 1, last - 2], dtype), [1, 1], [1, 1]
    )
    assert [int(item) for item in votes.items] == [last - 2, last - 1, last]


@pytest.mark.parametrize("weight", [5e-324, 1e-101, 1e13, 1e18, 1e300, -1.0, float("inf"), float("nan")])
def test_weights_that_are_no_counts_are_refused(weight):
    with pytest.raises(InputError, match=r"row 2: weight is .*from 1e-100 to 1e\+12"):
        jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["k", "k"], [1, 1], [1.0, weight])


def test_a_trillion_is_a_weight(recwarn):
    votes = jr.Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], ["k", "k", "l"], [1, 1, 1], [1e12, 1.0, 1.0])
    for name in ("BradleyTerry", "CrowdBT", "AmElo", "RankCentrality"):
        assert np.isfinite(getattr(jr, name)().fit(votes).scores_).all()


@pytest.mark.parametrize("value", [1e141, -1e300, float("inf")])
def test_features_whose_squares_overflow_are_refused(value):
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["k", "k"], [1, 1])
    with pytest.raises(FeatureError, match="feature 'x0' of item b is"):
        jr.JAM().fit(votes, np.array([[1.0], [value], [2.0]]))


@pytest.mark.parametrize("text", ["1e400GB", "9e99TiB", "1" * 400, "nan", "inf", "-1"])
def test_sizes_beyond_any_memory_are_refused(text):
    with pytest.raises(ParameterError, match="is not an amount of memory"):
        parse_size(text)


def _page_bytes(**options) -> tuple[bytes, bytes]:
    """Return a Parquet file, and the same with one bit of a page's content flipped."""
    table = pa.table({"annotator": ["k"] * 50, "left": [f"i{k}" for k in range(50)], "right": ["z"] * 50})
    content = io.BytesIO()
    pq.write_table(table, content, use_dictionary=False, **options)
    data, column = content.getvalue(), pq.ParquetFile(content).metadata.row_group(0).column(1)
    at = column.data_page_offset + column.total_compressed_size - 12
    return data, data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "none", "write_page_checksum": True},
        {"compression": "snappy", "write_page_checksum": True},
    ],
)
def test_pages_are_compared_with_their_checksums(options):
    whole, damaged = _page_bytes(**options)
    assert examine(whole) is not None
    assert examine(damaged) is None


def test_odd_types_are_refused_in_one_line(tmp_path):
    columns = {"annotator": ["k"], "left": ["a"], "right": ["b"], "winner": ["left"]}
    lists = pl.DataFrame({**columns, "annotator": [[1, 2]]})
    lists.write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=r"^[^\n]*$"):
        jr.store_comparisons(tmp_path / "lists.parquet", tmp_path / "scratch")
    wide = pl.DataFrame(columns).with_columns(winner=pl.Series([10**30], dtype=pl.Int128))
    wide.write_parquet(tmp_path / "wide.parquet")
    with pytest.raises(InputError, match=r"^[^\n]*$"):
        jr.read_comparisons(tmp_path / "wide.parquet")
    text = pl.DataFrame({**columns, "weight": [""]})
    text.write_parquet(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="weight"):
        jr.read_groups(tmp_path / "text.parquet", "annotator")


def test_messages_of_errors_are_one_safe_line():
    line = str(InputError("found\x1b[2J\n" + "x" * 10_000, "do\r\nthis", source="\x07"))
    assert line.isprintable() and len(line) <= 2000
