"""Pairs that were chosen by earlier votes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.selection import compare
from jamrank.selection.adaptive import CAUTION, FORWARD, adaptivity, looks_adaptive


def swiss(seed: int, n: int = 40, rounds: int = 12, adaptive: bool = True, times: bool = False) -> jr.Comparisons:
    """Rounds in which all items meet another: one with as many wins, or any."""
    rng = np.random.default_rng(seed)
    scores, wins, rows = rng.normal(0, 1.5, n), np.zeros(n), []
    for _ in range(rounds):
        order = np.lexsort((rng.random(n), wins * adaptive))
        for a, b in zip(order[::2], order[1::2], strict=True):
            won = rng.random() < expit(scores[a] - scores[b])
            wins[a if won else b] += 1
            rows.append((int(a), int(b), f"judge{len(rows) % 5}", float(won)))
    if not times:
        return jr.Comparisons.from_arrays(*zip(*rows, strict=True))
    frame = pl.DataFrame(rows, schema=["left", "right", "annotator", "won"], orient="row").with_row_index("order")
    side = pl.when(pl.col("won") == 1).then(pl.lit("left")).otherwise(pl.lit("right"))
    return jr.Comparisons.from_frame(frame.with_columns(winner=side))


def test_swiss_rounds_look_adaptive_and_random_pairs_do_not():
    assert np.mean([looks_adaptive(swiss(seed)) for seed in range(40)]) > 0.9
    assert np.mean([looks_adaptive(swiss(seed, adaptive=False)) for seed in range(100)]) <= 0.05


@pytest.mark.parametrize("n_items", [2, 3, 8])
def test_all_against_all_do_not(n_items):
    left, right = np.triu_indices(n_items, 1)
    votes = jr.Comparisons.from_arrays(
        np.tile(left, 5), np.tile(right, 5), ["x"] * (5 * len(left)), np.tile(1, 5 * len(left))
    )
    assert not looks_adaptive(votes)


def test_a_baseline_against_all_does_not():
    rng = np.random.default_rng(0)
    votes = jr.Comparisons.from_arrays([0] * 500, rng.integers(1, 6, 500), ["x"] * 500, rng.integers(0, 2, 500))
    assert adaptivity(votes) == 0


def test_auto_and_compare_say_so():
    adaptive, random = swiss(1), swiss(1, adaptive=False)
    assert CAUTION in jr.Auto().fit(adaptive).reason_
    assert CAUTION not in jr.Auto().fit(random).reason_
    assert compare(adaptive, models=["BradleyTerry", "CrowdBT"], splits=["vote"]).sentences[0] == CAUTION


def test_where_the_order_is_known_later_votes_are_predicted():
    votes = swiss(1, times=True)
    model = jr.Auto().fit(votes)
    assert FORWARD in model.reason_
    assert "nats per later vote" in model.reason_
    found = compare(votes, models=["BradleyTerry", "CrowdBT"])
    assert list(found.held_out) == ["time"]
    assert found.sentences[0] == FORWARD
    held_out = found.held_out["time"]
    predicted = ~np.isnan(held_out.trials["BradleyTerry"].proba)
    # The first two of five periods are only learned from.
    assert predicted.sum() == pytest.approx(0.6 * votes.n_votes, abs=20)


def test_random_pairs_are_held_out_at_random_though_the_order_is_known():
    assert "held-out vote" in jr.Auto().fit(swiss(1, adaptive=False, times=True)).reason_
