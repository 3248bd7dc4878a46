from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.acquisition import STRATEGIES, Proposals
from jamrank.acquisition import scores as scores_module
from jamrank.acquisition import view as view_module
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.scores import GaussianScores
from jamrank.acquisition.stopping import error_curve, error_of_draws
from jamrank.errors import InputError, ParameterError

ITEMS, ANNOTATORS = [f"i{k}" for k in range(10)], ["ann", "bob", "cat"]


class Crowd:
    """Annotators who answer by a known truth."""

    def __init__(self, n_items=10, flips=(0.05, 0.1, 0.2), spread=2.0, seed=0):
        self.rng = np.random.default_rng(seed)
        self.scores = dict(
            zip([f"i{k}" for k in range(n_items)], spread * self.rng.standard_normal(n_items), strict=True)
        )
        self.flips = dict(zip(ANNOTATORS, flips, strict=False))

    def answer(self, asked):
        flip = self.flips.get(asked.annotator, 0.1)
        better = self.rng.random() < expit(self.scores[asked.left] - self.scores[asked.right])
        says_left = better ^ (self.rng.random() < flip)
        return asked.annotator, asked.left, asked.right, "left" if says_left else "right", asked.question

    def answers(self, assignments):
        return [self.answer(asked) for asked in assignments]


def collected(n_votes=90, **given):
    crowd = Crowd()
    chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, random_state=0, **given)
    for _ in range(n_votes // 15):
        chooser.tell(crowd.answers(chooser.batch(15)))
    return chooser, crowd


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("goal", ["ranking", "top-k", "verdicts"])
def test_it_starts_with_no_votes_at_all(strategy, goal):
    chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, strategy=strategy, goal=goal, k=2, random_state=1)
    assert chooser.status().state == "go"
    for asked in chooser.batch(6):
        assert asked.annotator in ANNOTATORS and asked.left != asked.right
        assert 0 < asked.probability <= 1 and asked.why
    assert len(chooser.open) == 6


def test_two_items_and_one_judge():
    chooser = jr.Chooser(items=["a", "b"], annotators=["judge"], random_state=0)
    asked = chooser.next("judge")
    assert {asked.left, asked.right} == {"a", "b"} and asked.question is None
    chooser.tell([("judge", asked.left, asked.right, "left")])
    assert chooser.next("judge") is None  # asked already, and a judge would only repeat it
    assert chooser.status().state == "go"
    repeating = jr.Chooser([("judge", "a", "b", "left")], repeats=True, random_state=0)
    assert repeating.next("judge") is not None


def test_repeats_come_last_where_they_are_allowed_so():
    votes = [("ann", "a", "b", "left"), ("ann", "a", "c", "left"), ("bob", "a", "b", "left")]
    chooser = jr.Chooser(votes, repeats="last", random_state=0, explore=0.0)
    asked = [(one.annotator, *sorted((one.left, one.right))) for one in chooser.batch(5)]
    assert set(asked[:3]) == {("ann", "b", "c"), ("bob", "a", "c"), ("bob", "b", "c")}
    assert len(asked) == 5
    assert len(jr.Chooser(votes, random_state=0).batch(5)) == 3


def test_pairs_without_a_vote_keep_it_going():
    decided = [(who, "tea", other, "left") for who in ("ann", "bob") for other in ("milk", "cola")] * 10
    chooser = jr.Chooser(decided, random_state=0, explore=0.0)
    status = chooser.status()
    assert status.state == "go" and status.votes_needed is None
    assert "votes on other pairs are needed" in status.reason
    (asked,) = chooser.batch(1)
    assert {asked.left, asked.right} == {"milk", "cola"}
    chooser.tell([("ann", "cola", "milk", "left"), ("bob", "cola", "milk", "left")] * 4)
    assert chooser.status().state == "reached"


