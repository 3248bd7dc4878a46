from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm

from jamrank.errors import ParameterError
from jamrank.inference import GroupShare, group_share, rank_groups


def complete(in_a: np.ndarray, in_b: np.ndarray):
    """Return every pair between two groups of scores, the verdicts by the scores, and the members."""
    scores = np.concatenate([in_a, in_b])
    first, second = np.array(list(product(range(len(in_a)), range(len(in_a), len(scores))))).T
    verdict = np.heaviside(scores[first] - scores[second], 0.5)
    return first, second, verdict, np.arange(len(scores)) < len(in_a)


def scattered(seed: int = 0, n_items: int = 14, n_pairs: int = 40):
    """Return pairs in no order, within and between groups, some of them more than once."""
    rng = np.random.default_rng(seed)
    first = rng.integers(n_items, size=n_pairs)
    second = (first + rng.integers(1, n_items, size=n_pairs)) % n_items
    return first, second, rng.choice([0.0, 0.2, 0.5, 1.0], n_pairs), rng.permutation(n_items) % 3 == 0


def by_hand(first, second, verdict, member, n_resamples: int = 1000, seed: int = 0) -> list[float]:
    """Return the share in each resample by a plain loop over resamples and pairs, from the same draws."""
    rng = np.random.default_rng(seed)
    a, b = np.flatnonzero(member), np.flatnonzero(~member)
    high, shares = np.repeat([len(a), len(b)], [len(a), len(b)]), []
    for _ in range(n_resamples):
        drawn = rng.integers(high)
        times = np.bincount(np.concatenate([a[drawn[: len(a)]], b[drawn[len(a) :]]]), minlength=len(member))
        above = total = 0.0
        for i, j, p in zip(first, second, verdict, strict=True):
            if member[i] != member[j]:
                above += times[i] * times[j] * (p if member[i] else 1 - p)
                total += times[i] * times[j]
        if total:
            shares.append(above / total)
    return shares


# -- the share ----------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
)
def test_on_complete_scores_the_share_is_that_of_mann_and_whitney(in_a, in_b):
    found = group_share(*complete(np.array(in_a), np.array(in_b)), n_resamples=20)
    largest = len(in_a) * len(in_b)
    assert found.share == pytest.approx(mannwhitneyu(in_a, in_b).statistic / largest)
    assert found.n_pairs == largest


def test_pairs_within_a_group_are_left_out_and_repeated_ones_add_up():
    member = [True, True, False]
    found = group_share([0, 0, 2, 0], [1, 2, 0, 2], [1, 1, 1, 0.5], member)
    assert (found.share, found.n_pairs) == (0.5, 3)


def test_probabilities_give_the_expected_share():
    assert group_share([0, 1], [2, 2], [0.9, 0.2], [True, True, False]).share == pytest.approx(0.55)


@pytest.mark.parametrize("seed", range(5))
def test_which_item_comes_first_changes_nothing(seed):
    first, second, verdict, member = scattered(seed)
    turn = np.random.default_rng(seed).random(len(first)) < 0.5
    verdict = np.round(verdict * 8) / 8  # exact in 1 - verdict
    turned = np.where(turn, second, first), np.where(turn, first, second), np.where(turn, 1 - verdict, verdict)
    assert group_share(*turned, member) == group_share(first, second, verdict, member)


@pytest.mark.parametrize("seed", range(5))
def test_the_other_group_has_the_rest(seed):
    first, second, verdict, member = scattered(seed)
    ours = group_share(first, second, verdict, member, n_resamples=4000)
    theirs = group_share(first, second, verdict, ~member, n_resamples=4000)
    assert theirs.share == pytest.approx(1 - ours.share)
    assert (theirs.low, theirs.high) == pytest.approx((1 - ours.high, 1 - ours.low), abs=0.03)


# -- the interval -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_the_interval_is_that_of_a_plain_loop(seed, level):
    pairs = scattered(seed)
    found = group_share(*pairs, level=level, n_resamples=300, random_state=seed)
    tails = np.quantile(by_hand(*pairs, n_resamples=300, seed=seed), [(1 - level) / 2, (1 + level) / 2])
    assert (found.low, found.high) == pytest.approx(tuple(tails))


