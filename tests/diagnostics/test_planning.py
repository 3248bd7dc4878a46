from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics.planning import expected_accuracy, more_votes


def test_nothing_known_is_a_coin_toss_and_certainty_is_certain():
    assert expected_accuracy(np.zeros(5), np.ones(5), 1.0) == pytest.approx(0.5)
    assert expected_accuracy(np.arange(5.0), np.full(5, 1e-3), 1.0) == pytest.approx(1.0)


def test_more_votes_bring_accuracy_to_the_target():
    rng = np.random.default_rng(0)
    scores, se = rng.normal(0, 0.8, 30), np.full(30, 0.4)
    more = more_votes(scores, se, 1.0, 1000, 0.9)
    assert more is not None and more > 0
    assert expected_accuracy(scores, se, 1.0, more / 1000) == pytest.approx(0.9, abs=1e-3)
    assert more_votes(scores, se, 1.0, 1000, 0.6) == 0
    assert more_votes(np.zeros(4), np.full(4, 1.0), 1.0, 10, 0.99) is None


def test_the_number_of_votes_predicted_is_enough_in_simulation():
    flips = [0.1, 0.2, 0.3, 0.4]
    wanted, found, target = [], [], 0.88

    def draw(n: int, seed: int):
        return jr.simulate(
            n_items=40, n_annotators=4, flips=flips, n_votes=n, truth="vote", random_state=seed, spread=1.0
        )

    for seed in range(4):
        model = jr.CrowdBT(tol=1e-3).fit(draw(800, seed).votes)
        more = more_votes(
            model.scores_, model.uncertainty("information").score_se, model.result_.scores.score_variance, 800, target
        )
        assert more is not None
        wanted.append(more)
    for seed in range(4, 10):
        drawn = draw(800 + int(np.mean(wanted)), seed)
        found.append(jr.CrowdBT(tol=1e-3).fit(drawn.votes).score(drawn.scores, by="scores"))
    assert np.mean(found) == pytest.approx(target, abs=0.03)