def test_groups_without_a_vote_between_them_are_named():
    crowd = Crowd()
    groups = [ITEMS[:5], ITEMS[5:]]
    votes = [
        crowd.answer(jr.Assignment(who, left, right, None, 0, 0, "", ""))
        for who in ANNOTATORS for group in groups for left in group for right in group if left < right
    ]  # fmt: skip
    chooser = jr.Chooser(votes * 8, random_state=0, explore=0.0, repeats=True)
    status, plan = chooser.status(), chooser.plan(runs=4)
    assert "2 groups without a vote between them" in status.reason
    # Half of the orders of 25 of 45 pairs are wrong, whatever the prior says.
    assert (status.state, status.votes_needed) == ("go", None) and status.expected_error >= 25 / 90
    assert plan.error[0] >= 25 / 90 and (plan.votes_needed is None or plan.votes_needed > 0)
    top = jr.Chooser(votes * 8, "top-k", 2, random_state=0).status()
    assert top.state == "go" and top.expected_error == pytest.approx(0.5, abs=0.05)  # it is in either group
    asked = chooser.next("ann")
    assert (asked.left in groups[0]) != (asked.right in groups[0])
    assert asked.why == "joins two groups of items without a vote between them"
    chooser.tell([("ann", "i0", "i9", "left")])
    assert "groups" not in chooser.status().reason


def test_a_small_group_that_can_be_joined_keeps_it_going():
    sure = [("ann", f"i{a:02d}", f"i{b:02d}", "left") for a in range(20) for b in range(a + 1, 20)]
    votes = [*sure * 10, *[("ann", "y", "z", "left")] * 10]
    chooser = jr.Chooser(votes, target=0.3, random_state=0)
    status = chooser.status()
    assert status.expected_error < 0.3 and status.state == "go" and "2 groups" in status.reason
    assert chooser.plan(runs=2, most_votes=40).votes_needed != 0


@pytest.mark.parametrize(("won", "of"), [(52, 100), (50, 100)])
def test_a_plan_for_two_items_begins_at_the_present_error(won, of):
    """An order of equal scores is half wrong."""
    votes = [("unnamed", "a", "b", "left" if k < won else "right") for k in range(of)]
    chooser = jr.Chooser(votes, random_state=0, repeats=True)
    status, plan = chooser.status(), chooser.plan(runs=4, most_votes=20)
    assert plan.error[0] == status.expected_error
    assert plan.votes_needed != 0


def test_only_pairs_that_can_be_asked_count():
    votes = [("ann", f"good {q}", f"bad {q}", "left", f"q{q}") for q in range(60) for _ in range(30)]
    chooser = jr.Chooser(votes, random_state=0, repeats=True)
    status, plan = chooser.status(), chooser.plan(runs=2, most_votes=40)
    assert status.state == "reached" and status.expected_error < 0.05
    assert plan.error[0] < 0.1 and plan.votes_needed == 0


def test_very_many_items_are_asked_within_their_questions(monkeypatch):
    monkeypatch.setattr(view_module, "MOST_DENSE", 5)
    monkeypatch.setattr(scores_module, "MOST_DENSE", 5)
    questions = {f"{q}{k}": q for q in "uvw" for k in range(4)}
    votes = [("ann", "u0", "u1", "left", "u"), ("ann", "v0", "v1", "left", "v")]
    chooser = jr.Chooser(votes, items=list(questions), questions=questions, random_state=0, repeats=True)
    asked = chooser.batch(12)
    assert len(asked) == 12 and all(questions[one.left] == questions[one.right] == one.question for one in asked)


def test_a_top_of_more_items_than_there_are_is_the_largest_that_says_something():
    votes = [("ann", "a", "b", "left")] * 48 + [("ann", "a", "b", "right")] * 32
    status = jr.Chooser(votes, "top-k", random_state=0).status()
    assert status.reason.endswith("Of 2 items the top 1 is meant, not the top 5.")
    assert status.expected_error == pytest.approx(0.04, abs=0.02)
    assert "is meant" not in jr.Chooser(votes, "top-k", 1, random_state=0).status().reason


def clear_votes(n_votes, seed=3):
    rng, scores = np.random.default_rng(seed), {"A": 1.0, "B": 0.8, "C": 0.0, "D": -0.5, "E": -1.0}
    for k in range(n_votes):
        a, b = rng.choice(list(scores), 2, replace=False)
        yield f"u{k % 20}", a, b, "left" if rng.random() < expit(scores[a] - scores[b]) else "right"


