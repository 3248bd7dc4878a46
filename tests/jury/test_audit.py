from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from jamrank.collect import Annotator, open_ledger
from jamrank.errors import LedgerError
from jamrank.inference.effects import logistic_effects, wilson
from jamrank.jury import RandomPlan, ask_all, audit, audit_ledger
from jamrank.jury.audit import _position
from jamrank.jury.simulated import SimulatedJudge
from tests.jury.conftest import make_contents


def votes_of(
    judge: SimulatedJudge, contents, seed: str, both_orders: bool = False, share: float = 1.0
) -> pl.DataFrame:
    """The votes of a simulated judge without a server, as a ledger would have them."""
    plan = RandomPlan(contents, [judge.name], seed, both_orders=both_orders)
    tasks = plan.take({judge.name: int(share * contents.n_comparisons * (1 + both_orders))})
    rows = []
    for task in tasks:
        left, right = contents.pair(task)
        winner = "left" if '"left"' in judge.say(task.question, left.text, right.text) else "right"
        rows.append((judge.name, task.left, task.right, winner, task.question))
    return pl.DataFrame(rows, schema=["annotator", "left", "right", "winner", "question"], orient="row")


def audited(judges, contents, seed="1", people=(), **settings):
    votes = pl.concat([votes_of(judge, contents, seed, **settings) for judge in (*judges, *people)])
    annotators = [Annotator(j.name, "model", details={"family": j.family} if j.family else {}) for j in judges]
    annotators += [Annotator(person.name) for person in people]
    return audit(votes, list(contents.by_place.values()), annotators, {judge.name: 3.0 for judge in judges})


def test_biases_are_found_with_their_sign():
    contents = make_contents(6, 40, spread=0.4)
    judges = [
        SimulatedJudge("fair", scale=2.0, seed=1),
        SimulatedJudge("left", scale=2.0, left_bias=1.0, seed=2),
        SimulatedJudge("long", scale=2.0, verbosity=1.0, seed=3),
        SimulatedJudge("kin", scale=2.0, favour=1.0, family="ours", seed=4),
        SimulatedJudge("coin", flip=0.5, seed=5),
    ]
    frame = audited(judges, contents, both_orders=True)
    rows = {row["judge"]: row for row in frame.iter_rows(named=True)}
    assert rows["left"]["left_low"] > 0.5
    assert rows["fair"]["left_low"] < 0.5 < rows["fair"]["left_high"]
    assert rows["long"]["longer_low"] > 0.3
    assert rows["kin"]["own_family_low"] > 0.3
    assert rows["fair"]["own_family"] is None  # it has no family
    assert rows["left"]["order_changed"] > rows["fair"]["order_changed"]
    assert rows["fair"]["both_orders"] == contents.n_comparisons
    assert rows["coin"]["bits_per_vote"] < 0.05 < rows["fair"]["bits_per_vote"]
    assert rows["coin"]["cost_per_bit"] is None or rows["coin"]["cost_per_bit"] > rows["fair"]["cost_per_bit"]


def test_agreement_is_the_share_of_people_s_votes_on_the_same_comparisons():
    contents = make_contents(4, 10)
    judge, person = SimulatedJudge("j", scale=1.0, seed=1), SimulatedJudge("p", scale=1.0, seed=2)
    frame = audited([judge], contents, people=[person])
    (row,) = frame.to_dicts()

    def winners(who):
        frame = votes_of(who, contents, "1")
        return {
            (frozenset((left, right)), question): left if winner == "left" else right
            for _, left, right, winner, question in frame.rows()
        }

    a, b = winners(judge), winners(person)
    assert row["people"] == len(a) == 60
    assert row["agreement"] == pytest.approx(np.mean([a[key] == b[key] for key in a]))
    assert row["agreement_low"] < row["agreement"] < row["agreement_high"]


@pytest.mark.parametrize("judge", [SimulatedJudge("one", scale=3.0), SimulatedJudge("flipped", flip=1.0)])
def test_one_judge_and_two_items(judge):
    contents = make_contents(2, 30)
    frame = audited([judge], contents)
    assert frame.height == 1
    assert frame["votes"].to_list() == [30]


