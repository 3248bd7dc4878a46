"""Fits from disk say what fits in memory say, and go on where they were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.engines import DiskEngine, part_store
from jamrank.errors import NotStoredError, ParameterError
from jamrank.io.out_of_core import storage_plan

MEMORY = "600MB"
MODELS = {
    "JAM": (jr.JAM, False),
    "JAM with features": (jr.JAM, True),
    "CrowdBT": (jr.CrowdBT, False),
    "BradleyTerry": (jr.BradleyTerry, False),
    "JAM without prior": (lambda: jr.JAM(prior=None), True),
    "JAM two-coin with ties": (lambda: jr.JAM(noise="two-coin", ties="davidson"), False),
    "AmElo": (jr.AmElo, False),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(storage_plan, "_PART_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 1000)


def draw(n_items: int, n: int, columns: str, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores, flips = rng.normal(size=n_items), rng.uniform(0.02, 0.4, 12)
    left = rng.integers(0, n_items, n)
    right = (left + rng.integers(1, n_items, n)) % n_items
    who = rng.integers(0, 12, n)
    won = (rng.random(n) < 1 / (1 + np.exp(scores[right] - scores[left]))) ^ (rng.random(n) < flips[who])
    winner = np.where(rng.random(n) < 0.03, "tie", np.where(won, "left", "right"))
    frame = pl.DataFrame({"annotator": who, "left": left, "right": right, "winner": winner})
    if "question" in columns:
        frame = frame.with_columns(pl.Series("question", rng.integers(0, 3, n)))
    if "weight" in columns:
        frame = frame.with_columns(pl.Series("weight", rng.choice([0.5, 1.0, 2.0], n)))
    return frame, scores[:, None] + rng.normal(size=(n_items, 2))


# Chains over votes on disk are slow.
SHORT = [("BradleyTerry", "weight")]


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        pytest.param(name, columns, marks=[] if (name, columns) in SHORT else pytest.mark.long)
        for name in MODELS
        for columns in ("", "question", "weight")
        if "ties" not in name or columns == "weight"
    ],
)
def test_a_fit_from_disk_is_the_fit_in_memory(tmp_path, name, columns):
    frame, features = draw(30, 6000, columns)
    frame.write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY)
    assert len(stored.part_pairs) > 4
    make, with_features = MODELS[name]
    known = features if with_features else None
    here = make().fit(jr.Comparisons.from_frame(frame), known)
    there = make().fit(stored, known)
    for result in ("scores_", "flip_", "posterior_", "log_likelihood_"):
        if getattr(here, result) is not None:
            np.testing.assert_allclose(getattr(there, result), getattr(here, result), atol=1e-9, err_msg=result)
    variance = here.result_.scores.score_variance
    if variance is not None:
        np.testing.assert_allclose(there.result_.scores.score_variance, variance, atol=1e-9)
    assert there.n_iter_ == here.n_iter_
    for frame_name in ("ranking_", "annotators_", "pairs_"):
        a, b = getattr(here, frame_name), getattr(there, frame_name)
        assert a.columns == b.columns
        for column in a.columns:
            if a[column].dtype.is_float():
                np.testing.assert_allclose(b[column], a[column], atol=1e-9)
            else:
                assert a[column].to_list() == b[column].to_list()


@pytest.mark.long
def test_crowds_of_many_items_too(tmp_path):
    frame, _ = draw(2500, 12_000, "")
    frame.write_parquet(tmp_path / "votes.parquet")
    here = jr.CrowdBT().fit(jr.Comparisons.from_frame(frame.filter(pl.col("winner") != "tie")))
    frame.filter(pl.col("winner") != "tie").write_parquet(tmp_path / "votes.parquet")
    there = jr.CrowdBT().fit(jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY))
    np.testing.assert_allclose(there.scores_, here.scores_, atol=1e-9)
    np.testing.assert_allclose(
        there.result_.uncertainty.estimate.score_se, here.result_.uncertainty.estimate.score_se, rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
def test_a_saved_fit_leaves_the_pairs_on_disk(tmp_path):
    draw(30, 3000, "")[0].write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY)
    model = jr.JAM().fit(stored)
    model.save(tmp_path / "bare.jamrank")
    with pytest.raises(NotStoredError):  # saving computes nothing, and the votes are elsewhere
        _ = jr.load(tmp_path / "bare.jamrank").ranking_
    ranking, annotators = model.ranking_, model.annotators_
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    np.testing.assert_array_equal(again.scores_, model.scores_)
    assert again.ranking_.equals(ranking)
    assert again.annotators_.equals(annotators)
    with pytest.raises(NotStoredError, match="does not have the pairs"):
        _ = again.pairs_


def test_models_that_need_memory_say_so(tmp_path):
    draw(10, 500, "")[0].write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY)
    for model in (jr.MajorityVote(), jr.IAM(), jr.VRJAM()):
        with pytest.raises(ParameterError, match="needs the votes in memory; JAM, CrowdBT and BradleyTerry"):
            model.fit(stored)
    with pytest.raises(ParameterError, match="hinge"):
        jr.JAM(loss="hinge").fit(stored)


FIT = """
import os, signal, sys
import numpy as np
import jamrank as jr
from jamrank.engines import disk
from jamrank.io.out_of_core import storage_plan
storage_plan._PART_BYTES = (600_000_000 - storage_plan._PROCESS_BYTES) // 1000
folder, passes = sys.argv[1], int(sys.argv[2])
run, count = disk.expectation, 0
def watched(*arguments):
    global count
    count += 1
    if count == passes:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(*arguments)