def test_the_error_of_a_top_falls_with_votes():
    errors = [
        jr.Chooser(list(clear_votes(n)), "top-k", 1, random_state=0).status().expected_error for n in (300, 6000)
    ]
    assert errors[1] < 0.02 < errors[0] < 0.3


@pytest.mark.parametrize("goal", ["top-k", "ranking", "threshold"])
def test_the_projected_error_begins_at_the_present_one_and_falls(goal):
    chooser = jr.Chooser(list(clear_votes(300)), goal, 2 if goal == "top-k" else None, 0.3, random_state=0)
    belief, asked = chooser._belief, chooser._goal()
    curve = error_curve(belief.scores, asked, belief.prior_variance)
    draws = belief.scores.mean + belief.scores.deviations(4000, np.random.default_rng(1))
    assert curve(0.0) == pytest.approx(error_of_draws(draws, belief.scores.mean, asked), abs=0.02)
    errors = [curve(times) for times in (0.0, 1.0, 10.0, 1000.0)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.1 * errors[0]


def test_the_common_level_of_the_scores_does_not_matter():
    rng = np.random.default_rng(0)
    own = rng.standard_normal((6, 6))
    mean, covariance = rng.standard_normal(6), own @ own.T
    level = GaussianScores(mean, covariance + 100.0)
    for goal in (Goal("top-k", k=2), Goal("threshold", threshold=0.2)):
        found, same = (error_curve(scores, goal, 20.0)(0.0) for scores in (level, GaussianScores(mean, covariance)))
        assert found == pytest.approx(same, abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("n_votes", "k"), [(120, 1), (600, 2)])
def test_the_expected_error_of_a_top_is_its_share_of_wrong_members(n_votes, k):
    rng = np.random.default_rng(7)
    said, wrong = [], []
    for _ in range(40):
        true = dict(zip("abcdef", 1.2 * rng.standard_normal(6), strict=True))
        votes = []
        for at in range(n_votes):
            a, b = rng.choice(list("abcdef"), 2, replace=False)
            votes.append((f"u{at % 3}", a, b, "left" if rng.random() < expit(true[a] - true[b]) else "right"))
        chooser = jr.Chooser(votes, "top-k", k, random_state=0)
        scores = chooser.scores()
        best, found = (set(sorted(one, key=one.get)[-k:]) for one in (true, scores))
        said.append(chooser.status().expected_error)
        wrong.append(1 - len(best & found) / k)
    assert np.mean(said) == pytest.approx(np.mean(wrong), abs=0.06 + 2 * np.std(wrong) / 40**0.5)


def test_items_without_any_vote_and_items_of_other_questions_are_no_groups():
    votes = [("ann", "a", "b", "left", "p"), ("ann", "c", "d", "left", "q")]
    assert "groups" not in jr.Chooser(votes, random_state=0).status().reason
    more = [*votes, ("ann", "e", "f", "left", "q")]
    assert "Items of the same question form groups without a vote" in jr.Chooser(more, random_state=0).status().reason
    assert "groups" not in jr.Chooser([row[:4] for row in votes[:1]], items=["e", "f"]).status().reason


def test_a_vote_on_a_known_order_says_what_it_is_for():
    rng = np.random.default_rng(0)
    levels = dict(zip("abcd", (2.5, 2.0, 0.0, 0.0), strict=True))
    votes = [
        ("ann", "base", item, "right" if rng.random() < expit(level) else "left")
        for item, level in levels.items() for _ in range(60)
    ]  # fmt: skip
    chooser = jr.Chooser(votes, random_state=0, explore=0.0, repeats=True)
    reasons = [one.why for one in chooser.batch(12)]
    known = [why for why in reasons if why.endswith(("95 %", "96 %", "97 %", "98 %", "99 %", "100 %"))]
    assert known and all(why.startswith(("for the order of others", "to learn how reliable ann")) for why in known)
    assert any(why.startswith("most information on the goal") for why in reasons)


def test_votes_that_are_all_ties_leave_it_going():
    chooser = jr.Chooser([("ann", "a", "b", "tie"), ("bob", "b", "c", "tie")], random_state=0)
    assert chooser.status().state == "go"
    assert chooser.next("ann") is not None


def test_a_batch_counts_what_is_in_flight():
    chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, random_state=0, explore=0.0)
    asked = chooser.batch(15)
    pairs = Counter(frozenset((one.left, one.right)) for one in asked)
    assert max(pairs.values()) == 1
    votes = Counter(item for one in asked for item in (one.left, one.right))
    assert set(votes) == set(ITEMS) and max(votes.values()) <= 5


