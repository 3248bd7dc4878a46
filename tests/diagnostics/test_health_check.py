from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics import CHECKS, CheckResult, Examination, Finding, check
from jamrank.diagnostics.sign import differ_from_random
from jamrank.errors import ParameterError
from jamrank.rows import PairCounts


def levels(health) -> list[str]:
    return [finding.level for finding in health.findings]


def sentences(health, level: str) -> str:
    return " ".join(finding.sentence for finding in health.findings if finding.level == level)


def test_items_in_two_groups_are_a_problem():
    health = check(Comparisons.from_arrays(["a", "c", "c"], ["b", "d", "e"], ["x"] * 3, [1, 1, 0]))
    assert health.counts["components"] == 2
    assert not health.comparable
    assert "2 groups" in sentences(health, "problem")


@pytest.mark.parametrize(("outcome", "weight"), [(0.5, 1.0), (np.nan, 1.0), (1.0, 0.0)])
def test_only_decided_votes_link_items(outcome, weight):
    votes = Comparisons.from_arrays(
        ["a", "b", "c"], ["b", "c", "d"], ["x"] * 3, [1, outcome, 0], weight=[1, weight, 1]
    )
    assert check(votes).counts["components"] == 2


def test_answers_to_questions_are_not_to_be_compared_across_them():
    votes = Comparisons.from_arrays(list("acac"), list("bdbd"), ["x", "x", "y", "y"], [1] * 4, question=list("pqpq"))
    (found,) = about(check(votes), "connection")
    assert found.level == "note" and "Every item belongs to one of 2 questions" in found.sentence
    votes = Comparisons.from_arrays(list("ace"), list("bdf"), ["x"] * 3, [1] * 3, question=list("pqq"))
    (found,) = about(check(votes), "connection")
    assert found.level == "problem" and "Collect votes across the groups of the same question" in found.sentence


def test_items_linked_through_others_and_across_questions_are_comparable():
    votes = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "d"], ["x"] * 3, [1, 1, 0], question=["p", "q", "p"])
    health = check(votes)
    assert health.comparable
    assert health.counts["components"] == 1
    assert "good" in levels(health)


def test_votes_without_a_decision_are_a_problem():
    health = check(Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [0.5, np.nan]))
    assert not health.comparable
    assert "nothing to rank" in sentences(health, "problem")


def test_counts_tell_votes_ties_missing_and_folded_apart():
    votes = Comparisons.from_arrays(
        ["a", "a", "b", "b", "c"],
        ["b", "b", "c", "c", "a"],
        ["x", "x", "y", "x", "y"],
        [1, 1, 0.5, 0, np.nan],
    )
    counts = check(votes).counts
    wanted = {
        "items": 3,
        "annotators": 2,
        "pairs": 3,
        "votes": 4,
        "decided": 3,
        "ties": 1,
        "missing": 1,
        "folded": 1,
    }
    assert {name: counts[name] for name in wanted} == wanted
    assert "1 vote (25.0 %) is a tie" in sentences(check(votes), "note")


def shown(rng, n: int) -> tuple[np.ndarray, np.ndarray]:
    left = rng.integers(0, 6, n)
    return left, (left + rng.integers(1, 6, n)) % 6


@pytest.mark.parametrize("side", [0, 1])
def test_an_annotator_who_always_picks_one_side_is_named(side):
    rng = np.random.default_rng(0)
    left, right = shown(rng, 60)
    who = np.array(["fair", "lazy"] * 30, dtype=object)
    outcome = np.where(who == "lazy", side, rng.integers(0, 2, 60))
    health = check(Comparisons.from_arrays(left, right, who, outcome))
    told = " ".join(finding.sentence for finding in health.findings if finding.about == "sides")
    assert "lazy" in told
    assert "fair" not in told


def test_an_annotator_who_always_picks_the_same_item_is_not_one_sided():
    left = ["a", "b"] * 10
    right = ["b", "a"] * 10
    health = check(Comparisons.from_arrays(left, right, ["x"] * 20, [1, 0] * 10))
    assert "warning" not in levels(health)


def test_a_handful_of_votes_on_one_side_means_nothing():
    health = check(Comparisons.from_arrays(["a"] * 5, ["b"] * 5, ["x"] * 5, [1] * 5))
    assert "warning" not in levels(health)
    assert "fewer than 10" in sentences(health, "note")