def test_a_judge_that_always_says_left():
    contents = make_contents(3, 20)
    (row,) = audited([SimulatedJudge("l", scale=0.0, left_bias=50.0)], contents, both_orders=True).to_dicts()
    assert (row["left_share"], row["order_changed"]) == (1.0, 1.0)
    assert row["left_high"] == 1.0


def coverage(n_seeds: int) -> float:
    inside = []
    for seed in range(n_seeds):
        contents = make_contents(6, 12, spread=0.5, seed=seed)
        for bias, flip in ((0.0, 0.0), (0.8, 0.1), (-0.5, 0.0), (0.3, 0.5)):
            judge = SimulatedJudge("j", scale=1.5, left_bias=bias, flip=flip, seed=seed)
            row = _position(votes_of(judge, contents, str(seed), share=0.7))
            pairs = contents.comparisons()
            text = {place: item.text for place, item in contents.by_place.items()}
            p = [judge.p_left(text[x, q], text[y, q]) for a, b, q in pairs for x, y in ((a, b), (b, a))]
            inside.append(row["left_low"] <= np.mean(p) <= row["left_high"])
    return float(np.mean(inside))


def test_the_interval_of_the_side_bias_holds_it():
    assert coverage(8) >= 28 / 32


@pytest.mark.long
def test_the_interval_of_the_side_bias_holds_it_over_fifty_seeds():
    assert coverage(50) >= 0.92


def test_a_ledger_without_judges_says_so(tmp_path):
    with open_ledger(tmp_path / "l.db") as ledger:
        ledger.answer(ledger.lease("person", "x", "y").id, "left")
        with pytest.raises(LedgerError, match="no judge has voted yet"):
            audit_ledger(ledger)


def test_the_audit_of_a_ledger_counts_what_was_no_vote(ledger_url):
    from jamrank.jury import Judge

    replies = iter(["left", "refuse", "who knows", "tie"] * 10)
    contents = make_contents(4, 4)
    judge = Judge("a", lambda prompt: next(replies), 0.5, family="ours", concurrency=1)
    with open_ledger(ledger_url) as ledger:
        ask_all(ledger, [judge], contents, RandomPlan(contents, ["a"], "1"))
        (row,) = audit_ledger(ledger).to_dicts()
    assert (row["votes"], row["ties"], row["refused"], row["unparsable"]) == (12, 6, 6, 6)
    assert row["cost"] == pytest.approx(12.0)


def test_logistic_effects_are_those_of_a_known_regression():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(4000), rng.normal(size=(4000, 2))])
    truth = np.array([0.4, 1.0, -0.7])
    outcome = (rng.random(4000) < 1 / (1 + np.exp(-design @ truth))).astype(float)
    effect, error = logistic_effects(design, outcome, np.arange(4000))
    assert np.all(np.abs(effect - truth) < 4 * error)
    p = 1 / (1 + np.exp(-design @ effect))
    # At the maximum the score is zero (but for the weak prior), and the robust error is near the model's own.
    assert np.allclose(design.T @ (outcome - p), 0.01 * effect, atol=1e-6)
    information = (design * (p * (1 - p))[:, None]).T @ design
    assert np.allclose(error, np.sqrt(np.diag(np.linalg.inv(information))), rtol=0.1)


def test_separated_and_confounded_columns_do_not_break_the_regression():
    x = np.repeat([-1.0, 1.0], 20)
    effect, error = logistic_effects(np.column_stack([np.ones(40), x]), (x > 0).astype(float), np.arange(40))
    assert np.isfinite(effect).all() and effect[1] > 2
    _, error = logistic_effects(np.column_stack([x, x]), (x > 0).astype(float), np.arange(40))
    assert error.shape == (2,)


def test_wilson_is_the_textbook_interval():
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (None, None)
    assert wilson(0, 10)[0] == 0.0
    assert math.isclose(wilson(5, 10)[0], 1 - wilson(5, 10)[1])