def test_no_item_twice_in_a_row_and_no_pair_twice_for_anybody():
    chooser, crowd = collected(30)
    seen, last = {name: set() for name in ANNOTATORS}, {}
    for vote in chooser.history().iter_rows(named=True):
        pair = frozenset((vote["left"], vote["right"]))
        assert pair not in seen[vote["annotator"]]
        seen[vote["annotator"]].add(pair)
    for _ in range(5):
        asked = chooser.next("new")
        assert not {asked.left, asked.right} & last.get("new", set())
        last["new"] = {asked.left, asked.right}
        chooser.tell([crowd.answer(asked)])


def test_sides_are_balanced():
    chooser, _ = collected(90)
    lead = Counter()
    for vote in chooser.history().iter_rows(named=True):
        lead[vote["left"]] += 1
        lead[vote["right"]] -= 1
    assert max(abs(value) for value in lead.values()) <= 4


def test_shares_are_capped():
    chooser, _ = collected(90, share_cap=1.5)
    votes = Counter(chooser.history()["annotator"].to_list())
    assert max(votes.values()) <= 1.5 * 90 / 3 + 3


def test_shares_are_capped_among_those_of_a_kind():
    costs = {"cheap1": 1.0, "cheap2": 1.0, "dear1": 100.0, "dear2": 100.0, "dear3": 100.0}
    chooser = jr.Chooser(items=range(12), annotators=costs, costs=costs, share_cap=1.2, random_state=0)
    votes = Counter(one.annotator for one in chooser.batch(40))
    assert sum(votes[name] for name in ("cheap1", "cheap2")) > 35
    assert max(votes.values()) <= 1.2 * 40 / 2 + 3


def test_capacity_is_kept():
    chooser = jr.Chooser(items=ITEMS, annotators=["ann", "bob"], capacity={"ann": 3, "bob": 4}, random_state=0)
    asked = chooser.batch(20)
    assert Counter(one.annotator for one in asked) == {"ann": 3, "bob": 4}
    assert chooser.next("ann") is None


def test_open_repeats_of_a_comparison_all_count():
    chooser = jr.Chooser(items=["a", "b"], annotators=["ann"], repeats=True, random_state=0)
    asked = chooser.batch(3)
    assert chooser.open == asked
    chooser.tell([("ann", asked[1].left, asked[1].right, "abstain")])
    assert len(chooser.open) == 2
    chooser.cancel(asked[2])
    assert [(one.left, one.right) for one in chooser.open] == [(asked[0].left, asked[0].right)]
    with pytest.raises(ParameterError, match="no open assignment"):
        chooser.cancel(asked[2])
    chooser.tell([("ann", asked[0].left, asked[0].right, "left")])
    assert chooser.open == []


def test_a_repeat_that_was_cancelled_leaves_the_comparison_asked():
    votes = [("ann", *pair, "left") for pair in ("ab", "ac", "ad", "bc", "bd")]
    for seed in range(8):
        chooser = jr.Chooser(votes, repeats="last", strategy="random", random_state=seed)
        for one in chooser.batch(2):
            chooser.cancel(one)
        chooser.cancel(chooser.next("ann"))
        asked = chooser.next("ann")
        assert {asked.left, asked.right} == {"c", "d"}


def test_an_abstention_frees_the_pair_for_others_and_not_for_the_same():
    chooser = jr.Chooser(items=["a", "b"], annotators=["ann", "bob"], random_state=0)
    asked = chooser.next("ann")
    chooser.tell([("ann", asked.left, asked.right, "abstain")])
    assert chooser.open == [] and chooser.next("ann") is None and chooser.next("bob") is not None


