from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import jamrank as jr
from jamrank.data.storage import FIRST, TIE
from jamrank.errors import ParameterError, TiesExcludedWarning
from jamrank.fitting.tie_use import tie_spread

NU = [0.1, 0.5, 1.0, 0.3]
DIFFERENT = jr.simulate(12, 4, 1500, ties=NU, noise="none", truth="vote", random_state=0)
ALIKE = jr.simulate(12, 4, 1500, ties=[0.5] * 4, noise="none", truth="vote", random_state=1)
MODELS = {
    "BradleyTerry": jr.BradleyTerry,
    "CrowdBT": jr.CrowdBT,
    "JAM": jr.JAM,
    "two-coin": lambda **changes: jr.CrowdBT(noise="two-coin", **changes),
}


def mode(model):
    return model.result_.fit.fitted.source.ties


def test_one_threshold_where_annotators_may_be_alike_and_one_each_where_they_are_not():
    shared, each = (jr.BradleyTerry().fit(drawn.votes) for drawn in (ALIKE, DIFFERENT))
    assert (mode(shared), mode(each)) == ("shared", "each")
    tie = shared.result_.annotators.trait("tie")
    assert len(tie) == 4 and np.ptp(tie) == 0.0
    low, high = shared.result_.annotators.tie_interval.T
    assert (low < 0.5).all() and (high > 0.5).all() and (high - low < 0.3).all()
    np.testing.assert_allclose(np.log(each.result_.annotators.trait("tie")), np.log(NU), atol=0.5)


def test_one_shared_threshold_is_the_maximum_of_davidsons_likelihood():
    votes = ALIKE.votes
    model = jr.BradleyTerry(prior=None, tol=1e-10).fit(votes)

    def loss(at):
        margin = (at[votes.pair_first] - at[votes.pair_second])[votes.vote_pair]
        terms = np.stack([-margin / 2, margin / 2, np.broadcast_to(at[-1] + np.log(2.0), len(margin))])
        log_p = terms - np.logaddexp.reduce(terms, axis=0)
        return -float((votes.vote_weight * log_p[votes.vote_result, np.arange(len(margin))]).sum())

    # A tie has odds nu / cosh(m / 2) = 2 nu / (e^(m/2) + e^(-m/2)).
    best = minimize(loss, np.zeros(votes.n_items + 1), tol=1e-12)
    np.testing.assert_allclose(model.scores_, best.x[:-1] - best.x[:-1].mean(), atol=1e-4)
    np.testing.assert_allclose(model.result_.annotators.trait("tie"), np.exp(best.x[-1]), rtol=1e-4)
    assert model.log_likelihood_ == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("prior", [None, jr.Prior(score_variance=0.7)])
def test_half_is_the_optimum_of_bradley_terry_with_halved_ties(prior):
    votes = DIFFERENT.votes
    model = jr.BradleyTerry(ties="half", prior=prior, tol=1e-11).fit(votes)
    win = np.where(votes.vote_result == TIE, 0.5, votes.vote_result == FIRST)

    def loss(scores):
        margin = (scores[votes.pair_first] - scores[votes.pair_second])[votes.vote_pair]
        likely = win * -np.logaddexp(0, -margin) + (1 - win) * -np.logaddexp(0, margin)
        return -float((votes.vote_weight * likely).sum()) + (0 if prior is None else (scores**2).sum() / 1.4)

    best = minimize(loss, np.zeros(votes.n_items), tol=1e-13).x
    np.testing.assert_allclose(model.scores_, best - best.mean(), atol=1e-5)
    assert "tie" not in model.result_.annotators.traits