def test_findings_come_from_the_gravest_to_the_lightest():
    rng = np.random.default_rng(1)
    left, right = shown(rng, 60)
    who = ["lazy"] * 30 + ["fair"] * 30 + ["new", "new"]
    outcomes = [1] * 30 + rng.integers(0, 2, 30).tolist() + [1, 0.5]
    votes = Comparisons.from_arrays([*left, 90, 90], [*right, 91, 91], who, outcomes)
    found = levels(check(votes))
    assert found == sorted(found, key=["problem", "warning", "note", "good"].index)
    assert {"problem", "warning", "note"} <= set(found)


def simulated(flips, n_votes: int = 900, **more):
    return jr.simulate(n_items=20, n_annotators=len(flips), n_votes=n_votes, flips=flips, random_state=1, **more)


def about(health, subject: str) -> list:
    return [finding for finding in health.findings if finding.about == subject]


def test_as_many_votes_against_as_for_leave_the_sign_open():
    health = check(simulated([0.15, 0.15, 0.85, 0.85]).votes)
    assert not health.settled
    assert health.comparable
    assert "Orientation open" in health.reasons[0]
    assert "add gold pairs" in health.reasons[0]
    assert 0.45 < health.measures["votes_with_the_scores"] < 0.56


def test_one_inverted_annotator_of_three_is_a_note_and_no_problem():
    votes = jr.simulate(6, 3, 400, flips=[0.1, 0.1, 0.9], truth="vote", random_state=4).votes
    health = check(votes)
    (found,) = about(health, "sign")
    assert found.level == "note"
    assert found.sentence.startswith("Annotators vote against each other: ")
    assert health.settled


@pytest.mark.parametrize("n_votes", [300, 3000])
def test_two_annotators_against_each_other_leave_the_sign_open_however_many_votes_they_cast(n_votes):
    votes = jr.simulate(8, 2, n_votes, flips=[0.02, 0.98], truth="vote", random_state=2).votes
    model = jr.CrowdBT().fit(votes)
    assert model.result_.annotators.orientation.open
    assert model.annotators_["verdict"].to_list() == ["opposed"] * 2
    assert "one minus that" in model.annotators_["evidence"][0]
    (found,) = about(check(votes, model=model), "sign")
    assert found.level == "problem"
    assert "with about equal weight, so the ranking may be upside down" in found.sentence
    # What is known of a pair tells who is right.
    best, worst = model.ranking_["item"][0], model.ranking_["item"][-1]
    told = jr.CrowdBT().fit(votes, gold=[(best, worst)])
    assert not told.result_.annotators.orientation.open
    assert sorted(told.annotators_["verdict"]) == ["adversarial", "reliable"]


@pytest.mark.parametrize("flips", [[0.5] * 4])
def test_coin_tosses_leave_the_sign_open(flips):
    health = check(simulated(flips).votes)
    assert not health.settled
    assert "cannot be distinguished from random ones" in health.reasons[0]


@pytest.mark.parametrize("flips", [[0.1, 0.2, 0.3], [0.15, 0.15, 0.85], [0.1]])
def test_a_majority_of_votes_for_the_truth_settles_the_sign(flips):
    health = check(simulated(flips).votes)
    assert health.settled
    assert not health.reasons
    assert [finding.level for finding in about(health, "sign")] == ["good"] * (len(flips) > 1)


@pytest.mark.long
def test_few_votes_of_honest_annotators_are_no_reason_to_doubt_the_sign():
    rng = np.random.default_rng(5)
    doubted = 0
    for _ in range(20):
        drawn = jr.simulate(8, 4, int(rng.integers(24, 80)), flips=[0.05, 0.1, 0.2, 0.3], random_state=rng)
        doubted += not check(drawn.votes).settled
    assert doubted <= 2


@pytest.mark.parametrize("seed", range(3))
def test_votes_on_close_items_are_no_reason_to_doubt_the_sign(seed):
    """Three honest judges, a star of five items: shares between 40 and 60 %, but not those of random votes."""
    rng = np.random.default_rng(seed)
    right, who = np.tile(np.arange(1, 6), 600), np.repeat(np.arange(3), 1000)
    won = rng.random(3000) < np.array([0.5, 0.41, 0.45, 0.5, 0.55, 0.59])[right]
    assert check(Comparisons.from_arrays(np.zeros(3000, dtype=int), right, who, won)).settled
    coins = rng.random(3000) < 0.5
    assert not differ_from_random(
        PairCounts.decided(Comparisons.from_arrays(np.zeros(3000, dtype=int), right, who, coins))
    )