def test_what_was_cancelled_can_be_asked_again():
    chooser = jr.Chooser(items=["a", "b"], annotators=["ann"], random_state=0)
    asked = chooser.next("ann")
    chooser.cancel(asked)
    assert chooser.next("ann") is not None
    with pytest.raises(ParameterError, match="no open assignment"):
        jr.Chooser(items=["a", "b"], annotators=["ann"]).cancel(asked)


def test_after_a_refit_it_is_the_batch_fit_whatever_the_order_of_votes():
    chooser, _ = collected(90)
    history = chooser.history()
    batch = jr.CrowdBT().fit(jr.Comparisons.from_frame(history))
    expected = dict(zip(batch.items_.tolist(), batch.scores_ - batch.scores_.mean(), strict=True))
    model = chooser.refit()
    assert chooser.scores() == pytest.approx(expected, abs=1e-6)
    assert model.flip_ == pytest.approx(batch.flip_, abs=1e-6)
    shuffled = jr.Chooser(history.sample(fraction=1.0, shuffle=True, seed=1))
    assert shuffled.scores() == pytest.approx(expected, abs=1e-6)


def test_a_step_after_a_vote_goes_where_the_refit_goes():
    chooser, crowd = collected(90)
    for _ in range(4):  # fewer than a refit waits for
        chooser.tell([crowd.answer(chooser.next("ann"))])
    stepped = chooser.scores()
    chooser.refit()
    fitted = chooser.scores()
    pairs = [(stepped[name], fitted[name]) for name in ITEMS]
    assert np.corrcoef(np.array(pairs).T)[0, 1] > 0.9


def test_items_and_annotators_join_at_any_time():
    chooser, crowd = collected(30, explore=0.0)
    chooser.add(items=["new"], annotators=["dan"])
    crowd.scores["new"] = 5.0
    asked = [chooser.next("dan") for _ in range(3)]
    assert any("new" in (one.left, one.right) for one in asked)  # of nothing is less known
    chooser.tell([("eve", "new", "newer", "left")])
    assert {"new", "newer"} <= set(chooser.items) and "eve" in chooser.annotators


def test_a_model_stands_for_its_votes_and_for_how_to_fit():
    drawn = jr.simulate(8, 4, 200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chooser = jr.Chooser(jr.BradleyTerry().fit(drawn.votes), random_state=0)
    assert isinstance(chooser.refit(), jr.BradleyTerry)
    assert sorted(chooser.items) == sorted(drawn.votes.items.tolist())


def test_coins_are_never_reached_and_become_futile():
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, random_state=seed, target=0.2, repeats=True)
        for _ in range(8):
            said = [(one.annotator, one.left, one.right, rng.choice(["left", "right"])) for one in chooser.batch(25)]
            chooser.tell(said)
            assert chooser.status().state != "reached"
        status = chooser.status()
        assert status.state in ("go", "futile")
        errors.append(status.expected_error)
    assert np.mean(errors) > 0.25


def test_a_clear_case_is_reached_and_the_budget_ends_an_unclear_one():
    crowd = Crowd(spread=4.0, flips=(0.02, 0.02, 0.02))
    chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, random_state=0, target=0.15, repeats=True)
    for _ in range(12):
        chooser.tell(crowd.answers(chooser.batch(20)))
        if chooser.status().state == "reached":
            break
    status = chooser.status()
    assert status.state == "reached" and not status.sign_open and status.votes_needed == 0
    spent = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, target=0.01, budget=5, random_state=0)
    spent.tell(Crowd().answers(spent.batch(6)))
    assert spent.status().state == "budget spent" and spent.status().cost == 6


def test_costs_send_votes_to_the_cheap_annotator_of_equal_worth():
    chooser = jr.Chooser(items=ITEMS, annotators=["cheap", "dear"], costs={"dear": 10.0}, random_state=0)
    crowd = Crowd()
    for _ in range(6):
        chooser.tell(crowd.answers(chooser.batch(5)))
    votes = Counter(chooser.history()["annotator"].to_list())
    assert votes["cheap"] > 5 * votes["dear"]


