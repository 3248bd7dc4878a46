"""Votes on disk are the votes in memory, part by part."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import as_column, as_objects, codes_in, distinct, encode
from jamrank.data.packing import Packing
from jamrank.errors import InputError, ParameterError
from jamrank.io import read_comparisons, store_comparisons
from jamrank.io.out_of_core import storage_plan
from jamrank.io.out_of_core.storage_plan import parse_size, plan_storage
from jamrank.io.scratch import Journal

MEMORY = "600MB"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make a part a few hundred votes, and a slice fewer rows than a file."""
    monkeypatch.setattr(storage_plan, "_PART_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 300)
    monkeypatch.setattr(storage_plan, "_SLICE_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 11_000)


def draw(seed: int = 0, n: int = 3000, questions: bool = False, weights: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 40, n)
    right = (left + rng.integers(1, 40, n)) % 40
    columns = {
        "annotator": [f"ann {k}" for k in rng.integers(0, 9, n)],
        "left": left,
        "right": right,
        "winner": rng.choice(["left", "right", "tie", None], n, p=[0.5, 0.4, 0.07, 0.03]).tolist(),
    }
    if questions:
        columns["question"] = rng.choice(["x", "y", None], n).tolist()
    if weights:
        columns["weight"] = rng.choice([0.5, 1.0, 2.0], n)
    return pl.DataFrame(columns)


def write(frame: pl.DataFrame, folder: Path, n_files: int = 3) -> Path:
    folder.mkdir()
    size = -(-frame.height // n_files)
    for k in range(n_files):
        frame[k * size : (k + 1) * size].write_parquet(folder / f"{k}.parquet")
    return folder


@pytest.mark.parametrize("kind", [{}, {"questions": True}, {"weights": True}])
def test_the_parts_are_the_votes(tmp_path, kind):
    frame = draw(**kind)
    stored = store_comparisons(write(frame, tmp_path / "votes"), tmp_path, MEMORY)
    votes = read_comparisons(tmp_path / "votes")
    assert len(stored.part_pairs) > 5
    for name in ("items", "annotators", "questions", "pair_first", "pair_second", "pair_question", "pair_weight"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(votes, name), err_msg=name)
    for name in ("n_votes", "n_missing", "n_ties", "n_pairs", "has_questions", "frames"):
        assert getattr(stored, name) == getattr(votes, name), name
    for name in ("annotator_weight", "annotator_decided"):
        np.testing.assert_allclose(getattr(stored, name), getattr(votes, name), err_msg=name)
    parts = list(stored.parts())
    for name in ("vote_annotator", "vote_result", "vote_swapped", "vote_weight"):
        together = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(together, getattr(votes, name), err_msg=name)


def test_no_two_parts_share_a_pair_of_items(tmp_path):
    stored = store_comparisons(write(draw(questions=True), tmp_path / "votes"), tmp_path, MEMORY)
    seen: set[tuple[int, int]] = set()
    for part in stored.parts():
        own = set(zip(part.pair_first.tolist(), part.pair_second.tolist(), strict=True))
        assert not own & seen
        seen |= own


def test_one_file_will_do_and_row_order_does_not_matter(tmp_path):
    frame = draw(1)
    frame.write_parquet(tmp_path / "one.parquet")
    frame.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "two.parquet")
    one, two = (store_comparisons(tmp_path / name, tmp_path, MEMORY) for name in ("one.parquet", "two.parquet"))
    np.testing.assert_array_equal(one.pair_first, two.pair_first)
    np.testing.assert_array_equal(one.pair_weight, two.pair_weight)


def test_what_is_there_is_used_again_and_what_changed_is_not(tmp_path):
    source = write(draw(), tmp_path / "votes")
    first = store_comparisons(source, tmp_path, MEMORY)
    made = (first.folder / "votes.json").stat().st_mtime_ns
    first.lock.close()
    again = store_comparisons(source, tmp_path, MEMORY)
    assert again.folder == first.folder
    assert (again.folder / "votes.json").stat().st_mtime_ns == made
    draw(7).write_parquet(source / "0.parquet")
    assert plan_storage(source, tmp_path, MEMORY).folder != first.folder


def test_what_was_left_half_done_is_begun_anew(tmp_path):
    source = write(draw(), tmp_path / "votes")
    whole = store_comparisons(source, tmp_path, MEMORY)
    pairs = whole.pair_first
    whole.lock.close()
    (whole.folder / "votes.json").unlink()
    (whole.folder / "unsorted-00000.keys").write_bytes(b"left over")
    np.testing.assert_array_equal(store_comparisons(source, tmp_path, MEMORY).pair_first, pairs)


def test_two_runs_do_not_share_a_folder(tmp_path):
    source = write(draw(), tmp_path / "votes")
    held = store_comparisons(source, tmp_path, MEMORY)
    with pytest.raises(InputError, match="another run"):
        store_comparisons(source, tmp_path, MEMORY)
    held.delete()
    assert not held.folder.exists()
    store_comparisons(source, tmp_path, MEMORY)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"winner": "draw"}, r"2\.parquet, row 500: winner is 'draw'; expected 'left'"),
        ({"left": None}, r"2\.parquet, row 500: left is missing"),
        ({"annotator": None}, r"2\.parquet, row 500: annotator is missing"),
    ],
)
def test_an_error_names_the_file_and_the_row(tmp_path, change, told):
    frame = draw()
    name, value = next(iter(change.items()))
    values = frame[name].to_list()
    values[2499] = value
    source = write(frame.with_columns(pl.Series(name, values)), tmp_path / "votes")
    with pytest.raises(InputError, match=told):
        store_comparisons(source, tmp_path, MEMORY)


