from __future__ import annotations

from itertools import combinations

import click
import numpy as np
import pytest
from scipy.special import ndtr

import jamrank as jr
from jamrank.cli import main
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.planning import expected_accuracy, more_votes, score_errors
from jamrank.diagnostics.target import TARGET_ERROR
from jamrank.studio.study import Study


def test_nothing_known_is_a_coin_toss_and_certainty_is_certain():
    assert expected_accuracy(np.zeros(5), np.ones(5), 1.0) == pytest.approx(0.5)
    assert expected_accuracy(np.arange(5.0), np.full(5, 1e-3), 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize(("variance", "times"), [(1.0, 0.0), (None, 0.2), (1.0, 1.5), (None, 50.0)])
def test_accuracy_is_the_mean_over_later_estimates(variance, times):
    rng = np.random.default_rng(5)
    scores, se = rng.normal(0, 1, 12), rng.uniform(0.1, 0.6, 12)
    prior = 0.0 if variance is None else 1.0 / variance
    later = 1 / (prior + (1 / se**2 - prior) * (1 + times))
    normal, right = np.linspace(-9, 9, 20_001), []
    for one, other in combinations(range(12), 2):
        spread = np.sqrt(max(se[one] ** 2 + se[other] ** 2 - later[one] - later[other], 0.0))
        estimate = scores[one] - scores[other] + spread * normal
        right.append(ndtr(np.abs(estimate) / np.sqrt(later[one] + later[other])))
    brute = np.average(np.mean(right, axis=0), weights=np.exp(-(normal**2) / 2))
    # Given are errors of distances from the mean of all items.
    assert expected_accuracy(scores, np.sqrt(11 / 12) * se, variance, times) == pytest.approx(brute, abs=1e-6)


def test_accuracy_of_two_items_is_the_probability_of_their_order():
    won = np.arange(300) < 163
    model = jr.BradleyTerry().fit(jr.Comparisons.from_arrays([0] * 300, [1] * 300, [0] * 300, won.astype(float)))
    se = score_errors(model.result_)
    found = expected_accuracy(model.scores_, se, model.result_.scores.score_variance)
    # Both are at the same distance from their mean: the error of the difference is twice that of each.
    assert found == pytest.approx(ndtr(abs(model.scores_).sum() / se.sum()), abs=1e-6)
    assert found == pytest.approx(0.93, abs=0.01)


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


def plan_of(votes, **given):
    return next(one.sentence for one in jr.check(votes, **given).findings if one.about == "planning")


def test_unanimous_votes_on_all_pairs_need_no_more():
    rows = [(left, right, who) for who in "xyz" for left, right in ("ab", "ac", "bc")] * 8
    votes = jr.Comparisons.from_arrays(*zip(*rows, strict=True), [1.0] * len(rows))
    assert not any("more votes" in one.sentence for one in jr.check(votes).findings)
    assert "meets the target" in plan_of(votes, model=jr.CrowdBT().fit(votes))


def test_new_pairs_and_questions_are_advised_only_where_there_are_some():
    drawn = jr.simulate(n_items=5, n_annotators=4, n_votes=200, truth="pair", random_state=0).votes
    assert drawn.n_pairs == 10
    sentence = plan_of(drawn, model=jr.JAM().fit(drawn), target=0.999)
    assert "new" not in sentence and "more votes" not in sentence
    drawn = jr.simulate(n_items=20, n_annotators=4, n_votes=100, truth="pair", random_state=0).votes
    assert plan_of(drawn, model=jr.JAM().fit(drawn)).endswith("more votes like these, on new pairs.")


def test_check_next_plan_and_studio_have_one_default_target():
    context = click.Context(main)
    commands = [main.get_command(context, name) for name in ("check", "next", "plan")]
    defaults = [option.default for one in commands for option in one.params if option.name == "target"]
    drawn = jr.simulate(n_items=5, n_annotators=2, n_votes=40, random_state=0).votes
    chosen = [Examination(drawn).target, 1 - jr.Chooser(drawn).target, 1 - Study().target]
    assert [defaults[0], 1 - defaults[1], 1 - defaults[2], *chosen] == [1 - TARGET_ERROR] * 6
