from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.selection.explaining import THEY_EXPLAIN, features_explain

N_ITEMS, N_VOTES, FLIPS = 30, 700, np.array([0.05, 0.1, 0.1, 0.2, 0.2, 0.3])


def draw(seed: int, explained: bool) -> tuple[jr.Comparisons, pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N_ITEMS, 3))
    scores = 1.2 * features[:, 0] - 0.8 * features[:, 1] if explained else rng.normal(0, 1.3, N_ITEMS)
    left = rng.integers(N_ITEMS, size=N_VOTES)
    right, who = (left + rng.integers(1, N_ITEMS, N_VOTES)) % N_ITEMS, rng.integers(len(FLIPS), size=N_VOTES)
    truth = rng.random(N_VOTES) < 1 / (1 + np.exp(scores[right] - scores[left]))
    votes = jr.Comparisons.from_arrays(left, right, who, truth ^ (rng.random(N_VOTES) < FLIPS[who]))
    return votes, pl.DataFrame({"item": np.arange(N_ITEMS), "a": features[:, 0], "b": features[:, 1]}), scores


@pytest.mark.parametrize("seed", range(3))
def test_features_that_explain_the_scores_are_used(seed):
    votes, features, scores = draw(seed, explained=True)
    assert features_explain(votes, features)
    model = jr.Auto().fit(votes, features)
    assert model.uses_features_ and "not used" not in model.reason_
    with_features, without = (
        abs(np.corrcoef(found.scores_, scores[np.asarray(found.items_, dtype=int)])[0, 1])
        for found in (model, jr.Auto().fit(votes))
    )
    assert with_features > without


def test_features_that_explain_nothing_hardly_ever_seem_to():
    assert sum(features_explain(*draw(seed, explained=False)[:2]) for seed in range(40)) <= 1
    votes, features, _ = draw(3, explained=False)
    assert not jr.Auto().fit(votes, features).uses_features_


def test_as_many_features_as_items_explain_nothing():
    votes, _, _ = draw(0, explained=True)
    many = {f"f{k}": np.random.default_rng(k).standard_normal(N_ITEMS) for k in range(N_ITEMS)}
    assert not features_explain(votes, pl.DataFrame({"item": np.arange(N_ITEMS), **many}))


def test_the_reason_says_so():
    reasons = [jr.Auto().fit(*draw(seed, explained=True)[:2]).reason_ for seed in range(6)]
    assert any(THEY_EXPLAIN in reason for reason in reasons)