def test_known_pairs_settle_the_sign():
    of = simulated([0.15, 0.15, 0.85, 0.85])
    best, worst = of.votes.items[of.scores.argmax()], of.votes.items[of.scores.argmin()]
    model = jr.JAM().fit(of.votes, gold=[(best, worst)])
    assert check(of.votes, model).settled


def test_two_groups_held_together_by_one_pair_are_a_warning():
    first, second = zip(*[(a, b) for a in range(4) for b in range(a)], strict=True)
    left, right = [*first, *(f + 10 for f in first), 0], [*second, *(s + 10 for s in second), 10]
    votes = Comparisons.from_arrays([*left] * 3, [*right] * 3, ["x", "y", "z"] * 13, np.tile([1, 0, 1], 13))
    health = check(votes)
    assert health.counts["bridges"] == 1
    assert health.details["bridges"] == [{"left": 0, "right": 10, "votes": 3.0, "cut_off": 4}]
    assert "Only the 3 votes between 0 and 10 connect 4 items to the rest" in sentences(health, "warning")


def test_one_vote_connects():
    left, right = ["a", "b", "c", "d", "e", "f", "a"], ["b", "c", "a", "e", "f", "d", "d"]
    told = sentences(check(Comparisons.from_arrays(left, right, ["x", "y"] * 3 + ["x"], [1] * 7)), "warning")
    assert "Only the 1 vote between a and d connects 3 items to the rest" in told


def test_all_winners_on_the_left_say_nothing_of_sides():
    rng = np.random.default_rng(0)
    left, right = shown(rng, 60)
    health = check(Comparisons.from_arrays(left, right, ["x", "y"] * 30, [1] * 60))
    assert "lists the winner on the left" in sentences(health, "note")
    assert not about(health, "sides")


def test_idle_and_repeated_votes_are_counted():
    votes = Comparisons.from_arrays(
        ["a", "a", "b", "b", "c", "a"],
        ["b", "b", "c", "c", "a", "b"],
        ["x", "x", "y", "y", "y", "z"],
        [1, 0, 1, 1, 0.5, 1],
        weight=[1, 1, 1, 1, 1, 0],
    )
    counts = check(votes).counts
    assert counts["contradicted_pairs"] == 1
    assert counts["folded"] == 1
    assert counts["without_weight"] == 1
    assert counts["uninformative"] == 1
    # The two votes that contradict each other say nothing only where the votes on a pair share one truth.
    assert check(votes, jr.JAM().fit(votes)).counts["uninformative"] == 2 + 1


@pytest.mark.parametrize("repeated", [1, 4, 5])
def test_agreement_of_repeated_votes_needs_five_pairs(repeated):
    pairs = [(f"i{k}", f"i{k + 1}") for k in range(10)]
    left, right = zip(*pairs, *pairs[:repeated], strict=True)
    health = check(Comparisons.from_arrays(left, right, ["x"] * len(left), [1] * 10 + [0] * repeated))
    assert health.counts["repeated_pairs"] == repeated
    assert ("agree in 0.0 % of the cases" in sentences(health, "note")) == (repeated == 5)
    assert health.measures["contradicted_share"] == (1.0 if repeated == 5 else None)


def test_of_soft_votes_on_the_same_pairs_no_agreement_is_told():
    left, right = [f"i{k}" for k in range(10)] * 2, [f"i{k + 1}" for k in range(10)] * 2
    health = check(Comparisons.from_arrays(left, right, ["x"] * 20, [0.75] * 10 + [0.25] * 10))
    assert health.counts["repeated_pairs"] == 10
    assert "contradicted_pairs" not in health.counts and health.measures["contradicted_share"] is None
    assert "of the cases" not in sentences(health, "note")


