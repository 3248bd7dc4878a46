from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.engines import Links
from jamrank.errors import ParameterError
from jamrank.inference import Uncertainty, draw_ranks, independent, uncertainty
from jamrank.inference.ranks import ranks


def laplace(scores, first, second, curvature, precision) -> Uncertainty:
    degree = np.bincount(first, curvature, len(scores)) + np.bincount(second, curvature, len(scores))
    return uncertainty.laplace(scores, degree, Links(first, second, curvature), precision)


@pytest.fixture
def graph() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first, second = (side.astype(np.int32) for side in np.triu_indices(25, 1))
    keep = rng.random(len(first)) < 0.4
    return first[keep], second[keep], rng.uniform(0.1, 2, keep.sum()).astype(np.float32)


def covariance(first, second, curvature, precision, n_items) -> np.ndarray:
    matrix = precision * np.eye(n_items)
    for i, j, c in zip(first, second, curvature, strict=True):
        matrix[[i, j], [i, j]] += c
        matrix[[i, j], [j, i]] -= c
    centre = np.eye(n_items) - 1.0 / n_items
    return centre @ np.linalg.pinv(matrix) @ centre


@pytest.mark.parametrize("precision", [0.0, 0.5, 20.0])
def test_standard_errors_are_those_of_scores_relative_to_their_mean(graph, precision):
    found = laplace(np.zeros(25), *graph, precision)
    np.testing.assert_allclose(found.score_se**2, np.diag(covariance(*graph, precision, 25)), rtol=1e-5)


def test_standard_errors_do_not_depend_on_which_side_an_item_is_on(graph):
    first, second, curvature = graph
    np.testing.assert_allclose(
        laplace(np.zeros(25), second, first, curvature, 0.5).score_se,
        laplace(np.zeros(25), first, second, curvature, 0.5).score_se,
    )


def test_beyond_the_dense_limit_standard_errors_stay_close(graph, monkeypatch):
    dense = laplace(np.zeros(25), *graph, 1.0)
    monkeypatch.setattr(uncertainty, "MOST_ITEMS_DENSE", 10)
    np.testing.assert_allclose(laplace(np.zeros(25), *graph, 1.0).score_se, dense.score_se, rtol=0.15)


def test_intervals_hold_the_rank_and_narrow_with_more_votes(graph):
    scores = np.random.default_rng(1).standard_normal(25)
    first, second, curvature = graph
    loose, tight = (laplace(scores, first, second, c, 0.1) for c in (curvature, 100 * curvature))
    for found in (loose, tight):
        assert (found.rank_low <= ranks(scores)).all()
        assert (found.rank_high >= ranks(scores)).all()
        assert found.rank_low.min() >= 1
        assert found.rank_high.max() <= 25
    assert (tight.rank_high - tight.rank_low).sum() < (loose.rank_high - loose.rank_low).sum()


def test_scores_far_apart_have_certain_ranks(graph):
    scores = 1000.0 * np.random.default_rng(2).permutation(25)
    found = laplace(scores, *graph, 0.1)
    assert found.rank_low.tolist() == found.rank_high.tolist() == ranks(scores).tolist()


def test_rank_intervals_cover_the_ranks_of_scores_drawn_from_the_same_normal(graph):
    rng = np.random.default_rng(3)
    centre = rng.standard_normal(25)
    found = laplace(centre, *graph, 0.5)
    drawn = rng.multivariate_normal(centre, covariance(*graph, 0.5, 25), 2000)
    drawn_ranks = np.stack([ranks(draw) for draw in drawn])
    covered = ((drawn_ranks >= found.rank_low) & (drawn_ranks <= found.rank_high)).mean(axis=0)
    assert covered.min() > 0.9
    assert covered.mean() > 0.94


def test_scores_in_groups_without_a_link_have_finite_errors():
    first, second = np.array([0, 2], dtype=np.int32), np.array([1, 3], dtype=np.int32)
    found = laplace(np.zeros(4), first, second, np.ones(2, dtype=np.float32), 0.0)
    assert np.isfinite(found.score_se).all()
    assert (found.score_se > 1).all()


def test_independent_scores_swap_ranks_as_often_as_their_errors_say():
    sure = independent(np.array([0.0, 1.0]), np.array([0.1, 0.1]))
    assert (sure.rank_low.tolist(), sure.rank_high.tolist()) == ([2, 1], [2, 1])
    unsure = independent(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert (unsure.rank_low.tolist(), unsure.rank_high.tolist()) == ([1, 1], [2, 2])


def test_the_same_input_gives_the_same_intervals(graph):
    scores = np.random.default_rng(4).standard_normal(25)
    a, b = laplace(scores, *graph, 0.5), laplace(scores, *graph, 0.5)
    for name in ("score_se", "rank_low", "rank_high"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


def test_what_is_unknown_is_said_to_be():
    unknown = Uncertainty.unknown(3)
    assert np.isnan(unknown.score_se).all()
    assert unknown.rank_low.tolist() == unknown.rank_high.tolist() == [0, 0, 0]


def test_ranks_of_draws_are_the_ranks_of_each_draw():
    draws = np.random.default_rng(0).integers(0, 4, size=(50, 6)).astype(float)
    draws[0, :2] = np.inf
    np.testing.assert_array_equal(draw_ranks(draws), np.stack([ranks(draw) for draw in draws]))


@pytest.mark.long
def test_a_bootstrap_over_questions_has_the_closed_form_of_a_win_rate():
    # Ten copies of one outcome a question: the win rate is a mean over questions, whatever the number of votes.
    rng = np.random.default_rng(1)
    won = rng.random(60) < 0.6
    rows = [("ann", "a", "b", "left" if w else "right", k) for k, w in enumerate(won) for _ in range(10)]
    names = ("annotator", "left", "right", "winner", "question")
    votes = jr.read_comparisons(dict(zip(names, zip(*rows, strict=True), strict=True)))
    found = jr.WinRate().fit(votes).uncertainty("bootstrap", by="question", n_resamples=400)
    share = won.mean()
    np.testing.assert_allclose(found.score_se, np.sqrt(share * (1 - share) / 60), rtol=0.15)
    with pytest.raises(ParameterError, match="by is 'item'; expected 'annotator' or 'question'"):
        jr.WinRate().fit(votes).uncertainty("bootstrap", by="item")
    with pytest.raises(ParameterError, match="needs votes with several questions"):
        jr.WinRate().fit([("a", "b"), ("b", "a")]).uncertainty("bootstrap", by="question")


def test_chains_say_whether_they_agree():
    votes = jr.simulate(10, 5, 400, random_state=3).votes
    found = jr.CrowdBT().fit(votes).result_.uncertainty.diagnostics
    assert found is not None and found.n_chains == 4 and found.rhat < 1.2 and found.ess > 50
    assert jr.WinRate().fit(votes).result_.uncertainty.diagnostics is None
