from __future__ import annotations

import numpy as np
import pytest

from jamrank.comparisons import Comparisons
from jamrank.diagnostics import check


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


def test_items_linked_through_others_and_across_questions_are_comparable():
    votes = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "d"], ["x"] * 3, [1, 1, 0], question=["p", "q", "p"])
    health = check(votes)
    assert health.comparable
    assert health.counts["components"] == 1
    assert "good" in levels(health)


def test_votes_without_a_decision_are_a_problem():
    health = check(Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [0.5, np.nan]))
    assert not health.comparable
    assert "nothing to rank by" in sentences(health, "problem")


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
    assert "1 vote (25.0%) is a tie" in sentences(check(votes), "note")


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
    assert "lazy" in sentences(health, "warning")
    assert "fair" not in sentences(health, "warning")


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
    left, right = shown(rng, 30)
    votes = Comparisons.from_arrays(
        [*left, 90, 90], [*right, 91, 91], ["lazy"] * 30 + ["new", "new"], [1] * 30 + [1, 0.5]
    )
    found = levels(check(votes))
    assert found == sorted(found, key=["problem", "warning", "note", "good"].index)
    assert {"problem", "warning", "note"} <= set(found)
