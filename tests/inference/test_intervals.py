"""Standard errors, draws and intervals of scores and flips, whichever module computes them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.errors import ParameterError, UncertaintyWarning
from jamrank.inference import laplace, posterior_draws
from jamrank.inference.information import _by_differences
from jamrank.inference.posterior_draws import Posterior, Spread, sample
from jamrank.noise import Flip
from jamrank.rows import ROWS_BY


@pytest.fixture(scope="module")
def drawn() -> jr.simulation.Simulation:
    return jr.simulate(12, 6, 500, truth="vote", random_state=1)


@pytest.fixture(scope="module")
def model(drawn) -> jr.CrowdBT:
    return jr.CrowdBT(n_jobs=1).fit(drawn.votes)


def test_the_chain_draws_from_a_normal_of_known_covariance():
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    precision = np.linalg.inv(covariance)
    rng = np.random.default_rng(0)
    warm, step = sample(
        lambda x: (-0.5 * x @ precision @ x, -precision @ x), np.ones(2), Spread(np.eye(2)), 300, rng, learn=True
    )
    draws, _ = sample(
        lambda x: (-0.5 * x @ precision @ x, -precision @ x),
        warm[-1],
        Spread(np.linalg.cholesky(covariance)),
        4000,
        rng,
    )
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.12)
    assert 0.05 < step < 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [jr.JAM, lambda: jr.JAM(ties="davidson"), lambda: jr.CrowdBT(noise="two-coin")])
def test_draws_stay_on_the_side_that_the_fit_takes_for_granted(make):
    # One annotator: negated scores with the opposite flip explain the votes nearly as well.
    drawn = jr.simulate(5, 1, 60, truth="vote", random_state=4)
    result = make().fit(drawn.votes).result_
    noise = result.inference.sampler.posterior.noise
    assert min(noise.orientation(params) for params in result.inference.draws.params) >= 0
    assert np.corrcoef(result.uncertainty.score_draws.mean(axis=0), result.scores.scores)[0, 1] > 0.9


@pytest.mark.parametrize("variance", [None, 2.0])
def test_the_slope_of_the_density_is_its_derivative(drawn, variance):
    engine = MemoryEngine(ROWS_BY["vote"](drawn.votes, 1), 1)
    rng = np.random.default_rng(2)
    target = Posterior(engine, Flip(engine.vote_counts, 1.0, 2.0), rng.normal(size=12), rng.normal(size=6), variance)
    x = rng.normal(size=18)
    slope = [(target.density(x + 1e-5 * e)[0] - target.density(x - 1e-5 * e)[0]) / 2e-5 for e in np.eye(18)]
    np.testing.assert_allclose(target.density(x)[1], slope, atol=1e-5)


def test_intervals_of_a_few_sets_hold_the_truth():
    held = []
    for seed in range(3):
        drawn = jr.simulate(15, 8, 400, truth="vote", random_state=seed)
        unsure = jr.CrowdBT(n_jobs=1).fit(drawn.votes).uncertainty()
        true = drawn.scores - drawn.scores.mean()
        held.append(((unsure.score_low <= true) & (true <= unsure.score_high)).mean())
    assert np.mean(held) > 0.8


def test_draws_do_not_depend_on_names_or_order(drawn, model):
    frame = drawn.frame.with_columns(
        pl.col("left", "right").str.replace("item", "x").map_elements(lambda s: s[::-1], return_dtype=pl.String),
        pl.col("annotator").map_elements(lambda s: s[::-1], return_dtype=pl.String),
    ).sample(fraction=1.0, shuffle=True, seed=3)
    other = jr.CrowdBT(n_jobs=1).fit(jr.Comparisons.from_frame(frame))
    back = {
        str(item).replace("item", "x")[::-1]: se
        for item, se in zip(model.items_, model.uncertainty().score_se, strict=True)
    }
    np.testing.assert_allclose(other.uncertainty().score_se, [back[item] for item in other.items_], rtol=1e-6)


def test_ranks_of_draws_and_what_follows_from_them_agree(model):
    ranks, n_items = model.result_.uncertainty.rank_draws, len(model.items_)
    assert ranks.shape == model.result_.uncertainty.score_draws.shape
    assert (np.sort(ranks, axis=1) == np.arange(1, n_items + 1)).all()
    share = model.result_.uncertainty.rank_distribution()
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose(share.sum(axis=0), 1)
    top = model.top(3)
    assert top.columns == ["item", "rank", "p_top"]
    assert top["p_top"].sum() == pytest.approx(3)
    by_item = dict(zip(top["item"], top["p_top"], strict=True))
    np.testing.assert_allclose([by_item[item] for item in model.items_], share[:, :3].sum(axis=1))
    assert model.score_draws(5, random_state=7).shape == (5, n_items)


def test_groups_part_neighbours_that_are_told_apart():
    left, right = np.triu_indices(4, 1)
    times = np.where((left < 2) & (right >= 2), 60, 1)
    outcome = np.where((left < 2) & (right >= 2), 1.0, 0.5 + 0.0 * left)
    left, right, outcome = (np.repeat(side, 2 * times) for side in (left, right, outcome))
    within = outcome == 0.5
    outcome[within] = np.arange(within.sum()) % 2
    groups = (
        jr.BradleyTerry(n_jobs=1)
        .fit(jr.Comparisons.from_arrays(left, right, np.zeros(len(left)), outcome))
        .result_.groups()
    )
    assert groups.columns == ["item", "rank", "group", "apart_from"]
    assert groups["group"].to_list() == [1, 1, 2, 2]
    assert groups["apart_from"].to_list()[:2] == [3, 3]
    assert groups["apart_from"].null_count() == 2


def test_intervals_widen_with_the_level(model):
    narrow, usual = model.score_intervals(0.5), model.score_intervals()
    assert usual.columns == ["item", "score", "score_low", "score_high"]
    assert (usual["score_low"] < narrow["score_low"]).all()
    assert (usual["score_high"] > narrow["score_high"]).all()
    with pytest.raises(ParameterError, match="level"):
        model.score_intervals(95)


@pytest.mark.parametrize("make", [jr.JAM, jr.BradleyTerry, lambda: jr.JAM(noise="two-coin"), jr.MajorityVote])
def test_intervals_of_flips_hold_the_flip_and_widen_with_the_level(drawn, make):
    fitted = make().fit(drawn.votes)
    narrow, usual = fitted.result_.flip_intervals(0.5), fitted.result_.flip_intervals()
    assert usual.columns == ["annotator", "flip", "flip_low", "flip_high"]
    for found in (narrow, usual):
        assert ((found["flip_low"] <= found["flip"]) & (found["flip"] <= found["flip_high"])).all()
    assert ((usual["flip_high"] - usual["flip_low"]) > (narrow["flip_high"] - narrow["flip_low"])).all()
    with pytest.raises(ParameterError, match="level"):
        fitted.result_.flip_intervals("wide")


@pytest.mark.parametrize("kind", ["posterior", "information", "bootstrap"])
@pytest.mark.parametrize("make", [jr.JAM, jr.BradleyTerry])
def test_every_kind_gives_errors_of_the_same_size(drawn, make, kind):
    fitted = make(n_jobs=1).fit(drawn.votes)
    found = fitted.uncertainty(kind, n_resamples=8)
    assert found.kind == kind
    assert np.isfinite(found.score_se).all()
    assert (found.rank_low <= found.rank_high).all()
    assert 0.1 < np.median(found.score_se / fitted.uncertainty("information").score_se) < 8


@pytest.mark.filterwarnings("ignore::jamrank.errors.NotConvergedWarning")
def test_a_matrix_that_had_to_be_raised_is_told():
    # One step from the start, one of the eigenvalues is clearly below 0: rounding does not decide its sign.
    votes = jr.Comparisons.from_arrays(
        [3, 0, 3, 1, 2, 2, 1], [2, 1, 0, 3, 0, 0, 2], [0, 0, 0, 0, 2, 0, 1], [1, 0, 0, 0, 0, 1, 0]
    )
    with pytest.warns(UncertaintyWarning, match="not positive definite"):
        found = jr.CrowdBT(prior=None, n_jobs=1, max_iter=1).fit(votes).uncertainty("information")
    assert found.raised > 0.1


def test_many_votes_get_the_normal_approximation(drawn, monkeypatch):
    monkeypatch.setattr(posterior_draws, "_MOST_VOTES", 10)
    fitted = jr.CrowdBT(n_jobs=1).fit(drawn.votes)
    assert fitted.uncertainty().kind == "information"
    assert fitted.score_draws(50).shape == (50, 12)


def test_a_model_from_a_file_answers_what_the_fitted_one_does(model, tmp_path):
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    usual = model.uncertainty()
    np.testing.assert_allclose(again.uncertainty().score_low, usual.score_low)
    assert again.score_intervals()["score_low"].is_finite().all()
    np.testing.assert_array_equal(again.result_.uncertainty.rank_draws, model.result_.uncertainty.rank_draws)
    information = model.uncertainty("information").score_se
    np.testing.assert_allclose(again.uncertainty("information").score_se, information, rtol=1e-9)


def test_a_chain_runs_only_where_intervals_are_asked_for(drawn):
    fitted = jr.JAM(n_jobs=1).fit(drawn.votes)
    assert len(fitted.flip_) == 6 and len(fitted.scores_) == 12 and len(fitted.pairs_)
    assert "draws" not in vars(fitted.result_.inference)
    assert len(fitted.ranking_) == 12
    assert fitted.uncertainty().kind == "posterior"
    assert "draws" in vars(fitted.result_.inference)


TIED = jr.simulate(8, 4, 400, truth="vote", noise="flip", ties=np.full(4, 0.5), random_state=2)


@pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: jr.JAM(noise="two-coin"), "posterior"),
        (lambda: jr.CrowdBT(noise="two-coin", ties="davidson"), "posterior"),
        (lambda: jr.BradleyTerry(ties="davidson"), "posterior"),
        (lambda: jr.AmElo(), "information"),
        (lambda: jr.DawidSkene(), "independent"),
        (lambda: jr.Borda(), "independent"),
    ],
    ids=["two-coin", "two-coin and ties", "ties", "discrimination", "no scores", "counts"],
)
def test_every_noise_has_intervals_of_scores_and_ranks(make, kind):
    fitted = make().fit(TIED.votes)
    found = fitted.uncertainty()
    assert found.kind == kind
    assert (found.score_low < found.score_high).all()
    assert fitted.top(2)["p_top"].sum() == pytest.approx(2)
    assert fitted.ranking_["rank_low"].null_count() == 0


@pytest.mark.parametrize("n_annotators", [4, 120])
def test_known_truths_are_in_the_information(n_annotators):
    of = jr.simulate(8, n_annotators, 600, random_state=5)
    fitted = jr.JAM(n_jobs=1).fit(of.votes, gold=[("item0", "item1"), ("item2", "item3")])
    assert fitted.result_.inference.observed is not None and fitted.result_.inference.observed.inside.all()
    found, expected = (
        fitted.result_.inference.observed.matrix,
        _by_differences(fitted.result_.fit.fitted.problem, fitted.result_.fit.fitted.point, 10**9),
    )
    expected[:8, :8] += 1 / 8
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(ParameterError, match="gold"):
        fitted.uncertainty("bootstrap")


def test_the_model_that_was_chosen_is_asked(drawn):
    fitted = jr.Auto(n_jobs=1).fit(drawn.votes)
    assert fitted.score_intervals().equals(fitted.model_.score_intervals())
    np.testing.assert_array_equal(
        fitted.result_.uncertainty.rank_distribution(), fitted.model_.result_.uncertainty.rank_distribution()
    )
    assert fitted.result_.groups().equals(fitted.model_.result_.groups()) and fitted.top(2).equals(
        fitted.model_.top(2)
    )


def test_unknown_flips_widen_the_errors_of_scores(drawn):
    fitted = jr.CrowdBT(n_jobs=1).fit(drawn.votes)
    problem, point = fitted.result_.fit.fitted.problem, fitted.result_.fit.fitted.point
    at = problem.engine.observed(point.scores, problem.noise.log_emission(point.params), True)
    known = laplace(fitted.scores_, *at, 1.0 / fitted.result_.scores.score_variance)
    assert (fitted.uncertainty("information").score_se > known.score_se).all()


def test_what_a_model_cannot_say_it_refuses(drawn):
    majority = jr.MajorityVote().fit(drawn.votes)
    assert majority.top(1)["p_top"].sum() == pytest.approx(1)
    for kind in ("information", "nonsense"):
        with pytest.raises(ParameterError):
            majority.uncertainty(kind)
    with pytest.raises(ParameterError, match="items"):
        majority.top(13)


def test_tables_show_what_the_draws_say(drawn):
    fitted = jr.CrowdBT(n_jobs=1).fit(drawn.votes)
    annotators, flips, ranking = fitted.annotators_, fitted.result_.flip_intervals(), fitted.ranking_
    for name in ("flip", "flip_low", "flip_high"):
        assert annotators[name].to_list() == flips[name].to_list()
    place = np.searchsorted(fitted.items_, ranking["item"].to_numpy())
    reach = 1.96 * ranking["score_se"].to_numpy()
    within = np.abs(fitted.result_.uncertainty.score_draws[:, place] - ranking["score"].to_numpy()) <= reach
    assert (within.mean(axis=0) >= 0.946).all() and within.mean() < 0.98


@pytest.mark.filterwarnings("ignore::jamrank.errors.SparseVotesWarning")
def test_scores_that_votes_do_not_bound_stay_within_what_is_believed(drawn):
    votes = jr.simulate(10, 8, 1000, truth="pair", random_state=0).votes
    fitted = jr.CrowdBT(n_jobs=1).fit(votes)
    drawn = fitted.score_draws()
    assert np.sqrt((drawn**2).mean()) < 7
    assert fitted.ranking_["score_se"].to_numpy().max() < 5


def cycle(names: str, annotators: str = "xyz") -> jr.Comparisons:
    """a beats b beats c beats d beats a, all with as many votes."""
    rows = [(names[k], names[(k + 1) % 4], who) for k in range(4) for who in annotators for _ in range(6)]
    left, right, who = zip(*rows, strict=True)
    return jr.Comparisons.from_arrays(left, right, who, np.ones(len(rows)))


@pytest.mark.parametrize("name", ["JAM", "CrowdBT", "BradleyTerry"])
def test_items_that_only_names_tell_apart_are_known_equally_well(name):
    found = []
    for names, annotators in (("abcd", "xyz"), ("acbd", "zyx"), ("dacb", "yxz")):
        model = getattr(jr, name)().fit(cycle(names, annotators))
        unsure = model.result_.uncertainty.estimate
        for values in (unsure.score_se, unsure.rank_low, unsure.rank_high, unsure.score_low, unsure.score_high):
            assert np.ptp(values) < 1e-12
        assert np.ptp(model.result_.annotators.flip_range, axis=1).max() == 0
        low = model.score_intervals(0.8)["score_low"].to_numpy()
        assert np.ptp(low) < 1e-12
        assert np.ptp(model.top(2)["p_top"].to_numpy()) < 1e-12
        np.testing.assert_allclose(model.result_.uncertainty.rank_distribution().sum(axis=0), 1.0)
        found.append([unsure.score_se[0], unsure.score_low[0], unsure.rank_high[0], low[0]])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)


def test_items_with_one_score_that_votes_tell_apart_are_left_as_they_are():
    # All four have the same score, but a and b have far more votes than c and d.
    rows = [("a", "b"), ("b", "a")] * 50 + [("c", "d"), ("d", "c")] * 5
    left, right = zip(*rows, strict=True)
    model = jr.BradleyTerry().fit(jr.Comparisons.from_arrays(left, right, ["x"] * len(rows), np.ones(len(rows))))
    np.testing.assert_allclose(model.scores_, 0.0, atol=1e-12)
    assert model.result_.uncertainty.exchangeable.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_many_votes_on_few_items_leave_the_level_of_flips_open():
    # Near margins of 0, larger scores with larger flips predict the same votes: chains must cover both ends.
    rng, flips = np.random.default_rng(7), np.array([0.05, 0.1, 0.2])
    scores, first = np.array([-0.3, 0.0, 0.1, 0.2]), rng.integers(4, size=12_000)
    second, who = (first + rng.integers(1, 4, size=12_000)) % 4, rng.integers(3, size=12_000)
    truth = rng.random(12_000) < expit(scores[first] - scores[second])
    votes = jr.Comparisons.from_arrays(first, second, who, (truth ^ (rng.random(12_000) < flips[who])).astype(int))
    fitted = jr.CrowdBT(n_jobs=1).fit(votes)
    found = fitted.annotators_.sort("annotator")
    assert (found["flip_low"].to_numpy() < flips + 0.01).all() and (flips < found["flip_high"].to_numpy()).all()
    assert (found["flip_high"] - found["flip_low"]).min() > 0.2
    assert fitted.result_.uncertainty.diagnostics.rhat < 1.25


def test_jumps_leave_a_distribution_as_it_is():
    # Two independent standard normals, of which the first is multiplied and the second divided by a factor.
    def jump(x, factor):
        return np.array([factor * x[0], x[1] / factor]), 0.0

    def density(x):
        return -0.5 * float(x @ x), -x

    draws, _ = sample(density, np.ones(2), Spread(np.eye(2)), 3000, np.random.default_rng(0), jump=jump)
    assert draws.mean(axis=0) == pytest.approx([0, 0], abs=0.08)
    assert draws.std(axis=0) == pytest.approx([1, 1], abs=0.08)
    lopsided, _ = sample(
        density,
        np.ones(1),
        Spread(np.eye(1)),
        3000,
        np.random.default_rng(0),
        jump=lambda x, c: (c * x, float(np.log(c))),
    )
    assert lopsided.std() == pytest.approx(1, abs=0.08)
