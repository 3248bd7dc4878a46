"""The simulated collection of ``jamrank plan``."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.acquisition.channel import LEFT, RIGHT, TIE
from jamrank.acquisition.forecast import forecast_for
from jamrank.acquisition.planning import Plan, _affordable, _vote
from jamrank.cli import main
from jamrank.cli.plan import _range_of_votes
from jamrank.selection.families import fit_families


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def a_close_top(tmp_path):
    """Two items of eight are about equally good, and every pair was compared often: no vote will tell them apart."""
    rng, rows = np.random.default_rng(1), ["left,right,winner"]
    scores = np.array([2.02, 2.0, 0.8, 0.5, 0.0, -0.5, -1.0, -2.0])
    for _ in range(1200):
        left, right = rng.choice(8, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(scores[right] - scores[left]))
        rows.append(f"m{left},m{right},{'left' if won else 'right'}")
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_plan_begins_at_the_present_error_and_never_increases(tmp_path):
    given = [a_close_top(tmp_path), "--goal", "top-k", "-k", 1, "--target", 0.002, "--runs", 4, "--most", 240]
    told = json.loads(call("plan", *given, "--json").stdout)
    error = np.array(told["plan"]["error"])
    assert error[0] == told["status"]["expected_error"] > 0.002
    assert (np.diff(error) <= 0).all()
    # Chosen votes may reach what votes like the present ones do not.
    assert told["status"]["state"] == "futile"
    text = " ".join(call("plan", *given).output.split())
    assert text.startswith("note: ") or text.startswith("Now: Expected error")
    assert "Now: Expected error" in text and "More votes like these" not in text


def test_the_same_votes_have_the_same_plan(tmp_path):
    given = [a_close_top(tmp_path), "--runs", 2, "--most", 60]
    assert call("plan", *given).output == call("plan", *given).output


def test_a_plan_for_verdicts_is_about_verdicts():
    votes = jr.simulate(10, 4, 80, flips=[0.1, 0.3, 0.45, 0.6], truth="vote", random_state=2).votes
    chooser = jr.Chooser(votes, "verdicts", random_state=0, repeats=True)
    plan = chooser.plan(runs=4, most_votes=200)
    assert plan.low[0] == pytest.approx(chooser.status().expected_error) == plan.high[0]


def test_simulated_votes_tie_as_often_as_those_of_the_belief():
    rng = np.random.default_rng(0)
    drawn = np.bincount([_vote(0.0, 0.1, 1.0, rng) for _ in range(4_000)], minlength=3) / 4_000
    assert drawn[[RIGHT, LEFT, TIE]] == pytest.approx([0.25, 0.25, 0.5], abs=0.03)
    decided = [_vote(1.0, 0.1, 0.0, rng) for _ in range(4_000)]
    assert TIE not in decided
    assert np.mean(np.equal(decided, LEFT)) == pytest.approx(0.1 + 0.8 / (1 + np.exp(-1.0)), abs=0.03)


def few_left(tmp_path):
    """Two annotators and five items: of 20 comparisons 12 were made."""
    rng, path = np.random.default_rng(0), tmp_path / "few.csv"
    pairs = [(who, a, b) for who in ("me", "you") for a in range(5) for b in range(a)]
    made = [pairs[k] for k in rng.permutation(20)[:12]]
    rows = [f"{who},d{a},d{b},{rng.choice(['left', 'right'])}" for who, a, b in made]
    path.write_text("\n".join(["annotator,left,right,winner", *rows]) + "\n")
    return path


def test_neither_plan_nor_next_count_on_votes_that_cannot_be_asked(tmp_path):
    path = few_left(tmp_path)
    told = json.loads(call("plan", path, "--runs", 2, "--target", 0.01, "--json").stdout)["plan"]
    assert told["exhausted"] and told["votes"][-1] == 8 and told["votes_needed"] is None
    for command, first in (("plan", "After that"), ("next", "After these")):
        text = " ".join(call(command, path, "--target", 0.01).output.split())
        assert f"{first} no pair is left to ask" in text and "--repeats" in text
    again = json.loads(call("plan", path, "--runs", 2, "--target", 0.01, "--repeats", "--json").stdout)["plan"]
    assert not again["exhausted"] and again["votes"][-1] > 8
    assert "no pair is left" not in call("next", path, "--count", 3).output
    # All of them are handed out, and no more.
    assert len(json.loads(call("next", path, "--count", 30, "--target", 0.01, "--json").stdout)["assignments"]) == 8


def test_where_nothing_is_left_the_plan_is_the_present_error(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("annotator,left,right,winner\nann,tea,milk,left\n")
    result = call("plan", path, "--runs", 2)
    assert result.exit_code == 0 and "not reached within 0 further votes" in result.output
    assert "no pair is left to ask" in result.output


def test_the_stated_cost_is_that_of_the_stated_votes(tmp_path):
    path = a_close_top(tmp_path)
    now = jr.Chooser(jr.read_comparisons(path), random_state=0).status().expected_error
    text = " ".join(call("plan", path, "--target", 0.99 * now, "--runs", 2).output.split())
    found = re.search(
        r"about ([\d,]+(?: to [\d,]+)?) further votes? on chosen pairs at a cost of (.+?) bring", text, re.I
    )
    assert found and found[1] == found[2].replace(" or more", "")


def an_ab_test(won: int, of: int) -> list[tuple[str, str, str, str]]:
    return [("unnamed", "new", "old", "left" if k < won else "right") for k in range(of)]


@pytest.mark.parametrize(("won", "of"), [(109, 200), (107, 200), (416, 800)])
def test_a_plan_for_one_pair_is_exact(won, of, tmp_path):
    """Nothing is left to choose: the number is that of ``next``, whatever the seed."""
    plans = [jr.Chooser(an_ab_test(won, of), random_state=seed, repeats=True).plan() for seed in (0, 1)]
    status = jr.Chooser(an_ab_test(won, of), random_state=0, repeats=True).status()
    assert plans[0].runs == 0 and plans[0].error[0] == status.expected_error
    assert plans[0].votes_needed == plans[1].votes_needed == pytest.approx(status.votes_needed, rel=0.01)
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner\n" + "".join(f"{a},{b},{won}\n" for _, a, b, won in an_ab_test(won, of)))
    text = " ".join(call("plan", path).output.split())
    assert "if they are like those so far" in text and "chosen pairs" not in text


def test_the_number_of_runs_depends_on_the_work_alone():
    assert [_affordable(n, max(n // 2, 4), 40) for n in (3, 8, 300)] == [88, 85, 4]


def an_honest_crowd(n_items: int, n_annotators: int, n_votes: int, seed: int, **given: object) -> jr.Chooser:
    flips = [0.1] * n_annotators
    votes = jr.simulate(n_items, n_annotators, n_votes, truth="vote", flips=flips, random_state=seed).votes
    return jr.Chooser(votes, random_state=seed, repeats=True, **given)


@pytest.mark.parametrize(("n_items", "n_annotators", "n_votes"), [(8, 4, 200), (6, 3, 150)])
def test_random_pairs_need_as_many_votes_as_next_says(n_items, n_annotators, n_votes):
    """Of votes like those so far. The plan may differ by its own noise, and by a tenth.

    ``next`` takes the errors of scores for independent and lets information grow evenly.
    """
    chooser = an_honest_crowd(n_items, n_annotators, n_votes, 1, strategy="random")
    chooser.target = 0.8 * chooser.status().expected_error
    plan, status = chooser.plan(runs=24), chooser.status()
    assert plan.error[0] == status.expected_error
    low, high = plan.votes_range
    assert low / 1.1 <= status.votes_needed <= 1.1 * high
    assert high - low < 0.4 * plan.votes_needed


def test_chosen_pairs_need_fewer_votes_than_random_ones():
    needed = []
    for strategy in ("information", "random"):
        chooser = an_honest_crowd(8, 4, 200, 1, strategy=strategy)
        chooser.target = 0.8 * chooser.status().expected_error
        needed.append(chooser.plan(runs=12).votes_range)
    assert needed[0][1] < needed[1][0]


@pytest.mark.parametrize("given", [{}, {"goal": "top-k", "k": 2}, {"goal": "threshold", "threshold": 0.0}])
def test_all_runs_begin_at_the_present_error_and_their_range_contains_the_mean(given):
    chooser = an_honest_crowd(6, 3, 90, 2, **given)
    plan = chooser.plan(runs=3, most_votes=60)
    now = chooser.status().expected_error
    assert plan.error[0] == now and [plan.low[0], plan.high[0]] == pytest.approx([now, now])
    assert (plan.low <= plan.error).all() and (plan.error <= plan.high).all() and (np.diff(plan.error) <= 0).all()
    assert len(plan.votes) == len(plan.cost) == len(plan.error)


def test_what_is_subtracted_from_a_run_has_its_present_value_as_mean():
    """A state is moved at random by as much as its variance falls, to a variance that depends on where it moves."""
    chooser = an_honest_crowd(4, 3, 60, 3)
    belief, goal = chooser._belief, chooser._goal()
    forecast = forecast_for(belief, goal, None, 0.2)
    mean, variance, _ = start = forecast.state(belief, None)
    assert forecast.error(start) == pytest.approx(0.2)
    rng, least, found = np.random.default_rng(0), 0.3 * variance, []
    for _ in range(4_000):
        once = mean + np.sqrt(0.4 * variance) * rng.standard_normal(len(mean))
        left = np.where(np.abs(once) < 0.5, 0.35, 0.55) * variance
        twice = once + np.sqrt(0.6 * variance - left) * rng.standard_normal(len(mean))
        found.append(forecast.steady((twice, left, None), least))
    assert np.mean(found) == pytest.approx(forecast.steady(start, least), abs=4 * np.std(found) / np.sqrt(4_000))


def test_a_plan_that_is_noisy_states_a_range():
    votes, error = np.array([0.0, 100.0, 200.0]), np.array([0.3, 0.2, 0.15])
    made = Plan(votes, votes, error, error, error, 0.18, 140.0, 140.0, 4, False, (104.0, 181.0))
    assert _range_of_votes(made, 104.0, 181.0) == ("About 100 to 180 further votes", "100 to 180")
    assert _range_of_votes(made, 104.0, None) == ("At least about 100 further votes", "100 or more")
    assert _range_of_votes(made, 138.0, 143.0) == ("About 140 further votes", "140")


def test_next_says_which_votes_it_counts_and_plan_does_not_repeat_it(tmp_path):
    path = tmp_path / "votes.csv"
    jr.simulate(8, 3, 60, flips=[0.05, 0.1, 0.2], truth="vote", random_state=1).frame.write_csv(path)
    text = " ".join(call("next", path, "--target", 0.15, "--repeats").output.split())
    assert re.search(r"about [\d,]+ more votes like those so far\. Of chosen pairs usually fewer are needed", text)
    planned = " ".join(call("plan", path, "--target", 0.15, "--repeats", "--runs", 2, "--most", 20).output.split())
    assert "Now: Expected error" in planned and "like those so far" not in planned


def shared_tastes(path):
    """Three of five judges share a taste that deviates from the scores."""
    rng, rows = np.random.default_rng(4), ["annotator,left,right,winner"]
    scores = 1.5 * rng.standard_normal(10)
    taste = scores + rng.standard_normal(10)
    for judge in range(5):
        mind = taste if judge < 3 else scores
        for _ in range(120):
            a, b = rng.choice(10, 2, replace=False)
            won = rng.random() < 1 / (1 + np.exp(mind[b] - mind[a]))
            rows.append(f"j{judge},r{a},r{b},{'left' if won else 'right'}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_judges_who_share_a_taste_are_not_counted_as_independent(tmp_path):
    path = shared_tastes(tmp_path / "votes.csv")
    votes = jr.read_comparisons(path)
    shared, independent = (jr.Chooser(given, random_state=0).status() for given in (jr.FamilyBT().fit(votes), votes))
    told = json.loads(call("next", path, "--json").stdout)["status"]["expected_error"]
    assert told == pytest.approx(shared.expected_error)
    assert told > independent.expected_error + 0.01
    # Their number says nothing where annotators disagree: more votes of the same ones would not bring the error down.
    assert shared.obstacle == "tastes" and shared.votes_needed is None
    assert "annotators of further kinds help" in shared.reason and "more votes like" not in shared.reason
    planned = json.loads(call("plan", path, "--runs", 2, "--json").stdout)
    assert planned["plan"]["votes_needed"] is None and planned["plan"]["error"] == [pytest.approx(told)]
    assert "How many votes the target needs is not known." in call("plan", path, "--runs", 2).output
    report = jr.check(votes, model=jr.FamilyBT().fit(votes))
    (said,) = (one.sentence for one in report.findings if one.about == "planning")
    assert "annotators of further kinds help" in said and "needs about" not in said
    assert report.measures["more_votes"] is None
    gold = tmp_path / "gold.csv"
    gold.write_text("left,right,winner\nr0,r1,left\n")
    assert call("next", path, "--gold", gold).exit_code in (0, 10)


def test_independent_judges_have_no_families():
    assert fit_families(jr.simulate(10, 5, 600, truth="vote", random_state=3).votes) is None


def test_a_single_judge_is_asked_for_the_pair_that_decides_the_top():
    """Every pair but one shares an item with it, so that the last pair nearly always did."""
    rng = np.random.default_rng(5)
    scores = {"a": 1.5, "b": 1.5, "c": 0.0, "d": -0.7, "e": -1.5}
    votes = []
    for _ in range(300):
        left, right = rng.choice(list(scores), 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(scores[right] - scores[left]))
        votes.append(("judge", left, right, "left" if won else "right"))
    votes.append(("judge", "a", "c", "left"))
    asked = jr.Chooser(votes, "top-k", 1, random_state=0, explore=0.0, repeats=True).batch(10)
    pairs = [{one.left, one.right} for one in asked]
    assert pairs.count({"a", "b"}) >= 4
    assert all(one != other for one, other in pairwise(pairs))


def test_next_does_not_speak_of_chosen_pairs_where_there_is_one(tmp_path):
    path = tmp_path / "votes.csv"
    rows = ["left,right,winner", *["new,old,left"] * 7, *["old,new,left"] * 5]
    path.write_text("\n".join(rows) + "\n")
    text = " ".join(call("next", path).output.split())
    assert "like those so far" in text and "chosen pairs" not in text
