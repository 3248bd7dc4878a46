"""Own tastes of annotators: the fit is what it says, and finds what was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import jamrank as jr
from jamrank.fitting.taste_votes import TasteVotes
from jamrank.fitting.tastes import fit_tastes, likelihood
from jamrank.report.analysis import Analysis
from jamrank.simulation import Tastes


def drawn(own_sd, seed, n_items=20, n_annotators=12, n_votes=2500):
    return jr.simulate(
        n_items,
        n_annotators,
        n_votes,
        truth="vote",
        flips=[0.0] * n_annotators,
        spread=1.0,
        tastes=Tastes(own_sd=own_sd),
        random_state=seed,
    )


def test_slopes_are_averaged_derivatives_of_the_likelihood():
    margin, variance, odds = np.array([-1.2, 0.3, 2.0]), np.array([0.5, 1.0, 0.0]), np.array([0.7, 0.0, 1.5])
    won, lost, tied = np.array([3.0, 1.0, 0.5]), np.array([1.0, 2.0, 4.0]), np.array([2.0, 0.0, 1.0])

    def value(i, at, log_odds):
        parts = np.array([at / 2, -at / 2, log_odds])
        return np.array([won[i], lost[i], tied[i]]) @ (parts - np.logaddexp.reduce(parts))

    def mean(i, function):
        if variance[i] == 0:
            return function(margin[i])
        sd = np.sqrt(variance[i])
        return quad(lambda x: norm.pdf(x) * function(margin[i] + sd * x), -8, 8)[0]

    slope, curvature, tie, tie_curvature = likelihood(margin, variance, won, lost, tied, odds)
    h = 1e-4
    for i in range(3):
        log_odds = float(np.log(max(odds[i], 1e-300)))
        first = mean(i, lambda m, i=i, o=log_odds: (value(i, m + h, o) - value(i, m - h, o)) / (2 * h))
        second = mean(
            i, lambda m, i=i, o=log_odds: (value(i, m + h, o) - 2 * value(i, m, o) + value(i, m - h, o)) / h**2
        )
        assert slope[i] == pytest.approx(first, abs=2e-4)
        assert curvature[i] == pytest.approx(-second, abs=2e-4)
        if odds[i]:
            by_odds = mean(i, lambda m, i=i, o=log_odds: (value(i, m, o + h) - value(i, m, o - h)) / (2 * h))
            bent = mean(
                i, lambda m, i=i, o=log_odds: (value(i, m, o + h) - 2 * value(i, m, o) + value(i, m, o - h)) / h**2
            )
            assert tied[i] - tie[i] == pytest.approx(by_odds, abs=2e-4)
            assert tie_curvature[i] == pytest.approx(-bent, abs=2e-4)


def test_votes_are_counted_by_annotator_and_items():
    votes = jr.Comparisons.from_arrays(
        ["a", "b", "a", "c"], ["b", "a", "b", "a"], ["x", "x", "x", "y"], np.array([1.0, 1.0, 0.5, 1.0])
    )
    with_ties, without = TasteVotes.of(votes, ties=True), TasteVotes.of(votes, ties=False)
    assert with_ties.total.sum() == 4
    assert without.total.sum() == 3
    x = np.flatnonzero(with_ties.total == 3)
    assert (with_ties.won[x], with_ties.lost[x], with_ties.tied[x]) == (1, 1, 1)
    assert sorted((with_ties.cells[0] // 3).tolist()) == sorted([*with_ties.annotator, *with_ties.annotator])


def test_blocks_hold_every_vote_once():
    votes = TasteVotes.of(drawn(0.5, 0).votes, ties=True)
    blocks = votes.blocks()
    rows = np.concatenate([block.rows for block in blocks])
    assert sorted(rows.tolist()) == list(range(len(votes.annotator)))
    for block in blocks:
        own = np.arange(len(block.rows))
        np.testing.assert_array_equal(block.items[block.who, block.first], votes.first[block.rows])
        np.testing.assert_array_equal(block.items[block.who, block.second], votes.second[block.rows])
        np.testing.assert_array_equal(block.annotators[block.who], votes.annotator[block.rows])
        laplacian = block.laplacian(votes.total[block.rows])
        np.testing.assert_allclose(laplacian.sum(axis=2), 0.0, atol=1e-12)
        assert -np.triu(laplacian, 1).sum() == pytest.approx(votes.total[block.rows].sum())
        assert len(own) == len(block.who)


def test_tastes_and_scores_are_found():
    for own_sd in (0.0, 0.8):
        fits = []
        for seed in range(3):
            truth = drawn(own_sd, seed)
            model = jr.TasteBT().fit(truth.votes)
            assert model.result_.convergence.converged
            fits.append(model.taste_sd_)
            assert np.corrcoef(model.scores_, truth.scores)[0, 1] > 0.8
        assert np.mean(fits) == pytest.approx(own_sd, abs=0.15)


def test_without_tastes_it_is_bradley_terry():
    truth = drawn(0.0, 1, n_votes=6000)
    ours, plain = jr.TasteBT().fit(truth.votes), jr.BradleyTerry().fit(truth.votes)
    assert np.corrcoef(ours.scores_, plain.scores_)[0, 1] > 0.995
    width = [(one.ranking_["score_high"] - one.ranking_["score_low"]).mean() for one in (ours, plain)]
    assert width[0] / width[1] == pytest.approx(1.0, abs=0.15)


def test_discriminations_are_found():
    rng = np.random.default_rng(0)
    scores, slopes = rng.standard_normal(15), np.array([-0.5, 0.1, 0.7, 1.0, 1.3, 1.6, 1.8, 2.0])
    left = rng.integers(0, 15, 12_000)
    right, who = (left + rng.integers(1, 15, 12_000)) % 15, rng.integers(0, 8, 12_000)
    won = rng.random(12_000) < expit(slopes[who] * (scores[left] - scores[right]))
    model = jr.TasteBT().fit(jr.Comparisons.from_arrays(left, right, who, won.astype(float)))
    assert model.discrimination_.mean() == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(model.discrimination_, slopes / slopes.mean(), atol=0.25)


def test_intervals_allow_for_tastes():
    """Each annotator has many votes on few items: without tastes the scores would seem nearly certain."""
    inside = {"TasteBT": [], "BradleyTerry": []}
    for seed in range(8):
        truth = drawn(1.0, seed, n_items=15, n_annotators=8, n_votes=4000)
        centred = truth.scores - truth.scores.mean()
        for name, shares in inside.items():
            low, high = getattr(jr, name)().fit(truth.votes).result_.uncertainty.bounds(0.95)
            shares.append(float(((low <= centred) & (centred <= high)).mean()))
    assert np.mean(inside["TasteBT"]) > 0.85
    assert np.mean(inside["BradleyTerry"]) < 0.6


def test_all_votes_of_a_rating_are_one_observation():
    """The own effects of a rater predict votes that were left out of the fit, on the same ratings."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(30)
    item = np.concatenate([rng.permutation(30)[:15] for _ in range(20)])
    rater = np.repeat(np.arange(20), 15)
    rating = scores[item] + rng.standard_normal(300)
    votes = jr.Comparisons.from_ratings(item, rater, rating)
    there = rng.random(votes.n_folded) < 0.8
    train, test = votes.only(there), votes.only(~there)
    loss = {}
    for model in (jr.TasteBT(), jr.CrowdBT()):
        proba = model.fit(train).vote_proba(test)
        right = np.where(test.vote_result == 1, proba, 1 - proba)
        loss[type(model).__name__] = -np.log(right).mean()
    assert loss["TasteBT"] < 0.5 * loss["CrowdBT"]


