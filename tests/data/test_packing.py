from __future__ import annotations

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST


def test_so_many_pairs_and_annotators_that_even_the_ranks_of_pairs_are_wide():
    n = (1 << 20) + 1
    left, right, who = np.arange(n) * 2, np.arange(n) * 2 + 1, np.arange(n)[::-1]
    turned = np.arange(n) % 3 == 0
    votes = Comparisons.from_arrays(np.where(turned, right, left), np.where(turned, left, right), who, ~turned)
    assert votes.n_pairs == n
    np.testing.assert_array_equal(votes.pair_first, left)
    np.testing.assert_array_equal(votes.vote_annotator, who)
    np.testing.assert_array_equal(votes.vote_swapped, turned)
    assert (votes.vote_result == FIRST).all()


def test_more_items_questions_and_annotators_than_fit_in_one_key():
    n = 40_000
    votes = Comparisons.from_arrays(
        np.arange(n) * 2, np.arange(n) * 2 + 1, np.arange(n)[::-1], np.ones(n), question=np.arange(n)
    )
    assert votes.n_pairs == n
    np.testing.assert_array_equal(votes.pair_question, np.arange(n))
    np.testing.assert_array_equal(votes.vote_annotator, np.arange(n)[::-1])