def test_an_item_against_itself_is_named_with_its_row(tmp_path):
    frame = draw()
    right = frame["right"].to_list()
    right[1234] = frame["left"][1234]
    source = write(frame.with_columns(pl.Series("right", right)), tmp_path / "votes")
    with pytest.raises(InputError, match=r"1\.parquet, row 235: \d+ is compared with itself"):
        store_comparisons(source, tmp_path, MEMORY)


def test_files_that_cannot_be_used_say_why(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        store_comparisons(tmp_path / "nothing.parquet", tmp_path)
    with pytest.raises(InputError, match="no Parquet files"):
        store_comparisons(tmp_path, tmp_path)
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\n")
    with pytest.raises(InputError, match=r"convert the file first: python .*sink_parquet"):
        store_comparisons(tmp_path / "votes.csv", tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="damaged"):
        store_comparisons(tmp_path / "bad.parquet", tmp_path)
    draw().drop("winner").write_parquet(tmp_path / "short.parquet")
    with pytest.raises(InputError, match=r"short.parquet: no column 'winner'"):
        store_comparisons(tmp_path / "short.parquet", tmp_path)
    mixed = write(draw(), tmp_path / "mixed")
    draw().with_columns(pl.col("left").cast(pl.String)).write_parquet(mixed / "3.parquet")
    with pytest.raises(InputError, match=r"column 'left' is String here and Int64 in 0\.parquet"):
        store_comparisons(mixed, tmp_path)


def test_too_little_room_is_said_beforehand(tmp_path, monkeypatch):
    source = write(draw(), tmp_path / "votes")
    with pytest.raises(ParameterError, match="at least 512MiB"):
        store_comparisons(source, tmp_path, "100MB")
    plan = plan_storage(source, tmp_path, MEMORY)
    assert plan.scratch_bytes == 3000 * 35
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 1))
    with pytest.raises(InputError, match=r"need about 0\.0 GB; give another folder with --scratch"):
        store_comparisons(source, tmp_path, MEMORY)


def test_more_ids_than_fit_into_a_key_are_refused(tmp_path, monkeypatch):
    source = write(draw(), tmp_path / "votes")
    monkeypatch.setattr(Packing, "possible", False)
    with pytest.raises(InputError, match="more ids than fits from disk can take"):
        store_comparisons(source, tmp_path, MEMORY)


def test_progress_counts_every_row(tmp_path):
    told: list[tuple[str, int, int]] = []
    store_comparisons(write(draw(), tmp_path / "votes"), tmp_path, MEMORY, lambda *step: told.append(step))
    for what in ("reading ids", "reading votes", "sorting votes"):
        steps = [done for name, done, total in told if name == what and total == 3000]
        assert steps == sorted(steps)
        assert (steps[0], steps[-1]) == (0, 3000)


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2 * 10**9), ("1.5 gib", 3 << 29), ("700m", 7 * 10**8), (512, 512), ("4e9", 4 * 10**9)]
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1.2.3GB", "2 parsecs"])
def test_other_sizes_are_refused(text):
    with pytest.raises(ParameterError, match="not an amount of memory"):
        parse_size(text)


def test_a_journal_answers_once_and_notices_damage(tmp_path):
    journal, asked = Journal(tmp_path / "journal"), []

    def run() -> np.ndarray:
        asked.append(1)
        return np.arange(5.0)

    for _ in range(3):
        np.testing.assert_array_equal(journal.recall(run, "what", np.ones(3)), np.arange(5.0))
    assert len(asked) == 1
    journal.recall(run, "what", np.zeros(3))
    journal.recall(run, "else", np.ones(3))
    assert len(asked) == 3
    for file in (tmp_path / "journal").iterdir():
        file.write_bytes(file.read_bytes()[:-8])
    np.testing.assert_array_equal(journal.recall(run, "what", np.ones(3)), np.arange(5.0))
    assert len(asked) == 4


ids = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1),
    st.lists(st.integers(-(2**62), 2**62), min_size=1),
    st.lists(st.text(max_size=3), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1),
)


@given(ids)
def test_codes_among_known_labels_are_those_of_encoding(values):
    column = as_column(values)
    labels, (codes,) = encode(column)
    np.testing.assert_array_equal(codes_in(labels, column), codes)
    assert sorted(map(repr, as_objects(distinct(column)).tolist())) == sorted(map(repr, labels.tolist()))


def test_a_folder_of_parquet_is_read_into_memory_too(tmp_path):
    frame = draw()
    votes = read_comparisons(write(frame, tmp_path / "votes"))
    assert votes.n_votes == Comparisons.from_frame(frame).n_votes
