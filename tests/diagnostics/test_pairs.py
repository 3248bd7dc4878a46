import numpy as np
import pytest
from scipy.special import ndtr

import jamrank as jr
from jamrank.diagnostics import contested_pairs, unsettled_pairs


def ask(scores, errors, **settings):
    scores, errors = np.array(scores), np.array(errors)
    with np.errstate(invalid="ignore"):
        return unsettled_pairs(
            scores, lambda a, b: ndtr((scores[a] - scores[b]) / np.hypot(errors[a], errors[b])), **settings
        )


def test_the_nearest_to_one_half_come_first():
    found = ask([3.0, 2.9, 0.0, -0.1], [0.1, 0.1, 1.0, 1.0])
    assert (found.upper[0], found.lower[0]) == (2, 3)
    assert (found.upper[1], found.lower[1]) == (0, 1)
    assert found.above[0] == pytest.approx(ndtr(0.1 / np.sqrt(2)))
    assert (np.diff(np.abs(found.above - 0.5).round(2)) >= 0).all()
    assert (found.n_open, found.n_seen, found.whole) == (2, 6, True)


def test_among_equals_the_top_of_the_ranking_comes_first():
    found = ask([0.0, 1.0, 5.0, 6.0], [1.0] * 4)
    assert found.upper.tolist()[:2] == [3, 1] and found.lower.tolist()[:2] == [2, 0]


def test_what_is_settled_is_not_asked():
    found = ask([9.0, 0.0, -9.0], [0.1, 0.1, 0.1])
    assert len(found.upper) == 0 and found.n_open == 0 and found.n_seen == 3


def test_items_of_different_groups_are_not_compared():
    group = np.array([0, 1, 0, 1, 0])
    found = ask([5.0, 4.9, 4.8, 4.7, 4.6], [1.0] * 5, group=group)
    assert found.n_seen == 3 + 1
    assert (group[found.upper] == group[found.lower]).all() and len(found.upper)


def test_of_many_items_neighbours_within_their_group_are_looked_at():
    group = np.arange(1000) % 3
    found = ask(np.linspace(9, -9, 1000), [1.0] * 1000, group=group)
    assert not found.whole and found.n_seen < 1000 * 10
    assert (group[found.upper] == group[found.lower]).all() and len(found.upper) == 15


def test_no_item_comes_up_more_than_twice():
    found = ask(np.zeros(12), [5.0] + [1.0] * 11)
    assert np.bincount(np.concatenate([found.upper, found.lower])).max() == 2


def test_without_errors_the_nearest_scores_come_first():
    found = ask([2.0, 1.0, 0.9], [np.nan] * 3)
    assert (found.upper[0], found.lower[0]) == (1, 2)
    assert np.isnan(found.above).all()


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_ask(n):
    assert len(ask(np.zeros(n), np.ones(n)).upper) == 0


def test_order_of_items_does_not_matter():
    rng = np.random.default_rng(0)
    scores, errors = rng.normal(size=30), rng.uniform(0.2, 1, 30)
    turn = rng.permutation(30)
    one, other = ask(scores, errors), ask(scores[turn], errors[turn])
    assert one.upper.tolist() == turn[other.upper].tolist()
    assert one.above == pytest.approx(other.above)


def contest(wins):
    """Votes on pairs (a, b), (c, d), …: so many for either item."""
    left, right, who, won = [], [], [], []
    for k, (first, second) in enumerate(wins):
        for v in range(first + second):
            left.append(f"{2 * k:02d}")
            right.append(f"{2 * k + 1:02d}")
            who.append(v)
            won.append(float(v < first))
    return jr.Comparisons.from_arrays(left, right, who, won)


def test_the_evenest_split_comes_first_and_nothing_else_counts():
    votes = contest([(10, 0), (30, 31), (50, 500), (1, 1), (3, 2), (2, 2), (27, 14)])
    scores = np.zeros(votes.n_items)
    scores[::2] = 1.0  # for the first of each pair
    found = contested_pairs(votes, scores)
    assert found.first.tolist() == [10, 2, 8] and found.second.tolist() == [11, 3, 9]
    assert found.for_first.tolist() == [2, 30, 3] and found.for_second.tolist() == [2, 31, 2]
    assert (found.n_overruled, found.n_pairs) == (2, 7)


def test_of_equally_even_pairs_the_one_with_more_votes_comes_first():
    found = contested_pairs(contest([(2, 2), (9, 9), (3, 3)]), np.zeros(6))
    assert found.for_first.tolist() == [9, 3, 2]


def test_no_item_is_contested_more_than_three_times():
    left, right = ["a"] * 24, [f"b{i}" for i in range(6) for _ in range(4)]
    votes = jr.Comparisons.from_arrays(left, right, list(range(24)), [1.0, 0.0] * 12)
    assert len(contested_pairs(votes, np.zeros(7)).first) == 3


def test_ties_do_not_count_and_pairs_without_decided_votes_are_passed_over():
    votes = jr.Comparisons.from_arrays(list("aab"), list("bbc"), list("xyx"), [1, 0, 0.5])
    found = contested_pairs(votes, np.zeros(3), least=2)
    assert found.first.tolist() == [0] and (found.n_overruled, found.n_pairs) == (0, 1)