def test_health_is_plain_data_and_depends_neither_on_names_nor_on_the_order_of_rows():
    of = simulated([0.1, 0.3, 0.6])
    health = check(of.votes)
    assert json.loads(json.dumps(health.to_dict()))["counts"]["items"] == 20
    assert health.sentences == [finding.sentence for finding in health.findings]
    frame = of.frame.sample(fraction=1.0, shuffle=True, seed=3)
    other = check(Comparisons.from_frame(frame))
    assert other.counts == health.counts
    renamed = frame.with_columns(("z" + pl.col("left").str.reverse()).alias("left"))
    renamed = renamed.with_columns(("z" + pl.col("right").str.reverse()).alias("right"))
    again = check(Comparisons.from_frame(renamed))
    assert again.counts == health.counts
    for name, value in health.measures.items():
        assert again.measures[name] == (value if value is None else pytest.approx(value, rel=1e-4))


def test_a_target_that_is_no_share_is_refused():
    with pytest.raises(ParameterError, match="target is 95"):
        check(simulated([0.1]).votes, target=95)


def test_it_says_by_what_fit():
    flips = [0.05, 0.05, 0.1, 0.4, 0.5, 0.9]
    votes = jr.simulate(15, 6, 1500, flips=flips, truth="vote", random_state=2).votes
    alone, given = jr.check(votes), jr.check(votes, jr.CrowdBT().fit(votes))
    assert sum("By a quick fit of CrowdBT" in told for told in alone.sentences) == 2
    assert any("jamrank fit selects a model for the votes and may differ" in told for told in alone.sentences)
    assert sum("By this fit of CrowdBT" in told for told in given.sentences) == 1
    assert not any("quick" in told for told in given.sentences)


@pytest.mark.parametrize(("outcomes", "separated"), [([1, 1, 1], True), ([1, 1, 0], False)])
def test_diverging_scores_are_reported_only_where_the_likelihood_has_no_finite_maximum(outcomes, separated):
    # a beats b, b beats c; with the last vote for c over a the wins form a cycle, and every score is finite.
    votes = Comparisons.from_arrays(["a", "b", "a"], ["b", "c", "c"], ["x"] * 3, outcomes)
    assert bool(about(check(votes), "separation")) == separated


def test_a_check_is_added_from_outside():
    def odd_items(examination: Examination) -> CheckResult:
        n = examination.votes.n_items
        found = [Finding("warning", f"{n} items is an odd number.", "odd")] if n % 2 else []
        return CheckResult(found, counts={"odd_items": n % 2})

    CHECKS.register("odd items", odd_items)
    try:
        health = check(Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 0]))
    finally:
        CHECKS.unregister("odd items")
    assert [finding.sentence for finding in about(health, "odd")] == ["3 items is an odd number."]
    assert health.counts["odd_items"] == 1
    assert not about(check(Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [1, 0])), "odd")


def test_each_check_runs_on_its_own():
    examination = Examination(simulated([0.1, 0.3]).votes)
    assert {name for name in CHECKS if isinstance(CHECKS[name](examination), CheckResult)} == set(CHECKS)


def test_no_check_says_more_than_that_nothing_is_decided():
    health = check(Comparisons.from_arrays(["a"], ["b"], ["x"], [0.5]))
    assert [finding.about for finding in health.findings] == ["connection", "ties"]


def test_hostile_ids_are_short_and_harmless_in_sentences():
    names = ["x" * 1_000_000, "\x1b[31mred", "[/x]", "a\u202eb"]
    votes = Comparisons.from_arrays(
        [names[0], names[1], names[2]], [names[1], names[2], names[3]], ["x"] * 3, [1, 1, 1]
    )
    for sentence in check(votes).sentences:
        assert len(sentence) < 600
        assert sentence.isprintable()


def test_votes_on_a_pair_shown_in_one_order_are_no_independent_evidence_of_sides():
    def warned(seed: int, n_pairs: int, judges: int) -> bool:
        rng = np.random.default_rng(seed)
        score = rng.normal(0, 1.5, 15)
        left = rng.integers(15, size=n_pairs)
        right = (left + rng.integers(1, 15, size=n_pairs)) % 15
        left, right = np.tile(left, judges), np.tile(right, judges)
        won = rng.random(len(left)) < 1 / (1 + np.exp(score[right] - score[left]))
        who = np.repeat(np.arange(judges), n_pairs)
        return "are for the left" in " ".join(check(Comparisons.from_arrays(left, right, who, won * 1.0)).sentences)

    assert sum(warned(seed, 60, 10) for seed in range(20)) <= 1
