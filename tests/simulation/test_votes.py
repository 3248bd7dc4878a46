from __future__ import annotations

import numpy as np
import pytest

from jamrank.data.storage import FIRST, TIE
from jamrank.errors import ParameterError
from jamrank.simulation import simulate


def arrays(drawn) -> list[bytes]:
    votes = drawn.votes
    return [
        a.tobytes()
        for a in (votes.pair_first, votes.vote_annotator, votes.vote_result, votes.vote_weight, drawn.scores)
    ]


def test_every_item_and_annotator_appears_with_its_truth():
    drawn = simulate(12, 5, 300, n_features=3, random_state=0)
    assert (drawn.votes.n_items, drawn.votes.n_annotators, drawn.votes.n_votes) == (12, 5, 300)
    assert (drawn.scores.shape, drawn.flips.shape, drawn.features.shape) == ((12,), (5,), (12, 3))
    assert simulate(12, 5, 300).features is None


@pytest.mark.parametrize(("n_items", "n_annotators", "n_votes"), [(2, 1, 1), (50, 40, 7), (2, 30, 100), (1000, 3, 1)])
def test_truths_are_aligned_with_what_was_voted_on_even_when_votes_are_few(n_items, n_annotators, n_votes):
    drawn = simulate(n_items, n_annotators, n_votes, n_features=2, random_state=1)
    assert drawn.votes.n_votes == n_votes
    assert len(drawn.scores) == len(drawn.features) == drawn.votes.n_items
    assert len(drawn.flips) == drawn.votes.n_annotators


def test_the_same_seed_draws_the_same_votes_and_another_seed_others():
    assert arrays(simulate(random_state=3)) == arrays(simulate(random_state=3))
    assert arrays(simulate(random_state=3)) != arrays(simulate(random_state=4))
    rng = np.random.default_rng(3)
    assert arrays(simulate(random_state=rng)) != arrays(simulate(random_state=rng))


def agreement(drawn) -> np.ndarray:
    """Share of each annotator's votes that agree with the true order."""
    votes = drawn.votes
    gap = (drawn.scores[votes.pair_first] - drawn.scores[votes.pair_second])[votes.vote_pair]
    right = (votes.vote_result == FIRST) == (gap > 0)
    total = np.bincount(votes.vote_annotator, votes.vote_weight)
    return np.bincount(votes.vote_annotator, votes.vote_weight * right) / total


def test_annotators_err_as_often_as_their_flips_say():
    flips = [0.0, 0.1, 0.3, 0.5, 0.9]
    drawn = simulate(40, 5, 20_000, flips=flips, spread=1000.0, random_state=5)
    np.testing.assert_allclose(1 - agreement(drawn), flips, atol=0.03)
    assert drawn.flips.tolist() == flips


def test_close_items_are_confused_even_by_perfect_annotators():
    near, far = (simulate(40, 1, 5000, flips=[0.0], spread=s, random_state=6) for s in (0.2, 20.0))
    assert agreement(near)[0] < 0.65 < 0.95 < agreement(far)[0]


def test_without_flips_every_tenth_annotator_is_an_adversary():
    flips = simulate(20, 40, 1000, random_state=7).flips
    assert (flips[9::10] == 0.8).all()
    assert np.delete(flips, np.s_[9::10]).mean() == pytest.approx(0.2, abs=0.06)


def test_spread_is_the_standard_deviation_of_the_scores():
    assert simulate(5000, 1, 6000, spread=3.0, random_state=8).scores.std() == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_features_explain_four_fifths_of_the_scores(seed):
    drawn = simulate(4000, 1, 5000, spread=2.0, n_features=3, random_state=seed)
    design = np.column_stack([np.ones(4000), drawn.features])
    left_over = drawn.scores - design @ np.linalg.lstsq(design, drawn.scores, rcond=None)[0]
    assert 1 - left_over.var() / drawn.scores.var() == pytest.approx(0.8, abs=0.05)
    assert drawn.scores.std() == pytest.approx(2.0, rel=0.1)


def test_ties_are_drawn_at_their_rate():
    drawn = simulate(20, 5, 5000, tie_rate=0.2, random_state=9)
    assert drawn.votes.n_ties / 5000 == pytest.approx(0.2, abs=0.02)
    assert simulate(20, 5, 5000, random_state=9).votes.n_ties == 0


def test_a_bias_shows_in_how_often_the_left_is_chosen():
    drawn = simulate(20, 3, 12_000, flips=[0.2] * 3, noise="two-coin", bias=[-1.0, 0.0, 1.0], random_state=10)
    shares = [
        (drawn.frame.filter(drawn.frame["annotator"] == f"ann{k}")["winner"] == "left").mean() for k in range(3)
    ]
    assert shares[0] < 0.45 < shares[1] < 0.55 < shares[2]
    assert drawn.bias.tolist() == [-1.0, 0.0, 1.0]


def test_discrimination_is_how_sharply_annotators_tell_items_apart():
    drawn = simulate(20, 3, 12_000, noise="discrimination", discrimination=[2.0, 0.0, -1.0], random_state=11)
    assert drawn.discrimination.tolist() == [2.0, 0.0, -1.0]
    right = agreement(drawn)
    assert right[0] > 0.85 and right[1] == pytest.approx(0.5, abs=0.03) and right[2] < 0.25
    assert np.abs(simulate(noise="discrimination", random_state=0).discrimination).mean() == pytest.approx(1.0)


def test_ties_are_likelier_the_closer_two_items_are():
    drawn = simulate(20, 2, 8000, ties=[0.2, 1.0], random_state=12)
    votes = drawn.votes
    gap = np.abs(drawn.scores[votes.pair_first] - drawn.scores[votes.pair_second])[votes.vote_pair]
    tied = votes.vote_result == TIE
    near, who = gap < np.median(gap), votes.vote_annotator

    def share(chosen: np.ndarray) -> float:
        return float(np.average(tied[chosen], weights=votes.vote_weight[chosen]))

    assert share(near) > 1.3 * share(~near)
    assert share(who == 1) > 2 * share(who == 0)


def test_flips_may_depend_on_the_cluster_of_the_pair():
    flips = np.array([[0.0, 0.4], [0.4, 0.0]])
    drawn = simulate(20, 2, 4000, flips=flips, noise="clustered flip", n_features=2, random_state=13)
    assert drawn.flips.shape == (2, 2)
    assert simulate(20, 2, 4000, noise="none", spread=1000.0, random_state=13).votes.n_votes == 4000


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_items": 1},
        {"n_annotators": 0},
        {"n_votes": 0},
        {"flips": [0.1, 0.2]},
        {"flips": [0.1] * 9 + [1.5]},
        {"flips": [0.1] * 9 + [-0.1]},
        {"flips": [0.1] * 9 + [np.nan]},
        {"tie_rate": 1.5},
        {"tie_rate": -0.1},
        {"n_features": -1},
        {"spread": float("nan")},
        {"noise": "loud"},
        {"noise": "clustered flip"},
        {"noise": "two-coin", "bias": [1.0]},
        {"noise": "discrimination", "discrimination": [0.0] * 10},
        {"ties": [-1.0] * 10},
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ParameterError):
        simulate(**arguments)


@pytest.mark.parametrize("size", [{"n_items": 10**60}, {"n_votes": 2**31}, {"n_items": 10**6, "n_features": 10**4}])
def test_sizes_that_no_array_can_have_are_refused(size):
    with pytest.raises(ParameterError, match="expected less than 2³¹"):
        simulate(**size)