@pytest.mark.parametrize(("cheap_flip", "money", "least", "most"), [(0.47, 450, 0.2, 0.9), (0.05, 150, 0, 0.15)])
def test_expensive_annotators_get_the_money_where_cheap_ones_say_little(cheap_flip, money, least, most):
    rng = np.random.default_rng(3)
    costs = {f"{price}{k}": cost for price, cost in (("cheap", 1.0), ("dear", 10.0)) for k in range(4)}
    chooser = jr.Chooser(items=range(14), annotators=costs, costs=costs, random_state=0)
    spent = dict.fromkeys(("cheap", "dear"), 0.0)
    while sum(spent.values()) < money:
        asked = chooser.batch(5)
        said = [
            "left"
            if (one.left > one.right) != (rng.random() < (cheap_flip if "cheap" in one.annotator else 0.03))
            else "right"
            for one in asked
        ]
        chooser.tell([(one.annotator, one.left, one.right, word) for one, word in zip(asked, said, strict=True)])
        for one in asked:
            spent[one.annotator[:-1]] += costs[one.annotator]
    assert least <= spent["dear"] / sum(spent.values()) <= most


def test_new_items_are_asked_within_their_own_question():
    questions = {"a1": "p", "a2": "p", "a3": "p", "b1": "q", "b2": "q", "b3": "q"}
    chooser = jr.Chooser(items=questions, annotators=ANNOTATORS, questions=questions, random_state=0)
    asked = chooser.batch(9)
    assert all(questions[one.left] == questions[one.right] == one.question for one in asked)
    crossed = jr.Chooser(items=["a", "b", "c"], annotators=["ann"], questions=["p", "q"], random_state=0)
    told = Counter((frozenset((one.left, one.right)), one.question) for one in crossed.batch(6))
    assert len(told) == 6  # every pair under every question, once


def test_a_vote_told_without_its_question_answers_what_was_asked():
    chooser = jr.Chooser(items=["a", "b", "c"], annotators=["ann"], questions=["p", "q"], random_state=0)
    asked = chooser.next("ann")
    chooser.tell([("ann", asked.left, asked.right, "left")])
    assert chooser.open == [] and chooser.history()["question"].to_list() == [asked.question]


def test_the_history_is_a_file_of_votes(tmp_path):
    chooser, _ = collected(30)
    chooser.history().write_csv(tmp_path / "votes.csv")
    assert jr.read_comparisons(tmp_path / "votes.csv").n_votes == 30


def test_somebody_trusted_settles_which_way_is_up():
    told = [("ann", "a", "b", "left"), ("bob", "b", "c", "left")]
    assert jr.Chooser(told).status().sign_open
    assert not jr.Chooser(told, trusted=["ann"]).status().sign_open


def test_of_a_lone_annotator_only_the_order_can_be_learned():
    # 163 of 300 votes for one of two items: its order has a probability of 93 %, as `fit` says.
    told = [("ann", "a", "b", "left" if k < 163 else "right") for k in range(300)]
    status = jr.Chooser(told).status()
    assert status.state == "reached"
    assert status.expected_error == pytest.approx(0.07, abs=0.02)
    assert not status.sign_open
    assert jr.Chooser(told, goal="verdicts").status().state != "reached"
    undecided = jr.Chooser([*told[:20], *told[-20:]])
    assert all("how reliable" not in one.why for one in undecided.batch(5))


def test_the_threshold_may_be_an_item():
    chooser, _ = collected(60, goal="threshold", threshold="i0", explore=0.0)
    assert 0 < chooser.status().expected_error < 0.5
    votes = Counter(
        item for vote in chooser.history().iter_rows(named=True) for item in (vote["left"], vote["right"])
    )
    assert votes["i0"] == max(votes.values())  # everything is compared with it


def test_features_give_a_new_item_an_opinion():
    rng = np.random.default_rng(0)
    features = {name: rng.standard_normal(2) for name in ITEMS}
    crowd = Crowd()
    crowd.scores = {name: 2.5 * row[0] for name, row in features.items()}
    chooser = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, features=features, random_state=0)
    for _ in range(4):
        chooser.tell(crowd.answers(chooser.batch(20)))
    chooser.add(items=["good", "bad"], features={"good": [3.0, 0.0], "bad": [-3.0, 0.0]})
    scores = chooser.scores()
    assert scores["good"] > 1.0 and scores["bad"] < -1.0
    with pytest.raises(InputError, match="no features for item"):
        chooser.add(items=["unknown"])


