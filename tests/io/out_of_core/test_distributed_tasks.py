"""Tasks of a cluster, called here."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from jamrank.io.out_of_core import distributed_tasks as tasks


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [[], [7], [0, 3, 3, 90, 1 << 40]])
def test_pieces_of_sorted_chunks_hold_each_vote_once(tmp_path, weighted, cuts):
    rng = np.random.default_rng(1)
    left = rng.integers(0, 9, 300)
    votes = pl.DataFrame(
        {
            "annotator": rng.integers(0, 3, 300),
            "left": left,
            "right": (left + rng.integers(1, 9, 300)) % 9,
            "winner": np.array(["left", "right", "tie"])[rng.integers(0, 3, 300)],
            "weight": rng.integers(1, 4, 300) / 3,
        }
    )
    path, names = str(tmp_path / "votes.parquet"), ["left", "right", "annotator", "winner"]
    votes.write_parquet(path, row_group_size=100)
    chunks = [tasks.FileChunk(path, (number,), 100 * number, 100) for number in range(3)]
    packing = tasks.packing_of(tasks.merge_found(*(tasks.ids_of(chunk, names, 1) for chunk in chunks)), False)
    read = [tasks.keys_of(chunk, (packing, False, weighted, False)) for chunk in chunks]
    assert all((np.diff(key) >= 0).all() for key, _ in read)
    bounds = [0, *cuts, None]
    parts = [
        tasks.sort_keys(*(tasks.keys_between(keys, low, high) for keys in read))
        for low, high in itertools.pairwise(bounds)
    ]
    key, weight = tasks.sort_keys(*read)
    np.testing.assert_array_equal(np.concatenate([own for own, _ in parts]), key)
    # Weights are stored only where one is not 1.
    np.testing.assert_array_equal(
        np.concatenate([own if len(own) else np.ones(len(keys)) for keys, own in parts]),
        weight if len(weight) else np.ones(len(key)),
    )
