from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.storage import FIRST, TIE
from jamrank.engines import MemoryEngine, TiedEngine
from jamrank.fitting.em import Problem
from jamrank.noise import Flip, Tied
from jamrank.rows import ROWS_BY
from jamrank.scorers import ObjectScorer

DRAWN = jr.simulate(12, 4, 600, ties=[0.1, 0.5, 1.0, 0.3], truth="vote", random_state=0)
MODELS = {
    "BradleyTerry": jr.BradleyTerry,
    "CrowdBT": jr.CrowdBT,
    "JAM": jr.JAM,
    "two-coin": lambda **changes: jr.JAM(noise="two-coin", **changes),
}


def problem(variance: float | None = 1.0) -> Problem:
    rows, ties = (ROWS_BY[kind](DRAWN.votes, 1) for kind in ("vote", "tie"))
    engine = TiedEngine(MemoryEngine(rows, 1), MemoryEngine(ties, 1))
    noise = Tied(Flip(rows.vote_counts, 1.0, 2.0), rows.n_confusion_groups, ties.vote_counts, variance)
    return Problem(engine, ObjectScorer(12, 2.0), noise)


def draw_point(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.standard_normal(12), rng.standard_normal(8)])


def test_the_likelihood_is_that_of_the_formula():
    votes, at = DRAWN.votes, draw_point(1)
    scores, flip, nu = at[:12], expit(at[12:16]), np.exp(at[16:])
    p = expit(scores[votes.pair_first] - scores[votes.pair_second])[votes.vote_pair]
    who = votes.vote_annotator
    odds = nu[who] * 2 * np.sqrt(p * (1 - p))
    tied = odds / (1 + odds)
    first = p * (1 - flip[who]) + (1 - p) * flip[who]
    decided = np.where(votes.vote_result == FIRST, first, 1 - first)
    likely = np.where(votes.vote_result == TIE, tied, (1 - tied) * decided)
    value = problem().evaluate(at[:12], at[12:]).expectation.value
    assert value == pytest.approx(float((votes.vote_weight * np.log(likely)).sum()), rel=1e-12)


