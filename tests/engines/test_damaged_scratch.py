"""Whatever happens to the files that a fit from disk left behind: the next one is the same, or says what is wrong."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.engines import DiskEngine
from jamrank.errors import ScratchError, ScratchWarning
from jamrank.io import scratch
from jamrank.io.out_of_core import storage_plan

MEMORY = "600MB"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(storage_plan, "_PART_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 500)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(3)
    left = rng.integers(0, 21, 1500)
    right = (left + rng.integers(1, 21, 1500)) % 21
    winner = np.where(rng.random(1500) < 1 / (1 + np.exp((right - left) / 5)), "left", "right")
    columns = {"annotator": [f"w{k}" for k in rng.integers(0, 5, 1500)], "winner": winner}
    columns |= {"left": [f"item {k}" for k in left], "right": [f"item {k}" for k in right]}
    columns["weight"] = rng.choice([1.0, 2.0], 1500)
    path = tmp_path_factory.mktemp("source") / "votes.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return path


def fit(source: Path, folder: Path) -> np.ndarray:
    stored = jr.store_comparisons(source, folder, MEMORY)
    try:
        return np.concatenate([(model := jr.CrowdBT(tol=0.1).fit(stored)).scores_, model.flip_])
    finally:
        stored.lock.close()


@pytest.fixture(scope="module")
def kept(source, tmp_path_factory):
    """A scratch folder that was kept, and what the fit said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_plan, "_PART_BYTES", (600_000_000 - storage_plan._PROCESS_BYTES) // 500)
        folder = tmp_path_factory.mktemp("kept")
        said = fit(source, folder)
    # Without answers, passes have to read the rows.
    for journal in folder.rglob("*.sums"):
        journal.unlink()
    return folder, said


def files_of(kept) -> list[str]:
    return sorted(str(path.relative_to(kept[0])) for path in kept[0].rglob("*") if path.is_file())


def copied(kept, tmp_path) -> Path:
    return Path(shutil.copytree(kept[0], tmp_path / "scratch"))