def test_half_is_evalicas_bradley_terry():
    evalica = pytest.importorskip("evalica")
    frame = DIFFERENT.frame
    words = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    found = evalica.bradley_terry(
        frame["left"].to_list(), frame["right"].to_list(), [words[word] for word in frame["winner"]], tolerance=1e-12
    )
    theirs = np.log(found.scores.sort_index().to_numpy(dtype=float))
    ours = jr.BradleyTerry(ties="half", prior=None, tol=1e-11).fit(DIFFERENT.votes).scores_
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_default_runs_leave_no_tie_out(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", TiesExcludedWarning)
        for drawn in (ALIKE, DIFFERENT):
            model = MODELS[name]().fit(drawn.votes)
            assert (model.result_.annotators.trait("tie") > 0).all()
            chances = model.result_.predict_votes("item00", "item01", "ann0")
            assert chances.sum() == pytest.approx(1.0) and chances[0, 2] > 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ties", ["auto", "half"])
def test_without_tie_votes_nothing_changes(name, ties):
    votes = jr.simulate(10, 4, 400, random_state=5).votes
    plain, other = (MODELS[name](ties=one).fit(votes) for one in ("leave out", ties))
    for array in ("scores_", "flip_", "posterior_"):
        np.testing.assert_array_equal(getattr(other, array), getattr(plain, array))
    assert "tie" not in other.result_.annotators.traits


@pytest.mark.long
def test_names_and_order_do_not_matter_with_a_shared_threshold():
    frame = ALIKE.frame
    renamed = frame.with_columns(frame["annotator"].replace({"ann0": "z", "ann3": "a"}))[::-1]
    one, other = (jr.CrowdBT().fit(jr.Comparisons.from_frame(table)) for table in (frame, renamed))
    np.testing.assert_allclose(one.scores_, other.scores_, atol=1e-8)
    np.testing.assert_allclose(one.ranking_["rank_low"], other.ranking_["rank_low"])
    flips = dict(zip(other.annotators_["annotator"], other.annotators_["flip_high"], strict=True))
    mine = dict(zip(one.annotators_["annotator"], one.annotators_["flip_high"], strict=True))
    assert flips["z"] == pytest.approx(mine["ann0"], abs=1e-6)


@pytest.mark.parametrize("ties", ["auto", "half", "davidson"])
@pytest.mark.parametrize("drawn", [ALIKE, DIFFERENT], ids=["alike", "different"])
def test_a_saved_model_has_the_same_ties(drawn, ties, tmp_path):
    model = jr.CrowdBT(ties=ties).fit(drawn.votes)
    model.save(tmp_path / "model.jamrank")
    loaded = jr.load(tmp_path / "model.jamrank")
    assert mode(loaded) == mode(model)
    fitted, again = model.result_.fit.fitted, loaded.result_.fit.fitted
    assert again.point.objective == pytest.approx(fitted.point.objective, abs=1e-9)
    if ties != "half":
        bounds = (one.result_.annotators.tie_interval for one in (loaded, model))
        np.testing.assert_allclose(*bounds, rtol=1e-9)


@pytest.mark.parametrize("model", [jr.AmElo(), jr.DawidSkene(), jr.JAM(ties="leave out")])
def test_a_model_without_a_place_for_ties_says_so(model):
    with pytest.warns(TiesExcludedWarning, match="tie votes left out"):
        model.fit(ALIKE.votes)


def test_gold_pairs_and_ties_go_together():
    items = ALIKE.votes.items
    order = np.argsort(ALIKE.scores)
    gold = [(items[order[-1]], items[order[0]]), (items[order[-2]], items[order[1]])]
    for ties in ("auto", "half"):
        model = jr.CrowdBT(ties=ties).fit(ALIKE.votes, gold=gold)
        assert np.corrcoef(model.scores_, ALIKE.scores)[0, 1] > 0.8


def test_halves_need_the_votes_in_memory(tmp_path):
    ALIKE.frame.write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", scratch=tmp_path / "scratch")
    with pytest.raises(ParameterError, match="in memory"):
        jr.BradleyTerry(ties="half").fit(stored)
    inside, outside = (jr.BradleyTerry().fit(votes) for votes in (ALIKE.votes, stored))
    np.testing.assert_allclose(outside.scores_, inside.scores_, atol=1e-7)
    np.testing.assert_allclose(outside.result_.annotators.trait("tie"), inside.result_.annotators.trait("tie"))


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_the_spread_of_tie_rates_is_found(spread):
    rng = np.random.default_rng(8)
    odds = rng.normal(-1.0, spread, 200)
    votes = rng.integers(20, 200, 200)
    tied = rng.binomial(votes, expit(odds)).astype(float)
    found = tie_spread(tied, votes - tied)
    assert found is None if not spread else found == pytest.approx(spread**2, rel=0.4)


def test_few_votes_each_have_one_threshold():
    tied = np.array([1.0, 0.0] * 50)
    assert tie_spread(tied, 2 - tied) is None
    assert tie_spread(np.array([5.0]), np.array([100.0])) is None