disk.expectation = watched
votes = jr.store_comparisons(folder + "/votes.parquet", folder, "600MB")
model = jr.CrowdBT().fit(votes)
np.save(folder + "/scores.npy", model.scores_)
print(count)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="has no SIGKILL")
def test_a_fit_that_was_killed_goes_on_where_it_was(tmp_path):
    frame, _ = draw(40, 5000, "")
    frame.filter(pl.col("winner") != "tie").write_parquet(tmp_path / "votes.parquet")

    def fit(killed_at: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", FIT, str(tmp_path), str(killed_at)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    whole = fit(-1)
    assert whole.returncode == 0, whole.stderr
    expected, needed = np.load(tmp_path / "scores.npy"), int(whole.stdout)
    for folder in tmp_path.glob("jamrank-*/journal-*"):
        for file in folder.iterdir():
            file.unlink()
    (tmp_path / "scores.npy").unlink()
    half = needed // 2
    killed = fit(half)
    assert killed.returncode == -signal.SIGKILL
    ended = fit(-1)
    assert ended.returncode == 0, ended.stderr
    # Only the pass that was cut off, and the curvature that was lost, had to be done again.
    n_parts = len(list(tmp_path.glob("jamrank-*/votes-*.keys")))
    assert int(ended.stdout) <= needed - half + 2 * n_parts
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), expected)


def test_parts_are_counted(tmp_path):
    frame, _ = draw(20, 4000, "")
    frame.filter(pl.col("winner") != "tie").write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY)
    told: list[tuple[int, int]] = []
    engine = DiskEngine(stored, "vote", tick=lambda done, total: told.append((done, total)))
    engine.expectation(np.zeros(20), np.log(np.full((12, 2, 2), 0.5)))
    n_parts = len(stored.part_pairs)
    assert told[-n_parts - 1 :] == [(done, n_parts) for done in range(n_parts + 1)]


def test_curvature_is_read_again_or_worked_out_again(tmp_path):
    frame, _ = draw(20, 4000, "")
    frame.filter(pl.col("winner") != "tie").write_parquet(tmp_path / "votes.parquet")
    engine = DiskEngine(jr.store_comparisons(tmp_path / "votes.parquet", tmp_path, MEMORY), "pair")
    log_emission = np.log(np.broadcast_to([[0.8, 0.3], [0.2, 0.7]], (12, 2, 2)))
    rng = np.random.default_rng(0)
    here, there = (engine.expectation(rng.normal(size=20), log_emission).curvature for _ in range(2))
    vector = rng.normal(size=20)
    fresh, kept = engine.curvature_times(here, vector), engine.curvature_times(there, vector)
    assert engine._last is there
    for file in Path(engine._journal.folder).iterdir():
        file.unlink()
    engine._last = None
    np.testing.assert_array_equal(engine.curvature_times(there, vector), kept)
    np.testing.assert_array_equal(engine.curvature_times(here, vector), fresh)


def test_small_numbers_take_little_room():
    for largest, kind in ((255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.int32)):
        assert part_store._smallest(np.array([0, largest])).dtype == kind