def test_resamples_without_a_pair_are_dropped():
    pairs = [0], [9], [1], np.arange(10) < 5
    assert len(by_hand(*pairs, n_resamples=200)) < 150
    assert group_share(*pairs, n_resamples=200) == GroupShare(1.0, 1.0, 1.0, 1)


def test_without_any_resample_left_the_ends_are_unknown():
    pairs = [0], [99], [1], np.arange(100) < 50
    seed = next(seed for seed in range(50) if not by_hand(*pairs, n_resamples=1, seed=seed))
    found = group_share(*pairs, n_resamples=1, random_state=seed)
    assert np.isnan([found.low, found.high]).all()
    assert (found.share, found.n_pairs) == (1.0, 1)


def test_the_interval_does_not_depend_on_how_resamples_are_cut(monkeypatch):
    pairs = scattered()
    whole = group_share(*pairs, n_resamples=101)
    monkeypatch.setattr(rank_groups, "_MOST_NUMBERS", 150)
    assert group_share(*pairs, n_resamples=101) == whole
    monkeypatch.setattr(rank_groups, "_MOST_NUMBERS", 1)
    assert group_share(*pairs, n_resamples=101) == whole


def test_the_random_state_fixes_the_interval():
    pairs = scattered()
    assert group_share(*pairs) == group_share(*pairs, random_state=np.random.default_rng(0))
    assert group_share(*pairs, random_state=1) != group_share(*pairs)


def test_a_higher_level_is_a_wider_interval():
    narrow, wide = (group_share(*scattered(), level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low <= narrow.share <= narrow.high < wide.high


@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_the_interval_covers_a_known_effect_about_as_often_as_it_says(shift):
    rng, truth, covered = np.random.default_rng(7), norm.cdf(shift / np.sqrt(2)), 0
    for k in range(300):
        found = group_share(
            *complete(rng.normal(shift, 1, 25), rng.normal(0, 1, 30)), level=0.9, n_resamples=300, random_state=k
        )
        covered += found.low <= truth <= found.high
    # Binomial with 300 trials: 0.9 ± 3 standard deviations is 0.848 to 0.952.
    assert 0.848 <= covered / 300 <= 0.952


# -- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, float("nan")])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(ParameterError, match="level is"):
        group_share([0], [1], [1], [True, False], level=level)


@pytest.mark.parametrize("n_resamples", [0, -1, 10.0])
def test_a_number_of_resamples_below_one_is_refused(n_resamples):
    with pytest.raises(ParameterError, match="n_resamples is"):
        group_share([0], [1], [1], [True, False], n_resamples=n_resamples)


@pytest.mark.parametrize("pairs", [([0, 2], [1, 2], [1, 1]), ([], [], [])], ids=["within", "none"])
def test_no_pair_between_the_groups_is_refused(pairs):
    with pytest.raises(ParameterError, match="no pair between the groups"):
        group_share(*pairs, [True, True, False])


@pytest.mark.parametrize("verdict", [-0.1, 1.1, float("nan"), 2])
def test_a_verdict_outside_its_range_is_refused(verdict):
    with pytest.raises(ParameterError, match="verdict of pair 1"):
        group_share([0, 0], [1, 1], [1, verdict], [True, False])


def test_a_verdict_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match="not a number"):
        group_share([0], [1], ["left"], [True, False])


@pytest.mark.parametrize(
    "pairs", [([0, 0], [1], [1]), ([0], [1, 1], [1]), ([0], [1], [1, 1]), ([[0]], [[1]], [[1]])], ids=str
)
def test_columns_that_do_not_match_are_refused(pairs):
    with pytest.raises(ParameterError, match="one value for each pair"):
        group_share(*pairs, [True, False])


@pytest.mark.parametrize("code", [2, -1, 0.5, "a"])
def test_what_is_no_code_of_an_item_is_refused(code):
    for first, second in (([0, code], [1, 1]), ([1, 1], [0, code])):
        with pytest.raises(ParameterError, match="below 2"):
            group_share(first, second, [1, 1], [True, False])


@pytest.mark.parametrize("member", [[0, 1], ["a", "b"], [[True, False]]], ids=str)
def test_members_that_are_not_said_by_truth_values_are_refused(member):
    with pytest.raises(ParameterError, match="True or False"):
        group_share([0], [1], [1], member)
