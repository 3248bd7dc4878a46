from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from jamrank.inference import order_accuracy
from jamrank.inference.ranks import ranks

LEVELS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=15)


def by_hand(scores, truth) -> float:
    counted = [
        0.5 if scores[i] == scores[j] else float((scores[i] > scores[j]) == (truth[i] > truth[j]))
        for i, j in combinations(range(len(truth)), 2)
        if truth[i] != truth[j]
    ]
    return sum(counted) / len(counted) if counted else float("nan")


@given(LEVELS)
def test_order_accuracy_counts_every_pair_of_different_value(pairs):
    scores, truth = np.array(pairs, dtype=np.float64).T
    assert order_accuracy(scores, truth) == pytest.approx(by_hand(scores, truth), nan_ok=True)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e18, 1e300])
def test_order_accuracy_does_not_depend_on_the_scale_of_the_truth(scale):
    rng = np.random.default_rng(0)
    scores, truth = rng.standard_normal(40), np.floor(rng.uniform(1, 9, 40))
    assert order_accuracy(scores, truth * scale) == pytest.approx(by_hand(scores, truth))


def test_order_accuracy_of_many_items_is_that_of_kendalls_tau():
    rng = np.random.default_rng(1)
    truth = rng.permutation(3000).astype(np.float64)
    scores = truth + 500 * rng.standard_normal(3000)
    assert order_accuracy(scores, truth) == pytest.approx((kendalltau(scores, truth).statistic + 1) / 2)


def test_order_accuracy_is_one_half_for_equal_scores_and_unknown_for_equal_truth():
    assert order_accuracy(np.zeros(5), np.arange(5.0)) == 0.5
    assert np.isnan(order_accuracy(np.arange(5.0), np.zeros(5)))


def test_equal_scores_share_the_better_rank():
    assert ranks(np.array([0.5, 2.0, 0.5, -1.0, 2.0])).tolist() == [3, 1, 3, 5, 1]


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_a_rank_is_one_more_than_the_number_of_better_items(scores):
    assert ranks(np.array(scores)).tolist() == [1 + sum(other > own for other in scores) for own in scores]
