"""Fit, check, next and plan say the same of what the votes tell of the order, and which way round it is."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.report import Analysis, describe, findings


def votes_of(wins: int, losses: int, n_annotators: int) -> jr.Comparisons:
    """Return votes on one pair, those for either item dealt to the annotators in turn."""
    won = np.repeat([1.0, 0.0], [wins, losses])
    names = [f"a{k % n_annotators}" for k in range(len(won))]
    return jr.Comparisons.from_arrays(["x"] * len(won), ["y"] * len(won), names, won)


@pytest.mark.parametrize("n_annotators", [1, 2, 3, 10, 30])
def test_fit_check_and_next_agree_on_a_significant_order(n_annotators: int) -> None:
    votes = votes_of(154, 117, n_annotators)
    auto = jr.Auto().fit(votes)
    assert auto.chosen_ == "BradleyTerry"
    health, status = jr.check(votes), jr.Chooser(votes, repeats=True).status()
    told = findings(Analysis(auto.result_, votes))
    assert health.settled and not health.reasons
    assert "The order of the two items is certain (probability of at least 97.5 %)." in told
    assert status.state == "reached" and not status.sign_open
    assert abs(1 - health.measures["expected_accuracy"] - status.expected_error) < 0.02
    assert not [line for line in [*told, *health.sentences] if "from random" in line]


def test_an_open_order_is_no_reason_not_to_rank() -> None:
    votes = votes_of(105, 95, 20)
    (found,) = (one for one in jr.check(votes).findings if one.about == "sign")
    assert found.level == "note" and "cannot be distinguished from random ones" in found.sentence


def test_fit_compares_no_models_where_compare_refuses_to() -> None:
    votes = votes_of(154, 117, 10)
    assert jr.Auto().fit(votes).reason_.endswith("are on one pair; a comparison needs votes on several pairs.")
    with pytest.raises(InputError, match="all on one pair"):
        jr.selection.compare(votes)


def test_next_asks_about_two_items_for_their_own_order() -> None:
    chooser = jr.Chooser(votes_of(154, 117, 10), repeats=True, explore=0.0, target=0.001, random_state=0)
    assert not [one for one in chooser.batch(5) if "order of others" in one.why]


def opposed(seed: int) -> jr.Comparisons:
    """Return the votes of two judges of whom one always says the opposite of the other."""
    rng, rows = np.random.default_rng(300 + seed), []
    score = np.sort(rng.standard_normal(10) * 1.5)[::-1]
    for _ in range(150):
        i, j = rng.choice(10, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(2 * (score[j] - score[i])))
        rows += [(f"x{i}", f"x{j}", "one", float(won)), (f"x{i}", f"x{j}", "other", float(not won))]
    return jr.Comparisons.from_arrays(*zip(*rows, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_claimed_while_annotators_balance_each_other(seed: int) -> None:
    votes = opposed(seed)
    health = jr.check(votes)
    assert "annotators vote against each other with about equal weight" in health.reasons[0]
    assert "expected_accuracy" not in health.measures and not [
        one for one in health.findings if one.about == "planning"
    ]
    chooser = jr.Chooser(votes, random_state=0)
    status = chooser.status()
    assert (status.state, status.obstacle, status.expected_error) == ("futile", "opposed", 0.5)
    assert status.votes_needed is None and "ask a further annotator" in status.reason
    plan = chooser.plan(runs=2)
    assert plan.votes_needed is None and plan.error.tolist() == [0.5]
    auto = jr.Auto().fit(votes)
    report = describe(Analysis(auto.result_, votes), "x", {})
    told = [line for lines in report.summary.values() for line in lines] + [line for _, line in report.health]
    assert any("Orientation open" in line for line in told) and report.ask_next is None
    assert not [line for line in told if "right order" in line or "first rank, " in line or "are needed" in line]


def test_votes_of_a_further_annotator_or_gold_help_where_two_balance_each_other() -> None:
    votes = opposed(0)
    asked = jr.Chooser(votes, annotators=["new"], random_state=0).status()
    assert (asked.state, asked.obstacle) == ("go", "opposed")
    told = jr.Chooser(votes, gold=[("x0", "x9")], random_state=0).status()
    assert not told.sign_open and not told.obstacle
    assert not jr.Chooser(votes, trusted=["one"], random_state=0).status().obstacle


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_coins_are_called_so_by_fit_check_and_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(15, 2, replace=False) for _ in range(300)])
    votes = jr.Comparisons.from_arrays(
        pairs[:, 0], pairs[:, 1], rng.integers(0, 6, 300), rng.integers(0, 2, 300) / 1.0
    )
    health, status = jr.check(votes), jr.Chooser(votes, random_state=0).status()
    (found,) = (one for one in health.findings if one.about == "sign")
    assert "cannot be distinguished from random ones" in found.sentence
    assert not [one for one in health.findings if one.about == "planning"]
    assert (status.state, status.obstacle, status.votes_needed) == ("futile", "random", None)
    assert status.reason.startswith(found.sentence.rstrip("."))
    for model in (jr.BradleyTerry(), jr.CrowdBT(), jr.JAM()):
        analysis = Analysis(model.fit(votes).result_, votes)
        told = findings(analysis)
        assert found.sentence in told and not [line for line in told if "are needed" in line]
        assert not [line for line in analysis.health.sentences if "right order" in line]


def test_the_shares_that_may_be_right_are_shares() -> None:
    """Two careful judges, and one as heavy as half of both who is inverted."""
    votes = jr.simulate(20, 5, 900, flips=[0.15, 0.15, 0.15, 0.85, 0.85], random_state=1).votes
    (found,) = (one for one in jr.check(votes).findings if one.about == "sign")
    assert "±" not in found.sentence


def families(seed: int) -> jr.Comparisons:
    """Return votes of seven and five annotators with unrelated tastes."""
    rng, rows = np.random.default_rng(5000 + seed), []
    one = np.sort(rng.standard_normal(12) * 1.5)[::-1]
    other = one[rng.permutation(12)]
    for _ in range(1500):
        i, j = rng.choice(12, 2, replace=False)
        who = int(rng.integers(12))
        score = one if who < 7 else other
        rows.append((i, j, who, float(rng.random() < 1 / (1 + np.exp(2 * (score[j] - score[i]))))))
    return jr.Comparisons.from_arrays(*zip(*rows, strict=True))


def test_check_claims_no_accuracy_where_annotators_differ_in_taste() -> None:
    health = jr.check(families(1))
    (found,) = (one for one in health.findings if one.about == "tastes")
    assert found.level == "note" and "differ in taste" in found.sentence
    assert "expected_accuracy" not in health.measures and not [
        one for one in health.findings if one.about == "planning"
    ]
    alike = jr.simulate(12, 12, 1500, truth="vote", random_state=3).votes
    assert not [one for one in jr.check(alike).findings if one.about == "tastes"]
