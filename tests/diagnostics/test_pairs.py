import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.diagnostics import contested_pairs, unsettled_pairs


def ask(scores, errors, **settings):
    scores = np.array(scores)
    return unsettled_pairs(scores, np.array(errors), lambda a, b: expit(scores[a] - scores[b]), **settings)


def test_the_least_known_of_the_closest_come_first():
    found = ask([3.0, 2.9, 0.0, -0.1], [0.1, 0.1, 1.0, 1.0])
    assert (found.upper[0], found.lower[0]) == (2, 3)
    assert (found.upper[1], found.lower[1]) == (0, 1)
    assert found.chance[0] == pytest.approx(expit(0.1))
    assert 0.4 < found.doubt[0] < 0.5


def test_what_is_settled_is_not_asked():
    found = ask([9.0, 0.0, -9.0], [0.1, 0.1, 0.1])
    assert len(found.upper) == 0


def test_no_item_comes_up_more_than_twice():
    found = ask(np.zeros(12), [5.0] + [1.0] * 11)
    assert np.bincount(np.concatenate([found.upper, found.lower])).max() == 2


def test_without_errors_the_evenest_come_first():
    found = ask([2.0, 1.0, 0.9], [np.nan] * 3)
    assert (found.upper[0], found.lower[0]) == (1, 2)
    assert np.isnan(found.doubt).all()


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_ask(n):
    assert len(ask(np.zeros(n), np.ones(n)).upper) == 0


def test_order_of_items_does_not_matter():
    rng = np.random.default_rng(0)
    scores, errors = rng.normal(size=30), rng.uniform(0.2, 1, 30)
    turn = rng.permutation(30)
    one, other = ask(scores, errors), ask(scores[turn], errors[turn])
    assert one.upper.tolist() == turn[other.upper].tolist()
    assert one.doubt == pytest.approx(other.doubt)


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


def test_many_votes_near_an_even_split_come_first():
    votes = contest([(10, 0), (30, 31), (50, 500), (1, 1), (3, 2)])
    found = contested_pairs(votes, np.array([0.9, 0.9, 0.1, 0.5, 0.8]))
    assert found.pair.tolist() == [1, 2, 4, 3]
    assert found.for_first.tolist() == [30, 50, 3, 1] and found.for_second.tolist() == [31, 500, 2, 1]
    assert found.n_overruled == 1


def test_ties_do_not_count_and_pairs_without_decided_votes_are_passed_over():
    votes = jr.Comparisons.from_arrays(list("aab"), list("bbc"), list("xyx"), [1, 0, 0.5])
    found = contested_pairs(votes, np.array([0.5, 0.5]))
    assert found.pair.tolist() == [0] and found.n_overruled == 0
