"""Who agrees with whom, against counting by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

import jamrank as jr
from jamrank.inference.agreement import ordered_agreement
from jamrank.inference.error_correlation import correlated


def two_camps(n_items: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    tastes = rng.normal(size=(2, n_items))
    rows = []
    for judge in range(6):
        for left in range(n_items):
            for right in range(left):
                better = tastes[judge % 2, left] > tastes[judge % 2, right]
                winner = "left" if better != (rng.random() < 0.1) else "right"
                rows.append((f"judge{judge}", f"item{left}", f"item{right}", winner))
    return pl.DataFrame(rows, schema=["annotator", "left", "right", "winner"], orient="row")


def test_shares_are_those_counted_by_hand_and_camps_are_neighbours():
    frame = two_camps()
    votes = jr.Comparisons.from_frame(frame)
    found = ordered_agreement(correlated(votes).couples, most=25)
    names = votes.annotators[found.annotators].tolist()
    said = {key[0]: part["winner"].to_list() for key, part in frame.group_by("annotator")}
    for row, one in enumerate(names):
        for column, other in enumerate(names):
            if row == column:
                assert np.isnan(found.share[row, column])
            else:
                same = np.mean([a == b for a, b in zip(said[one], said[other], strict=True)])
                np.testing.assert_allclose(found.share[row, column], same)
    camps = [int(name[-1]) % 2 for name in names]
    assert camps in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert found.n_others == 0


def test_of_many_those_with_the_most_common_pairs_are_taken():
    frame = two_camps()
    few = frame.filter(pl.col("annotator") == "judge5").head(12)
    votes = jr.Comparisons.from_frame(pl.concat([frame.filter(pl.col("annotator") != "judge5"), few]))
    found = ordered_agreement(correlated(votes).couples, most=5)
    assert sorted(votes.annotators[found.annotators]) == [f"judge{k}" for k in range(5)]
    assert found.n_others == 1


def test_without_common_pairs_nothing_is_told():
    votes = jr.Comparisons.from_frame(two_camps().filter(pl.col("annotator") == "judge0"))
    assert ordered_agreement(correlated(votes).couples, most=25) is None


def test_few_common_pairs_are_left_empty():
    frame = two_camps()
    first = frame.filter(pl.col("annotator").is_in(["judge0", "judge1", "judge2"]))
    # One whose pairs are, but for nine, those of one other only.
    some = first.filter(pl.col("annotator") == "judge0").head(40).with_columns(annotator=pl.lit("late"))
    keep = first.filter((pl.col("annotator") != "judge1") | (pl.int_range(pl.len()).over("annotator") >= 31))
    votes = jr.Comparisons.from_frame(pl.concat([keep, some]))
    found = ordered_agreement(correlated(votes).couples, most=25)
    place = {name: at for at, name in enumerate(votes.annotators[found.annotators].tolist())}
    assert np.isnan(found.share[place["late"], place["judge1"]])
    assert found.share[place["late"], place["judge0"]] == 1
