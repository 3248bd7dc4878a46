from __future__ import annotations

import numpy as np
import pytest

from jamrank.comparisons import FIRST
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
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ParameterError):
        simulate(**arguments)