def test_easy_pairs_are_rationed():
    chooser, _ = collected(90)
    eager = jr.Chooser(chooser.history(), easy_share=0.5, random_state=0)
    kinds = Counter(one.strategy for one in eager.batch(20))
    assert 4 <= kinds["easy"] <= 16


def test_history_keeps_the_order_and_how_each_pair_was_chosen():
    chooser, _ = collected(30)
    chooser.tell([("ann", "i0", "i1", "left")])
    history = chooser.history()
    assert history["order"].to_list() == list(range(1, 32))
    assert history["probability"].null_count() == 1 and history["strategy"].to_list()[-1] is None
    assert jr.Comparisons.from_frame(history).n_votes == 31


def test_an_own_strategy_is_a_function_and_a_line():
    def first_pair(view):
        value = np.zeros((len(view.annotators), len(view.first)))
        value[:, 0] = 1.0
        return Proposals(np.arange(len(view.first)), value, "because")

    STRATEGIES.register("first", first_pair)
    try:
        asked = jr.Chooser(items=ITEMS, annotators=ANNOTATORS, strategy="first", explore=0.0).next("ann")
        assert {asked.left, asked.right} == {"i0", "i1"} and asked.why == "because"
    finally:
        STRATEGIES.unregister("first")


def test_very_many_items_are_pruned(monkeypatch):
    monkeypatch.setattr(scores_module, "MOST_DENSE", 6)
    monkeypatch.setattr(view_module, "MOST_DENSE", 6)
    chooser, _ = collected(45)
    assert len(chooser.batch(5)) == 5
    chooser.refit()
    assert np.isfinite(list(chooser.scores().values())).all()


@pytest.mark.parametrize(
    "goal", ["ranking", *(pytest.param(goal, marks=pytest.mark.long) for goal in ("top-k", "threshold"))]
)
def test_a_plan_reaches_its_target_and_costs_what_its_votes_cost(goal):
    chooser, _ = collected(45, goal=goal, k=3, threshold=0.0, costs=2.0, target=0.15)
    plan = chooser.plan(runs=12, most_votes=400)
    assert plan.error[0] > plan.error[-1]
    assert plan.cost == pytest.approx(2.0 * plan.votes)
    assert plan.votes_needed is not None and 0 <= plan.votes_needed < 400


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"goal": "best"}, "goal is 'best'; expected one of ranking"),
        ({"strategy": "best"}, "strategy is 'best'; expected one of information"),
        ({"goal": "top-k", "k": 0}, "k is 0; expected a whole number"),
        ({"goal": "threshold"}, "threshold is None; expected a score, or one of the items"),
        ({"easy_share": 1.5}, "easy_share is 1.5"),
        ({"repeats": "first"}, "repeats is 'first'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(given, match):
    with pytest.raises(ParameterError, match=match):
        jr.Chooser(items=ITEMS, annotators=ANNOTATORS, **given)


@pytest.mark.parametrize(
    ("votes", "match"),
    [
        ([("ann", "a", "a", "left")], "compared with itself"),
        ([("ann", "a", "b", "up")], "winner is 'up'"),
        ([("ann", "a")], "expected \\(annotator, left, right, winner\\)"),
        ([{"annotator": "ann", "left": "a", "right": "b"}], "without winner"),
        (pl.DataFrame({"annotator": ["ann"], "left": ["a"], "right": ["b"]}), "winner"),
    ],
)
def test_votes_that_cannot_be_told_are_refused(votes, match):
    chooser = jr.Chooser(items=["a", "b"], annotators=["ann"])
    with pytest.raises(InputError, match=match):
        chooser.tell(votes)


def test_nobody_and_nothing_to_ask():
    with pytest.raises(ParameterError, match="no annotators"):
        jr.Chooser(items=ITEMS).batch(1)
    with pytest.raises(ParameterError, match="expected at least 2"):
        jr.Chooser(items=["a"], annotators=["ann"]).next("ann")