def test_ties_are_an_outcome():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(12)
    left = rng.integers(0, 12, 6000)
    right, who = (left + rng.integers(1, 12, 6000)) % 12, rng.integers(0, 6, 6000)
    margin = scores[left] - scores[right]
    odds = np.stack([np.exp(margin / 2), np.exp(-margin / 2), np.full(6000, 0.8)])
    at = (rng.random(6000) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
    votes = jr.Comparisons.from_arrays(left, right, who, np.array([1.0, 0.0, 0.5])[at])
    model = jr.TasteBT().fit(votes)
    tied = model.result_.predictor.tie(votes)
    assert tied.mean() == pytest.approx((at == 2).mean(), abs=0.02)
    np.testing.assert_allclose(np.exp(model.result_.extras["tie_threshold"]), 0.8, atol=0.15)
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.98
    assert Analysis(model.result_, votes).excluded_ties == 0
    with pytest.warns(jr.errors.TiesExcludedWarning):
        left_out = jr.TasteBT(ties="leave out").fit(votes)
    assert left_out.result_.predictor.tie(votes) is None
    assert Analysis(left_out.result_, votes).excluded_ties == votes.n_ties


def test_the_fit_does_not_depend_on_blocks(monkeypatch):
    votes = TasteVotes.of(drawn(0.5, 2).votes, ties=True)
    whole = fit_tastes(votes, 50, 1e-3)
    monkeypatch.setattr("jamrank.fitting.taste_votes._MOST_NUMBERS", 1000)
    parts = fit_tastes(votes, 50, 1e-3)
    np.testing.assert_allclose(whole.scores, parts.scores, atol=1e-9)
    np.testing.assert_allclose(whole.own_variance, parts.own_variance, atol=1e-9)


def test_what_cannot_be_fitted_is_said(monkeypatch):
    votes = drawn(0.5, 2).votes
    with pytest.raises(jr.errors.ParameterError, match="expected one of 'auto', 'davidson', 'leave out'"):
        jr.TasteBT(ties="half").fit(votes)
    monkeypatch.setattr("jamrank.models.family_bt._MOST_TASTE_WORK", 10.0)
    with pytest.raises(jr.errors.ParameterError, match="too many for TasteBT"):
        jr.TasteBT().fit(votes)
    monkeypatch.undo()
    with pytest.warns(jr.errors.NotConvergedWarning, match="did not converge in 2 iterations"):
        jr.TasteBT(max_iter=2).fit(votes)
