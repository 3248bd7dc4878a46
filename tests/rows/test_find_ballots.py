from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from jamrank.data.comparisons import Comparisons
from jamrank.rows import Patterns, RaggedVotes, Rows
from tests.rows.votes import tables, votes_in


@given(tables())
def test_rows_with_equal_votes_share_a_pattern(votes):
    rows = Rows.per_pair(votes)
    distinct = {tuple(votes_in(rows, row)) for row in range(len(rows))}
    assert len(distinct) == len(set(rows.ballots.of_row.tolist()))


def test_a_jury_has_few_patterns_however_many_pairs():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(60, 1)
    rows = Rows.per_pair(Comparisons.from_matrix(first, second, rng.integers(0, 2, (len(first), 3))))
    assert len(rows) == 1770
    assert isinstance(rows.ballots, Patterns)
    assert len(rows.ballots) == 8


def test_a_crowd_has_a_list_for_each_pair():
    rng = np.random.default_rng(0)
    first, second = (np.repeat(side, 3) for side in np.triu_indices(100, 1))
    votes = Comparisons.from_arrays(first, second, rng.integers(0, 500, len(first)), rng.integers(0, 2, len(first)))
    assert isinstance(Rows.per_pair(votes).ballots, RaggedVotes)


@pytest.mark.parametrize("n_annotators", [1, 3, 8])
def test_patterns_packed_while_encoding_are_those_of_the_matrix(n_annotators):
    rng = np.random.default_rng(n_annotators)
    first, second = np.triu_indices(40, 1)
    said = (rng.random((len(first), n_annotators)) < 0.9).astype(np.int8)
    votes = Comparisons.from_matrix(first, second, said)
    assert votes.storage.verdicts is not None
    assert votes.storage.known_results is None
    np.testing.assert_array_equal(votes.storage.results, said)
    some = np.array([5, 700, 3])
    np.testing.assert_array_equal(votes.storage.results_of(some), said[some])
    unpacked = replace(votes, storage=replace(votes.storage, known_results=votes.storage.results, verdicts=None))
    packed, found = Rows.per_pair(votes), Rows.per_pair(unpacked)
    for name in ("of_row", "start", "vote"):
        np.testing.assert_array_equal(getattr(packed.ballots, name), getattr(found.ballots, name))
    np.testing.assert_array_equal(packed.pattern_weight, found.pattern_weight)
    assert Comparisons.from_matrix(first, second, said - (said > 0)).storage.verdicts is not None
    assert Comparisons.from_matrix(first, second, -said).storage.verdicts is None
