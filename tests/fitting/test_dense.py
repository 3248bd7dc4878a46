from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.fitting import dense
from jamrank.noise import Flip
from jamrank.rows import ROWS_BY

N_ITEMS, N_ANNOTATORS, N_VOTES = 200, 12, 30_000
FLIPS = np.array([0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.3, 0.5, 0.5, 0.5, 0.85, 0.9])
COLUMNS = "left", "right", "annotator", "left_won"


def draw(seed: int = 0, n_items: int = N_ITEMS, n_votes: int = N_VOTES, farthest: int | None = None):
    """Draw votes on random pairs, or on pairs of items that are near each other on a circle and in their scores."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.standard_normal(n_items)
    scores = scores if farthest is None else np.sort(scores)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, farthest or n_items, n_votes)) % n_items
    annotator = rng.integers(0, N_ANNOTATORS, n_votes)
    truth = rng.random(n_votes) < 1 / (1 + np.exp(scores[right] - scores[left]))
    said = truth ^ (rng.random(n_votes) < FLIPS[annotator])
    return dict(zip(COLUMNS, (left, right, annotator, said), strict=True))


def encoded(votes: dict[str, np.ndarray], weight: np.ndarray | None = None) -> jr.Comparisons:
    return jr.Comparisons.from_arrays(*(votes[name] for name in COLUMNS), weight)


@pytest.fixture
def counted(monkeypatch) -> list[int]:
    """Fit few votes as many ones are, and count the passes with the observed information."""
    passes, run = [], MemoryEngine.observed_expectation

    def observed_expectation(self, scores, log_emission):
        passes.append(1)
        return run(self, scores, log_emission)

    monkeypatch.setattr(dense, "MANY_ROWS", 1)
    monkeypatch.setattr(MemoryEngine, "observed_expectation", observed_expectation)
    return passes


def as_usual(model: str, votes: jr.Comparisons, **settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "MANY_ROWS", np.inf)
        return getattr(jr, model)(flips="joint", **settings).fit(votes)


@pytest.fixture
def lists(monkeypatch):
    """Let pairs of few votes have lists of votes, as they have in a crowd of many annotators."""
    monkeypatch.setattr("jamrank.rows.rows.few_patterns", lambda votes: False)


MODELS = pytest.mark.parametrize("model", ["CrowdBT", "JAM"])


PRIOR = jr.Prior(score_variance=2.0)


# Without a prior, scores of so few votes that share a truth for each pair diverge.
@pytest.mark.parametrize(("model", "prior"), [("CrowdBT", PRIOR), ("JAM", PRIOR), ("CrowdBT", None)])
def test_it_ends_where_the_usual_steps_end(model, prior, counted, lists):
    votes = encoded(draw())
    here = getattr(jr, model)(flips="joint", prior=prior, tol=1e-9).fit(votes)
    assert len(counted) > 5
    there = as_usual(model, votes, prior=prior, tol=1e-9)
    np.testing.assert_allclose(here.scores_, there.scores_, atol=2e-8)
    np.testing.assert_allclose(here.flip_, there.flip_, atol=2e-9)
    assert here.log_likelihoods_[-1] == pytest.approx(there.log_likelihoods_[-1], rel=1e-13)


@MODELS
def test_the_prior_variance_is_the_fixed_point_of_the_usual_updates(model, counted, lists, monkeypatch):
    votes = encoded(draw(1))
    here = getattr(jr, model)(flips="joint").fit(votes).result_.scores.score_variance
    assert counted
    monkeypatch.setattr("jamrank.fitting.prior_variances._CLOSE", 1e-9)
    monkeypatch.setattr("jamrank.fitting.prior_variances._SETTLED", 1e-9)
    there = as_usual(model, votes).result_.scores.score_variance
    assert here == pytest.approx(there, rel=2e-5)


@MODELS
def test_neither_order_nor_names_change_anything(model, counted, lists):
    votes, rng = draw(2), np.random.default_rng(0)
    order, names, who = rng.permutation(N_VOTES), rng.permutation(N_ITEMS), rng.permutation(N_ANNOTATORS)
    swapped = rng.random(N_VOTES) < 0.5
    left = np.where(swapped, votes["right"], votes["left"])
    right = np.where(swapped, votes["left"], votes["right"])
    columns = names[left], names[right], who[votes["annotator"]], votes["left_won"] ^ swapped
    renamed = {name: column[order] for name, column in zip(COLUMNS, columns, strict=True)}
    one, other = (getattr(jr, model)(flips="joint").fit(encoded(each)) for each in (votes, renamed))
    assert counted
    np.testing.assert_allclose(other.scores_[names], one.scores_, atol=1e-10)
    np.testing.assert_allclose(other.flip_[who], one.flip_, atol=1e-10)


@MODELS
def test_a_weight_of_two_equals_two_votes(model, counted, lists):
    votes = draw(3)
    twice = np.arange(N_VOTES) % 9 == 0
    again = {name: np.concatenate([column, column[twice]]) for name, column in votes.items()}
    one, other = encoded(votes, 1.0 + twice), encoded(again)
    a, b = (getattr(jr, model)(flips="joint").fit(each) for each in (one, other))
    assert counted
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-10)


@MODELS
def test_where_most_annotators_are_wrong_the_same_maximum_is_found(model, counted, lists):
    votes = draw(4)
    votes["left_won"] = ~votes["left_won"]
    given = {"prior": PRIOR, "tol": 1e-9}
    here = getattr(jr, model)(flips="joint", **given).fit(encoded(votes))
    assert counted
    np.testing.assert_allclose(here.scores_, as_usual(model, encoded(votes), **given).scores_, atol=2e-8)


def test_items_that_only_meet_near_ones_take_the_usual_steps(counted):
    votes = encoded(draw(5, 400, 60_000, farthest=61))
    engine = MemoryEngine(ROWS_BY["vote"](votes, None), None, votes)
    assert dense.is_dense(engine.n_links, engine.n_items)
    jr.CrowdBT(flips="joint").fit(votes)
    assert len(counted) == 1


def test_many_votes_on_a_pair_take_the_usual_steps(counted):
    votes = draw(6)
    kept = {name: np.tile(column[:11_000], 4) for name, column in votes.items()}
    kept["annotator"] = np.random.default_rng(0).integers(0, N_ANNOTATORS, 44_000)
    jr.CrowdBT(flips="joint").fit(encoded(kept))
    assert not counted


@pytest.mark.parametrize("unit", ["vote", "pair"])
def test_observed_curvature_is_that_of_the_information(unit, lists):
    votes = encoded(draw(7))
    engine = MemoryEngine(ROWS_BY[unit](votes, None), None, votes)
    scores = np.random.default_rng(0).standard_normal(N_ITEMS)
    emission = Flip(engine.vote_counts).log_emission(np.linspace(-2, 1, N_ANNOTATORS))
    at, usual = engine.observed_expectation(scores, emission), engine.expectation(scores, emission)
    for name in ("value", "gradient", "degree", "expected_counts"):
        np.testing.assert_allclose(getattr(at, name), getattr(usual, name), rtol=1e-11, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(at.observed, engine.observed(scores, emission, False)[0], rtol=1e-9, atol=1e-9)
    posterior = engine.posterior(scores, emission)
    truth_variance = engine.rows.over_votes(posterior * (1 - posterior)).sum(axis=1)
    np.testing.assert_allclose(at.truth_variance, truth_variance, rtol=1e-9)
    np.testing.assert_array_equal(engine.bends(at.curvature), engine.bends(usual.curvature))


def test_mean_of_others_is_that_of_the_linked_items(lists):
    votes = encoded(draw(8))
    engine = MemoryEngine(ROWS_BY["pair"](votes, None), None, votes)
    values, (first, second) = np.random.default_rng(0).standard_normal(N_ITEMS), engine.pairs
    linked = np.zeros((N_ITEMS, N_ITEMS))
    linked[first, second] = linked[second, first] = 1.0
    counts = linked.sum(axis=1)
    np.testing.assert_allclose(engine.mean_of_others(values, 3 * counts), linked @ values / counts, atol=1e-12)
