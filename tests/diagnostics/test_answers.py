"""Pairs of a question that share an item: whether their dependence is found, and only then."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics.checks.answers import ANSWERS_VARY, answers_vary

PAIRS = np.array([(0, 1), (1, 2), (2, 3), (0, 3)])
FLIPS = np.array([0.1, 0.2])


def draw(seed: int, spread: float, n_questions: int = 300, weight: float | None = None) -> jr.Comparisons:
    """Draw votes of two judges; the quality of each answer varies by question with this standard deviation."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1, 4) + spread * rng.standard_normal((n_questions, 4))
    gap = quality[:, PAIRS[:, 0]] - quality[:, PAIRS[:, 1]]
    truth = rng.random(gap.shape) < 1 / (1 + np.exp(-gap))
    said = truth[..., None] ^ (rng.random((*gap.shape, 2)) < FLIPS)
    question, pair, who = (index.ravel() for index in np.indices(said.shape))
    weights = None if weight is None else np.full(len(who), weight)
    left, right = PAIRS[pair].T
    return jr.Comparisons.from_arrays(left, right, who, said.ravel(), weights, question=question)


@pytest.mark.parametrize("seed", range(5))
def test_answers_that_vary_are_found_and_said(seed):
    votes = draw(seed, spread=2.5)
    assert answers_vary(votes)
    assert ANSWERS_VARY in jr.check(votes).sentences


def test_independent_pairs_hardly_ever_seem_to_depend_on_each_other():
    assert sum(answers_vary(draw(seed, spread=0.0)) for seed in range(60)) <= 1


def test_without_questions_or_with_few_votes_nothing_is_said():
    assert not answers_vary(draw(0, spread=2.5, n_questions=10))
    assert not answers_vary(jr.simulate(6, 4, 1000, random_state=0).votes)


def test_one_pair_a_question_shares_no_item():
    votes = draw(0, spread=2.5)
    one = [row for row in votes.to_frame().iter_rows(named=True) if {row["left"], row["right"]} == {0, 1}]
    columns = ("left", "right", "annotator")
    assert len(one) >= 100
    outcome = [row["winner"] == "left" for row in one]
    alone = jr.Comparisons.from_arrays(
        *([row[name] for row in one] for name in columns), outcome, question=[row["question"] for row in one]
    )
    assert not answers_vary(alone)