def test_the_slope_is_the_derivative():
    posed, at = problem(), draw_point(2)
    slope = posed.slope(posed.evaluate(at[:12], at[12:]))
    for k, step in enumerate(1e-5 * np.eye(20)):
        ends = [posed.evaluate((at + s * step)[:12], (at + s * step)[12:]).objective for s in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope[k], abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("variance", [1.0, 0.01, None])
def test_the_update_of_the_thresholds_never_leads_down(seed, variance):
    posed, at = problem(variance), draw_point(seed)
    at[16:] *= 4
    before = posed.evaluate(at[:12], at[12:])
    params = posed.noise.update(before.expectation.expected_counts, before.params)
    after = posed.evaluate(at[:12], np.concatenate([before.params[:4], params[4:]]))
    assert after.objective >= before.objective


def test_the_curvature_is_that_of_both_passes():
    posed, at = problem(), draw_point(3)
    point = posed.evaluate(at[:12], at[12:])
    engine, curvature = posed.engine, point.expectation.curvature
    links = engine.links(curvature)
    assert len(links.first) == engine.n_links
    matrix = np.zeros((12, 12))
    matrix[links.first, links.second] = links.curvature
    laplacian = np.diag(point.expectation.degree) - matrix - matrix.T
    vector = np.random.default_rng(0).standard_normal(12)
    np.testing.assert_allclose(engine.curvature_times(curvature, vector), laplacian @ vector, atol=1e-4)


def test_the_observed_information_is_the_second_derivative():
    posed, at = problem(), draw_point(4)
    degree, links = posed.engine.observed(at[:12], posed.noise.log_emission(at[12:]), True)
    for item in range(12):
        step = 1e-4 * (np.arange(12) == item)
        ends = [posed.evaluate(at[:12] + s * step, at[12:]).expectation.gradient[item] for s in (1, -1)]
        assert -(ends[0] - ends[1]) / 2e-4 == pytest.approx(degree[item], abs=1e-5)
    assert np.bincount(links.first, links.curvature, 12) + np.bincount(
        links.second, links.curvature, 12
    ) == pytest.approx(degree)


@pytest.mark.parametrize("name", MODELS)
def test_without_tie_votes_nothing_changes(name):
    votes = jr.simulate(12, 4, 500, random_state=5).votes
    plain, with_ties = (MODELS[name](ties=ties).fit(votes) for ties in ("leave out", "davidson"))
    for array in ("scores_", "flip_", "posterior_"):
        np.testing.assert_allclose(getattr(with_ties, array), getattr(plain, array), atol=1e-6)
    assert with_ties.result_.annotators.trait("tie").tolist() == [0.0] * 4
    assert (with_ties.result_.annotators.tie_interval[:, 1] < 0.1).all()
    assert plain.result_.annotators.trait("tie") is plain.result_.annotators.tie_interval is None
    assert with_ties.result_.predict_votes("item00", "item01", "ann0")[0, 2] == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_thresholds_are_found(name):
    nu = [0.1, 0.5, 1.0, 0.3]
    noise = "none" if name == "BradleyTerry" else "flip"
    drawn = jr.simulate(15, 4, 4000, ties=nu, noise=noise, flips=[0.1] * 4, truth="vote", random_state=6)
    model = MODELS[name](ties="davidson").fit(drawn.votes)
    assert model.converged_
    np.testing.assert_allclose(np.log(model.result_.annotators.trait("tie")), np.log(nu), atol=0.4)
    low, high = model.result_.annotators.tie_interval.T
    assert (low < model.result_.annotators.trait("tie")).all() and (
        model.result_.annotators.trait("tie") < high
    ).all()
    row = model.annotators_.to_dicts()[2]
    assert (row["tie"], row["tie_low"], row["tie_high"]) == (
        model.result_.annotators.trait("tie")[2],
        low[2],
        high[2],
    )
    chances = model.result_.predict_votes(["item00"] * 2, ["item01"] * 2, ["ann0", "ann2"])
    assert chances.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert chances[1, 2] > chances[0, 2] > 0


def test_few_votes_draw_a_threshold_to_the_common_one():
    left, right = np.triu_indices(6, 1)
    rng = np.random.default_rng(7)
    outcome = np.where(rng.random((15, 20)) < 0.3, 0.5, rng.integers(0, 2, (15, 20)))
    outcome[:, 19] = np.nan
    outcome[0, 19] = 1.0
    votes = jr.Comparisons.from_matrix(left, right, outcome)
    model = jr.BradleyTerry(ties="davidson").fit(votes)
    usual = np.exp(np.log(model.result_.annotators.trait("tie")[:19]).mean())
    assert 0.5 * usual < model.result_.annotators.trait("tie")[19] < 1.2 * usual
    held = jr.BradleyTerry(ties="davidson", prior=jr.Prior(tie_variance=1e-8)).fit(votes)
    assert np.ptp(held.result_.annotators.trait("tie")) < 1e-5 * held.result_.annotators.trait("tie").mean()


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning", "ignore::jamrank.errors.SparseVotesWarning")
@pytest.mark.parametrize("ties", ["auto", "davidson", "half"])
def test_ties_bring_items_together(ties):
    left, right, who = ["a"] * 20 + ["b"] * 20, ["b"] * 20 + ["c"] * 20, ["k"] * 40
    votes = jr.Comparisons.from_arrays(left, right, who, [1.0] * 2 + [0.5] * 18 + [1.0] * 2 + [0.0] + [1.0] * 17)
    apart = jr.BradleyTerry(ties="leave out").fit(votes).scores_
    near = jr.BradleyTerry(ties=ties).fit(votes).scores_
    assert near[0] - near[1] < apart[0] - apart[1]


def test_an_annotator_without_ties_or_prior_has_a_threshold_near_zero():
    votes = DRAWN.frame.filter((DRAWN.frame["winner"] != "tie") | (DRAWN.frame["annotator"] != "ann0"))
    model = jr.CrowdBT(ties="davidson", prior=None).fit(jr.Comparisons.from_frame(votes))
    assert model.result_.annotators.trait("tie")[0] < 1e-3 < model.result_.annotators.trait("tie")[1]
    assert np.isfinite(model.scores_).all()
