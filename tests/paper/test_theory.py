from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.paper import best_rule_accuracy, majority_accuracy

chances = st.floats(0, 1)
crowds = st.lists(chances, min_size=1, max_size=6)


def patterns(flips: list[float]):
    """Yield who is right in each of the 2^K cases, how likely it is, and how likely its reverse is."""
    for right in product([False, True], repeat=len(flips)):
        likely = prod(1 - b if good else b for b, good in zip(flips, right, strict=True))
        reverse = prod(b if good else 1 - b for b, good in zip(flips, right, strict=True))
        yield right, likely, reverse


def close(value: float):
    return pytest.approx(value, abs=1e-12)


@given(crowds)
def test_majority_is_the_sum_over_all_patterns(flips):
    share = {True: 1.0, False: 0.0}
    total = 0.0
    for right, likely, _ in patterns(flips):
        excess = 2 * sum(right) - len(flips)
        total += likely * (0.5 if excess == 0 else share[excess > 0])
    assert majority_accuracy(flips) == close(total)


@given(crowds)
def test_the_best_rule_is_right_where_what_it_takes_for_likelier_is_true(flips):
    credit = {True: 1.0, False: 0.0}
    total = sum(
        likely * (0.5 if likely == reverse else credit[likely > reverse]) for _, likely, reverse in patterns(flips)
    )
    assert best_rule_accuracy(flips) == close(total)


@given(crowds)
def test_nothing_beats_the_best_rule(flips):
    best = best_rule_accuracy(flips) + 1e-12
    assert best >= majority_accuracy(flips)
    assert best >= max(max(b, 1 - b) for b in flips)


@given(chances)
def test_one_annotator(b):
    assert majority_accuracy([b]) == close(1 - b)
    assert best_rule_accuracy([b]) == close(max(b, 1 - b))
    assert best_rule_accuracy([b]) == close(best_rule_accuracy([1 - b]))


@given(crowds, st.integers(0, 5))
def test_who_always_says_the_opposite_is_as_good_as_who_is_right(flips, place):
    turned = [1 - b if k == place else b for k, b in enumerate(flips)]
    assert best_rule_accuracy(turned) == close(best_rule_accuracy(flips))


@given(chances)
def test_three_of_a_kind(b):
    assert majority_accuracy([b] * 3) == close((1 - b) ** 3 + 3 * b * (1 - b) ** 2)


@given(crowds, st.permutations(range(6)))
def test_the_order_of_annotators_does_not_matter(flips, order):
    shuffled = [flips[k] for k in order if k < len(flips)]
    assert majority_accuracy(shuffled) == close(majority_accuracy(flips))
    assert best_rule_accuracy(shuffled) == close(best_rule_accuracy(flips))


def test_the_papers_annotators():
    flips = [k / 20 for k in range(1, 7)]
    assert majority_accuracy(flips) == pytest.approx(0.96366, abs=5e-6)
    assert best_rule_accuracy(flips) == pytest.approx(0.98254, abs=5e-6)
    # None of the first three outweighs the other two.
    assert best_rule_accuracy(flips[:3]) == close(majority_accuracy(flips[:3]))
    assert best_rule_accuracy(flips) > majority_accuracy(flips) + 0.01


def test_coins_know_nothing():
    assert majority_accuracy([0.5] * 4) == close(0.5)
    assert best_rule_accuracy([0.5] * 4) == close(0.5)