def flip_bits(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def cut(path: Path, rng: np.random.Generator) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


DAMAGES = {
    "a bit": flip_bits,
    "an end": cut,
    "zeros": lambda path, rng: path.write_bytes(bytes(path.stat().st_size)),
    "ones": lambda path, rng: path.write_bytes(b"\xff" * path.stat().st_size),
    "more": lambda path, rng: path.write_bytes(path.read_bytes() + b"\x01" * 64),
    "removal": lambda path, rng: path.unlink(),
}


@pytest.mark.filterwarnings("ignore::jamrank.errors.ScratchWarning")
@pytest.mark.parametrize(
    "damage",
    [one if one == "a bit" else pytest.param(one, marks=pytest.mark.long) for one in DAMAGES],
)
def test_damage_to_any_file_changes_nothing(source, kept, tmp_path, damage):
    rng, n_damaged = np.random.default_rng(1), 0
    names = [name for name in files_of(kept) if not name.endswith("lock")]
    # One of each kind, of any part.
    by_kind = {Path(name).name.split("-")[0] if "votes-" in name else Path(name).name: name for name in names}
    kinds = {Path(name).suffix: name for name in names} | {
        key: name for key, name in by_kind.items() if "." in key and not key[0].isdigit()
    }
    for name in sorted(set(kinds.values())):
        folder = copied(kept, tmp_path)
        DAMAGES[damage](folder / name, rng)
        n_damaged += 1
        np.testing.assert_array_equal(fit(source, folder), kept[1], err_msg=name)
        shutil.rmtree(folder)
    assert n_damaged >= 9


def test_two_files_exchanged_are_noticed(source, kept, tmp_path):
    folder = copied(kept, tmp_path)
    one, other = sorted(folder.rglob("votes-*.keys"))[:2]
    here, there = one.read_bytes(), other.read_bytes()
    one.write_bytes(there)
    other.write_bytes(here)
    with pytest.warns(ScratchWarning, match=r"votes-00000.keys: the checksum is wrong; .* recreated"):
        np.testing.assert_array_equal(fit(source, folder), kept[1])


def test_what_is_whole_is_used_again_without_a_word(source, kept, tmp_path):
    folder = copied(kept, tmp_path)
    made = {
        path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix in (".keys", ".json", ".second")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fit(source, folder), kept[1])
    assert made == {path: path.stat().st_mtime_ns for path in made}


def test_the_manifest_of_other_votes_is_not_taken(source, kept, tmp_path):
    folder = copied(kept, tmp_path)
    (own,) = folder.iterdir()
    body = scratch.read_manifest(own / "votes.json", storage_plan.KIND, storage_plan.VERSION)
    scratch.write_manifest(
        own / "votes.json", storage_plan.KIND, storage_plan.VERSION, {**body, "fingerprint": "jamrank-other"}
    )
    with pytest.warns(ScratchWarning, match="belongs to other votes"):
        np.testing.assert_array_equal(fit(source, folder), kept[1])


def test_weights_that_were_not_written_are_not_read(source, kept, tmp_path):
    folder = copied(kept, tmp_path)
    (own,) = folder.iterdir()
    stored = jr.store_comparisons(source, folder, MEMORY)
    name = next(name for name in stored.files if name.endswith(".weights"))
    del stored.files[name]
    assert (own / name).exists()
    assert not len(stored.part(int(name[6:11])).storage.weight)
    stored.lock.close()


# -- damage while a fit runs: what kernels get is in range, whatever the files say -------------------------------


@pytest.mark.parametrize("rows_by", ["pair", "vote"])
def test_codes_out_of_range_reach_no_kernel(source, kept, tmp_path, rows_by):
    folder = copied(kept, tmp_path)
    engine = DiskEngine(jr.store_comparisons(source, folder, MEMORY), rows_by)
    log_emission, scores = np.log(np.full((5, 2, 2), 0.5)), np.zeros(21)
    engine.expectation(scores, log_emission)
    found = 0
    for column in ("second", "pattern", "vote", "count", "run"):
        for path in engine._folder.glob(f"00000.{column}"):
            content = path.read_bytes()
            path.write_bytes(b"\xff" * len(content))
            with pytest.raises(ScratchError, match="a scratch file is damaged"):
                engine.expectation(scores + found + 1, log_emission)
            path.write_bytes(content)
            found += 1
    assert found >= 2
    engine.expectation(scores + 99, log_emission)
    engine.votes.lock.close()


@pytest.mark.parametrize("content", ["ones", "swapped", "negative"])
def test_votes_out_of_range_reach_no_kernel(source, kept, tmp_path, content):
    folder = copied(kept, tmp_path)
    stored = jr.store_comparisons(source, folder, MEMORY)
    path = stored.folder / "votes-00000.keys"
    keys = np.frombuffer(path.read_bytes(), dtype=np.int64).copy()
    if content == "ones":
        keys[-1] = (1 << 63) - 1
    elif content == "swapped":
        keys[:2] = keys[1::-1]
    else:
        keys[0] = -1
    path.write_bytes(keys.tobytes())
    with pytest.raises(ScratchError, match="a scratch file is damaged"):
        stored.part(0)
    stored.lock.close()


def test_answers_of_other_questions_are_not_taken(tmp_path):
    journal = scratch.Journal(tmp_path / "journal")
    for number in (1.0, 2.0):
        journal.recall(lambda number=number: np.full(3, number), "what", np.array([number]))
    one, other = sorted((tmp_path / "journal").iterdir())
    here, there = one.read_bytes(), other.read_bytes()
    one.write_bytes(there)
    other.write_bytes(here)
    for number in (1.0, 2.0):
        answer = journal.recall(lambda number=number: np.full(3, number), "what", np.array([number]))
        np.testing.assert_array_equal(answer, np.full(3, number))
